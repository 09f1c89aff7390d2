//! `GET /health`: the process serves. And the rule behind `GET /ready`: should requests be sent here?

use std::future;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use wire::health::{Health, Ready, State, Status};

/// Something that we depend on, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    pub liveness: Liveness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Nobody has looked yet.
    NotYet,
    Answers {
        latency: Option<Duration>,
    },
    Away,
    /// It answers, but not as it must.
    Failed,
}

pub fn health() -> future::Ready<Json<Health>> {
    future::ready(Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    }))
}

/// A shard that is away takes only its own organizations with it, so the node goes on serving.
///
/// So it does without Redis, an object store or a scanner, which some installs do not have:
/// limits are then kept by each process for itself, and only files suffer.
///
/// `keys_stale`: control has been away for longer than we go on without it.
/// `spared`: what we go on without.
pub fn judge(
    draining: bool,
    control: Liveness,
    keys_stale: bool,
    shards: &[Dependency],
    spared: &[Dependency],
) -> (StatusCode, Ready) {
    let seen = || std::iter::once(control).chain(shards.iter().map(|shard| shard.liveness));
    let answers = |liveness: Liveness| matches!(liveness, Liveness::Answers { .. });
    let detail = if draining {
        Some("Stopping.")
    } else if seen().any(|liveness| liveness == Liveness::NotYet) {
        Some("Starting.")
    } else if !shards.iter().any(|shard| answers(shard.liveness)) {
        Some("No shard answers.")
    } else if keys_stale {
        Some("Control has been away for too long.")
    } else {
        None
    };
    let (code, status) = match detail {
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, Status::Unavailable),
        None if seen()
            .chain(spared.iter().map(|it| it.liveness))
            .all(answers) =>
        {
            (StatusCode::OK, Status::Ok)
        }
        None => (StatusCode::OK, Status::Degraded),
    };
    let shards = shards
        .iter()
        .map(|shard| row(format!("shard {}", shard.name), shard.liveness));
    let dependencies = std::iter::once(row("control".to_owned(), control))
        .chain(shards)
        .chain(spared.iter().map(|it| row(it.name.clone(), it.liveness)))
        .collect();
    (
        code,
        Ready {
            status,
            detail,
            dependencies,
        },
    )
}

fn row(name: String, liveness: Liveness) -> wire::health::Dependency {
    let (state, latency) = match liveness {
        Liveness::NotYet => (State::Unknown, None),
        Liveness::Answers { latency } => (State::Ok, latency),
        Liveness::Away => (State::Away, None),
        Liveness::Failed => (State::Failed, None),
    };
    let latency_ms = latency.map(|latency| latency.as_secs_f64() * 1000.0);
    wire::health::Dependency {
        name,
        state,
        latency_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Liveness = Liveness::Answers {
        latency: Some(Duration::from_micros(500)),
    };
    const AWAY: Liveness = Liveness::Away;

    fn judged(draining: bool, keys_stale: bool, states: [Liveness; 3]) -> String {
        judged_with(draining, keys_stale, states, &[])
    }

    fn judged_with(
        draining: bool,
        keys_stale: bool,
        [control, north, south]: [Liveness; 3],
        spared: &[(&str, Liveness)],
    ) -> String {
        let shard = |name: &str, liveness| Dependency {
            name: name.to_owned(),
            liveness,
        };
        let shards = [shard("north", north), shard("south", south)];
        let spared: Vec<_> = spared.iter().map(|(name, it)| shard(name, *it)).collect();
        let (code, ready) = judge(draining, control, keys_stale, &shards, &spared);
        let mut body = serde_json::to_value(ready).unwrap();
        let rows = body["dependencies"].as_array().unwrap().iter();
        let rows: Vec<_> = rows
            .map(|row| format!(", {} {}", row["name"], row["state"]))
            .collect();
        let rows = rows.concat();
        body.as_object_mut().unwrap().remove("dependencies");
        format!("{} {body}{rows}", code.as_u16()).replace('"', "")
    }

    #[test]
    fn a_serving_node_is_judged_by_what_answers() {
        let serving = |states| judged(false, false, states);
        insta::assert_snapshot!(serving([OK, OK, OK]), @"200 {status:ok}, control ok, shard north ok, shard south ok");
        insta::assert_snapshot!(serving([OK, AWAY, OK]), @"200 {status:degraded}, control ok, shard north away, shard south ok");
        insta::assert_snapshot!(serving([AWAY, OK, OK]), @"200 {status:degraded}, control away, shard north ok, shard south ok");
        insta::assert_snapshot!(serving([OK, AWAY, AWAY]), @"503 {status:unavailable,detail:No shard answers.}, control ok, shard north away, shard south away");
        insta::assert_snapshot!(judged(false, true, [AWAY, OK, OK]), @"503 {status:unavailable,detail:Control has been away for too long.}, control away, shard north ok, shard south ok");
    }

    #[test]
    fn a_node_goes_on_without_redis() {
        let with = |redis| judged_with(false, false, [OK, OK, OK], &[("redis", redis)]);
        insta::assert_snapshot!(with(OK), @"200 {status:ok}, control ok, shard north ok, shard south ok, redis ok");
        insta::assert_snapshot!(with(AWAY), @"200 {status:degraded}, control ok, shard north ok, shard south ok, redis away");
        insta::assert_snapshot!(with(Liveness::NotYet), @"200 {status:degraded}, control ok, shard north ok, shard south ok, redis unknown");
    }

    #[test]
    fn a_node_goes_on_without_files() {
        let with = |store, scanner| {
            let spared = [("object store", store), ("scanner", scanner)];
            judged_with(false, false, [OK, OK, OK], &spared)
        };
        insta::assert_snapshot!(with(OK, OK), @"200 {status:ok}, control ok, shard north ok, shard south ok, object store ok, scanner ok");
        insta::assert_snapshot!(with(AWAY, Liveness::Failed), @"200 {status:degraded}, control ok, shard north ok, shard south ok, object store away, scanner failed");
    }

    #[test]
    fn a_node_that_starts_or_stops_is_not_ready() {
        insta::assert_snapshot!(judged(false, false, [OK, OK, Liveness::NotYet]), @"503 {status:unavailable,detail:Starting.}, control ok, shard north ok, shard south unknown");
        insta::assert_snapshot!(judged(true, false, [OK, OK, OK]), @"503 {status:unavailable,detail:Stopping.}, control ok, shard north ok, shard south ok");
    }

    #[test]
    fn latency_is_told_in_milliseconds() {
        let row = row("control".to_owned(), OK);
        insta::assert_snapshot!(serde_json::to_string(&row).unwrap(), @r#"{"name":"control","state":"ok","latency_ms":0.5}"#);
    }
}
