//! `GET /groups`, `GET /groups/{group_id}` and `GET /groups/{group_id}/results`.

use domain::cargo_group::GroupStatus;
use domain::key_scope::KeyRight;
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use wire::group::{GroupListResponse, GroupResponse, GroupResultLine};

use super::{GroupOperation as _, examples, expect_error};
use crate::docs::files::query_parameter;
use crate::docs::reading::limit_exceeded;
use crate::docs::responses;
use crate::groups::checked;
use crate::result_stream_limit::too_many_result_streams;

pub(super) fn list() -> Operation {
    let statuses = GroupStatus::ALL.iter().map(|one| one.as_str()).collect();
    let page = GroupListResponse {
        groups: vec![examples::open()],
        next_cursor: Some("AQGbdtqAe3dLgFAAAAAAACo".to_owned()),
    };
    let wrong = "/groups?status=lost&limit=0".parse().unwrap_or_default();
    let wrong = expect_error(checked::parse_list_query(&wrong));
    OperationBuilder::new()
        .operation_id(Some("listGroups"))
        .summary(Some("The groups of your project, newest first"))
        .parameter(query_parameter(
            "name_prefix",
            "Only groups whose name begins with this.",
            text(),
        ))
        .parameter(query_parameter(
            "status",
            "Only groups with this status.",
            words(statuses),
        ))
        .parameter(query_parameter(
            "limit",
            "The maximum number of groups in a page.",
            number(1, Some(200), Some(50)),
        ))
        .parameter(query_parameter(
            "cursor",
            "The `next_cursor` of the previous page. Empty is the first page.",
            text(),
        ))
        .response(
            "200",
            responses::json_response::<GroupListResponse>(
                "A page.",
                [("A page", responses::to_json(&page))],
            ),
        )
        .with_group_errors(KeyRight::Read)
        .response(
            "422",
            responses::error_response("The query is invalid.", [("Several at once", wrong)]),
        )
        .build()
}

pub(super) fn get() -> Operation {
    let wrong = "/groups/x?wait=61".parse().unwrap_or_default();
    let wrong = expect_error(checked::parse_wait(&wrong));
    let wait = "Answer when the group is completed, or after this many seconds.";
    OperationBuilder::new()
        .operation_id(Some("getGroup"))
        .summary(Some("Get the progress of a group"))
        .parameter(wait_parameter(wait))
        .response(
            "200",
            responses::json_response::<GroupResponse>(
                "The record of the group.",
                [("Sealed", responses::to_json(&examples::sealed()))],
            ),
        )
        .with_group_id(KeyRight::Read)
        .response(
            "422",
            responses::error_response("The query is invalid.", [("Too long", wrong)]),
        )
        .build()
}

pub(super) fn results() -> Operation {
    let wrong = "/groups/x/results?order=size&success=maybe"
        .parse()
        .unwrap_or_default();
    let wrong = expect_error(checked::parse_results_query(&wrong));
    let line = [("A line", responses::to_json(&examples::result_line()))];
    let lines = ResponseBuilder::new()
        .description("One result per line. Compressed with zstd or gzip if you accept it.")
        .content(
            "application/x-ndjson",
            responses::json_content::<GroupResultLine>(line),
        );
    let operation = OperationBuilder::new()
        .operation_id(Some("getGroupResults"))
        .summary(Some("Stream the results of a group"))
        .description(Some(
            "Completed cargo as NDJSON. If the download breaks off, continue with `after`: the \
             `position` of the last line, or its `number` with `order=completion`. Only \
             `order=completion` gives every result exactly once while the group is not completed.",
        ));
    let parameters = result_parameters().into_iter();
    parameters
        .fold(operation, OperationBuilder::parameter)
        .response("200", lines)
        .with_group_id(KeyRight::Read)
        .response("429", too_many_streams())
        .response(
            "422",
            responses::error_response("The query is invalid.", [("Several at once", wrong)]),
        )
        .build()
}

/// Instead of the 429 of the other group routes.
fn too_many_streams() -> Response {
    let problems = [
        ("Too many requests", limit_exceeded()),
        (
            "Too many streams at the same time",
            too_many_result_streams(),
        ),
    ];
    let description = "This project sends too many requests, or too many streams of results are \
                       open. Wait for `Retry-After`.";
    responses::rate_limited_response(responses::error_response(description, problems))
}

fn result_parameters() -> [Parameter; 5] {
    let wait = "Only with `order=completion`: keep the response open for this many seconds, or \
                until the group is completed, and send results as they arrive.";
    let params = "Adds the `params` of the load to each line.";
    [
        query_parameter(
            "order",
            "By `position` in the group, or by `completion`.",
            words(vec!["position", "completion"]),
        ),
        query_parameter(
            "after",
            "Only results after this position or number.",
            number(0, None, None),
        ),
        wait_parameter(wait),
        query_parameter(
            "success",
            "Only results of this kind.",
            words(vec!["true", "false"]),
        ),
        query_parameter("include", params, words(vec!["params"])),
    ]
}

fn wait_parameter(description: &str) -> Parameter {
    query_parameter("wait", description, number(0, Some(60), Some(0)))
}

fn text() -> Object {
    ObjectBuilder::new().schema_type(Type::String).build()
}

fn words(words: Vec<&'static str>) -> Object {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.enum_values(Some(words)).build()
}

fn number(minimum: u32, maximum: Option<u32>, default: Option<u32>) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(minimum))
        .maximum(maximum)
        .default(default.map(Into::into))
        .build()
}
