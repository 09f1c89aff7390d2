//! All routes with the access that each requires. The dashboard serves only these.

use axum::Router;
use axum::handler::Handler;
use axum::middleware;
use axum::routing::{MethodRouter, get, post};
use domain::person::Role::{Developer, Owner, Viewer};
use http::Method;

use crate::assets;
use crate::gate::{self, RequiredAccess};
use crate::live;
use crate::operations;
use crate::people;
use crate::project;
use crate::state::DashboardState;

#[derive(Debug)]
pub(crate) struct PageRoute {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) required_access: RequiredAccess,
    handler: MethodRouter<DashboardState>,
}

/// A page or a download.
fn get_route<H: Handler<T, DashboardState>, T: 'static>(
    path: &'static str,
    needs: RequiredAccess,
    handler: H,
) -> PageRoute {
    PageRoute {
        method: Method::GET,
        path,
        required_access: needs,
        handler: get(handler),
    }
}

/// A form or script request that changes data.
fn post_route<H: Handler<T, DashboardState>, T: 'static>(
    path: &'static str,
    needs: RequiredAccess,
    handler: H,
) -> PageRoute {
    PageRoute {
        method: Method::POST,
        path,
        required_access: needs,
        handler: post(handler),
    }
}

pub(crate) fn all_routes() -> Vec<PageRoute> {
    let mut table = people();
    table.extend(organizations());
    table.extend(projects());
    table.extend(cargo());
    table.extend(reports());
    table.extend(files());
    table.extend(operations());
    table
}

fn people() -> Vec<PageRoute> {
    use RequiredAccess::{AnyUser, Public};
    use people::{account, home, invitation, oidc, password_reset, setup, sign_in};
    vec![
        get_route("/dashboard", AnyUser, home::home),
        get_route("/dashboard/assets/{name}", Public, assets::asset),
        get_route("/dashboard/live", AnyUser, live::stream_page),
        get_route("/dashboard/setup", Public, setup::page),
        post_route("/dashboard/setup", Public, setup::set_up),
        get_route("/dashboard/sign-in", Public, sign_in::page),
        post_route("/dashboard/sign-in", Public, sign_in::sign_in),
        post_route("/dashboard/sign-out", AnyUser, sign_in::sign_out),
        get_route("/dashboard/invitation", Public, invitation::page),
        post_route("/dashboard/invitation", Public, invitation::create_account),
        post_route("/dashboard/invitation/join", AnyUser, invitation::join),
        get_route("/dashboard/reset", Public, password_reset::page),
        post_route("/dashboard/reset", Public, password_reset::reset_password),
        get_route("/dashboard/oidc", Public, oidc::start_login),
        get_route(oidc::CALLBACK_PATH, Public, oidc::callback),
        get_route(oidc::OLD_CALLBACK_PATH, Public, oidc::callback),
        get_route("/dashboard/account", AnyUser, account::page),
        post_route(
            "/dashboard/account/password",
            AnyUser,
            account::change_password,
        ),
        post_route(
            "/dashboard/account/sessions/end",
            AnyUser,
            account::end_sessions,
        ),
    ]
}

fn organizations() -> Vec<PageRoute> {
    use RequiredAccess::{AnyUser, Operator, Organization};
    use people::{audit_log, members, organizations};
    vec![
        post_route("/dashboard/organizations", Operator, organizations::create),
        get_route("/dashboard/organizations", AnyUser, organizations::list),
        get_route(
            "/dashboard/organization/{organization}",
            Organization(Viewer),
            organizations::page,
        ),
        post_route(
            "/dashboard/organization/{organization}/projects",
            Organization(Owner),
            organizations::create_project,
        ),
        get_route(
            "/dashboard/organization/{organization}/members",
            Organization(Viewer),
            members::page,
        ),
        post_route(
            "/dashboard/organization/{organization}/members/invite",
            Organization(Owner),
            members::invite,
        ),
        post_route(
            "/dashboard/organization/{organization}/members/withdraw",
            Organization(Owner),
            members::revoke_invitation,
        ),
        post_route(
            "/dashboard/organization/{organization}/members/change",
            Organization(Owner),
            members::change_role,
        ),
        get_route(
            "/dashboard/organization/{organization}/audit",
            Organization(Owner),
            audit_log::page,
        ),
    ]
}

fn projects() -> Vec<PageRoute> {
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
        ),
        post_route(
            "/dashboard/project/{project}/keys/rotate",
            Project(Developer),
            project::keys::rotate,
        ),
        post_route(
            "/dashboard/project/{project}/keys/activate",
            Project(Developer),
            project::keys::activate,
        ),
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
        ),
        post_route(
            "/dashboard/project/{project}/settings/deactivate",
            Project(Owner),
            project::settings::deactivate,
        ),
    ]
}

fn cargo() -> Vec<PageRoute> {
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
        ),
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
        ),
    ]
}

/// Balance, usage, models, batches and callbacks.
fn reports() -> Vec<PageRoute> {
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
        ),
        post_route(
            "/dashboard/project/{project}/callbacks/stop",
            Project(Developer),
            project::callbacks::bulk_resend::stop,
        ),
    ]
}

fn files() -> Vec<PageRoute> {
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

fn operations() -> Vec<PageRoute> {
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
        ),
        post_route(
            "/dashboard/operations/people/operator",
            Operator,
            operations::people::set_operator,
        ),
        post_route(
            "/dashboard/operations/people/link",
            Operator,
            operations::people::create_reset_link,
        ),
    ]
}

pub(crate) fn router(state: &DashboardState) -> Router<DashboardState> {
    let mut router = Router::new();
    for route in all_routes() {
        let gate =
            middleware::from_fn_with_state((state.clone(), route.required_access), gate::enforce);
        router = router.route(route.path, route.handler.layer(gate));
    }
    router
}
