//! `/dashboard`: on to what somebody most likely wants.

use axum::response::Redirect;

use crate::seat::Seated;

pub(crate) async fn home(Seated(seat): Seated) -> Redirect {
    let slug = seat
        .choices
        .iter()
        .find_map(|choice| choice.slug.as_deref());
    match slug {
        Some(slug) => Redirect::to(&format!("/dashboard/project/{slug}")),
        None => Redirect::to("/dashboard/organizations"),
    }
}
