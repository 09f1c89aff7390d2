//! `POST /groups`, and sealing and cancelling a group.

use domain::key_scope::KeyRight;
use serde_json::json;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Operation, OperationBuilder, PathItem};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use wire::group::{CreateGroupRequest, GroupCallbackBody, GroupResponse, SealGroupRequest};

use super::{GroupOperation as _, examples, expect_error};
use crate::docs::load::{DOCUMENTED_RULES, callbacks_to_url, describe_callback};
use crate::docs::responses;
use crate::groups::{checked, errors};

pub(super) fn create() -> Operation {
    let named = |existing| GroupResponse {
        existing: Some(existing),
        ..examples::open()
    };
    let example = json!({
        "name": "invoices-2026-11",
        "metadata": {"month": 11},
        "callback_url": "https://example.com/callbacks/groups",
    });
    let wrong = expect_error(checked::parse_create(
        br#"{"name": "November 2026", "metadata": [], "callback_url": "example.com"}"#,
        &DOCUMENTED_RULES,
    ));
    OperationBuilder::new()
        .operation_id(Some("createGroup"))
        .summary(Some("Create a group of cargo"))
        .description(Some(
            "Loads join a group with `group_id`. The same name again returns the same group, so \
             creating it can be repeated.",
        ))
        .request_body(Some(optional_body::<CreateGroupRequest>(example)))
        .response(
            "201",
            responses::json_response::<GroupResponse>(
                "The group is created.",
                [("Created", responses::to_json(&named(false)))],
            ),
        )
        .response(
            "200",
            responses::json_response::<GroupResponse>(
                "Your project has a group of this name.",
                [("Existing", responses::to_json(&named(true)))],
            ),
        )
        .with_group_errors(KeyRight::Load)
        .with_body_errors(wrong)
        .response(
            "409",
            responses::error_response(
                "Too many groups of your project are not completed.",
                [("Too many groups", errors::too_many_groups())],
            ),
        )
        .callback("completed", callbacks_to_url(completed_callback()))
        .build()
}

fn completed_callback() -> PathItem {
    let description = "Sent once when the group is completed or cancelled. Answer 2xx within 30 \
                       seconds: it is retried as the callbacks of cargo are. `GET \
                       /groups/{group_id}` shows how far it is. If your project signs its \
                       callbacks, verify the signature. Otherwise read the group from the API \
                       before you rely on its counts.";
    let example = [("Completed", responses::to_json(&examples::callback()))];
    let content = responses::json_content::<GroupCallbackBody>(example);
    let summary = "The completion of the group, sent to its callback_url";
    describe_callback(summary, description, content)
}

pub(super) fn seal() -> Operation {
    let wrong = expect_error(checked::parse_seal(br#"{"total": -1}"#));
    OperationBuilder::new()
        .operation_id(Some("sealGroup"))
        .summary(Some("Seal a group: no new cargo is added"))
        .description(Some(
            "A sealed group is completed when all of its cargo are. Sealing again changes nothing.",
        ))
        .request_body(Some(optional_body::<SealGroupRequest>(
            json!({"total": 2000}),
        )))
        .response(
            "200",
            responses::json_response::<GroupResponse>(
                "The group is sealed.",
                [("Sealed", responses::to_json(&examples::sealed()))],
            ),
        )
        .with_group_id(KeyRight::Load)
        .with_body_errors(wrong)
        .response(
            "409",
            responses::error_response(
                "The group has another number of cargo. It was not sealed.",
                [("Another total", errors::total_mismatch(Some(2000), 1999))],
            ),
        )
        .build()
}

pub(super) fn cancel() -> Operation {
    OperationBuilder::new()
        .operation_id(Some("cancelGroup"))
        .summary(Some("Seal a group and cancel its cargo"))
        .description(Some(
            "Cargo that no provider has is cancelled after the answer; `counts` shows the \
             progress. What a provider has is not withdrawn: its outcome is stored, charged and \
             delivered. A completed group stays as it is.",
        ))
        .response(
            "202",
            responses::json_response::<GroupResponse>(
                "The cargo of the group are being cancelled.",
                [("Cancelling", responses::to_json(&examples::cancelling()))],
            ),
        )
        .with_group_id(KeyRight::Load)
        .build()
}

fn optional_body<T: utoipa::ToSchema>(example: serde_json::Value) -> RequestBody {
    RequestBodyBuilder::new()
        .content(
            "application/json",
            responses::json_content::<T>([("All fields", example)]),
        )
        .required(Some(Required::False))
        .build()
}
