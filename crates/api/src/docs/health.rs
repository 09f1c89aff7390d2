//! `GET /health` and `GET /ready`.

use std::time::Duration;

use serde_json::Value;
use utoipa::openapi::path::{Operation, OperationBuilder};

use super::answer;
use crate::health::{Dependency, Liveness, judge};

pub(super) fn health() -> Operation {
    let body = wire::health::Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    };
    OperationBuilder::new()
        .tag("Health")
        .operation_id(Some("health"))
        .summary(Some("Does the process serve?"))
        .securities(Some([]))
        .response(
            "200",
            answer::with::<wire::health::Health>("It does.", [("Ok", answer::value(&body))]),
        )
        .build()
}

pub(super) fn ready() -> Operation {
    let beats = Liveness::Answers {
        latency: Some(Duration::from_micros(400)),
    };
    let good = [
        ("Ok", judged(false, [beats, beats])),
        (
            "Degraded: organizations of one shard are not served",
            judged(false, [beats, Liveness::Away]),
        ),
    ];
    let bad = [
        ("Stopping", judged(true, [beats, beats])),
        (
            "No shard answers",
            judged(false, [Liveness::Away, Liveness::Away]),
        ),
    ];
    OperationBuilder::new()
        .tag("Health")
        .operation_id(Some("ready"))
        .summary(Some("Should requests be sent here?"))
        .securities(Some([]))
        .response(
            "200",
            answer::with::<wire::health::Ready>("They should.", good),
        )
        .response("503", answer::with::<wire::health::Ready>("Not now.", bad))
        .build()
}

fn judged(draining: bool, [north, south]: [Liveness; 2]) -> Value {
    let shard = |name: &str, liveness| Dependency {
        name: name.to_owned(),
        liveness,
    };
    let control = Liveness::Answers { latency: None };
    let redis = Liveness::Answers {
        latency: Some(Duration::from_micros(200)),
    };
    let shards = [shard("north", north), shard("south", south)];
    let spared = [
        shard("redis", redis),
        shard("object store", Liveness::Answers { latency: None }),
        shard("scanner", Liveness::Answers { latency: None }),
    ];
    let (_, ready) = judge(draining, control, false, &shards, &spared);
    answer::value(&ready)
}
