//! `GET /ready`: uses the results of the background probes, so it makes no queries.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use outbound::health::DependencyHealth;
use wire::health::ReadyResponse;

use crate::health::{self, DependencyReachability, Reachability};
use crate::rate_limit::RedisReachability;
use crate::shard_probe::ShardReachability;
use crate::state::App;

pub(crate) async fn ready(State(app): State<App>) -> (StatusCode, Json<ReadyResponse>) {
    let contact = app.keys.control_status();
    let shards: Vec<_> = app
        .shard_handles()
        .map(|handle| DependencyReachability {
            name: handle.shard.name.to_string(),
            reachability: match handle.probe.last() {
                ShardReachability::Unknown => Reachability::Unknown,
                ShardReachability::Reachable { latency } => Reachability::Reachable {
                    latency: Some(latency),
                },
                ShardReachability::Paused => Reachability::Paused,
                ShardReachability::Unreachable => Reachability::Unreachable,
            },
        })
        .collect();
    let control = match (contact.last_seen, contact.is_unreachable) {
        (None, _) => Reachability::Unknown,
        (Some(_), false) => Reachability::Reachable { latency: None },
        (Some(_), true) => Reachability::Unreachable,
    };
    let optional: Vec<_> = optional_dependencies(&app).collect();
    let (status, ready) = health::readiness(
        app.is_draining(),
        control,
        contact.is_stale,
        &shards,
        &optional,
    );
    (status, Json(ready))
}

/// The dependencies that are configured and that the node can serve without.
fn optional_dependencies(app: &App) -> impl Iterator<Item = DependencyReachability> {
    let redis = app
        .limiter
        .redis_reachability()
        .map(|contact| match contact {
            RedisReachability::Unknown => Reachability::Unknown,
            RedisReachability::Reachable { latency } => Reachability::Reachable {
                latency: Some(latency),
            },
            RedisReachability::Unreachable => Reachability::Unreachable,
        });
    let health = app.files.service.health();
    let rows = [
        ("redis", redis),
        ("object store", reachability(&health.store)),
        (
            "object store credentials",
            reachability(&health.credentials),
        ),
        ("scanner", reachability(&health.scanner)),
        ("file probe", reachability(&health.probe)),
    ];
    rows.into_iter().filter_map(|(name, liveness)| {
        Some(DependencyReachability {
            name: name.to_owned(),
            reachability: liveness?,
        })
    })
}

const fn reachability(condition: &DependencyHealth) -> Option<Reachability> {
    match condition {
        DependencyHealth::NotConfigured => None,
        DependencyHealth::Unknown => Some(Reachability::Unknown),
        DependencyHealth::Healthy => Some(Reachability::Reachable { latency: None }),
        DependencyHealth::Unreachable(_) => Some(Reachability::Unreachable),
        DependencyHealth::ProbeFailed(_) => Some(Reachability::Failed),
    }
}
