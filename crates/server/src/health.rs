//! `longshored health`: asks the process of this machine or container whether it serves.
//!
//! For health checks where there is no other HTTP client. The exit code is 0 or 1.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::settings::table::SettingValues;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ANSWER_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Args)]
pub struct HealthCommand {
    /// Ask whether the process is ready (/ready), not only whether it runs (/health).
    #[arg(long)]
    ready: bool,
    /// Ask this server, such as `http://127.0.0.1:8080`. Default: the address of `SVC_LISTEN`, or
    /// of `SVC_METRICS_LISTEN` if no process listens there, as with `longshored work`.
    #[arg(long)]
    url: Option<Url>,
}

#[derive(Debug, thiserror::Error)]
pub enum HealthFailure {
    #[error("--url must be http:// with a host; TLS is not supported here")]
    Url,
    #[error("SVC_LISTEN and SVC_METRICS_LISTEN pick free ports: say with --url which one to ask")]
    PortUnknown,
    #[error("no process listens on {}", .0.join(" or "))]
    NotListening(Vec<String>),
    #[error("{server} cannot be reached")]
    Unreachable { server: String, source: io::Error },
    #[error("{server} did not answer {path}")]
    NoAnswer {
        server: String,
        path: &'static str,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("{server} did not answer {path} within {} seconds", ANSWER_TIMEOUT.as_secs())]
    TimedOut { server: String, path: &'static str },
    #[error("{server} answers {path} with {status}: {body}")]
    Unhealthy {
        server: String,
        path: &'static str,
        status: StatusCode,
        body: String,
    },
}

/// The answer of the process, if it is healthy.
pub async fn ask(command: &HealthCommand, values: &SettingValues) -> Result<String, HealthFailure> {
    let path = if command.ready { "/ready" } else { "/health" };
    let servers = command.servers(values)?;
    for server in &servers {
        let answer = timeout(ANSWER_TIMEOUT, ask_server(server, path)).await;
        let late = || HealthFailure::TimedOut {
            server: server.clone(),
            path,
        };
        if let Some(body) = answer.map_err(|_| late())?? {
            return Ok(body);
        }
    }
    Err(HealthFailure::NotListening(servers))
}

impl HealthCommand {
    /// The servers to ask, in order.
    fn servers(&self, values: &SettingValues) -> Result<Vec<String>, HealthFailure> {
        if let Some(url) = &self.url {
            let server = host_and_port(url).ok_or(HealthFailure::Url)?;
            return Ok(vec![server]);
        }
        let listeners = [values.listen, values.metrics_listen];
        let known = listeners.into_iter().filter(|address| address.port() != 0);
        let servers: Vec<_> = known.map(|it| dial_address(it).to_string()).collect();
        if servers.is_empty() {
            return Err(HealthFailure::PortUnknown);
        }
        Ok(servers)
    }
}

fn host_and_port(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|_| url.scheme() == "http")?;
    Some(format!("{host}:{}", url.port_or_known_default()?))
}

/// A process that listens on all addresses is reached over loopback.
fn dial_address(listener: SocketAddr) -> SocketAddr {
    if !listener.ip().is_unspecified() {
        return listener;
    }
    let loopback = if listener.is_ipv4() {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        IpAddr::V6(Ipv6Addr::LOCALHOST)
    };
    SocketAddr::new(loopback, listener.port())
}

/// None if no process listens there.
async fn ask_server(server: &str, path: &'static str) -> Result<Option<String>, HealthFailure> {
    let stream = match TcpStream::connect(server).await {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
        Err(source) => {
            let server = server.to_owned();
            return Err(HealthFailure::Unreachable { server, source });
        }
    };
    let (status, body) = exchange(stream, server, path).await.map_err(|source| {
        let server = server.to_owned();
        HealthFailure::NoAnswer {
            server,
            path,
            source,
        }
    })?;
    if status.is_success() {
        return Ok(Some(body));
    }
    Err(HealthFailure::Unhealthy {
        server: server.to_owned(),
        path,
        status,
        body,
    })
}

async fn exchange(
    stream: TcpStream,
    server: &str,
    path: &str,
) -> Result<(StatusCode, String), Box<dyn Error + Send + Sync>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It carries the request, and ends with the process.
    tokio::spawn(connection);
    let request = Request::get(path).header(HOST, server);
    let response = sender
        .send_request(request.body(Empty::<Bytes>::new())?)
        .await?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await?;
    let text = String::from_utf8_lossy(&body.to_bytes()).trim().to_owned();
    Ok((head.status, text))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use domain::error_chain;
    use tokio::net::TcpListener;

