//! The example bodies of lists, attempts, models and identities.

use domain::features::Features;
use domain::model::{Capability, Model, ModelKind, Prices, SVC_MOCK};
use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::price::Price;
use domain::time::Timestamp;
use wire::cargo_list::{
    CallbackAttemptBody, CallbackAttemptsResponse, CallbackStatusBody, CallbackSummaryBody,
    CargoListResponse, CargoSummaryBody, ResendResponse, ResendStateBody,
};
use wire::model_list::{ModelBody, ModelListResponse};
use wire::timestamp::WireTimestamp;
use wire::tracking::{CargoKindBody, CargoStatusBody, CostBody, raw_json};
use wire::whoami::{
    BalanceBody, CallerLimitsBody, KeyIdentityBody, MonthlyTokensBody, OrganizationIdentityBody,
    ProjectIdentityBody, SpendingCapBody, WhoAmIResponse,
};

use super::examples::cargo_id;

pub(super) fn page() -> CargoListResponse {
    CargoListResponse {
        cargo: vec![summary()],
        next_cursor: Some("AQGbdtqAe3dLgFAAAAAAACo".to_owned()),
        looked_until: None,
    }
}

fn summary() -> CargoSummaryBody {
    let usage = TokenUsage {
        input_tokens: 5,
        output_tokens: 5,
    };
    CargoSummaryBody {
        cargo_id: cargo_id().to_string(),
        status: CargoStatusBody::Delivered,
        model: SVC_MOCK.to_owned(),
        kind: CargoKindBody::Chat,
        attempt: 1,
        created_at: moment("2026-11-15T09:30:00.000000Z"),
        completed_at: Some(moment("2026-11-15T09:31:00.100000Z")),
        success: Some(true),
        error: None,
        error_code: None,
        usage: Some(usage.into()),
        cost: CostBody::in_nano_dollars(Money::ZERO, Some(Money::ZERO), None),
        callback: Some(CallbackSummaryBody {
            host: "example.com:443".to_owned(),
            status: CallbackStatusBody::Delivered,
        }),
        custom_id: None,
        group_id: None,
        metadata: raw_json(br#"{"order":7}"#.to_vec()),
    }
}

pub(super) fn attempts() -> CallbackAttemptsResponse {
    let refused = CallbackAttemptBody {
        number: 1,
        started_at: moment("2026-11-15T09:31:00.120000Z"),
        ended_at: moment("2026-11-15T09:31:00.204000Z"),
        latency_ms: 84,
        status_code: Some(500),
        error: Some("HTTP 500".to_owned()),
        answer: Some("out of memory".to_owned()),
        resend: false,
    };
    let timed_out = CallbackAttemptBody {
        number: 2,
        started_at: moment("2026-11-15T09:31:30.210000Z"),
        ended_at: moment("2026-11-15T09:32:00.210000Z"),
        latency_ms: 30_000,
        status_code: None,
        error: Some("timed out after 30.0 s".to_owned()),
        answer: None,
        resend: false,
    };
    CallbackAttemptsResponse {
        attempts: vec![refused, timed_out],
        next_attempt_at: Some(moment("2026-11-15T09:34:00.210000Z")),
    }
}

pub(super) fn resends() -> [(&'static str, ResendResponse); 2] {
    let resend = |resend| ResendResponse {
        cargo_id: cargo_id().to_string(),
        resend,
    };
    [
        ("One attempt is made now", resend(ResendStateBody::Queued)),
        (
            "The callback is still being tried: the next attempt is made now",
            resend(ResendStateBody::AlreadyDue),
        ),
    ]
}

pub(super) fn models() -> ModelListResponse {
    let chat = Model {
        capabilities: vec![Capability::Vision],
        context: Some(128_000),
        max_output: Some(16_384),
        prices: Some(Prices {
            batch: Price::flat(Money(75_000_000), Money(300_000_000)),
            realtime: Some(Price::flat(Money(150_000_000), Money(600_000_000))),
        }),
        features: Features {
            seed: true,
            ..Features::plain()
        },
        ..Model::plain("your-model", "mock", ModelKind::Chat)
    };
    let vectors = Model::plain("your-embedding-model", "mock", ModelKind::Embedding);
    ModelListResponse {
        models: [&vectors, &chat].map(ModelBody::from).to_vec(),
    }
}

pub(super) fn whoami() -> WhoAmIResponse {
    let resets_at = moment("2026-12-01T00:00:00.000000Z");
    let id = |prefix: &str| cargo_id().to_string().replace("crg_", prefix);
    WhoAmIResponse {
        key: KeyIdentityBody {
            id: id("key_"),
            name: "production server".to_owned(),
            prefix: "svc_sk_ABCDE".to_owned(),
            created_at: moment("2026-11-01T08:00:00.000000Z"),
            expires_at: None,
            rights: vec!["load", "read"],
            models: None,
            addresses: Some(vec!["192.0.2.0/24".to_owned()]),
            spending_cap: Some(SpendingCapBody {
                monthly: 50_000_000_000,
                spent: 1_250_000,
                held: 0,
                resets_at,
                currency: "USD",
                scale: 9,
            }),
        },
        project: ProjectIdentityBody {
            id: id("prj_"),
            slug: "orders".to_owned(),
        },
        organization: OrganizationIdentityBody {
            id: id("org_"),
            name: "Example Ltd".to_owned(),
            plan: "pro",
        },
        limits: CallerLimitsBody {
            burst: 5_000,
            sustained_requests_per_minute: 600,
        },
        tokens: MonthlyTokensBody {
            monthly: Some(1_000_000_000),
            used: 4_200,
            reserved: 0,
            resets_at,
        },
        balance: BalanceBody {
            available: 9_998_750_000,
            held: 0,
            currency: "USD",
            scale: 9,
        },
    }
}

pub(super) fn moment(text: &str) -> WireTimestamp {
    WireTimestamp(text.parse::<Timestamp>().unwrap_or_default())
}
