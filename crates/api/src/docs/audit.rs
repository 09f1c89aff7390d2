//! `GET /audit`.

use domain::api_key::ApiKeyRefusal::{Malformed, Missing, Unknown};
use domain::request_buckets::RequestLimitExceeded;
use domain::time::Timestamp;
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use wire::audit::{AuditOutcome, AuditRecord};
use wire::timestamp::WireTimestamp;

use super::files::query_parameter;
use super::responses::{self, AuthenticatedOperation as _};
use crate::audit::{MAX_AUDIT_PAGE_SIZE, parse_audit_query, too_many_requests};

pub(super) fn operation() -> Operation {
    let whole = |minimum: u32| {
        let number = ObjectBuilder::new().schema_type(Type::Integer);
        number.minimum(Some(minimum))
    };
    let limit = whole(1).maximum(Some(MAX_AUDIT_PAGE_SIZE));
    let limit = limit.default(Some(MAX_AUDIT_PAGE_SIZE.into()));
    let tokens = [
        ("No token", Missing.into()),
        ("Wrong format, such as an API key", Malformed.into()),
        ("Unknown or revoked", Unknown.into()),
    ];
    let wrong = "/audit?after=x&limit=0".parse().unwrap_or_default();
    let wrong = parse_audit_query(&wrong).err();
    let wrong = wrong.map(|wrong| ("Several at once", wrong));
    let too_many = too_many_requests(RequestLimitExceeded {
        retry_after_seconds: 1,
    });
    OperationBuilder::new()
        .tag("Audit")
        .operation_id(Some("listAuditEntries"))
        .summary(Some("The audit log as JSON lines, oldest first"))
        .description(Some(
            "`X-API-Key` holds an audit token, `svc_audit_…`, which an owner creates on the page \
             of the audit log. It reads the log of that organization and nothing else. Repeat \
             the request with the id of the last line as `after`; an empty body means that there \
             are no newer entries yet.",
        ))
        .parameter(query_parameter(
            "after",
            "Only entries after the one with this id. Without it, the log starts at its oldest \
             entry.",
            whole(0).build(),
        ))
        .parameter(query_parameter(
            "limit",
            "The maximum number of entries.",
            limit.build(),
        ))
        .response("200", lines_response())
        .response(
            "401",
            responses::error_response("The audit token is missing or invalid.", tokens),
        )
        .response(
            "422",
            responses::error_response("The query is invalid.", wrong),
        )
        .response(
            "429",
            responses::rate_limited_response(responses::error_response(
                "Too many requests with the tokens of this log. Wait for `Retry-After`.",
                [("Too many requests", too_many)],
            )),
        )
        .with_server_errors()
        .build()
}

fn lines_response() -> Response {
    let example = AuditRecord {
        id: 4711,
        time: WireTimestamp(
            "2026-11-15T09:30:00Z"
                .parse::<Timestamp>()
                .unwrap_or_default(),
        ),
        action: "key.created".to_owned(),
        outcome: AuditOutcome::Success,
        actor: "ada@example.com".to_owned(),
        actor_id: Some("usr_019b76da807b774b805000000000002a".to_owned()),
        target: "production server (svc_sk_ABCDE…)".to_owned(),
        detail: String::new(),
        organization_id: Some("org_019b76da807b774b805000000000002a".to_owned()),
        project_id: Some("prj_019b76da807b774b805000000000002a".to_owned()),
        address: Some("203.0.113.9".to_owned()),
        user_agent: Some("Mozilla/5.0".to_owned()),
    };
    let lines = responses::json_content::<AuditRecord>([("A line", responses::to_json(&example))]);
    ResponseBuilder::new()
        .description("One entry in each line.")
        .content("application/x-ndjson", lines)
        .build()
}
