//! Callers who send slowly, read slowly or hold many connections do not affect the others.

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::routing::post;
use domain::authentication_flag::AuthenticationFlag;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};

use super::super::activity::ShedClass;
use super::super::*;

pub(super) const SHORT_TIMEOUT: Duration = Duration::from_millis(200);
/// Much longer than any deadline of these tests.
const TEST_TIMEOUT: Duration = Duration::from_secs(50);
pub(super) const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

/// Nothing is exempt, and nothing is too young to be closed.
pub(super) fn strict() -> Options {
    Options {
        request_timeout: Duration::from_mins(1),
        idle_timeout: Duration::from_mins(1),
        write_timeout: Duration::from_mins(1),
        min_shed_age: Duration::ZERO,
        ..Options::default()
    }
}

pub(super) struct TestListener {
    pub(super) served: HttpServer,
    address: SocketAddr,
    /// `/wait` answers when the gate opens.
    pub(super) gate: Arc<tokio::sync::Semaphore>,
}

pub(super) fn start(options: Options) -> TestListener {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let behind = Arc::clone(&gate);
    let wait = move || async move {
        behind.acquire().await.unwrap().forget();
        "waited"
    };
    let length = |body: Body| async {
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => format!("received {}", bytes.len()),
            Err(error) => format!("failed: {error:?}"),
        }
    };
    let stream = move |Extension(flag): Extension<StreamedBodyFlag>, body: Body| {
        flag.set();
        length(body)
    };
    let form = |body: Result<axum::Form<Vec<(String, String)>>, _>| async {
        let error: Option<axum::extract::rejection::FormRejection> = body.err();
        format!("incomplete: {}", error.is_some())
    };
    let authenticated = |Extension(flag): Extension<AuthenticationFlag>| async move {
        flag.set();
        "quick"
    };
    let address = |Extension(client): Extension<ClientAddress>| async move { client.0.to_string() };
    let proxied = |proxy: Option<Extension<TrustedProxyPeer>>| async move {
        format!("proxied: {}", proxy.is_some())
    };
    let router = Router::new()
        .route("/", axum::routing::get(|| async { "quick" }))
        .route("/wait", axum::routing::get(wait))
        .route("/authenticated", axum::routing::get(authenticated))
        .route("/address", axum::routing::get(address))
        .route("/proxied", axum::routing::get(proxied))
        .route(
            "/large",
            axum::routing::get(|| async { vec![0_u8; 64 << 20] }),
        )
        .route("/length", post(length))
        .route("/stream", post(stream))
        .route("/form", post(form));
    let listener = bind("SVC_LISTEN", SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let served = HttpServer::start("test", listener, router, options);
    TestListener {
        served,
        address,
        gate,
    }
}

impl TestListener {
    pub(super) async fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    pub(super) async fn until(&self, is_so: impl Fn(&ListenerContext) -> bool) {
        let waiting = async {
            while !is_so(&self.served.context) {
                tokio::task::yield_now().await;
            }
        };
        timeout(TEST_TIMEOUT, waiting).await.unwrap();
    }

    pub(super) async fn until_open(&self, count: usize) {
        self.until(|it| it.connections.count() == count).await;
    }

    /// Waits until `count` connections have sent a part of a request.
    pub(super) async fn until_half_open(&self, count: usize) {
        self.until(|it| it.connections.count_of(Some(ShedClass::HalfOpen)) == count)
            .await;
    }

    /// Waits until `count` connections wait for an answer.
    pub(super) async fn until_busy(&self, count: usize) {
        self.until(|it| it.connections.count_of(None) == count)
            .await;
    }

    /// Waits until bodies use `bytes` of the budget.
    async fn until_used(&self, bytes: usize) {
        self.until(|it| it.body_budget.used() == bytes).await;
    }
}

/// Everything up to the end of the connection.
pub(super) async fn read_to_end(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(TEST_TIMEOUT, stream.read_to_end(&mut bytes)).await;
    // A reset is an end too.
    let _reset = read.expect("the connection is still open");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One response to `REQUEST`; the connection stays open.
pub(super) async fn read_quick_response(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    let reading = async {
        while !bytes.ends_with(b"quick") {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "closed");
        }
    };
    timeout(TEST_TIMEOUT, reading).await.unwrap();
}

