//! The client: connections that are kept, to addresses that the operator gave.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::uri::Scheme;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;

use super::failure::SetupFailure;
use crate::callback;
use crate::connection::Wire;

/// Stores commonly close what idles for longer.
const IDLE: Duration = Duration::from_secs(15);
const MOST_IDLE: usize = 64;

pub(super) type HttpClient = Client<Connector, Full<Bytes>>;
type AnyFailure = Box<dyn Error + Send + Sync>;

pub(super) fn client(patience: Duration, roots: RootCertStore) -> Result<HttpClient, SetupFailure> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    let connector = Connector {
        http,
        tls: callback::tls(roots)?,
        patience,
    };
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MOST_IDLE)
        .build(connector))
}

#[derive(Clone)]
pub(super) struct Connector {
    http: HttpConnector,
    tls: TlsConnector,
    patience: Duration,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = AnyFailure;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Wire>, AnyFailure>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AnyFailure>> {
        self.http.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialled = self.http.call(uri.clone());
        let (tls, patience) = (self.tls.clone(), self.patience);
        let connect = async move {
            let tcp = dialled.await?.into_inner();
            if uri.scheme() != Some(&Scheme::HTTPS) {
                return Ok(Wire::Plain(tcp));
            }
            let host = uri.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let name = ServerName::try_from(host.trim_end_matches('.').to_owned())?;
            let secured = tls.connect(name, tcp).await?;
            Ok::<_, AnyFailure>(Wire::Secured(Box::new(secured)))
        };
        Box::pin(async move {
            let connected = timeout(patience, connect).await;
            let late = || Err(io::Error::from(io::ErrorKind::TimedOut).into());
            connected.unwrap_or_else(|_| late()).map(TokioIo::new)
        })
    }
}
