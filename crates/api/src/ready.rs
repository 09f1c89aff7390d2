//! `GET /ready`: asked of the pulses that are taken anyway, so that it costs nothing.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use outbound::health::Condition;
use wire::health::Ready;

use crate::health::{self, Dependency, Liveness};
use crate::limits::RedisContact;
use crate::probe::Pulse;
use crate::state::App;

pub(crate) async fn ready(State(app): State<App>) -> (StatusCode, Json<Ready>) {
    let contact = app.keys.contact();
    let shards: Vec<_> = app
        .quays()
        .map(|quay| Dependency {
            name: quay.shard.name.to_string(),
            liveness: match quay.probe.last() {
                Pulse::NotYet => Liveness::NotYet,
                Pulse::Beats { latency } => Liveness::Answers {
                    latency: Some(latency),
                },
                Pulse::Away => Liveness::Away,
            },
        })
        .collect();
    let control = match (contact.last_seen, contact.away) {
        (None, _) => Liveness::NotYet,
        (Some(_), false) => Liveness::Answers { latency: None },
        (Some(_), true) => Liveness::Away,
    };
    let spared: Vec<_> = spared(&app).collect();
    let (status, ready) =
        health::judge(app.is_draining(), control, contact.stale, &shards, &spared);
    (status, Json(ready))
}

/// What this install has of what we can go on without.
fn spared(app: &App) -> impl Iterator<Item = Dependency> {
    let redis = app.limiter.contact().map(|contact| match contact {
        RedisContact::NotYet => Liveness::NotYet,
        RedisContact::Answers { latency } => Liveness::Answers {
            latency: Some(latency),
        },
        RedisContact::Away => Liveness::Away,
    });
    let health = app.files.health();
    let rows = [
        ("redis", redis),
        ("object store", condition(&health.store)),
        ("scanner", condition(&health.scanner)),
    ];
    rows.into_iter().filter_map(|(name, liveness)| {
        Some(Dependency {
            name: name.to_owned(),
            liveness: liveness?,
        })
    })
}

const fn condition(condition: &Condition) -> Option<Liveness> {
    match condition {
        Condition::Absent => None,
        Condition::Unknown => Some(Liveness::NotYet),
        Condition::Well => Some(Liveness::Answers { latency: None }),
        Condition::Away(_) => Some(Liveness::Away),
        Condition::Failed(_) => Some(Liveness::Failed),
    }
}
