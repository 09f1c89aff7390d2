//! `POST /cargo/load`, and its callback.

use domain::admission::{LoadRefusal, TokenExcess};
use domain::callback_url::AllowedSchemes;
use domain::file;
use domain::key_scope::{KeyRight, KeyScopeRefusal};
use domain::load_warning::{LoadWarning, WarningCode};
use domain::model::{Capability, ModelKind};
use domain::reason_code::FailureCode;
use serde_json::{Value, json};
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::{
    Callback, HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
    PathItem,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Content, RefOr, Required};

use super::examples;
use super::rate_limit::{self, RateLimitHeaders as _};
use super::responses::{self, AuthenticatedOperation as _};
use crate::api_error::ApiError;
use crate::load_validation::{self, LoadRules};

pub(super) const DOCUMENTED_RULES: LoadRules = LoadRules {
    schemes: AllowedSchemes::HttpsOnly,
    allows_listeners: true,
    max_messages: 1000,
    max_references: 100,
    max_stop_sequences: 16,
};

pub(super) fn operation() -> Operation {
    let body = RequestBodyBuilder::new()
        .content(
            "application/json",
            responses::json_content::<wire::load::LoadRequest>(examples::loads()),
        )
        .required(Some(Required::True))
        .build();
    OperationBuilder::new()
        .tag("Cargo")
        .operation_id(Some("load"))
        .summary(Some("Load a request for batch processing"))
        .description(Some(
            "The response is sent after the cargo is on disk. The model's answer is sent to \
             `callback_url`, and is in the tracking record until it is erased. By default at most \
             10 MB, 1,000 messages, 100 file references and 16 stop sequences; the operator can \
             change these limits. Unknown fields are ignored, and `warnings` names them. Fields \
             of the providers' own APIs that would change the answer, and fields for the model \
             beside `params`, are refused, with the name of the field to use instead.",
        ))
        .parameter(idempotency_key())
        .request_body(Some(body))
        .response("202", accepted_response())
        .response("400", bad_request_response())
        .response("408", slow_body_response())
        .response("404", group_not_found_response())
        .response("409", conflict_response())
        .response("413", too_large_response())
        .response("415", compressed_response())
        .response("422", unprocessable_response())
        .response("429", rate_limit::too_many_requests())
        .with_common_errors(KeyRight::Load)
        .response("403", forbidden_response())
        .callback("result", callbacks_to_url(result_callback()))
        .build()
}

const CALLBACK_EXPRESSION: &str = "{$request.body#/callback_url}";

fn idempotency_key() -> Parameter {
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Makes a load safe to retry. For 24 hours the same key with the same body returns \
             the same `cargo_id`.",
        ))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(255)),
        ))
        .build()
}

fn accepted_response() -> Response {
    let loaded = wire::load::LoadResponse::new(examples::cargo_id(), "Cargo loaded.");
    let warned = loaded.clone().with_warnings(vec![LoadWarning {
        field: "params.stream".to_owned(),
        code: WarningCode::UnknownField,
        message: "The field is ignored: the answer is sent to callback_url when it is complete."
            .to_owned(),
    }]);
    let follow = LinkBuilder::new()
        .operation_id("track")
        .parameter("cargo_id", "$response.body#/cargo_id")
        .description("Track the cargo.")
        .build();
    let replay = "`true` if the key was used before. The cargo is that of the first load.";
    responses::json_response::<wire::load::LoadResponse>(
        "The cargo is loaded.",
        [
            ("Loaded", responses::to_json(&loaded)),
            ("Loaded, with a warning", responses::to_json(&warned)),
        ],
    )
    .header("Idempotent-Replay", responses::text_header(replay))
    .with_rate_limit_headers()
    .link("tracking", follow)
    .build()
}

fn bad_request_response() -> Response {
    let (supported, nearest) = (vec!["svc-mock".to_owned()], Some("svc-mock".to_owned()));
    let problems = [
        (
            "Unknown model",
            LoadRefusal::UnknownModel { supported, nearest }.into(),
        ),
        ("Not JSON", expect_error(b"{\"params\": }")),
        ("Incomplete", ApiError::incomplete_body()),
    ];
    let text = "The body is not JSON or incomplete, or the model is unknown.";
    responses::error_response(text, problems).build()
}

fn slow_body_response() -> Response {
    let problems = [("Too slow", ApiError::slow_body())];
    responses::error_response(responses::SLOW_BODY, problems).build()
}

fn forbidden_response() -> Response {
    let allowed = vec!["svc-mock".to_owned()];
    let model = (
        "The key is restricted to other models",
        KeyScopeRefusal::Model { allowed }.into(),
    );
    let problems = responses::forbidden_errors(KeyRight::Load);
    let problems = problems.into_iter().chain([model]);
    responses::error_response(responses::FORBIDDEN_DESCRIPTION, problems).build()
}

fn group_not_found_response() -> Response {
    let problems = [("Unknown group", ApiError::group_not_found())];
    responses::error_response("There is no such group in your project.", problems).build()
}

fn conflict_response() -> Response {
    let problems = [
        ("Another body", ApiError::idempotency_key_reused()),
        (
            "Another load with this custom_id",
            ApiError::custom_id_reused(),
        ),
        ("Another cargo at this position", ApiError::position_taken()),
        ("The group is sealed", ApiError::group_sealed()),
        ("The group is full", ApiError::group_full()),
    ];
    let text = "The Idempotency-Key was used with another body, or the group does not take the \
                cargo.";
    responses::error_response(text, problems).build()
}

