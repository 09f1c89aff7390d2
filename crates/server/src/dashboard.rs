//! Builds the dashboard: its public URL, its in-process API, single sign-on and the setup link.

use std::future::Future;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use api::caller::Caller;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use chrono::TimeDelta;
use dashboard::{
    ApiService, CallerIdentity, DashboardDeps, DashboardState, IdentityProvider, LiveStreamLimits,
    Options, SecondFactorPolicy, SignInPolicy,
};
use domain::model::Catalogue;
use domain::oidc::{ExternalIdentity, LoginAttempt};
use domain::organization::Plan;
use domain::plan_limits::LimitsByPlan;
use domain::time::{Clock as _, Timestamp};
use outbound::oidc::{IdTokenError, OidcFailure};
use outbound::tls::native_roots;
use store::Control;
use store::control::person;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use url::Url;

use crate::callback_signing;
use crate::databases::Stores;
use crate::settings::choice::{
    AuthTime, BucketStyle, Deployment, Environment, SecondFactor, SignInMethods,
};
use crate::settings::table::SettingValues;

/// How long to wait before control is asked again.
const CONTROL_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Calls the API's routes in-process, for a user whom the dashboard has authorized.
#[derive(Debug)]
struct RouterApi(Router);

#[async_trait::async_trait]
impl ApiService for RouterApi {
    async fn call(&self, acting: CallerIdentity, mut request: Request) -> Response {
        let caller = Caller::on_behalf_of(
            acting.organization,
            acting.project,
            acting.key,
            acting.plan,
            acting.berth,
        );
        request.extensions_mut().insert(caller);
        let Ok(answer) = self.0.clone().oneshot(request).await;
        answer
    }
}

#[derive(Debug)]
pub struct DashboardPages {
    pub router: Router,
    pub public_url: String,
}

/// What the dashboard shares with the API.
#[derive(Debug)]
pub struct DashboardInputs {
    pub catalogue: watch::Receiver<Arc<Catalogue>>,
    pub limits: watch::Receiver<LimitsByPlan>,
    pub api: Router,
    /// Ends the event streams.
    pub stop: CancellationToken,
}

pub fn pages(
    listener: &TcpListener,
    stores: &Stores,
    inputs: DashboardInputs,
    values: &SettingValues,
) -> DashboardPages {
    if values.environment == Environment::Production && !values.has_secure_cookies() {
        tracing::warn!(
            "SVC_PUBLIC_URL is not an https URL: cookies of the dashboard are sent over plain http"
        );
    }
    let options = options(listener, values);
    let public_url = options.public_url.clone();
    let state = DashboardState::new(DashboardDeps {
        control: stores.dashboard_control.clone(),
        shards: stores.shards.clone(),
        catalogue: inputs.catalogue,
        limits: inputs.limits,
        clock: stores.clock.clone(),
        api: Arc::new(RouterApi(inputs.api)),
        identity_provider: identity_provider(values),
        stop: inputs.stop,
        live_streams: LiveStreamLimits {
            total: values.max_live_streams,
            per_person: values.max_live_streams_per_person,
        },
        options,
    });
    DashboardPages {
        router: api::with_request_tracing(dashboard::router(&state)),
        public_url,
    }
}

fn options(listener: &TcpListener, values: &SettingValues) -> Options {
    let address = listener.local_addr().unwrap_or(values.listen);
    Options {
        public_url: public_url(values, address),
        store_origin: store_origin(values),
        setup_plan: match values.deployment {
            Deployment::Cloud => Plan::Pro,
            Deployment::SelfHosted => Plan::Enterprise,
        },
        batch_linger: TimeDelta::from_std(values.batch_linger).unwrap_or_default(),
        sign_in: SignInPolicy {
            session_lifetime: TimeDelta::from_std(values.session_lifetime).unwrap_or_default(),
            is_sso_only: values.sign_in == SignInMethods::SsoOnly,
            second_factor: match values.second_factor {
                SecondFactor::Optional => SecondFactorPolicy::Optional,
                SecondFactor::Operators => SecondFactorPolicy::Operators,
                SecondFactor::Everyone => SecondFactorPolicy::Everyone,
            },
        },
        signing_roots: callback_signing::roots(values),
        retention_days: values.retention_days,
        requests_per_minute: values.dashboard_limit_per_minute,
    }
}

/// Single sign-on with an external OIDC provider.
#[derive(Debug)]
struct OidcIdentityProvider(outbound::oidc::OidcClient);

