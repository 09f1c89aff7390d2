//! Every route, and what it asks of whoever comes. Nothing is served that is not in this table.

use axum::Router;
use axum::handler::Handler;
use axum::middleware;
use axum::routing::{MethodRouter, get, post};
use domain::person::Role::{Developer, Owner, Viewer};
use http::Method;

use crate::assets;
use crate::gate::{self, Needs};
use crate::live;
use crate::operations;
use crate::people;
use crate::project;
use crate::state::Desk;

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) needs: Needs,
    handler: MethodRouter<Desk>,
}

/// A page.
fn see<H: Handler<T, Desk>, T: 'static>(path: &'static str, needs: Needs, handler: H) -> Route {
    Route {
        method: Method::GET,
        path,
        needs,
        handler: get(handler),
    }
}

/// Something that changes something.
fn act<H: Handler<T, Desk>, T: 'static>(path: &'static str, needs: Needs, handler: H) -> Route {
    Route {
        method: Method::POST,
        path,
        needs,
        handler: post(handler),
    }
}

pub(crate) fn table() -> Vec<Route> {
    let mut table = people();
    table.extend(organizations());
    table.extend(projects());
    table.extend(cargo());
    table.extend(numbers());
    table.extend(files());
    table.extend(operations());
    table
}

fn people() -> Vec<Route> {
    use Needs::{Nobody, Person};
    vec![
        see("/dashboard", Person, people::home::home),
        see("/dashboard/assets/{name}", Nobody, assets::asset),
        see("/dashboard/live", Person, live::live),
        see("/dashboard/setup", Nobody, people::setup::page),
        act("/dashboard/setup", Nobody, people::setup::set_up),
        see("/dashboard/sign-in", Nobody, people::sign_in::page),
        act("/dashboard/sign-in", Nobody, people::sign_in::sign_in),
        act("/dashboard/sign-out", Person, people::sign_in::sign_out),
        see("/dashboard/invitation", Nobody, people::invitation::page),
        act("/dashboard/invitation", Nobody, people::invitation::join),
        see("/dashboard/reset", Nobody, people::reset::page),
        act("/dashboard/reset", Nobody, people::reset::reset),
        see("/dashboard/elsewhere", Nobody, people::elsewhere::start),
        see("/dashboard/elsewhere/back", Nobody, people::elsewhere::back),
        see("/dashboard/account", Person, people::account::page),
        act(
            "/dashboard/account/password",
            Person,
            people::account::password,
        ),
        act(
            "/dashboard/account/sessions/end",
            Person,
            people::account::end,
        ),
    ]
}

fn organizations() -> Vec<Route> {
    use Needs::{Operator, Organization};
    vec![
        act(
            "/dashboard/organizations",
            Operator,
            people::organizations::create,
        ),
        see(
            "/dashboard/organizations",
            Needs::Person,
            people::organizations::list,
        ),
        see(
            "/dashboard/organization/{organization}",
            Organization(Viewer),
            people::organizations::page,
        ),
        act(
            "/dashboard/organization/{organization}/projects",
            Organization(Owner),
            people::organizations::create_project,
        ),
        see(
            "/dashboard/organization/{organization}/members",
            Organization(Viewer),
            people::members::page,
        ),
        act(
            "/dashboard/organization/{organization}/members/invite",
            Organization(Owner),
            people::members::invite,
        ),
        act(
            "/dashboard/organization/{organization}/members/withdraw",
            Organization(Owner),
            people::members::withdraw,
        ),
        act(
            "/dashboard/organization/{organization}/members/change",
            Organization(Owner),
            people::members::change,
        ),
        see(
            "/dashboard/organization/{organization}/audit",
            Organization(Owner),
            people::audit::page,
        ),
    ]
}

fn projects() -> Vec<Route> {
    use Needs::Project;
    vec![
        see(
            "/dashboard/project/{project}",
            Project(Viewer),
            project::overview::page,
        ),
        see(
            "/dashboard/project/{project}/keys",
            Project(Developer),
            project::keys::page,
        ),
        act(
            "/dashboard/project/{project}/keys",
            Project(Developer),
            project::keys::create,
        ),
        act(
            "/dashboard/project/{project}/keys/rotate",
            Project(Developer),
            project::keys::rotate,
        ),
        act(
            "/dashboard/project/{project}/keys/activate",
            Project(Developer),
            project::keys::activate,
        ),
        act(
            "/dashboard/project/{project}/keys/deactivate",
            Project(Developer),
            project::keys::deactivate,
        ),
        see(
            "/dashboard/project/{project}/settings",
            Project(Viewer),
            project::settings::page,
        ),
        act(
            "/dashboard/project/{project}/settings/activate",
            Project(Owner),
            project::settings::activate,
        ),
        act(
            "/dashboard/project/{project}/settings/deactivate",
            Project(Owner),
            project::settings::deactivate,
        ),
    ]
}

