//! Routes of balance, usage, models, batches and callbacks.

use domain::person::Role::{Developer, Viewer};

use crate::gate::RequiredAccess;
use crate::page_route::{PageRoute, get_route, post_route};
use crate::people;
use crate::project;

pub(super) fn reports() -> Vec<PageRoute> {
    use RequiredAccess::{Organization, Project};
    vec![
        get_route(
            "/dashboard/organization/{organization}/balance",
            Organization(Viewer),
            people::balance::page,
        ),
        get_route(
            "/dashboard/organization/{organization}/balance.csv",
            Organization(Viewer),
            people::balance::download_csv,
        ),
        get_route(
            "/dashboard/project/{project}/usage",
            Project(Viewer),
            project::usage::page,
        ),
        get_route(
            "/dashboard/project/{project}/usage.csv",
            Project(Viewer),
            project::usage::download_csv,
        ),
        get_route(
            "/dashboard/project/{project}/models",
            Project(Viewer),
            project::models::page,
        ),
        get_route(
            "/dashboard/project/{project}/batches",
            Project(Viewer),
            project::batches::list,
        ),
        get_route(
            "/dashboard/project/{project}/batches/{batch}",
            Project(Viewer),
            project::batches::detail,
        ),
        get_route(
            "/dashboard/project/{project}/callbacks",
            Project(Viewer),
            project::callbacks::page,
        ),
        post_route(
            "/dashboard/project/{project}/callbacks/resend",
            Project(Developer),
            project::callbacks::bulk_resend::start,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/callbacks/stop",
            Project(Developer),
            project::callbacks::bulk_resend::stop,
        ),
    ]
}