/// The message for the user; the details go to the log.
fn sign_in_error(failure: &OidcFailure) -> String {
    tracing::warn!(%failure, "single sign-on failed");
    match failure {
        OidcFailure::Unreachable(_) => {
            "The single sign-on provider does not answer. Try again in a minute."
        }
        OidcFailure::InvalidIdToken(IdTokenError::AuthTime) => {
            "Your identity provider did not confirm that you signed in again. Try again, and enter \
             your password there. If this repeats, ask an operator: see SVC_OIDC_AUTH_TIME."
        }
        OidcFailure::Refused(_) | OidcFailure::InvalidIdToken(_) => {
            "Single sign-on failed. Try again; the server's log has the reason."
        }
    }
    .to_owned()
}

#[async_trait::async_trait]
impl IdentityProvider for OidcIdentityProvider {
    async fn authorization_url(&self, attempt: &LoginAttempt) -> Result<String, String> {
        let url = self.0.authorization_url(attempt).await;
        url.map_err(|failure| sign_in_error(&failure))
    }

    async fn exchange_code(
        &self,
        code: &str,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<ExternalIdentity, String> {
        let identity = self.0.exchange_code(code, attempt, now).await;
        identity.map_err(|failure| sign_in_error(&failure))
    }
}

fn identity_provider(values: &SettingValues) -> Option<Arc<dyn IdentityProvider>> {
    let options = outbound::oidc::Options {
        issuer: values.oidc_issuer.clone()?,
        client_id: values.oidc_client.clone()?,
        client_secret: values
            .oidc_secret
            .as_ref()
            .map(|secret| secret.reveal().to_owned()),
        requires_auth_time: values.oidc_auth_time == AuthTime::Required,
    };
    match outbound::oidc::OidcClient::new(options, native_roots()) {
        Ok(client) => Some(Arc::new(OidcIdentityProvider(client))),
        Err(failure) => {
            tracing::error!(%failure, "single sign-on is disabled: its client cannot be set up");
            None
        }
    }
}

/// The URL under which browsers reach this server, without a trailing slash.
pub fn public_url(values: &SettingValues, address: SocketAddr) -> String {
    values.public_url.as_ref().map_or_else(
        || format!("http://{address}"),
        |url| url.as_str().trim_end_matches('/').to_owned(),
    )
}

/// The origin of upload and download URLs, for the content security policy.
fn store_origin(values: &SettingValues) -> Option<String> {
    let store = values
        .objects_public_url
        .as_ref()
        .or(values.objects_url.as_ref())?;
    let mut origin = Url::parse(&store.origin().ascii_serialization()).ok()?;
    if let (BucketStyle::Virtual, Some(bucket)) = (values.objects_style, &values.objects_bucket) {
        let host = format!("{bucket}.{}", origin.host_str()?);
        origin.set_host(Some(&host)).ok()?;
    }
    Some(origin.as_str().trim_end_matches('/').to_owned())
}

/// Says how to set up while no users exist; retries until control answers.
///
/// The link makes its reader the operator, so it is never logged: it goes to a terminal, or
/// `longshored admin person setup` prints it.
pub fn offer_setup_link(
    public_url: String,
    stores: &Stores,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let (control, clock) = (stores.control.clone(), Arc::clone(&stores.clock));
    async move {
        while !stop.is_cancelled() {
            let offered = if std::io::stdout().is_terminal() {
                print_setup_link(&control, &public_url, clock.now()).await
            } else {
                log_setup_hint(&control).await
            };
            if offered.is_ok() {
                return;
            }
            wait_to_retry(&stop).await;
        }
    }
}

/// Encrypts TOTP secrets with the current signing root; retries until control answers.
pub fn renew_totp_secrets(
    values: &SettingValues,
    stores: &Stores,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let (control, roots) = (stores.control.clone(), callback_signing::roots(values));
    async move {
        let Some(roots) = roots else { return };
        while !stop.is_cancelled() {
            if let Ok(count) = dashboard::renew_totp_secrets(&control, &roots).await {
                if count > 0 {
                    tracing::info!(
                        count,
                        "TOTP secrets encrypted with the current signing root"
                    );
                }
                return;
            }
            wait_to_retry(&stop).await;
        }
    }
}

async fn wait_to_retry(stop: &CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(CONTROL_RETRY_DELAY) => {}
        () = stop.cancelled() => {}
    }
}

async fn print_setup_link(
    control: &Control,
    public_url: &str,
    now: Timestamp,
) -> Result<(), store::Error> {
    if let Some(link) = dashboard::offer_setup(control, public_url, now).await? {
        let text = format!("No users exist yet. Open this setup link within 24 hours: {link}\n");
        // Without it, the command prints another one.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
    Ok(())
}

async fn log_setup_hint(control: &Control) -> Result<(), store::Error> {
    if !person::any_exists(control).await? {
        tracing::info!("No users exist yet. Run `longshored admin person setup` for a setup link.");
    }
    Ok(())
}
