//! Routes of a project: keys, settings, cargo and files.

use domain::person::Role::{Developer, Owner, Viewer};

use crate::gate::RequiredAccess;
use crate::page_route::{PageRoute, get_route, post_route};
use crate::project;

pub(super) fn projects() -> Vec<PageRoute> {
    use RequiredAccess::Project;
    vec![
        get_route(
            "/dashboard/project/{project}",
            Project(Viewer),
            project::overview::page,
        ),
        get_route(
            "/dashboard/project/{project}/keys",
            Project(Developer),
            project::keys::page,
        ),
        post_route(
            "/dashboard/project/{project}/keys",
            Project(Developer),
            project::keys::create,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/keys/rotate",
            Project(Developer),
            project::keys::rotate,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/keys/activate",
            Project(Developer),
            project::keys::activate,
        )
        .with_recent_proof(),
        // A leaked key is stopped without a further question.
        post_route(
            "/dashboard/project/{project}/keys/deactivate",
            Project(Developer),
            project::keys::deactivate,
        ),
        get_route(
            "/dashboard/project/{project}/settings",
            Project(Viewer),
            project::settings::page,
        ),
        post_route(
            "/dashboard/project/{project}/settings/activate",
            Project(Owner),
            project::settings::activate,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/deactivate",
            Project(Owner),
            project::settings::deactivate,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/project/{project}/settings/retention",
            Project(Owner),
            project::settings::set_retention,
        )
        .with_recent_proof(),
    ]
}

pub(super) fn cargo() -> Vec<PageRoute> {
    use RequiredAccess::Project;
    use project::cargo;
    vec![
        get_route(
            "/dashboard/project/{project}/cargo",
            Project(Viewer),
            cargo::list::page,
        ),
        get_route(
            "/dashboard/project/{project}/cargo/new",
            Project(Developer),
            cargo::load_form::page,
        ),
        post_route(
            "/dashboard/project/{project}/cargo/new",
            Project(Developer),
            cargo::load_form::load,
        )
        .with_max_form_bytes(cargo::load_form::MAX_FORM_BYTES),
        get_route(
            "/dashboard/project/{project}/cargo/{cargo}",
            Project(Viewer),
            cargo::detail::page,
        ),
        get_route(
            "/dashboard/project/{project}/cargo/{cargo}/input.json",
            Project(Viewer),
            cargo::downloads::input,
        ),
        get_route(
            "/dashboard/project/{project}/cargo/{cargo}/output.json",
            Project(Viewer),
            cargo::downloads::output,
        ),
        post_route(
            "/dashboard/project/{project}/cargo/{cargo}/resend",
            Project(Developer),
            cargo::resend::resend_callback,
        )
        .with_recent_proof(),
        // Unwanted work is stopped without a further question.
        post_route(
            "/dashboard/project/{project}/cargo/{cargo}/cancel",
            Project(Developer),
            cargo::cancel::cancel,
        ),
    ]
}

pub(super) fn files() -> Vec<PageRoute> {
    use RequiredAccess::Project;
    vec![
        get_route(
            "/dashboard/project/{project}/files",
            Project(Viewer),
            project::files::page,
        ),
        get_route(
            "/dashboard/project/{project}/files/{file}",
            Project(Viewer),
            project::files::detail::page,
        ),
        get_route(
            "/dashboard/project/{project}/files/{file}/content",
            Project(Viewer),
            project::files::detail::content,
        ),
        post_route(
            "/dashboard/project/{project}/files/{file}/change",
            Project(Developer),
            project::files::detail::change,
        ),
        post_route(
            "/dashboard/project/{project}/files/{file}/delete",
            Project(Developer),
            project::files::detail::delete,
        ),
        post_route(
            "/dashboard/project/{project}/api/files",
            Project(Developer),
            project::files::api_proxy::create,
        ),
        get_route(
            "/dashboard/project/{project}/api/files/{file}",
            Project(Developer),
            project::files::api_proxy::read_record,
        ),
        post_route(
            "/dashboard/project/{project}/api/files/{file}/parts",
            Project(Developer),
            project::files::api_proxy::parts,
        ),
        post_route(
            "/dashboard/project/{project}/api/files/{file}/complete",
            Project(Developer),
            project::files::api_proxy::complete,
        ),
    ]
}
