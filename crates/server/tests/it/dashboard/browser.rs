//! A browser without a screen: it keeps its cookie, and sends forms as its pages made them.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use dashboard::{Acting, Api, Desk, House, Options, Parts};
use domain::id::{Berth, OrganizationId, PersonId, SessionId};
use domain::limit::Limits;
use domain::organization::Plan;
use domain::person::Role;
use domain::token::Token;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http_body_util::BodyExt as _;
use store::Shard;
use store::control::audit::Author;
use store::control::person::{self, NewPerson};
use store::control::session::{self, NewSession};
use store::control::{member, project};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::support::{Customer, Service};

pub(crate) const PUBLIC: &str = "https://dash.example";

/// The API, asked as the server asks it.
#[derive(Debug)]
struct Inside(Router);

#[async_trait::async_trait]
impl Api for Inside {
    async fn ask(&self, by: Acting, mut request: Request) -> Response {
        let caller =
            api::caller::Caller::acting(by.organization, by.project, by.key, by.plan, by.berth);
        request.extensions_mut().insert(caller);
        self.0.clone().oneshot(request).await.unwrap()
    }
}

pub(crate) fn pages(service: &Service, house: Option<Arc<dyn House>>) -> Router {
    let shards = vec![service.north.clone(), service.south.clone()];
    pages_on(service, shards, house)
}

fn pages_on(service: &Service, shards: Vec<Arc<Shard>>, house: Option<Arc<dyn House>>) -> Router {
    dashboard::router(&Desk::new(Parts {
        control: service.control.clone(),
        shards,
        catalogue: service.catalogue.subscribe(),
        limits: watch::channel(Limits::default()).1,
        clock: service.clock.clone(),
        api: Arc::new(Inside(service.router.clone())),
        house,
        stop: CancellationToken::new(),
        options: Options {
            public_url: PUBLIC.to_owned(),
            store_origin: Some("https://store.example".to_owned()),
            proxies: Vec::new(),
            first_plan: Plan::Pro,
            linger: chrono::TimeDelta::zero(),
        },
    }))
}

#[derive(Debug)]
pub(crate) struct Browser {
    pages: Router,
    pub(crate) token: Option<Token>,
    elsewhere: String,
}

/// A page, or where it sends us.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) to: String,
    pub(crate) html: String,
    pub(crate) headers: http::HeaderMap,
}

impl Browser {
    pub(crate) fn new(service: &Service) -> Self {
        Self {
            pages: pages(service, None),
            token: None,
            elsewhere: String::new(),
        }
    }

    /// One who can sign in at another house.
    pub(crate) fn with_house(service: &Service, house: Arc<dyn House>) -> Self {
        Self {
            pages: pages(service, Some(house)),
            ..Self::new(service)
        }
    }

    /// The same somebody, whose pages read from these shards.
    pub(crate) fn on(self, service: &Service, shards: Vec<Arc<Shard>>) -> Self {
        Self {
            pages: pages_on(service, shards, None),
            ..self
        }
    }

    /// Somebody with this role in the customer's organization, signed in.
    pub(crate) async fn of(service: &Service, customer: &Customer, role: Role) -> Self {
        let person = somebody(service, false).await;
        let by = Author::console();
        member::add(
            &service.control,
            customer.organization,
            person,
            role,
            &by,
            service.now(),
        )
        .await
        .unwrap();
        Self::signed_in(service, person).await
    }

    pub(crate) async fn operator(service: &Service) -> Self {
        let person = somebody(service, true).await;
        Self::signed_in(service, person).await
    }

    async fn signed_in(service: &Service, person: PersonId) -> Self {
        let token = Token::of(rand::random());
        let new = NewSession {
            digest: token.digest(),
            id: SessionId::new(service.now(), Berth::new(0).unwrap(), rand::random()),
            person,
            address: "192.0.2.1",
            agent: "test",
        };
        session::begin(&service.control, &new, &Author::console(), service.now())
            .await
            .unwrap();
        Self {
            token: Some(token),
            ..Self::new(service)
        }
    }

    pub(crate) fn cookie(&self) -> String {
        let token = self.token.as_ref().map(Token::reveal);
        let (token, left) = (token.unwrap_or_default(), &self.elsewhere);
        format!("__Host-session={token}; elsewhere={left}")
    }

    pub(crate) async fn ask(&mut self, request: http::request::Builder, body: String) -> Seen {
        let request = request.header(COOKIE, self.cookie());
        let request = request.body(Body::from(body)).unwrap();
        let answer = self.pages.clone().oneshot(request).await.unwrap();
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        for line in parts.headers.get_all(SET_COOKIE) {
            let value = line.to_str().unwrap().split(';').next().unwrap();
            if let Some(token) = value.strip_prefix("__Host-session=") {
                self.token = Token::parse(token);
            }
            if let Some(left) = value.strip_prefix("elsewhere=") {
                left.clone_into(&mut self.elsewhere);
            }
        }
        let to = parts
            .headers
            .get(LOCATION)
            .map(|to| to.to_str().unwrap().to_owned());
        Seen {
            status: parts.status.as_u16(),
            to: to.unwrap_or_default(),
            html: String::from_utf8(bytes.to_vec()).unwrap(),
            headers: parts.headers,
        }
    }

    pub(crate) async fn see(&mut self, path: &str) -> Seen {
        self.ask(Request::get(path), String::new()).await
    }

    /// A form of one of our pages, with its seal.
    pub(crate) async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let seal = self.token.as_ref().map(Token::seal).unwrap_or_default();
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields).append_pair("seal", &seal);
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        self.ask(request, form.finish()).await
    }
}

pub(crate) async fn somebody(service: &Service, is_operator: bool) -> PersonId {
    let now = service.now();
    let id = PersonId::new(now, Berth::new(0).unwrap(), rand::random());
    let new = NewPerson {
        id,
        name: "Somebody".to_owned(),
        email: format!("{id}@people.example").parse().unwrap(),
        password: None,
        is_operator,
    };
    person::create(&service.control, &new, &Author::console(), now)
        .await
        .unwrap();
    id
}

/// The name of the customer's project in addresses.
pub(crate) async fn slug(service: &Service, customer: &Customer) -> String {
    let project = project::find(&service.control, customer.project)
        .await
        .unwrap();
    project.unwrap().slug.to_string()
}

pub(crate) fn path_of(template: &str, organization: OrganizationId, slug: &str) -> String {
    let path = template
        .replace("{organization}", &organization.to_string())
        .replace("{project}", slug);
    // Whatever else a route names: the gate stands before it.
    let mut filled = String::new();
    let mut rest = path.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push('x');
        rest = after.split_once('}').unwrap().1;
    }
    filled + rest
}
