//! `/dashboard`: redirects to the first project, or to the list of organizations.

use axum::response::Redirect;

use crate::access::Authenticated;

pub(crate) async fn home(Authenticated(access): Authenticated) -> Redirect {
    let slug = access
        .choices
        .iter()
        .find_map(|choice| choice.slug.as_deref());
    match slug {
        Some(slug) => Redirect::to(&format!("/dashboard/project/{slug}")),
        None => Redirect::to("/dashboard/organizations"),
    }
}
