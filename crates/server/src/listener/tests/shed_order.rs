//! Clients with a valid key or session keep their connections when others use up the limit.

use tokio::io::AsyncWriteExt as _;

use super::super::activity::ShedClass;
use super::super::*;
use super::slow_clients::{REQUEST, TestListener, read_quick_response, read_to_end, start, strict};

/// Its handler sets the flag, as the API does for a valid key.
const AUTHENTICATED_REQUEST: &[u8] = b"GET /authenticated HTTP/1.1\r\nhost: here\r\n\r\n";
/// Its response is larger than the buffers of the kernel.
const LARGE_REQUEST: &[u8] = b"GET /large HTTP/1.1\r\nhost: here\r\n\r\n";

fn start_with_limit(max_connections: usize) -> TestListener {
    start(Options {
        max_connections,
        ..strict()
    })
}

async fn connect_authenticated(edge: &TestListener) -> TcpStream {
    let mut stream = edge.send(AUTHENTICATED_REQUEST).await;
    read_quick_response(&mut stream).await;
    stream
}

#[tokio::test]
async fn half_open_requests_are_closed_before_idle_connections_of_authenticated_clients() {
    let edge = start_with_limit(2);
    let mut known = connect_authenticated(&edge).await;
    let half_open = edge.send(&REQUEST[..10]).await;
    edge.until_half_open(1).await;
    let mut new = edge.send(REQUEST).await;
    read_quick_response(&mut new).await;
    assert_eq!(read_to_end(half_open).await, "");
    known.write_all(REQUEST).await.unwrap();
    read_quick_response(&mut known).await;
}

#[tokio::test]
async fn clients_that_do_not_read_make_room_for_others() {
    let edge = start_with_limit(2);
    let unread = [
        edge.send(LARGE_REQUEST).await,
        edge.send(LARGE_REQUEST).await,
    ];
    edge.until(|it| it.connections.count_of(Some(ShedClass::Unread)) == 2)
        .await;
    let mut new = connect_authenticated(&edge).await;
    new.write_all(REQUEST).await.unwrap();
    read_quick_response(&mut new).await;
    edge.until(|it| it.connections.count_of(Some(ShedClass::Unread)) == 1)
        .await;
    drop(unread);
}

#[tokio::test]
async fn a_response_to_an_authenticated_client_is_never_cut() {
    let edge = start_with_limit(1);
    let mut known = connect_authenticated(&edge).await;
    known.write_all(LARGE_REQUEST).await.unwrap();
    edge.until_busy(1).await;
    let refused = read_to_end(edge.send(b"").await).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    drop(known);
}

#[tokio::test]
async fn authenticated_clients_make_room_when_there_are_no_others() {
    let edge = start_with_limit(2);
    let oldest = connect_authenticated(&edge).await;
    let _second = connect_authenticated(&edge).await;
    let _new = connect_authenticated(&edge).await;
    assert_eq!(read_to_end(oldest).await, "");
}

#[tokio::test]
async fn a_burst_is_waited_for_before_authenticated_clients_make_room() {
    let min_shed_age = Duration::from_mins(1);
    let connections = Connections::new(Options {
        max_connections: 2,
        min_shed_age,
        ..strict()
    });
    let address = IpAddr::from([192, 0, 2, 7]);
    let known = connections.admit(address).unwrap();
    known.activity.authentication.set();
    known.activity.make_older(min_shed_age);
    let burst = connections.admit(address).unwrap();
    let refused = connections.admit(address).unwrap_err();
    assert!(matches!(refused, NoSlot::Until(_)), "{refused:?}");
    burst.activity.make_older(min_shed_age);
    let _new = connections.admit(address).unwrap();
    assert!(burst.shed.is_cancelled());
    assert!(!known.shed.is_cancelled());
}
