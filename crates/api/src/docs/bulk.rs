//! `POST /cargo/bulk`.

use domain::key_scope::KeyRight;
use domain::organization::Plan;
use domain::plan_limits::LimitsByPlan;
use domain::token_bucket::BucketLevel;
use serde_json::json;
use utoipa::openapi::Required;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use wire::bulk::{AcceptedItem, BulkItemResult, BulkLoadRequest, BulkLoadResponse, RefusedItem};

use super::rate_limit::RateLimitHeaders as _;
use super::responses::{self, AuthenticatedOperation as _};
use super::{examples, load_bodies};
use crate::rate_limit::{BackstopExceeded, BucketStatus, RateLimitExceeded};

const DESCRIPTION: &str = "Up to 1,000 loads and 10 MB, as a JSON object or as NDJSON with `Content-Type: \
     application/x-ndjson`. The answer is 200 whenever the body can be split into items: then each \
     item is on disk or refused, and its result has the `status` and `detail` that \
     `POST /cargo/load` would have answered. Each item takes one token of the plan's rate limit; \
     if there are too few, the first items get them. The backstop counts one request per 100 \
     items. Repeating a request is safe if its items have an `idempotency_key` or a `custom_id` in \
     a group, or if the request has an `Idempotency-Key`.";

pub(super) fn operation() -> Operation {
    let operation = OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("loadBulk"))
        .summary(Some("Load many requests at once"))
        .description(Some(DESCRIPTION))
        .parameter(idempotency_key())
        .request_body(Some(request_body()))
        .response("200", results_response())
        .response(
            "429",
            responses::error_response(
                "The platform backstop is reached. Nothing was loaded. Back off exponentially.",
                [("The backstop", BackstopExceeded.into())],
            ),
        );
    let fault = "missing field `cargo` at line 1 column 2";
    load_bodies::with_body_errors(operation, "Neither the object nor NDJSON", fault)
        .with_common_errors(KeyRight::Load)
        .build()
}

fn idempotency_key() -> Parameter {
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Makes the request safe to retry. An item without an `idempotency_key` gets the key \
             `KEY#index`.",
        ))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(251)),
        ))
        .build()
}

fn request_body() -> RequestBody {
    let item = |text: &str| {
        json!({
            "params": {
                "model": "svc-mock", "max_tokens": 64,
                "messages": [{"role": "user", "content": text}],
            },
            "idempotency_key": text,
        })
    };
    let object = json!({"cargo": [item("order-7"), item("order-8")]});
    let json = responses::json_content::<BulkLoadRequest>([("Two loads", object)]);
    load_bodies::request_body(json, item("order-7"))
}

fn results_response() -> Response {
    let empty = RateLimitExceeded(BucketStatus {
        rate: LimitsByPlan::default().free.rate,
        level: BucketLevel(0),
        weight: 1,
    });
    let empty = empty.into_api_error(Plan::Free, "https://longshore.example/plans");
    let refused = RefusedItem {
        index: 1,
        status: empty.status().as_u16(),
        retry_after_seconds: empty.retry_after_seconds(),
        detail: empty.into_body().detail,
    };
    let accepted = AcceptedItem::new(0, examples::cargo_id(), false, Vec::new());
    let response = BulkLoadResponse::new(vec![
        BulkItemResult::Accepted(accepted),
        BulkItemResult::Refused(refused),
    ]);
    responses::json_response::<BulkLoadResponse>(
        "A result for each item, in the order of the request.",
        [(
            "One is loaded, one exceeds the rate limit",
            responses::to_json(&response),
        )],
    )
    .with_rate_limit_headers()
    .build()
}
