//! A test browser: it keeps its cookies, and sends forms with their CSRF token.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use dashboard::{
    ApiService, CallerIdentity, DashboardDeps, DashboardState, IdentityProvider, LiveStreamLimits,
    Options, SignInPolicy,
};
use domain::id::{Berth, OrganizationId, PersonId, SessionId};
use domain::organization::Plan;
use domain::person::Role;
use domain::plan_limits::LimitsByPlan;
use domain::secret_token::SecretToken;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http_body_util::BodyExt as _;
use store::Shard;
use store::control::audit_log::Actor;
use store::control::person::{self, NewPerson};
use store::control::session::{self, NewLoginSession};
use store::control::{member, project};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::support::signing::signing_roots;
use crate::support::{Customer, TestService};

pub(crate) const PUBLIC_URL: &str = "https://dash.example";
/// More than any test sends but those of the limit.
const REQUEST_LIMIT: u32 = 100_000;

/// Calls the API in-process, as the server does.
#[derive(Debug)]
struct InProcessApi(Router);

#[async_trait::async_trait]
impl ApiService for InProcessApi {
    async fn call(&self, by: CallerIdentity, mut request: Request) -> Response {
        let caller = api::caller::Caller::on_behalf_of(
            by.organization,
            by.project,
            by.key,
            by.plan,
            by.berth,
        );
        request.extensions_mut().insert(caller);
        self.0.clone().oneshot(request).await.unwrap()
    }
}

pub(crate) fn dashboard_router(
    service: &TestService,
    identity_provider: Option<Arc<dyn IdentityProvider>>,
) -> Router {
    let shards = service.shards();
    let policy = SignInPolicy::default();
    dashboard_router_on(service, shards, identity_provider, policy, REQUEST_LIMIT)
}

fn dashboard_router_on(
    service: &TestService,
    shards: Vec<Arc<Shard>>,
    identity_provider: Option<Arc<dyn IdentityProvider>>,
    sign_in: SignInPolicy,
    requests_per_minute: u32,
) -> Router {
    dashboard::router(&DashboardState::new(DashboardDeps {
        control: service.control.clone(),
        shards,
        catalogue: service.catalogue.subscribe(),
        limits: watch::channel(LimitsByPlan::default()).1,
        clock: service.clock.clone(),
        api: Arc::new(InProcessApi(service.router.clone())),
        identity_provider,
        stop: CancellationToken::new(),
        live_streams: LiveStreamLimits {
            total: 4,
            per_person: 2,
        },
        options: Options {
            public_url: PUBLIC_URL.to_owned(),
            store_origin: Some("https://store.example".to_owned()),
            setup_plan: Plan::Pro,
            batch_linger: chrono::TimeDelta::zero(),
            sign_in,
            signing_roots: Some(signing_roots()),
            retention_days: 30,
            requests_per_minute,
        },
    }))
}

#[derive(Debug)]
pub(crate) struct Browser {
    router: Router,
    pub(crate) token: Option<SecretToken>,
    login_attempt_cookie: String,
    challenge_cookie: String,
}

/// A page or a redirect.
#[derive(Debug)]
pub(crate) struct PageResponse {
    pub(crate) status: u16,
    pub(crate) location: String,
    pub(crate) html: String,
    pub(crate) headers: http::HeaderMap,
}

impl Browser {
    pub(crate) fn new(service: &TestService) -> Self {
        Self {
            router: dashboard_router(service, None),
            token: None,
            login_attempt_cookie: String::new(),
            challenge_cookie: String::new(),
        }
    }

    /// A browser whose dashboard offers sign-in with OIDC.
    pub(crate) fn with_identity_provider(
        service: &TestService,
        identity_provider: Arc<dyn IdentityProvider>,
    ) -> Self {
        Self {
            router: dashboard_router(service, Some(identity_provider)),
            ..Self::new(service)
        }
    }

    /// The same browser, whose pages read from these shards.
    pub(crate) fn with_shards(self, service: &TestService, shards: Vec<Arc<Shard>>) -> Self {
        Self {
            router: dashboard_router_on(service, shards, None, <_>::default(), REQUEST_LIMIT),
            ..self
        }
    }

    /// The same browser, whose dashboard has these rules for signing in.
    pub(crate) fn with_sign_in_policy(self, service: &TestService, policy: SignInPolicy) -> Self {
        let shards = service.shards();
        Self {
            router: dashboard_router_on(service, shards, None, policy, REQUEST_LIMIT),
            ..self
        }
    }

    /// The same browser, whose dashboard answers so many requests per person and minute.
    pub(crate) fn with_request_limit(self, service: &TestService, limit: u32) -> Self {
        let shards = service.shards();
        Self {
            router: dashboard_router_on(service, shards, None, <_>::default(), limit),
            ..self
        }
    }

    /// The same browser at the dashboard process of another one.
    pub(crate) fn at_dashboard_of(self, other: &Self) -> Self {
        Self {
            router: other.router.clone(),
            ..self
        }
    }