/// Sends a byte at an interval until the server closes the connection or answers.
pub(super) async fn drip(mut stream: TcpStream, byte: u8) -> String {
    let mut beat = interval(SHORT_TIMEOUT / 8);
    let mut answer = Vec::new();
    let dripping = async {
        loop {
            tokio::select! {
                _ = beat.tick() => {
                    let _closed = stream.write_all(&[byte]).await;
                }
                read = stream.read_buf(&mut answer) => if matches!(read, Ok(0) | Err(_)) {
                    break;
                },
            }
        }
    };
    let ended = timeout(TEST_TIMEOUT, dripping).await;
    ended.expect("the connection is still open");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_has_one_deadline() {
    let edge = start(Options {
        request_timeout: SHORT_TIMEOUT,
        ..strict()
    });
    let stream = edge.send(b"GET / HTTP/1.1\r\nx: ").await;
    assert_eq!(drip(stream, b'x').await, "");
    edge.until_open(0).await;
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_has_one_deadline() {
    let edge = start(Options {
        request_timeout: SHORT_TIMEOUT,
        ..strict()
    });
    let head = b"POST /length HTTP/1.1\r\nhost: here\r\ncontent-length: 1000000\r\n\r\n";
    let answer = drip(edge.send(head).await, b'x').await;
    assert!(answer.contains("TimedOut"), "{answer}");
    edge.until_open(0).await;
}

#[tokio::test]
async fn h6_a_form_that_comes_byte_by_byte_has_one_deadline() {
    let edge = start(Options {
        request_timeout: SHORT_TIMEOUT,
        ..strict()
    });
    let head = b"POST /form HTTP/1.1\r\nhost: here\r\ncontent-length: 1000000\r\n\
        content-type: application/x-www-form-urlencoded\r\n\r\n";
    let answer = drip(edge.send(head).await, b'x').await;
    assert!(answer.ends_with("incomplete: true"), "{answer}");
    edge.until_open(0).await;
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let edge = start(Options {
        idle_timeout: SHORT_TIMEOUT,
        ..strict()
    });
    let mut used = edge.send(REQUEST).await;
    read_quick_response(&mut used).await;
    let silent = edge.send(b"").await;
    assert_eq!(
        (read_to_end(used).await, read_to_end(silent).await),
        (String::new(), String::new())
    );
}

#[tokio::test]
async fn a_response_that_is_not_read_ends() {
    let edge = start(Options {
        write_timeout: SHORT_TIMEOUT,
        ..strict()
    });
    let unread = edge
        .send(b"GET /large HTTP/1.1\r\nhost: here\r\n\r\n")
        .await;
    edge.until_open(1).await;
    edge.until_open(0).await;
    drop(unread);
}

#[tokio::test]
async fn half_open_requests_make_room_for_others() {
    let edge = start(Options {
        max_connections: 64,
        ..strict()
    });
    let mut held = Vec::new();
    for part in [
        &b"GET / HTTP/1.1\r\nx: "[..],
        b"POST /length HTTP/1.1\r\ncontent-length: 9\r\n\r\n",
    ] {
        for _ in 0..32 {
            held.push(edge.send(part).await);
        }
    }
    edge.until_half_open(64).await;
    for _ in 0..100 {
        let mut stream = edge.send(REQUEST).await;
        read_quick_response(&mut stream).await;
    }
    // The half-open connections stay closed.
    let count = edge.served.context.connections.count();
    assert!(count <= 64 + 4, "{count}");
}

#[tokio::test]
async fn a_burst_of_half_open_requests_delays_others_and_refuses_none() {
    let edge = start(Options {
        max_connections: 2,
        min_shed_age: SHORT_TIMEOUT,
        ..strict()
    });
    let _burst = [
        edge.send(&REQUEST[..10]).await,
        edge.send(&REQUEST[..10]).await,
    ];
    let mut stream = edge.send(REQUEST).await;
    read_quick_response(&mut stream).await;
}

#[tokio::test]
async fn idle_connections_are_closed_before_half_open_ones() {
    let edge = start(Options {
        max_connections: 2,
        ..strict()
    });
    let mut half_open = edge.send(&REQUEST[..10]).await;
    edge.until_half_open(1).await;
    let mut idle = edge.send(REQUEST).await;
    read_quick_response(&mut idle).await;
    let mut new = edge.send(REQUEST).await;
    read_quick_response(&mut new).await;
    assert_eq!(read_to_end(idle).await, "");
    half_open.write_all(&REQUEST[10..]).await.unwrap();
    read_quick_response(&mut half_open).await;
}

#[tokio::test]
async fn when_all_are_busy_a_new_connection_is_refused() {
    let edge = start(Options {
        max_connections: 2,
        ..strict()
    });
    let wait = b"GET /wait HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";
    let busy = [edge.send(wait).await, edge.send(wait).await];
    edge.until_busy(2).await;
    let refused = read_to_end(edge.send(b"").await).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("content-length: {}\r\n", body.len())),
        "{refused}"
    );
    edge.gate.add_permits(2);
    for busy in busy {
        assert!(read_to_end(busy).await.ends_with("waited"));
    }
}

