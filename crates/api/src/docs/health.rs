//! `GET /health` and `GET /ready`.

use std::time::Duration;

use serde_json::Value;
use utoipa::openapi::path::{Operation, OperationBuilder};

use super::responses;
use crate::health::{DependencyReachability, Reachability, readiness};

pub(super) fn health() -> Operation {
    let body = wire::health::HealthResponse {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    };
    OperationBuilder::new()
        .tag("Health")
        .operation_id(Some("health"))
        .summary(Some("Liveness: does the process serve?"))
        .securities(Some([]))
        .response(
            "200",
            responses::json_response::<wire::health::HealthResponse>(
                "The process serves requests.",
                [("Ok", responses::to_json(&body))],
            ),
        )
        .build()
}

pub(super) fn ready() -> Operation {
    let reachable = Reachability::Reachable {
        latency: Some(Duration::from_micros(400)),
    };
    let good = [
        ("Ok", readiness_example(false, [reachable, reachable])),
        (
            "Degraded: organizations of one shard are not served",
            readiness_example(false, [reachable, Reachability::Unreachable]),
        ),
    ];
    let bad = [
        (
            "Shutting down",
            readiness_example(true, [reachable, reachable]),
        ),
        (
            "No shard is reachable",
            readiness_example(
                false,
                [Reachability::Unreachable, Reachability::Unreachable],
            ),
        ),
    ];
    OperationBuilder::new()
        .tag("Health")
        .operation_id(Some("ready"))
        .summary(Some("Readiness: should requests be sent here?"))
        .securities(Some([]))
        .response(
            "200",
            responses::json_response::<wire::health::ReadyResponse>(
                "Requests should be sent here.",
                good,
            ),
        )
        .response(
            "503",
            responses::json_response::<wire::health::ReadyResponse>(
                "Requests should not be sent here.",
                bad,
            ),
        )
        .build()
}

fn readiness_example(draining: bool, [north, south]: [Reachability; 2]) -> Value {
    let shard = |name: &str, liveness| DependencyReachability {
        name: name.to_owned(),
        reachability: liveness,
    };
    let control = Reachability::Reachable { latency: None };
    let redis = Reachability::Reachable {
        latency: Some(Duration::from_micros(200)),
    };
    let shards = [shard("north", north), shard("south", south)];
    let optional = [
        shard("redis", redis),
        shard("object store", Reachability::Reachable { latency: None }),
        shard("scanner", Reachability::Reachable { latency: None }),
    ];
    let (_, ready) = readiness(draining, control, false, &shards, &optional);
    responses::to_json(&ready)
}