fn too_large_response() -> Response {
    let problems = [("Too large", ApiError::too_large(10 << 20))];
    responses::error_response("The body is too large.", problems).build()
}

fn compressed_response() -> Response {
    let problems = [("Compressed", ApiError::unsupported_content_encoding())];
    responses::error_response("The body has a Content-Encoding.", problems).build()
}

fn unprocessable_response() -> Response {
    let chat = json!({"model": "svc-mock", "messages": [{"role": "user", "content": "Hello"}]});
    let faulty = json!({
        "params": {
            "model": "svc-mock", "max_tokens": 0, "temperature": 2,
            "messages": [{"role": "user", "content": [{"type": "hologram"}]}],
        },
        "callback_url": "ftp://example.com/",
    });
    let vendor = json!({"params": {
        "model": "svc-mock", "max_tokens": 64, "response_format": {"type": "json_object"},
        "messages": [{"role": "user", "content": "Hello"}],
    }});
    let file_id = || "file_019b76da807b774b805000000000002a".to_owned();
    let capability = Capability::Vision;
    let problems = [
        (
            "max_tokens is missing",
            expect_json_error(&json!({ "params": chat })),
        ),
        ("Several errors at once", expect_json_error(&faulty)),
        (
            "A field of a provider's own API",
            expect_json_error(&vendor),
        ),
        (
            "A chat for an embedding model",
            LoadRefusal::KindMismatch {
                model: ModelKind::Embedding,
            }
            .into(),
        ),
        (
            "max_tokens above the model's limit",
            LoadRefusal::TooManyTokens(vec![TokenExcess::Output { most: 16_384 }]).into(),
        ),
        (
            "The model cannot read the file",
            LoadRefusal::CapabilityMissing { capability }.into(),
        ),
        (
            "Unknown file",
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
                block: file::FileKind::Image,
                file: file::FileKind::Document,
            }
            .into(),
        ),
    ];
    responses::error_response("The request is invalid. All errors are listed.", problems).build()
}

fn expect_json_error(body: &Value) -> ApiError {
    expect_error(body.to_string().as_bytes())
}

fn expect_error(body: &[u8]) -> ApiError {
    match load_validation::parse_load(body, &DOCUMENTED_RULES) {
        Err(problem) => problem,
        Ok(_) => ApiError::internal("an example of a refusal was accepted"),
    }
}

/// The headers of a signed callback, and what they hold.
const SIGNATURE_HEADERS: [(&str, &str); 3] = [
    (
        "webhook-id",
        "Only if your project signs its callbacks: the `cargo_id` or the `group_id`, the \
         same for every attempt.",
    ),
    (
        "webhook-timestamp",
        "Only if your project signs its callbacks: when this attempt began, in seconds since \
         1970.",
    ),
    (
        "webhook-signature",
        "Only if your project signs its callbacks: `v1,` and the base64 of the HMAC-SHA256 of \
         `{webhook-id}.{webhook-timestamp}.{body}`. During a rotation there are several, \
         separated by spaces.",
    ),
];

fn signature_header((name, description): (&str, &str)) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

fn result_callback() -> PathItem {
    let parsed = |body: Vec<u8>| serde_json::from_slice(&body).unwrap_or_default();
    let response = serde_json::to_vec(&examples::response()).unwrap_or_default();
    let payloads = [
        (
            "Success",
            parsed(wire::callback::success_body(
                examples::cargo_id(),
                &response,
            )),
        ),
        (
            "Failure",
            parsed(wire::callback::failure_body(
                examples::cargo_id(),
                Some(FailureCode::RequestRejected.as_str()),
                "storm",
            )),
        ),
    ];
    let description = "Answer 2xx within 30 seconds. Otherwise the callback is retried after 30 s, \
                       2 min, 10 min, 30 min and 1 h. After the last retry the status is \
                       `callback_failed`, and the result stays in tracking until it is erased. \
                       Redirects are not followed. If your project signs its callbacks, verify the \
                       signature over the bytes of the body with a Standard Webhooks library. \
                       Otherwise check that the `cargo_id` is one that you received.";
    let content = responses::json_content::<wire::callback::CallbackBody>(payloads);
    let summary = "The result, sent to your callback_url";
    describe_callback(summary, description, content)
}

/// Where the callback of an operation goes: to the `callback_url` of its body.
pub(super) fn callbacks_to_url(callback: PathItem) -> RefOr<Callback> {
    RefOr::T([(CALLBACK_EXPRESSION.to_owned(), RefOr::T(callback))].into())
}

/// A callback, with its headers and its answers.
pub(super) fn describe_callback(summary: &str, description: &str, content: Content) -> PathItem {
    let body = RequestBodyBuilder::new()
        .content("application/json", content)
        .required(Some(Required::True))
        .build();
    let delivered = ResponseBuilder::new().description(
        "The callback is acknowledged, once the body of the response has ended, was cut or has \
         passed 64 KB. Send a short body or none.",
    );
    let failed = ResponseBuilder::new().description(
        "Not delivered. The same holds if the response, with its body, takes longer than 30 \
         seconds. The callback is retried.",
    );
    let operation = OperationBuilder::new()
        .summary(Some(summary))
        .description(Some(description))
        .parameters(Some(SIGNATURE_HEADERS.map(signature_header)))
        .securities(Some([]))
        .request_body(Some(body))
        .response("2XX", delivered)
        .response("default", failed)
        .build();
    PathItem::new(HttpMethod::Post, operation)
}
