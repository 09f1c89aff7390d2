//! Whoever asks for a page, and where they sit: an organization, a project, a role.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use domain::api_key::Digest;
use domain::id::{Berth, KeyId, OrganizationId, ProjectId, SessionId};
use domain::organization::Plan;
use domain::person::Role;
use http::HeaderMap;
use http::request::Parts;
use ipnet::IpNet;
use store::Shard;
use store::control::audit::Author;
use store::control::person::Person;
use store::control::seat::{Choice, OwnProject};

use crate::cookie;
use crate::no::No;
use crate::state::{Acting, Desk};

/// What a browser says about itself.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) address: String,
    pub(crate) agent: String,
    pub(crate) theme: &'static str,
}

impl Visitor {
    /// What a proxy of ours adds to the list is the address that it saw; what others write there is not believed.
    pub(crate) fn of(headers: &HeaderMap, peer: Option<IpAddr>, proxies: &[IpNet]) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_ours = |peer: &IpAddr| proxies.iter().any(|range| range.contains(peer));
        let told = text("x-forwarded-for").and_then(|list| list.rsplit(',').next());
        let told = told.and_then(|told| told.trim().parse::<IpAddr>().ok());
        let seen = if peer.as_ref().is_some_and(is_ours) {
            told.or(peer)
        } else {
            peer
        };
        let short = |text: &str| text.chars().take(200).collect::<String>();
        Self {
            address: seen.map_or_else(|| "unknown".to_owned(), |seen| seen.to_string()),
            agent: short(text("user-agent").unwrap_or("unknown")),
            theme: cookie::theme(headers),
        }
    }
}

/// Somebody who is signed in.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) person: Person,
    pub(crate) session: SessionId,
    /// What their forms carry.
    pub(crate) seal: String,
    pub(crate) digest: Digest,
    pub(crate) address: String,
}

impl Guest {
    pub(crate) fn author(&self) -> Author {
        Author {
            person: Some(self.person.id),
            who: self.person.email.clone(),
            address: Some(self.address.clone()),
        }
    }
}

/// Somebody, in a place that the gate let them into.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) guest: Guest,
    pub(crate) place: Option<Place>,
    pub(crate) choices: Vec<Choice>,
}

#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) organization: OrganizationId,
    pub(crate) organization_name: String,
    pub(crate) plan: Plan,
    pub(crate) berth: Berth,
    pub(crate) role: Role,
    pub(crate) shard: Arc<Shard>,
    pub(crate) project: Option<OwnProject>,
}

/// A seat in an organization.
#[derive(Debug, Clone)]
pub(crate) struct InOrganization {
    pub(crate) seat: Arc<Seat>,
    pub(crate) place: Place,
}

/// A seat in a project.
#[derive(Debug, Clone)]
pub(crate) struct InProject {
    pub(crate) seat: Arc<Seat>,
    pub(crate) place: Place,
    pub(crate) project: OwnProject,
}

impl InProject {
    pub(crate) fn id(&self) -> ProjectId {
        self.project.id
    }

    pub(crate) fn shard(&self) -> &Arc<Shard> {
        &self.place.shard
    }

    pub(crate) fn author(&self) -> Author {
        self.seat.guest.author()
    }

    /// In whose name the API is asked for them.
    pub(crate) fn acting(&self) -> Acting {
        Acting {
            organization: self.place.organization,
            project: self.project.id,
            key: KeyId::from_uuid(self.project.id.uuid()),
            plan: self.place.plan,
            berth: self.place.berth,
        }
    }
}

fn seat(parts: &Parts) -> Result<Arc<Seat>, No> {
    parts
        .extensions
        .get::<Arc<Seat>>()
        .cloned()
        .ok_or(No::NotFound)
}

impl FromRequestParts<Desk> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map(|ConnectInfo(peer)| peer.ip());
        Ok(Self::of(&parts.headers, peer, &desk.options.proxies))
    }
}

/// Somebody who is signed in, wherever they are.
#[derive(Debug, Clone)]
pub(crate) struct Seated(pub(crate) Arc<Seat>);

impl FromRequestParts<Desk> for Seated {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, _: &Desk) -> Result<Self, No> {
        seat(parts).map(Self)
    }
}

impl FromRequestParts<Desk> for InOrganization {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, _: &Desk) -> Result<Self, No> {
        let seat = seat(parts)?;
        let place = seat.place.clone().ok_or(No::NotFound)?;
        Ok(Self { seat, place })
    }
}

impl FromRequestParts<Desk> for InProject {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, _: &Desk) -> Result<Self, No> {
        let seat = seat(parts)?;
        let place = seat.place.clone().ok_or(No::NotFound)?;
        let project = place.project.clone().ok_or(No::NotFound)?;
        Ok(Self {
            seat,
            place,
            project,
        })
    }
}
