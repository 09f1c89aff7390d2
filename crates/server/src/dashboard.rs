//! The dashboard, wired: how browsers reach it, and the API that it asks in-process.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use api::caller::Caller;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use chrono::TimeDelta;
use dashboard::{Acting, Api, Desk, House, Options, Parts};
use domain::house::{Stranger, Visit};
use domain::limit::Limits;
use domain::model::Catalogue;
use domain::organization::Plan;
use domain::time::{Clock as _, Timestamp};
use outbound::callback::native_roots;
use outbound::house::HouseFailure;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use url::Url;

use crate::settings::choice::{Deployment, Style};
use crate::settings::table::Values;
use crate::wiring::Stores;

/// How long to wait for control before it is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// The routes of the contract, with a caller whom the dashboard has checked.
#[derive(Debug)]
struct Inside(Router);

#[async_trait::async_trait]
impl Api for Inside {
    async fn ask(&self, acting: Acting, mut request: Request) -> Response {
        let caller = Caller::acting(
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
pub struct Pages {
    pub router: Router,
    pub public_url: String,
}

pub fn pages(
    listener: &TcpListener,
    stores: &Stores,
    (catalogue, limits): (watch::Receiver<Arc<Catalogue>>, watch::Receiver<Limits>),
    api: Router,
    stop: &CancellationToken,
    values: &Values,
) -> Pages {
    let options = options(listener, values);
    let public_url = options.public_url.clone();
    let desk = Desk::new(Parts {
        control: stores.control.clone(),
        shards: stores.shards.clone(),
        catalogue,
        limits,
        clock: stores.clock.clone(),
        api: Arc::new(Inside(api)),
        house: house(values),
        stop: stop.clone(),
        options,
    });
    Pages {
        router: api::traced(dashboard::router(&desk)),
        public_url,
    }
}

fn options(listener: &TcpListener, values: &Values) -> Options {
    let listens = listener.local_addr().unwrap_or(values.listen);
    Options {
        public_url: public_url(values, listens),
        store_origin: store_origin(values),
        proxies: values.trusted_proxies.clone(),
        first_plan: match values.deployment {
            Deployment::Cloud => Plan::Pro,
            Deployment::SelfHosted => Plan::Enterprise,
        },
        linger: TimeDelta::from_std(values.batch_linger).unwrap_or_default(),
    }
}

/// Another house where people sign in, if there is one.
#[derive(Debug)]
struct Elsewhere(outbound::house::House);

/// What people are told; what exactly was wrong is for our log.
fn said(failure: &HouseFailure) -> String {
    tracing::warn!(%failure, "a sign-in elsewhere failed");
    match failure {
        HouseFailure::Away(_) => "Single sign-on does not answer. Try again in a minute.",
        HouseFailure::Refused(_) | HouseFailure::NotProved(_) => {
            "Single sign-on did not work. Begin again; the log of the server says why."
        }
    }
    .to_owned()
}

#[async_trait::async_trait]
impl House for Elsewhere {
    async fn door(&self, visit: &Visit) -> Result<String, String> {
        let door = self.0.door(visit).await;
        door.map_err(|failure| said(&failure))
    }

    async fn who(&self, code: &str, visit: &Visit, now: Timestamp) -> Result<Stranger, String> {
        let who = self.0.who(code, visit, now).await;
        who.map_err(|failure| said(&failure))
    }
}

fn house(values: &Values) -> Option<Arc<dyn House>> {
    let options = outbound::house::Options {
        issuer: values.oidc_issuer.clone()?,
        client: values.oidc_client.clone()?,
        secret: values
            .oidc_secret
            .as_ref()
            .map(|secret| secret.reveal().to_owned()),
    };
    match outbound::house::House::new(options, native_roots()) {
        Ok(house) => Some(Arc::new(Elsewhere(house))),
        Err(failure) => {
            tracing::error!(%failure, "single sign-on cannot be set up");
            None
        }
    }
}

/// How browsers reach us, without a slash at the end.
pub fn public_url(values: &Values, listens: SocketAddr) -> String {
    values.public_url.as_ref().map_or_else(
        || format!("http://{listens}"),
        |url| url.as_str().trim_end_matches('/').to_owned(),
    )
}

/// Where grants of ours send a browser.
fn store_origin(values: &Values) -> Option<String> {
    let store = values
        .objects_public_url
        .as_ref()
        .or(values.objects_url.as_ref())?;
    let mut origin = Url::parse(&store.origin().ascii_serialization()).ok()?;
    if let (Style::Virtual, Some(bucket)) = (values.objects_style, &values.objects_bucket) {
        let host = format!("{bucket}.{}", origin.host_str()?);
        origin.set_host(Some(&host)).ok()?;
    }
    Some(origin.as_str().trim_end_matches('/').to_owned())
}

/// Says how to begin, as long as nobody has; asks until control answers.
pub fn offer_setup(
    public_url: String,
    stores: &Stores,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let (control, clock) = (stores.control.clone(), Arc::clone(&stores.clock));
    async move {
        while !stop.is_cancelled() {
            match dashboard::offer_setup(&control, &public_url, clock.now()).await {
                Ok(Some(link)) => {
                    tracing::info!(link, "nobody is here yet: open {link} within 24 hours");
                    return;
                }
                Ok(None) => return,
                Err(_) => tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = stop.cancelled() => {}
                },
            }
        }
    }
}
