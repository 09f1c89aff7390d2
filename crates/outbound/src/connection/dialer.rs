//! Connections to addresses that the operator configured. Every resolved address is allowed.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;

use super::MaybeTlsStream;

type BoxError = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Dialer {
    http: HttpConnector,
    tls: TlsConnector,
    connect_timeout: Duration,
    connect_to: Option<Uri>,
}

impl Dialer {
    /// `connect_timeout` bounds resolving, connecting and the TLS handshake together.
    pub(crate) fn new(tls: TlsConnector, connect_timeout: Duration) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        Self {
            http,
            tls,
            connect_timeout,
            connect_to: None,
        }
    }

    /// Connects to the host and port of this address instead of those of each request. The request
    /// and the name in the certificate stay what they are.
    pub(crate) fn connecting_to(self, connect_to: Option<Uri>) -> Self {
        Self { connect_to, ..self }
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<MaybeTlsStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<MaybeTlsStream>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let target = self.connect_to.clone().unwrap_or_else(|| uri.clone());
        let dialled = self.http.call(target);
        let (tls, connect_timeout) = (self.tls.clone(), self.connect_timeout);
        let connect = async move {
            let tcp = dialled.await?.into_inner();
            if uri.scheme() != Some(&Scheme::HTTPS) {
                return Ok(MaybeTlsStream::Plain(tcp));
            }
            let host = uri.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let name = ServerName::try_from(host.trim_end_matches('.').to_owned())?;
            let secured = tls.connect(name, tcp).await?;
            Ok::<_, BoxError>(MaybeTlsStream::Tls(Box::new(secured)))
        };
        Box::pin(async move {
            let connected = timeout(connect_timeout, connect).await;
            let late = || Err(io::Error::from(io::ErrorKind::TimedOut).into());
            connected.unwrap_or_else(|_| late()).map(TokioIo::new)
        })
    }
}
