//! An HTTP listener with connection limits and a graceful shutdown that loses no request.

mod activity;
mod connections;
pub mod options;
mod request_body;
mod response_body;
#[cfg(test)]
mod tests;

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse as _;
use domain::concurrency_limit::ConcurrencyLimit;
use domain::forwarded_for::{self, ClientAddress, TrustedProxyPeer};
use domain::streamed_body::StreamedBodyFlag;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use activity::WatchedStream;
use connections::{ConnectionSlot, Connections, NoSlot};
use options::Options;
use request_body::{BodyBudget, BodyRules, RequestBody};
use response_body::ResponseBody;

/// Connections that the kernel queues while the process is busy; it may allow fewer.
const LISTEN_BACKLOG: u32 = 4096;
/// The largest request head (431 beyond); it is in memory while it arrives.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long open connections may still send a request after the listener has closed.
const LAST_REQUEST_WAIT: Duration = Duration::from_millis(500);
/// How long the listener waits when the process has no free file descriptor: shortly after it
/// closed connections, longer when it could close none.
const OUT_OF_FILES_DELAY: Duration = Duration::from_millis(5);
const NOTHING_TO_CLOSE_DELAY: Duration = Duration::from_millis(100);
/// The response to a connection above the limits.
const TOO_MANY_CONNECTIONS_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/json\r\ncontent-length: 66\r\n\
    retry-after: 1\r\nconnection: close\r\n\r\n\
    {\"detail\":\"Too many connections are open. Try again in 1 second.\"}";
/// The response to a request of a client that has too many requests in progress.
const TOO_MANY_REQUESTS_BODY: &str = "{\"detail\":\"Too many requests from your address are in \
    progress. Try again in 1 second.\"}";

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: change {setting}, or use port 0 for any free port")]
pub struct BindFailure {
    setting: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// Binds the address; port 0 picks a free port.
pub fn bind(setting: &'static str, address: SocketAddr) -> Result<TcpListener, BindFailure> {
    let failed = |source| BindFailure {
        setting,
        address,
        source,
    };
    listen(address).map_err(failed)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // A restart must not wait for connections in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

/// A running HTTP server.
#[derive(Debug)]
pub struct HttpServer {
    tasks: TaskTracker,
    context: Arc<ListenerContext>,
}

/// The state that all connections of a listener share.
#[derive(Debug)]
struct ListenerContext {
    router: Router,
    connections: Arc<Connections>,
    /// By the client behind a trusted proxy, which is exempt from the limit of connections.
    forwarded_requests: Arc<ConcurrencyLimit<IpAddr>>,
    body_budget: Arc<BodyBudget>,
    shutdown: ShutdownState,
}

/// The progress of the graceful shutdown.
#[derive(Debug, Default)]
struct ShutdownState {
    /// Each response carries `connection: close`, so that callers connect to another process.
    announced: AtomicBool,
    /// The listener is closed.
    closing: CancellationToken,
}

impl ShutdownState {
    /// Completes when the last connections have had time to send a request.
    async fn wait_for_last_requests(&self) {
        self.closing.cancelled().await;
        tokio::time::sleep(LAST_REQUEST_WAIT).await;
    }
}

impl HttpServer {
    /// Starts serving, and logs the address.
    pub fn start(
        name: &'static str,
        listener: TcpListener,
        router: Router,
        options: Options,
    ) -> Self {
        if let Ok(address) = listener.local_addr() {
            tracing::info!(listener = name, %address, "listening");
        }
        let served = Self {
            tasks: TaskTracker::new(),
            context: Arc::new(ListenerContext {
                router,
                body_budget: Arc::new(BodyBudget::new(options.body_budget)),
                forwarded_requests: ConcurrencyLimit::new(
                    usize::MAX,
                    options.max_connections_per_address,
                ),
                connections: Connections::new(options),
                shutdown: ShutdownState::default(),
            }),
        };
        let (tasks, context) = (served.tasks.clone(), Arc::clone(&served.context));
        served.tasks.spawn(accept(listener, tasks, context));
        served
    }

    /// Serves for `grace`, so that load balancers notice, then finishes the requests in flight.
    ///
    /// Connections that are used during the grace close after their response. Closing an idle one
    /// earlier could lose a request that is on its way.
    pub async fn graceful_shutdown(&self, grace: Duration) {
        self.context
            .shutdown
            .announced
            .store(true, Ordering::Relaxed);
        tokio::time::sleep(grace).await;
        self.context.shutdown.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// A burst of half-open connections delays new ones by a fraction of a second, until the first of
/// the burst can make room. None if all connections are busy.
async fn wait_for_slot(connections: &Arc<Connections>, peer: IpAddr) -> Option<ConnectionSlot> {
    loop {
        match connections.admit(peer) {
            Ok(slot) => return Some(slot),
            Err(NoSlot::Until(time)) => sleep_until(time).await,
            Err(NoSlot::Busy) => return None,
        }
    }
}

async fn open(
    stream: TcpStream,
    peer: SocketAddr,
    tasks: &TaskTracker,
    context: &Arc<ListenerContext>,
) {
    if let Some(slot) = wait_for_slot(&context.connections, peer.ip()).await {
        tasks.spawn(serve_connection(stream, peer, slot, Arc::clone(context)));
    } else {
        metrics::counter!("longshore_http_connections_refused_total").increment(1);
        // Best effort: the accept loop never waits for a caller.
        let _written = stream.try_write(TOO_MANY_CONNECTIONS_RESPONSE);
    }
}

async fn accept(listener: TcpListener, tasks: TaskTracker, context: Arc<ListenerContext>) {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => open(stream, peer, &tasks, &context).await,
                Err(error) => handle_accept_error(&error, &context.connections).await,
            },
            () = context.shutdown.closing.cancelled() => break,
        }
    }
    // Callers in the kernel's queue believe that they are connected: serve them too.
    if let Ok(queue) = listener.into_std() {
        while let Ok((stream, peer)) = queue.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                open(stream, peer, &tasks, &context).await;
            }
        }
    }
}

