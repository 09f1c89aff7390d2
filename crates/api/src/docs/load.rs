//! `POST /cargo/load`, and the callback that follows it.

use domain::admission::{Excess, LoadRefusal};
use domain::callback::Schemes;
use domain::file;
use domain::model::{Capability, Kind};
use serde_json::{Value, json};
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Required};

use super::answer::{self, Guarded as _};
use super::examples;
use super::limit::{self, Limited as _};
use crate::check::{self, Rules};
use crate::problem::Problem;

pub(super) const DOCUMENTED: Rules = Rules {
    schemes: Schemes::HttpsOnly,
    max_messages: 1000,
    max_references: 100,
    max_stop_sequences: 16,
};

pub(super) fn operation() -> Operation {
    let body = RequestBodyBuilder::new()
        .content(
            "application/json",
            answer::json::<wire::load::LoadRequest>(examples::loads()),
        )
        .required(Some(Required::True))
        .build();
    OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("load"))
        .summary(Some("Load a request to be processed in a batch"))
        .description(Some(
            "Answered once the cargo is on disk. The model's answer is sent to `callback_url`, \
             and is in the tracking record either way. At most 10 MB, 1,000 messages, 100 file \
             references and 16 stop sequences. Unknown fields are ignored.",
        ))
        .parameter(idempotency_key())
        .request_body(Some(body))
        .response("202", accepted())
        .response("400", bad_request())
        .response("409", reused())
        .response("413", too_large())
        .response("422", unprocessable())
        .response("429", limit::too_many())
        .guarded()
        .callback(
            "result",
            RefOr::T([(TO.to_owned(), RefOr::T(callback()))].into()),
        )
        .build()
}

const TO: &str = "{$request.body#/callback_url}";

fn idempotency_key() -> Parameter {
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Your own name for this load, to make it safe to repeat. For 24 hours the same key \
             with the same body gives the same `cargo_id`.",
        ))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(255)),
        ))
        .build()
}

fn accepted() -> Response {
    let loaded = wire::load::Loaded::new(examples::cargo(), "Cargo loaded.");
    let follow = LinkBuilder::new()
        .operation_id("track")
        .parameter("cargo_id", "$response.body#/cargo_id")
        .description("Follow it.")
        .build();
    let replay = "`true` when the Idempotency-Key was known: this is the cargo of the first load.";
    answer::with::<wire::load::Loaded>("Loaded.", [("Loaded", answer::value(&loaded))])
        .header("Idempotent-Replay", answer::text_header(replay))
        .limited()
        .link("tracking", follow)
        .build()
}

fn bad_request() -> Response {
    let (supported, nearest) = (vec!["svc-mock".to_owned()], Some("svc-mock".to_owned()));
    let problems = [
        (
            "No such model",
            LoadRefusal::UnknownModel { supported, nearest }.into(),
        ),
        ("Not JSON", refused(b"{\"params\": }")),
    ];
    answer::refusal(
        "The body is not JSON, or names no model that there is.",
        problems,
    )
    .build()
}

fn reused() -> Response {
    let problems = [("Another body", Problem::idempotency_key_reused())];
    answer::refusal("The Idempotency-Key belongs to another body.", problems).build()
}

fn too_large() -> Response {
    let problems = [("Too large", Problem::too_large(10 << 20))];
    answer::refusal("The body is too large.", problems).build()
}

fn unprocessable() -> Response {
    let chat = json!({"model": "svc-mock", "messages": [{"role": "user", "content": "Hello"}]});
    let faulty = json!({
        "params": {
            "model": "svc-mock", "max_tokens": 0, "temperature": 2,
            "messages": [{"role": "user", "content": [{"type": "hologram"}]}],
        },
        "callback_url": "ftp://example.com/",
    });
    let file_id = || "file_019b76da807b774b805000000000002a".to_owned();
    let capability = Capability::Vision;
    let problems = [
        (
            "max_tokens is missing",
            refused_json(&json!({ "params": chat })),
        ),
        ("Several faults at once", refused_json(&faulty)),
        (
            "A chat for an embedding model",
            LoadRefusal::KindMismatch {
                model: Kind::Embedding,
            }
            .into(),
        ),
        (
            "More than the model answers with",
            LoadRefusal::TooMuch(vec![Excess::Output { most: 16_384 }]).into(),
        ),
        (
            "The model cannot read the file",
            LoadRefusal::CapabilityMissing { capability }.into(),
        ),
        (
            "No such file in the project",
            LoadRefusal::FileNotFound { file_id: file_id() }.into(),
        ),
        (
            "The file is not ready",
            LoadRefusal::FileNotReady { file_id: file_id() }.into(),
        ),
        (
            "A document in a block for images",
            LoadRefusal::FileKindMismatch {
                file_id: file_id(),
                block: file::Kind::Image,
                file: file::Kind::Document,
            }
            .into(),
        ),
    ];
    answer::refusal(
        "The request cannot stand; everything that is wrong with it is listed.",
        problems,
    )
    .build()
}

fn refused_json(body: &Value) -> Problem {
    refused(body.to_string().as_bytes())
}

fn refused(body: &[u8]) -> Problem {
    match check::check(body, &DOCUMENTED) {
        Err(problem) => problem,
        Ok(_) => Problem::internal("an example of a refusal was accepted"),
    }
}

fn callback() -> PathItem {
    let parsed = |body: Vec<u8>| serde_json::from_slice(&body).unwrap_or_default();
    let response = serde_json::to_vec(&examples::response()).unwrap_or_default();
    let payloads = [
        (
            "Success",
            parsed(wire::callback::success(examples::cargo(), &response)),
        ),
        (
            "Failure",
            parsed(wire::callback::failure(examples::cargo(), "storm")),
        ),
    ];
    let body = RequestBodyBuilder::new()
        .content(
            "application/json",
            answer::json::<wire::callback::Payload>(payloads),
        )
        .required(Some(Required::True))
        .build();
    let delivered = ResponseBuilder::new().description("Delivered. The body is not read.");
    let failed = ResponseBuilder::new()
        .description("Not delivered, as is silence for 30 seconds: the next attempt follows.");
    let operation = OperationBuilder::new()
        .summary(Some("The result, sent by us to your callback_url"))
        .description(Some(
            "Answer 2xx within 30 seconds. Otherwise it is repeated after 30 s, 2 min, 10 min, \
             30 min and 1 h; then the cargo is `callback_failed`, and its result stays in \
             tracking. Redirects are not followed. It is not signed: check that the `cargo_id` \
             is one that you were given.",
        ))
        .securities(Some([]))
        .request_body(Some(body))
        .response("2XX", delivered)
        .response("default", failed)
        .build();
    PathItem::new(HttpMethod::Post, operation)
}