    use super::*;
    use crate::listener::HttpServer;
    use crate::listener::options::Options;
    use crate::settings::read_variables;

    fn values(listen: &str, metrics: &str) -> SettingValues {
        let given = [("SVC_LISTEN", listen), ("SVC_METRICS_LISTEN", metrics)];
        let variables = given.map(|(name, value)| (name.into(), value.into()));
        read_variables(variables).values().unwrap().clone()
    }

    async fn answer(command: &HealthCommand, values: &SettingValues) -> String {
        match ask(command, values).await {
            Ok(answer) => answer,
            Err(failure) => format!("failed: {}", error_chain::chain(&failure)),
        }
    }

    /// A process that runs and is not ready.
    async fn start_server() -> (HttpServer, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let busy = (StatusCode::SERVICE_UNAVAILABLE, "starting");
        let router = Router::new()
            .route("/health", get(|| async { "ok" }))
            .route("/ready", get(move || async move { busy }));
        let server = HttpServer::start("test", listener, router, Options::default());
        (server, address)
    }

    #[tokio::test]
    async fn the_process_is_asked_at_its_own_address() {
        let (_server, address) = start_server().await;
        let port = address.port();
        let everywhere = format!("0.0.0.0:{port}");
        let [health, ready] = [false, true].map(|ready| HealthCommand { ready, url: None });
        let serves = values(&everywhere, "127.0.0.1:1");
        assert_eq!(answer(&health, &serves).await, "ok");
        let text = answer(&ready, &serves).await;
        let text = text.replace(&port.to_string(), "PORT");
        insta::assert_snapshot!(text, @"failed: 127.0.0.1:PORT answers /ready with 503 Service Unavailable: starting");

        let works = values("127.0.0.1:1", &everywhere);
        assert_eq!(answer(&health, &works).await, "ok");
        let url = Some(format!("http://{address}").parse().unwrap());
        let elsewhere = HealthCommand { ready: false, url };
        let stopped = values("127.0.0.1:1", "[::1]:1");
        assert_eq!(answer(&elsewhere, &stopped).await, "ok");
        let text = answer(&health, &values("127.0.0.1:1", "127.0.0.1:2")).await;
        insta::assert_snapshot!(text, @"failed: no process listens on 127.0.0.1:1 or 127.0.0.1:2");
    }

    #[tokio::test]
    async fn an_unknown_address_is_asked_for() {
        let health = HealthCommand {
            ready: false,
            url: None,
        };
        let text = answer(&health, &values("127.0.0.1:0", "127.0.0.1:0")).await;
        insta::assert_snapshot!(text, @"failed: SVC_LISTEN and SVC_METRICS_LISTEN pick free ports: say with --url which one to ask");
        let url = Some("https://longshore.example".parse().unwrap());
        let secured = HealthCommand { ready: false, url };
        let text = answer(&secured, &values("127.0.0.1:1", "127.0.0.1:2")).await;
        insta::assert_snapshot!(text, @"failed: --url must be http:// with a host; TLS is not supported here");
        let listener: SocketAddr = "[::]:8080".parse().unwrap();
        assert_eq!(dial_address(listener).to_string(), "[::1]:8080");
    }
}
