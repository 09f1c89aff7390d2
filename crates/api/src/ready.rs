//! `GET /ready`: asked of the pulses that are taken anyway, so that it costs nothing.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
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
    let redis = app.limiter.contact().map(|contact| match contact {
        RedisContact::NotYet => Liveness::NotYet,
        RedisContact::Answers { latency } => Liveness::Answers {
            latency: Some(latency),
        },
        RedisContact::Away => Liveness::Away,
    });
    let (status, ready) = health::judge(app.is_draining(), control, contact.stale, &shards, redis);
    (status, Json(ready))
}
