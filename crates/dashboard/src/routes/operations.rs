//! Routes of operators.

use crate::gate::RequiredAccess;
use crate::operations;
use crate::page_route::{PageRoute, get_route, post_route};

pub(super) fn operations() -> Vec<PageRoute> {
    use RequiredAccess::Operator;
    vec![
        get_route("/dashboard/operations", Operator, operations::page),
        get_route(
            "/dashboard/operations/pause",
            Operator,
            operations::pause::page,
        ),
        post_route(
            "/dashboard/operations/pause",
            Operator,
            operations::pause::pause,
        ),
        post_route(
            "/dashboard/operations/resume",
            Operator,
            operations::pause::resume,
        ),
        get_route(
            "/dashboard/operations/audit",
            Operator,
            operations::audit_log::page,
        ),
        get_route(
            "/dashboard/operations/people",
            Operator,
            operations::people::page,
        ),
        post_route(
            "/dashboard/operations/people/active",
            Operator,
            operations::people::set_active,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/operations/people/operator",
            Operator,
            operations::people::set_operator,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/operations/people/link",
            Operator,
            operations::people::create_reset_link,
        )
        .with_recent_proof(),
    ]
}