    /// A signed-in member of the customer's organization, with this role.
    pub(crate) async fn member(service: &TestService, customer: &Customer, role: Role) -> Self {
        let person = create_person(service, false).await;
        let by = Actor::console();
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

    pub(crate) async fn operator(service: &TestService) -> Self {
        let person = create_person(service, true).await;
        Self::signed_in(service, person).await
    }

    async fn signed_in(service: &TestService, person: PersonId) -> Self {
        let token = SecretToken::from_random(rand::random());
        let new = NewLoginSession {
            digest: token.digest(),
            id: SessionId::new(service.now(), Berth::new(0).unwrap(), rand::random()),
            person,
            address: "192.0.2.1",
            agent: "test",
            lifetime: SignInPolicy::default().session_lifetime,
            has_second_factor: false,
            proved_at: service.now(),
        };
        session::begin(&service.control, &new, &Actor::console(), service.now())
            .await
            .unwrap();
        Self {
            token: Some(token),
            ..Self::new(service)
        }
    }

    pub(crate) fn cookie(&self) -> String {
        let token = self.token.as_ref().map(SecretToken::reveal);
        let (token, attempt) = (token.unwrap_or_default(), &self.login_attempt_cookie);
        let challenge = &self.challenge_cookie;
        format!("__Host-session={token}; __Host-oidc={attempt}; __Host-sign-in={challenge}")
    }

    /// As a browser in which another host of the domain planted the login attempt of `other`.
    pub(crate) async fn get_with_planted_attempt(
        &mut self,
        path: &str,
        other: &Self,
    ) -> PageResponse {
        let cookie = format!("oidc={}", other.login_attempt_cookie);
        self.request_with(Request::get(path), cookie, String::new())
            .await
    }

    pub(crate) async fn request(
        &mut self,
        request: http::request::Builder,
        body: String,
    ) -> PageResponse {
        let cookie = self.cookie();
        self.request_with(request, cookie, body).await
    }

    async fn request_with(
        &mut self,
        request: http::request::Builder,
        cookie: String,
        body: String,
    ) -> PageResponse {
        let request = request.header(COOKIE, cookie);
        let request = request.body(Body::from(body)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        for line in parts.headers.get_all(SET_COOKIE) {
            let value = line.to_str().unwrap().split(';').next().unwrap();
            if let Some(token) = value.strip_prefix("__Host-session=") {
                self.token = SecretToken::parse(token);
            }
            if let Some(challenge) = value.strip_prefix("__Host-sign-in=") {
                challenge.clone_into(&mut self.challenge_cookie);
            }
            if let Some(attempt) = value.strip_prefix("__Host-oidc=") {
                attempt.clone_into(&mut self.login_attempt_cookie);
            }
        }
        let to = parts
            .headers
            .get(LOCATION)
            .map(|to| to.to_str().unwrap().to_owned());
        PageResponse {
            status: parts.status.as_u16(),
            location: to.unwrap_or_default(),
            html: String::from_utf8(bytes.to_vec()).unwrap(),
            headers: parts.headers,
        }
    }

    /// Opens a live stream of a page. The stream is open while the response exists.
    pub(crate) async fn open_stream(&self, page: &str) -> Response {
        let request = Request::get(format!("/dashboard/live?page={page}"));
        let request = request.header(COOKIE, self.cookie());
        let request = request.body(Body::empty()).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn get(&mut self, path: &str) -> PageResponse {
        self.request(Request::get(path), String::new()).await
    }

    /// Sends a form with its CSRF token.
    pub(crate) async fn post_form(&mut self, path: &str, fields: &[(&str, &str)]) -> PageResponse {
        let csrf_token = self
            .token
            .as_ref()
            .map(SecretToken::csrf_token)
            .unwrap_or_default();
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields).append_pair("csrf", &csrf_token);
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        self.request(request, form.finish()).await
    }
}

pub(crate) async fn create_person(service: &TestService, is_operator: bool) -> PersonId {
    let now = service.now();
    let id = PersonId::new(now, Berth::new(0).unwrap(), rand::random());
    let new = NewPerson {
        id,
        name: "Test Person".to_owned(),
        email: format!("{id}@people.example").parse().unwrap(),
        password: None,
        is_operator,
    };
    person::create(&service.control, &new, &Actor::console(), now)
        .await
        .unwrap();
    id
}

/// The slug of the customer's project.
pub(crate) async fn project_slug(service: &TestService, customer: &Customer) -> String {
    let project = project::find(&service.control, customer.project)
        .await
        .unwrap();
    project.unwrap().slug.to_string()
}

/// The path of a page of the customer's project, such as `/keys`.
pub(crate) async fn project_path(service: &TestService, customer: &Customer, page: &str) -> String {
    let slug = project_slug(service, customer).await;
    format!("/dashboard/project/{slug}{page}")
}

pub(crate) fn fill_path(template: &str, organization: OrganizationId, slug: &str) -> String {
    let path = template
        .replace("{organization}", &organization.to_string())
        .replace("{project}", slug);
    // Any other parameter may have any value: the gate refuses the request first.
    let mut filled = String::new();
    let mut rest = path.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push('x');
        rest = after.split_once('}').unwrap().1;
    }
    filled + rest
}
