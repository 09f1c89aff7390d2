//! `GET /models` and `GET /whoami`.

use domain::key_scope::KeyRight;
use utoipa::openapi::path::{Operation, OperationBuilder};
use wire::model_list::ModelListResponse;
use wire::whoami::WhoAmIResponse;

use super::reading::too_many_requests;
use super::reading_examples as examples;
use super::responses::{self, AuthenticatedOperation as _};

pub(super) fn models() -> Operation {
    let list = [("Two models", responses::to_json(&examples::models()))];
    OperationBuilder::new()
        .tag("Account")
        .operation_id(Some("listModels"))
        .summary(Some("The models that your key may load"))
        .description(Some(
            "With what each can read and do, its limits and its price. A load that asks for more \
             is refused.",
        ))
        .response(
            "200",
            responses::json_response::<ModelListResponse>("The models, sorted by id.", list),
        )
        .response("429", responses::rate_limited_response(too_many_requests()))
        .with_common_errors(KeyRight::Read)
        .build()
}

pub(super) fn whoami() -> Operation {
    let identity = [(
        "A key with a spending cap",
        responses::to_json(&examples::whoami()),
    )];
    OperationBuilder::new()
        .tag("Account")
        .operation_id(Some("whoami"))
        .summary(Some(
            "The key of this request, its project, plan and balance",
        ))
        .description(Some(
            "For checking a key before work begins. It can be called 60 times per minute and \
             project.",
        ))
        .response(
            "200",
            responses::json_response::<WhoAmIResponse>("The identity of the request.", identity),
        )
        .response("429", responses::rate_limited_response(too_many_requests()))
        .with_common_errors(KeyRight::Read)
        .build()
}
