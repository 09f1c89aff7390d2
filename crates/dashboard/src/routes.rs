//! All routes with the access that each requires. The dashboard serves only these.

mod callback_settings;

mod groups;

mod operations;

mod people;

mod project;

mod reports;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;

use crate::gate;
use crate::page_route::PageRoute;
use crate::state::DashboardState;

pub(crate) fn all_routes() -> Vec<PageRoute> {
    let mut table = people::people();
    table.extend(people::proofs());
    table.extend(people::organizations());
    table.extend(project::projects());
    table.extend(callback_settings::routes());
    table.extend(project::cargo());
    table.extend(groups::routes());
    table.extend(reports::reports());
    table.extend(project::files());
    table.extend(operations::operations());
    table
}

pub(crate) fn router(state: &DashboardState) -> Router<DashboardState> {
    let mut router = Router::new();
    for route in all_routes() {
        let needs = (route.required_access, route.needs_recent_proof);
        let gate = middleware::from_fn_with_state((state.clone(), needs), gate::enforce);
        // The gate reads forms too, so the limit comes first.
        let limit = DefaultBodyLimit::max(route.max_form_bytes);
        router = router.route(route.path, route.handler.layer((limit, gate)));
    }
    router
}
