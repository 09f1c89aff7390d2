//! Graceful shutdown of a listener: requests in flight are finished.

mod body_limits;
mod forwarded_clients;
mod shed_order;
mod slow_clients;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use axum::routing::get;
use tokio::sync::{Semaphore, mpsc};

use super::*;

/// `/slow` reports that it has begun, and answers when the gate opens.
struct SlowRoute {
    begun: mpsc::UnboundedReceiver<()>,
    gate: Arc<Semaphore>,
}

fn start() -> (HttpServer, SocketAddr, SlowRoute) {
    let (tell, begun) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let behind = Arc::clone(&gate);
    let slow = move || async move {
        tell.send(()).unwrap();
        let _passed = behind.acquire().await.unwrap();
        "slow"
    };
    let router = Router::new()
        .route("/", get(|| async { "quick" }))
        .route("/slow", get(slow));
    let listener = bind("SVC_LISTEN", SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    (
        HttpServer::start("test", listener, router, Options::default()),
        address,
        SlowRoute { begun, gate },
    )
}

async fn request(mut stream: TcpStream, path: &'static str) -> (TcpStream, String) {
    write!(stream, "GET {path} HTTP/1.1\r\nhost: here\r\n\r\n").unwrap();
    read_answer(stream).await
}

/// Reads on a separate thread, so that the server under test continues.
async fn read_answer(mut stream: TcpStream) -> (TcpStream, String) {
    let reading = tokio::task::spawn_blocking(move || {
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            answer.push(byte[0]);
        }
        let mut body = [0; 16];
        let length = if answer.windows(17).any(|head| head == b"content-length: 5") {
            5
        } else {
            4
        };
        stream.read_exact(&mut body[..length]).unwrap();
        answer.extend_from_slice(&body[..length]);
        (stream, String::from_utf8(answer).unwrap())
    });
    reading.await.unwrap()
}

async fn at_end(mut stream: TcpStream) -> usize {
    tokio::task::spawn_blocking(move || stream.read(&mut [0]).unwrap())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_kept_until_the_end_is_announced() {
    let (served, address, _slow) = start();
    let (stream, answer) = request(TcpStream::connect(address).unwrap(), "/").await;
    assert!(
        answer.ends_with("quick") && !answer.contains("connection: close"),
        "{answer}"
    );

    served
        .context
        .shutdown
        .announced
        .store(true, Ordering::Relaxed);
    let (stream, answer) = request(stream, "/").await;
    assert!(
        answer.ends_with("quick") && answer.contains("connection: close"),
        "{answer}"
    );
    assert_eq!(at_end(stream).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_is_finished_and_what_is_idle_is_closed() {
    let (served, address, mut slow) = start();
    let (idle, _) = request(TcpStream::connect(address).unwrap(), "/").await;
    let asking = tokio::spawn(request(TcpStream::connect(address).unwrap(), "/slow"));
    slow.begun.recv().await.unwrap();

    let served = Arc::new(served);
    let stopping = tokio::spawn({
        let served = Arc::clone(&served);
        async move { served.graceful_shutdown(Duration::ZERO).await }
    });
    assert_eq!(at_end(idle).await, 0);
    assert!(!stopping.is_finished());
    slow.gate.add_permits(1);
    let (stream, answer) = asking.await.unwrap();
    assert!(
        answer.ends_with("slow") && answer.contains("connection: close"),
        "{answer}"
    );
    assert_eq!(at_end(stream).await, 0);
    stopping.await.unwrap();
    assert!(TcpStream::connect(address).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_hold_up_the_end() {
    let (served, address, _slow) = start();
    let (idle, _) = request(TcpStream::connect(address).unwrap(), "/").await;
    let silent = TcpStream::connect(address).unwrap();
    served.graceful_shutdown(Duration::ZERO).await;
    assert_eq!(at_end(idle).await, 0);
    silent.shutdown(Shutdown::Both).unwrap();
}

/// A caller who is refused while the body is still on its way keeps the connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_no_handler_reads_costs_no_connection() {
    let (_served, address, _slow) = start();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET / HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\n"
    )
    .unwrap();
    let (mut stream, answer) = read_answer(stream).await;
    assert!(answer.ends_with("quick"), "{answer}");

    stream.write_all(b"late body").unwrap();
    let (_, answer) = request(stream, "/").await;
    assert!(answer.ends_with("quick"), "{answer}");
}

#[tokio::test]
async fn a_taken_address_is_named_with_its_setting() {
    let listener = bind("SVC_LISTEN", SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let failure = bind("SVC_LISTEN", listener.local_addr().unwrap()).unwrap_err();
    assert!(
        failure.to_string().contains("change SVC_LISTEN"),
        "{failure}"
    );
}