fn cargo() -> Vec<Route> {
    use Needs::Project;
    use project::cargo;
    vec![
        see(
            "/dashboard/project/{project}/cargo",
            Project(Viewer),
            cargo::list::page,
        ),
        see(
            "/dashboard/project/{project}/cargo/new",
            Project(Developer),
            cargo::new::page,
        ),
        act(
            "/dashboard/project/{project}/cargo/new",
            Project(Developer),
            cargo::new::load,
        ),
        see(
            "/dashboard/project/{project}/cargo/{cargo}",
            Project(Viewer),
            cargo::one::page,
        ),
        see(
            "/dashboard/project/{project}/cargo/{cargo}/input.json",
            Project(Viewer),
            cargo::raw::input,
        ),
        see(
            "/dashboard/project/{project}/cargo/{cargo}/output.json",
            Project(Viewer),
            cargo::raw::output,
        ),
        act(
            "/dashboard/project/{project}/cargo/{cargo}/resend",
            Project(Developer),
            cargo::resend::one,
        ),
    ]
}

/// What was used, spent and done.
fn numbers() -> Vec<Route> {
    use Needs::{Organization, Project};
    vec![
        see(
            "/dashboard/organization/{organization}/balance",
            Organization(Viewer),
            people::balance::page,
        ),
        see(
            "/dashboard/organization/{organization}/balance.csv",
            Organization(Viewer),
            people::balance::table,
        ),
        see(
            "/dashboard/project/{project}/usage",
            Project(Viewer),
            project::usage::page,
        ),
        see(
            "/dashboard/project/{project}/usage.csv",
            Project(Viewer),
            project::usage::table,
        ),
        see(
            "/dashboard/project/{project}/models",
            Project(Viewer),
            project::models::page,
        ),
        see(
            "/dashboard/project/{project}/batches",
            Project(Viewer),
            project::batches::list,
        ),
        see(
            "/dashboard/project/{project}/batches/{batch}",
            Project(Viewer),
            project::batches::one,
        ),
        see(
            "/dashboard/project/{project}/callbacks",
            Project(Viewer),
            project::callbacks::page,
        ),
        act(
            "/dashboard/project/{project}/callbacks/resend",
            Project(Developer),
            project::callbacks::again::start,
        ),
        act(
            "/dashboard/project/{project}/callbacks/stop",
            Project(Developer),
            project::callbacks::again::stop,
        ),
    ]
}

fn files() -> Vec<Route> {
    use Needs::Project;
    vec![
        see(
            "/dashboard/project/{project}/files",
            Project(Viewer),
            project::files::page,
        ),
        see(
            "/dashboard/project/{project}/files/{file}",
            Project(Viewer),
            project::files::one::page,
        ),
        see(
            "/dashboard/project/{project}/files/{file}/content",
            Project(Viewer),
            project::files::one::content,
        ),
        act(
            "/dashboard/project/{project}/files/{file}/change",
            Project(Developer),
            project::files::one::change,
        ),
        act(
            "/dashboard/project/{project}/files/{file}/delete",
            Project(Developer),
            project::files::one::delete,
        ),
        act(
            "/dashboard/project/{project}/api/files",
            Project(Developer),
            project::files::proxy::create,
        ),
        see(
            "/dashboard/project/{project}/api/files/{file}",
            Project(Developer),
            project::files::proxy::record,
        ),
        act(
            "/dashboard/project/{project}/api/files/{file}/parts",
            Project(Developer),
            project::files::proxy::parts,
        ),
        act(
            "/dashboard/project/{project}/api/files/{file}/complete",
            Project(Developer),
            project::files::proxy::complete,
        ),
    ]
}

fn operations() -> Vec<Route> {
    use Needs::Operator;
    vec![
        see("/dashboard/operations", Operator, operations::page),
        see(
            "/dashboard/operations/pause",
            Operator,
            operations::pause::page,
        ),
        act(
            "/dashboard/operations/pause",
            Operator,
            operations::pause::pause,
        ),
        act(
            "/dashboard/operations/resume",
            Operator,
            operations::pause::resume,
        ),
        see(
            "/dashboard/operations/audit",
            Operator,
            operations::audit::page,
        ),
        see(
            "/dashboard/operations/people",
            Operator,
            operations::people::page,
        ),
        act(
            "/dashboard/operations/people/active",
            Operator,
            operations::people::set_active,
        ),
        act(
            "/dashboard/operations/people/operator",
            Operator,
            operations::people::set_operator,
        ),
        act(
            "/dashboard/operations/people/link",
            Operator,
            operations::people::link,
        ),
    ]
}

pub(crate) fn router(desk: &Desk) -> Router<Desk> {
    let mut router = Router::new();
    for route in table() {
        let gate = middleware::from_fn_with_state((desk.clone(), route.needs), gate::enforce);
        router = router.route(route.path, route.handler.layer(gate));
    }
    router
}
