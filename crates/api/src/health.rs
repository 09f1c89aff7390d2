//! `GET /health`: the process serves. Also the rule behind `GET /ready`: may it get requests?

use std::future;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use wire::health::{DependencyState, HealthResponse, ReadyResponse, ReadyStatus};

/// A dependency and the result of its last check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyReachability {
    pub name: String,
    pub reachability: Reachability,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachability {
    /// It has not been checked yet.
    Unknown,
    Reachable {
        latency: Option<Duration>,
    },
    Unreachable,
    /// It answers, but it cannot be used.
    Failed,
    /// A shard that answers reads, and takes no loads until an operator accepts its database.
    Paused,
}

pub fn health() -> future::Ready<Json<HealthResponse>> {
    future::ready(Json(HealthResponse {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    }))
}

const PAUSED_DETAIL: &str = "A shard is paused because its database was restored or copied: it \
     takes no loads until an operator accepts it. See docs/runbooks/recovery-pause.md.";

/// Decides whether this node should get requests.
///
/// An unreachable shard affects only its own organizations, so the node keeps serving.
/// It also serves without the `optional` dependencies: Redis, the object store and the
/// scanner. Each process then limits on its own, and only files are affected.
///
/// `keys_stale`: control has been unreachable for so long that cached keys are no longer valid.
pub fn readiness(
    draining: bool,
    control: Reachability,
    keys_stale: bool,
    shards: &[DependencyReachability],
    optional: &[DependencyReachability],
) -> (StatusCode, ReadyResponse) {
    let seen = || std::iter::once(control).chain(shards.iter().map(|shard| shard.reachability));
    let answers = |liveness: Reachability| matches!(liveness, Reachability::Reachable { .. });
    let reads = |liveness| answers(liveness) || liveness == Reachability::Paused;
    let detail = if draining {
        Some("The process is shutting down.")
    } else if seen().any(|liveness| liveness == Reachability::Unknown) {
        Some("The process is starting.")
    } else if !shards.iter().any(|shard| reads(shard.reachability)) {
        Some("No shard is reachable.")
    } else if keys_stale {
        Some("The control database has been unreachable for too long.")
    } else {
        None
    };
    let is_paused = seen().any(|liveness| liveness == Reachability::Paused);
    let (code, status) = match detail {
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, ReadyStatus::Unavailable),
        None if seen()
            .chain(optional.iter().map(|it| it.reachability))
            .all(answers) =>
        {
            (StatusCode::OK, ReadyStatus::Ok)
        }
        None => (StatusCode::OK, ReadyStatus::Degraded),
    };
    let detail = detail.or(is_paused.then_some(PAUSED_DETAIL));
    let shards = shards
        .iter()
        .map(|shard| dependency_body(format!("shard {}", shard.name), shard.reachability));
    let dependencies = std::iter::once(dependency_body("control".to_owned(), control))
        .chain(shards)
        .chain(
            optional
                .iter()
                .map(|it| dependency_body(it.name.clone(), it.reachability)),
        )
        .collect();
    (
        code,
        ReadyResponse {
            status,
            detail,
            dependencies,
        },
    )
}

