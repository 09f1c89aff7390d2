//! Who may pass: asked once for every route, before its handler, by what the table of routes says.

use std::sync::Arc;

use axum::extract::FromRequestParts as _;
use axum::extract::{Path, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use domain::person::Role;
use http::{HeaderMap, Method};
use store::control::seat::{self, Place};
use store::control::session;

use crate::cookie;
use crate::form;
use crate::no::No;
use crate::seat::{Guest, Seat, Visitor};
use crate::state::Desk;

/// What a route asks of whoever comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Anybody: to sign in, or to see how a page looks.
    Nobody,
    /// Somebody who is signed in.
    Person,
    /// Somebody who runs the service.
    Operator,
    /// At least this role in the organization that `{organization}` names.
    Organization(Role),
    /// At least this role in the organization of the project that `{project}` names.
    Project(Role),
}

/// How many choices the switcher offers.
const CHOICES: u32 = 200;

pub(crate) async fn enforce(
    State((desk, needs)): State<(Desk, Needs)>,
    request: Request,
    next: Next,
) -> Response {
    match admit(&desk, needs, request).await {
        Ok(request) => next.run(request).await,
        Err(no) => no.into_response(),
    }
}

async fn admit(desk: &Desk, needs: Needs, request: Request) -> Result<Request, No> {
    let changes = *request.method() != Method::GET;
    if changes && !is_from_here(request.headers(), &desk.options.public_url) {
        return Err(No::Forged);
    }
    let (mut parts, body) = request.into_parts();
    let Ok(visitor) = Visitor::from_request_parts(&mut parts, desk).await;
    let guest = guest(desk, &parts.headers, &visitor).await?;
    let seat = if needs == Needs::Nobody {
        None
    } else {
        let next = (!changes).then(|| parts.uri.to_string());
        let guest = guest.clone().ok_or(No::SignIn { next })?;
        let named = Path::<Vec<(String, String)>>::from_request_parts(&mut parts, &()).await;
        let named = named.map(|Path(named)| named).unwrap_or_default();
        Some(take_seat(desk, needs, guest, &named).await?)
    };
    let mut request = Request::from_parts(parts, body);
    if let Some(seat) = seat.as_ref().filter(|_| changes) {
        request = form::unseal(request, &seat.guest.seal).await?;
    }
    if let Some(seat) = seat {
        request.extensions_mut().insert(seat);
    }
    Ok(request)
}

/// A browser says where a request comes from; another page's is refused, whatever it carries.
fn is_from_here(headers: &HeaderMap, public_url: &str) -> bool {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (value("sec-fetch-site"), value("origin"), value("host")) {
        (Some(site), _, _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin), Some(host)) => {
            origin == public_url || origin.split_once("://").is_some_and(|(_, of)| of == host)
        }
        // No browser: then no cookie came along by itself either.
        (None, Some(_), None) | (None, None, _) => value("origin").is_none(),
    }
}

async fn guest(desk: &Desk, headers: &HeaderMap, visitor: &Visitor) -> Result<Option<Guest>, No> {
    let Some(token) = cookie::session(headers, &desk.options) else {
        return Ok(None);
    };
    let found = session::find(&desk.control, token.digest(), desk.clock.now()).await?;
    Ok(found.map(|(session, person)| Guest {
        person,
        session,
        seal: token.seal(),
        digest: token.digest(),
        address: visitor.address.clone(),
    }))
}

async fn take_seat(
    desk: &Desk,
    needs: Needs,
    guest: Guest,
    named: &[(String, String)],
) -> Result<Arc<Seat>, No> {
    let person = guest.person.id;
    let part = |name: &str| {
        let found = named.iter().find(|(part, _)| part == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let (place, least) = match needs {
        Needs::Nobody | Needs::Person => (None, Role::Viewer),
        Needs::Operator if guest.person.is_operator => (None, Role::Viewer),
        Needs::Operator => return Err(No::NotFound),
        Needs::Organization(least) => {
            let id = part("organization").parse().map_err(|_| No::NotFound)?;
            let place = seat::in_organization(&desk.control, person, id).await?;
            (Some(place.ok_or(No::NotFound)?), least)
        }
        Needs::Project(least) => {
            let slug = part("project").parse().map_err(|_| No::NotFound)?;
            let place = seat::in_project(&desk.control, person, &slug).await?;
            (Some(place.ok_or(No::NotFound)?), least)
        }
    };
    let place = place
        .map(|place| enter(desk, &guest, place, least))
        .transpose()?;
    let is_operator = guest.person.is_operator;
    let choices = seat::choices(&desk.control, person, is_operator, CHOICES).await?;
    Ok(Arc::new(Seat {
        guest,
        place,
        choices,
    }))
}

/// Whoever is not a member learns nothing, not even that it exists.
fn enter(desk: &Desk, guest: &Guest, place: Place, least: Role) -> Result<crate::seat::Place, No> {
    let operator = guest.person.is_operator.then_some(Role::Owner);
    let role = operator.or(place.role).ok_or(No::NotFound)?;
    if role < least {
        return Err(No::Forbidden(match least {
            Role::Viewer | Role::Developer => {
                "Your role here is viewer. An owner of the organization can make you a developer."
            }
            Role::Owner => "This is for owners of the organization.",
        }));
    }
    let shard = desk.shard(&place.shard).cloned().ok_or(No::NotFound)?;
    Ok(crate::seat::Place {
        organization: place.organization,
        organization_name: place.organization_name,
        plan: place.plan,
        berth: place.berth,
        project: place.project,
        role,
        shard,
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_our_own_pages_may_change_anything() {
        let ours = "https://dash.example";
        let from = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            is_from_here(&headers, ours)
        };
        assert!(from(&[("sec-fetch-site", "same-origin")]));
        assert!(!from(&[("sec-fetch-site", "same-site")]));
        assert!(!from(&[("sec-fetch-site", "cross-site"), ("origin", ours)]));
        assert!(from(&[
            ("origin", "https://dash.example"),
            ("host", "internal:8080")
        ]));
        assert!(from(&[
            ("origin", "http://127.0.0.1:8080"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(!from(&[
            ("origin", "https://evil.example"),
            ("host", "dash.example")
        ]));
        assert!(!from(&[("origin", "null"), ("host", "dash.example")]));
        assert!(from(&[("host", "dash.example")]));
    }
}