async fn handle_accept_error(error: &io::Error, connections: &Connections) {
    // The caller hung up before the accept: this is no error of the listener.
    let gone = [
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionReset,
    ];
    if gone.contains(&error.kind()) {
        return;
    }
    if connections.shed() {
        tokio::time::sleep(OUT_OF_FILES_DELAY).await;
    } else {
        tracing::error!(%error, "connection could not be accepted; check ulimit -n");
        tokio::time::sleep(NOTHING_TO_CLOSE_DELAY).await;
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    admission: ConnectionSlot,
    context: Arc<ListenerContext>,
) {
    // Responses are written at once: waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "connection closed before its first request");
        return;
    }
    let activity = Arc::clone(&admission.activity);
    let router = TowerToHyperService::new(context.router.clone());
    let service =
        service_fn(|request| handle_request(&router, peer, &admission, &context, request));
    let stream = WatchedStream { stream, activity };
    let connection = http1::Builder::new()
        // The deadlines below are stricter.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut overdue = pin!(context.shutdown.wait_for_last_requests());
    let mut shed = pin!(admission.shed.cancelled());
    let options = &context.connections.options;
    let mut timer = pin!(sleep_until(Instant::now() + options.idle_timeout));
    let (mut is_ending, mut is_shed) = (false, false);
    let ended = poll_fn(|cx| {
        // The connection does all its work in this poll, so its activity is up to date afterwards.
        let mut ended = connection.as_mut().poll(cx);
        if ended.is_pending() && !is_ending && overdue.as_mut().poll(cx).is_ready() {
            is_ending = true;
            connection.as_mut().graceful_shutdown();
            ended = connection.as_mut().poll(cx);
        }
        if ended.is_pending() && !is_shed && shed.as_mut().poll(cx).is_ready() {
            is_shed = true;
            if admission.activity.shed_order().is_some() {
                return Poll::Ready(Ok(()));
            }
            // A request has arrived meanwhile: answer it first.
            connection.as_mut().graceful_shutdown();
            ended = connection.as_mut().poll(cx);
        }
        let deadline = admission.activity.deadline(options);
        if ended.is_pending() && is_past(deadline, timer.as_mut(), cx) {
            metrics::counter!("longshore_http_connections_timed_out_total").increment(1);
            return Poll::Ready(Ok(()));
        }
        ended
    });
    if let Err(error) = ended.await {
        tracing::debug!(%error, "connection closed early");
    }
}

/// Whether the deadline has passed; if not, the timer wakes the task then. A timer that is set to
/// an earlier time stays: resetting it for every request would cost more than a wakeup that is too
/// early.
fn is_past(
    deadline: Option<Instant>,
    mut timer: Pin<&mut Sleep>,
    cx: &mut std::task::Context<'_>,
) -> bool {
    let Some(deadline) = deadline else {
        return false;
    };
    if deadline < timer.deadline() || timer.is_elapsed() {
        timer.as_mut().reset(deadline);
    }
    while timer.as_mut().poll(cx).is_ready() {
        if Instant::now() >= deadline {
            return true;
        }
        timer.as_mut().reset(deadline);
    }
    false
}

async fn handle_request(
    router: &TowerToHyperService<Router>,
    peer: SocketAddr,
    admission: &ConnectionSlot,
    context: &ListenerContext,
    mut request: Request<Incoming>,
) -> Result<Response<ResponseBody>, std::convert::Infallible> {
    let activity = &admission.activity;
    let began = activity.head_received(!request.body().is_end_stream());
    let options = &context.connections.options;
    let deadline = began + options.request_timeout;
    let client = options.client_address(peer.ip(), request.headers());
    let counted = options.counted_client(peer.ip(), client);
    request.extensions_mut().insert(ClientAddress(client));
    if forwarded_for::is_trusted(peer.ip(), &options.trusted_proxies) {
        request.extensions_mut().insert(TrustedProxyPeer);
    }
    let flag = activity.authentication.clone();
    request.extensions_mut().insert(flag);
    let streamed = StreamedBodyFlag::default();
    request.extensions_mut().insert(streamed.clone());
    let rules = BodyRules {
        budget: Arc::clone(&context.body_budget),
        deadline,
        idle_timeout: options.body_idle_timeout,
        streamed,
    };
    let request = request.map(|incoming| RequestBody::new(incoming, Arc::clone(activity), rules));
    let permit = counted.map(|client| context.forwarded_requests.try_acquire(client));
    let mut response = if let Some(None) = permit {
        metrics::counter!("longshore_http_requests_refused_total").increment(1);
        // The proxy keeps its connection: dropping the request reads the rest of its body.
        drop(request);
        too_many_requests()
    } else {
        router.call(request).await?
    };
    if context.shutdown.announced.load(Ordering::Relaxed) {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| ResponseBody {
        body,
        activity: Arc::clone(activity),
        _permit: permit.flatten(),
    }))
}

fn too_many_requests() -> Response<axum::body::Body> {
    let headers = [(CONTENT_TYPE, "application/json"), (RETRY_AFTER, "1")];
    (
        StatusCode::SERVICE_UNAVAILABLE,
        headers,
        TOO_MANY_REQUESTS_BODY,
    )
        .into_response()
}
