//! The routes of a project's groups.

use domain::person::Role::{Developer, Viewer};

use crate::gate::RequiredAccess;
use crate::page_route::{PageRoute, get_route, post_route};
use crate::project::groups;

pub(super) fn routes() -> Vec<PageRoute> {
    use RequiredAccess::Project;
    vec![
        get_route(
            "/dashboard/project/{project}/groups",
            Project(Viewer),
            groups::page,
        ),
        get_route(
            "/dashboard/project/{project}/groups/{group}",
            Project(Viewer),
            groups::detail::page,
        ),
        get_route(
            "/dashboard/project/{project}/groups/{group}/results.jsonl",
            Project(Viewer),
            groups::results::download,
        ),
        // Unwanted work is stopped without a further question.
        post_route(
            "/dashboard/project/{project}/groups/{group}/cancel",
            Project(Developer),
            groups::cancel::cancel,
        ),
    ]
}
