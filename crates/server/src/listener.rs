//! A listener and its connections, and how they end without a request lost.

mod activity;
mod connections;
pub mod options;
mod request_body;
mod response_body;
#[cfg(test)]
mod tests;

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
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
use connections::{Admission, Connections};
use options::Options;
use request_body::{BodyBudget, RequestBody};
use response_body::ResponseBody;

/// Connections that the kernel keeps for us while we are busy; it may allow fewer.
const BACKLOG: u32 = 4096;
/// The largest head of a request (431 beyond), which is in memory while it comes.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long a connection may still bring a request after the last one was accepted.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the listener waits when the process is out of open files: until those that it closes
/// have ended, and longer when it could close none.
const OUT_OF_FILES_DELAY: Duration = Duration::from_millis(5);
const NOTHING_TO_CLOSE_DELAY: Duration = Duration::from_millis(100);
/// What a connection is told for which there is no room.
const NO_ROOM: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/json\r\ncontent-length: 66\r\n\
    retry-after: 1\r\nconnection: close\r\n\r\n\
    {\"detail\":\"Too many connections are open. Try again in 1 second.\"}";

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: choose another {setting}, or port 0 for any free one")]
pub struct BindFailure {
    setting: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// Takes the address; port 0 becomes a real one.
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
    // A restart must not wait for connections that linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A router that is being served.
#[derive(Debug)]
pub struct Served {
    tasks: TaskTracker,
    context: Arc<Context>,
}

/// What all connections of a listener share.
#[derive(Debug)]
struct Context {
    router: Router,
    connections: Arc<Connections>,
    body_budget: Arc<BodyBudget>,
    ending: Ending,
}

/// How far the end has come.
#[derive(Debug, Default)]
struct Ending {
    /// Each answer asks its caller to open another connection, elsewhere.
    announced: AtomicBool,
    /// Nothing is accepted any more.
    closing: CancellationToken,
}

impl Ending {
    /// The last to connect have had time to say what they want.
    async fn overdue(&self) {
        self.closing.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    }
}

impl Served {
    /// Serves, and says in the log where.
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
            context: Arc::new(Context {
                router,
                body_budget: Arc::new(BodyBudget::new(options.body_budget)),
                connections: Connections::new(options),
                ending: Ending::default(),
            }),
        };
        let (tasks, context) = (served.tasks.clone(), Arc::clone(&served.context));
        served.tasks.spawn(accept(listener, tasks, context));
        served
    }

    /// Serves on for `grace`, so that balancers notice, then finishes what is in flight.
    ///
    /// Connections that are used during the grace end with their answer; closing one
    /// that is idle could cross with a request on its way.
    pub async fn stop(&self, grace: Duration) {
        self.context.ending.announced.store(true, Ordering::Relaxed);
        tokio::time::sleep(grace).await;
        self.context.ending.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept(listener: TcpListener, tasks: TaskTracker, context: Arc<Context>) {
    let open = |stream: TcpStream, peer: SocketAddr| {
        if let Some(admission) = context.connections.admit(peer.ip()) {
            tasks.spawn(serve(stream, peer, admission, Arc::clone(&context)));
        } else {
            metrics::counter!("http_connections_refused_total").increment(1);
            // As far as the socket takes it at once: nobody waits for a caller here.
            let _told = stream.try_write(NO_ROOM);
        }
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => open(stream, peer),
                Err(error) => refused(&error, &context.connections).await,
            },
            () = context.ending.closing.cancelled() => break,
        }
    }
    // Who stands in the kernel's queue has connected as far as they know.
    if let Ok(queue) = listener.into_std() {
        while let Ok((stream, peer)) = queue.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                open(stream, peer);
            }
        }
    }
}

async fn refused(error: &io::Error, connections: &Connections) {
    // Who hung up before we looked takes nothing from the others.
    let gone = [
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::ConnectionReset,
    ];
    if gone.contains(&error.kind()) {
        return;
    }
    if connections.shed() > 0 {
        tokio::time::sleep(OUT_OF_FILES_DELAY).await;
    } else {
        tracing::error!(%error, "a connection could not be accepted; see ulimit -n");
        tokio::time::sleep(NOTHING_TO_CLOSE_DELAY).await;
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, admission: Admission, context: Arc<Context>) {
    // Answers are written whole: waiting to fill a packet only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection ended before it began");
        return;
    }
    let activity = Arc::clone(&admission.activity);
    let router = TowerToHyperService::new(context.router.clone());
    let service = service_fn(|request| answer(&router, peer, &admission, &context, request));
    let stream = WatchedStream { stream, activity };
    let connection = http1::Builder::new()
        // The deadlines below are stricter.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut overdue = pin!(context.ending.overdue());
    let mut shed = pin!(admission.shed.cancelled());
    let options = &context.connections.options;
    let mut timer = pin!(sleep_until(Instant::now() + options.idle_timeout));
    let (mut is_ending, mut is_shed) = (false, false);
    let ended = poll_fn(|cx| {
        // Whatever the connection does happens here, so what it does is known afterwards.
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
            // A request came meanwhile: it is answered first.
            connection.as_mut().graceful_shutdown();
            ended = connection.as_mut().poll(cx);
        }
        let deadline = admission.activity.deadline(options);
        if ended.is_pending() && is_past(deadline, timer.as_mut(), cx) {
            metrics::counter!("http_connections_timed_out_total").increment(1);
            return Poll::Ready(Ok(()));
        }
        ended
    });
    if let Err(error) = ended.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Whether the deadline has come; if not, the task is woken then. A timer that is armed for an
/// earlier moment stays so: setting it for every request would cost more than waking too early.
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

async fn answer(
    router: &TowerToHyperService<Router>,
    peer: SocketAddr,
    admission: &Admission,
    context: &Context,
    mut request: Request<Incoming>,
) -> Result<Response<ResponseBody>, std::convert::Infallible> {
    let activity = &admission.activity;
    let began = activity.head_received(!request.body().is_end_stream());
    let deadline = began + context.connections.options.request_timeout;
    request.extensions_mut().insert(ConnectInfo(peer));
    let request = request.map(|incoming| {
        let budget = Arc::clone(&context.body_budget);
        RequestBody::new(incoming, Arc::clone(activity), budget, deadline)
    });
    let mut response = router.call(request).await?;
    if context.ending.announced.load(Ordering::Relaxed) {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| ResponseBody {
        body,
        activity: Arc::clone(activity),
    }))
}