fn dependency_body(name: String, liveness: Reachability) -> wire::health::DependencyBody {
    let (state, latency) = match liveness {
        Reachability::Unknown => (DependencyState::Unknown, None),
        Reachability::Reachable { latency } => (DependencyState::Ok, latency),
        Reachability::Unreachable => (DependencyState::Away, None),
        Reachability::Failed | Reachability::Paused => (DependencyState::Failed, None),
    };
    let latency_ms = latency.map(|latency| latency.as_secs_f64() * 1000.0);
    wire::health::DependencyBody {
        name,
        state,
        latency_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Reachability = Reachability::Reachable {
        latency: Some(Duration::from_micros(500)),
    };
    const AWAY: Reachability = Reachability::Unreachable;

    fn readiness_text(draining: bool, keys_stale: bool, states: [Reachability; 3]) -> String {
        readiness_text_with(draining, keys_stale, states, &[])
    }

    fn readiness_text_with(
        draining: bool,
        keys_stale: bool,
        [control, north, south]: [Reachability; 3],
        optional: &[(&str, Reachability)],
    ) -> String {
        let shard = |name: &str, liveness| DependencyReachability {
            name: name.to_owned(),
            reachability: liveness,
        };
        let shards = [shard("north", north), shard("south", south)];
        let optional: Vec<_> = optional.iter().map(|(name, it)| shard(name, *it)).collect();
        let (code, ready) = readiness(draining, control, keys_stale, &shards, &optional);
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
        let serving = |states| readiness_text(false, false, states);
        insta::assert_snapshot!(serving([OK, OK, OK]), @"200 {status:ok}, control ok, shard north ok, shard south ok");
        insta::assert_snapshot!(serving([OK, AWAY, OK]), @"200 {status:degraded}, control ok, shard north away, shard south ok");
        insta::assert_snapshot!(serving([AWAY, OK, OK]), @"200 {status:degraded}, control away, shard north ok, shard south ok");
        insta::assert_snapshot!(serving([OK, AWAY, AWAY]), @"503 {status:unavailable,detail:No shard is reachable.}, control ok, shard north away, shard south away");
        insta::assert_snapshot!(readiness_text(false, true, [AWAY, OK, OK]), @"503 {status:unavailable,detail:The control database has been unreachable for too long.}, control away, shard north ok, shard south ok");
    }

    #[test]
    fn a_node_serves_reads_of_a_paused_shard_and_says_why_it_takes_no_loads() {
        let paused = readiness_text(false, false, [OK, Reachability::Paused, OK]);
        assert!(
            paused.starts_with("200 {status:degraded,detail:A shard is paused"),
            "{paused}"
        );
        assert!(
            paused.ends_with("control ok, shard north failed, shard south ok"),
            "{paused}"
        );
        let both = [OK, Reachability::Paused, Reachability::Paused];
        assert!(readiness_text(false, false, both).starts_with("200 {status:degraded"));
    }

    #[test]
    fn a_node_goes_on_without_redis() {
        let with = |redis| readiness_text_with(false, false, [OK, OK, OK], &[("redis", redis)]);
        insta::assert_snapshot!(with(OK), @"200 {status:ok}, control ok, shard north ok, shard south ok, redis ok");
        insta::assert_snapshot!(with(AWAY), @"200 {status:degraded}, control ok, shard north ok, shard south ok, redis away");
        insta::assert_snapshot!(with(Reachability::Unknown), @"200 {status:degraded}, control ok, shard north ok, shard south ok, redis unknown");
    }

    #[test]
    fn a_node_goes_on_without_files() {
        let with = |store, scanner| {
            let optional = [("object store", store), ("scanner", scanner)];
            readiness_text_with(false, false, [OK, OK, OK], &optional)
        };
        insta::assert_snapshot!(with(OK, OK), @"200 {status:ok}, control ok, shard north ok, shard south ok, object store ok, scanner ok");
        insta::assert_snapshot!(with(AWAY, Reachability::Failed), @"200 {status:degraded}, control ok, shard north ok, shard south ok, object store away, scanner failed");
    }

    #[test]
    fn a_node_that_starts_or_stops_is_not_ready() {
        insta::assert_snapshot!(readiness_text(false, false, [OK, OK, Reachability::Unknown]), @"503 {status:unavailable,detail:The process is starting.}, control ok, shard north ok, shard south unknown");
        insta::assert_snapshot!(readiness_text(true, false, [OK, OK, OK]), @"503 {status:unavailable,detail:The process is shutting down.}, control ok, shard north ok, shard south ok");
    }

    #[test]
    fn latency_is_told_in_milliseconds() {
        let row = dependency_body("control".to_owned(), OK);
        insta::assert_snapshot!(serde_json::to_string(&row).unwrap(), @r#"{"name":"control","state":"ok","latency_ms":0.5}"#);
    }
}
