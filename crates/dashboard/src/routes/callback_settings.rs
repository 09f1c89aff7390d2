//! The routes for how a project's callbacks are sent.

use domain::person::Role::{Developer, Viewer};

use crate::gate::RequiredAccess;
use crate::page_route::{PageRoute, get_route, post_route};
use crate::project::callback_settings;

pub(super) fn routes() -> Vec<PageRoute> {
    use RequiredAccess::Project;
    vec![
        get_route(
            "/dashboard/project/{project}/settings/callbacks",
            Project(Viewer),
            callback_settings::page,
        ),
        post_route(
            "/dashboard/project/{project}/settings/callbacks/enable",
            Project(Developer),
            callback_settings::enable,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/callbacks/disable",
            Project(Developer),
            callback_settings::disable,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/callbacks/rotate",
            Project(Developer),
            callback_settings::rotate,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/callbacks/end-previous",
            Project(Developer),
            callback_settings::end_previous,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/callbacks/secret",
            Project(Developer),
            callback_settings::show_secret,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/callbacks/metadata",
            Project(Developer),
            callback_settings::set_metadata,
        ),
    ]
}