#[tokio::test]
async fn bodies_share_a_budget_and_small_ones_need_none() {
    let edge = start(Options {
        body_budget: 100 << 10,
        ..strict()
    });
    let head = |length: usize| {
        format!(
            "POST /length HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    // Holds most of the budget.
    let mut first = edge.send(head(100 << 10).as_bytes()).await;
    first.write_all(&vec![0; 99 << 10]).await.unwrap();
    edge.until_used(83 << 10).await;
    let mut second = edge.send(head(50 << 10).as_bytes()).await;
    second.write_all(&vec![0; 50 << 10]).await.unwrap();
    let answer = read_to_end(second).await;
    assert!(answer.contains("QuotaExceeded"), "{answer}");
    let mut small = edge.send(head(16 << 10).as_bytes()).await;
    small.write_all(&[0; 16 << 10]).await.unwrap();
    let answer = read_to_end(small).await;
    assert!(answer.ends_with("received 16384"), "{answer}");
    first.write_all(&[0; 1 << 10]).await.unwrap();
    let answer = read_to_end(first).await;
    assert!(answer.ends_with("received 102400"), "{answer}");
    edge.until_used(0).await;
}

#[tokio::test]
async fn a_process_out_of_files_closes_half_open_requests() {
    const EMFILE: i32 = 24;
    let edge = start(strict());
    let half_open = edge.send(&REQUEST[..10]).await;
    edge.until_half_open(1).await;
    let mut busy = edge.send(b"GET /wait HTTP/1.1\r\nhost: here\r\n\r\n").await;
    edge.until_busy(1).await;
    let error = io::Error::from_raw_os_error(EMFILE);
    handle_accept_error(&error, &edge.served.context.connections).await;
    assert_eq!(read_to_end(half_open).await, "");
    edge.gate.add_permits(1);
    assert_ne!(busy.read(&mut [0; 256]).await.unwrap(), 0);
}

#[tokio::test]
async fn one_address_has_its_share_of_connections() {
    let options = Options {
        max_connections_per_address: 4,
        ..strict()
    };
    let connections = Connections::new(options);
    let peer = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    let admit = |text: &str| connections.admit(peer(text));
    let held: Vec<_> = (0..4).flat_map(|_| admit("192.0.2.7")).collect();
    // They are idle, so the oldest is closed for the next one.
    let next = admit("192.0.2.7").unwrap();
    let shed: Vec<_> = held.iter().map(|it| it.shed.is_cancelled()).collect();
    assert_eq!(shed, [true, false, false, false]);
    drop(held);
    drop(next);
    let busy = |text: &str| {
        let admission = admit(text)?;
        admission.activity.head_received(false);
        Ok::<_, NoSlot>(admission)
    };
    let held: Vec<_> = (0..9).flat_map(|_| busy("192.0.2.7")).collect();
    assert_eq!(held.len(), 4);
    assert!(admit("192.0.2.8").is_ok());
    let proxied: Vec<_> = (0..9).flat_map(|_| busy("127.0.0.1")).collect();
    assert_eq!(proxied.len(), 9);
    drop(held);
    assert!(busy("192.0.2.7").is_ok());
}
