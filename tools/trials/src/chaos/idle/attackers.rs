//! Attackers without a key: each holds one connection for as long as the service lets it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::task::JoinSet;

use crate::harness::measurement::statistics;
use crate::harness::relays::narrow_socket;

/// All attackers together connect a thousand times per second at most.
const CONNECT_INTERVAL: Duration = Duration::from_millis(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// An attacker that was closed comes back after this time.
const RECONNECT_DELAY: Duration = Duration::from_secs(5);
const DRIP_INTERVAL: Duration = Duration::from_secs(1);
/// An attacker that reads nothing cannot see that the service closed its connection after 30 s.
const UNREAD_HOLD: Duration = Duration::from_secs(35);
/// Together the responses are larger than all buffers on their way.
const UNREAD_REQUESTS: usize = 4;
const ADDRESSES_PER_NETWORK: usize = 250;

/// What an attacker does with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttackKind {
    /// It sends nothing.
    Silent,
    /// It stops in the request line.
    InRequestLine,
    /// It stops in the headers.
    InHead,
    /// It sends the headers byte by byte.
    DripHead,
    /// It sends the body of a load byte by byte.
    DripLoad,
    /// The same with a form of the dashboard, which the service reads without a key.
    DripForm,
    /// It reads nothing of its responses.
    Unread,
}

/// A half is idle, a third drips, a sixth does not read.
const ATTACK_KINDS: [AttackKind; 12] = [
    AttackKind::Silent,
    AttackKind::DripHead,
    AttackKind::InRequestLine,
    AttackKind::Unread,
    AttackKind::InHead,
    AttackKind::DripLoad,
    AttackKind::Silent,
    AttackKind::DripHead,
    AttackKind::InRequestLine,
    AttackKind::Unread,
    AttackKind::InHead,
    AttackKind::DripForm,
];

impl AttackKind {
    fn nth(number: usize) -> Self {
        let kind = ATTACK_KINDS.get(number % ATTACK_KINDS.len());
        kind.copied().unwrap_or(Self::Silent)
    }

    const fn is_dripping(self) -> bool {
        matches!(self, Self::DripHead | Self::DripLoad | Self::DripForm)
    }

    fn first_bytes(self) -> String {
        match self {
            Self::Silent => String::new(),
            Self::InRequestLine => "POST /cargo/lo".to_owned(),
            Self::InHead | Self::DripHead => {
                "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-slow: a".to_owned()
            }
            Self::DripLoad => "POST /cargo/load HTTP/1.1\r\nhost: trial\r\n\
                content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
                .to_owned(),
            Self::DripForm => "POST /dashboard/sign-in HTTP/1.1\r\nhost: trial\r\n\
                content-type: application/x-www-form-urlencoded\r\ncontent-length: 1000\r\n\r\na"
                .to_owned(),
            Self::Unread => {
                "GET /openapi.json HTTP/1.1\r\nhost: trial\r\n\r\n".repeat(UNREAD_REQUESTS)
            }
        }
    }
}

/// They attack until this is dropped.
#[derive(Debug)]
pub(super) struct Attackers {
    log: Arc<Mutex<AttackLog>>,
    _attacking: JoinSet<()>,
}

impl Attackers {
    pub(super) fn start(target: SocketAddr, count: usize) -> Self {
        let log = Arc::new(Mutex::new(AttackLog::default()));
        let next_connect = Arc::new(Mutex::new(Instant::now()));
        let mut attacking = JoinSet::new();
        for number in 0..count {
            let (next_connect, log) = (Arc::clone(&next_connect), Arc::clone(&log));
            attacking.spawn(attack(target, number, next_connect, log));
        }
        Self {
            log,
            _attacking: attacking,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        self.log.lock().summarize()
    }
}

/// What became of all connections, as the attackers see it.
#[derive(Debug, Default)]
struct AttackLog {
    open: usize,
    most_open: usize,
    connected: usize,
    failed_connects: usize,
    /// Connections that got 503.
    refused: usize,
    /// Seconds after which the service closed each of the others.
    closed_after_seconds: Vec<f64>,
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HoldEnd {
    Closed,
    Refused,
    GivenUp,
}

impl AttackLog {
    fn record_connected(&mut self) {
        self.connected += 1;
        self.open += 1;
        self.most_open = self.most_open.max(self.open);
    }

    fn record_end(&mut self, end: HoldEnd, held: Duration) {
        self.open -= 1;
        match end {
            HoldEnd::Closed => self.closed_after_seconds.push(held.as_secs_f64()),
            HoldEnd::Refused => self.refused += 1,
            HoldEnd::GivenUp => {}
        }
    }

    fn summarize(&mut self) -> Value {
        json!({
            "open_at_once": self.most_open,
            "connected": self.connected,
            "failed_connects": self.failed_connects,
            "refused": self.refused,
            "closed": self.closed_after_seconds.len(),
            "closed_after_seconds": statistics::summarize(&mut self.closed_after_seconds),
        })
    }
}

async fn attack(
    target: SocketAddr,
    number: usize,
    next_connect: Arc<Mutex<Instant>>,
    log: Arc<Mutex<AttackLog>>,
) {
    let kind = AttackKind::nth(number);
    loop {
        wait_for_turn(&next_connect).await;
        let begun = Instant::now();
        match connect(source_address(number), target, kind).await {
            Ok(stream) => {
                log.lock().record_connected();
                let end = hold(stream, kind).await;
                log.lock().record_end(end, begun.elapsed());
            }
            Err(_) => log.lock().failed_connects += 1,
        }
        tokio::time::sleep(RECONNECT_DELAY).await;
    }
}

async fn wait_for_turn(next_connect: &Mutex<Instant>) {
    let turn = {
        let mut next = next_connect.lock();
        let turn = (*next).max(Instant::now());
        *next = turn + CONNECT_INTERVAL;
        turn
    };
    tokio::time::sleep_until(turn.into()).await;
}

/// Each attacker has its own address, and none is the address of another client.
fn source_address(number: usize) -> Ipv4Addr {
    let part = |value: usize| u8::try_from(value % ADDRESSES_PER_NETWORK + 1).unwrap_or(1);
    Ipv4Addr::new(127, 90, part(number / ADDRESSES_PER_NETWORK), part(number))
}

async fn connect(from: Ipv4Addr, target: SocketAddr, kind: AttackKind) -> io::Result<TcpStream> {
    let socket = narrow_socket::new_narrow_socket(from)?;
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, socket.connect(target));
    let mut stream = connecting.await.map_err(io::Error::other)??;
    stream.write_all(kind.first_bytes().as_bytes()).await?;
    Ok(stream)
}

/// Holds the connection until the service closes it.
async fn hold(mut stream: TcpStream, kind: AttackKind) -> HoldEnd {
    if kind == AttackKind::Unread {
        tokio::time::sleep(UNREAD_HOLD).await;
        return HoldEnd::GivenUp;
    }
    let (reading, writing) = stream.split();
    tokio::select! {
        end = read_until_closed(reading) => end,
        () = drip(writing), if kind.is_dripping() => HoldEnd::Closed,
    }
}

async fn read_until_closed(mut reading: ReadHalf<'_>) -> HoldEnd {
    let mut end = HoldEnd::Closed;
    let mut buffer = [0; 512];
    while let Ok(length @ 1..) = reading.read(&mut buffer).await {
        let bytes = buffer.get(..length).unwrap_or_default();
        if bytes.starts_with(b"HTTP/1.1 503 ") {
            end = HoldEnd::Refused;
        }
    }
    end
}

async fn drip(mut writing: WriteHalf<'_>) {
    loop {
        tokio::time::sleep(DRIP_INTERVAL).await;
        if writing.write_all(b"a").await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn half_of_the_attackers_are_idle_and_a_third_drip() {
        let count = |is_it: fn(AttackKind) -> bool| {
            let kinds = (0..600).map(AttackKind::nth);
            kinds.filter(|kind| is_it(*kind)).count()
        };
        assert_eq!(count(AttackKind::is_dripping), 200);
        assert_eq!(count(|kind| kind == AttackKind::Unread), 100);
    }

    #[test]
    fn each_attacker_has_its_own_address() {
        let addresses: HashSet<Ipv4Addr> = (0..5000).map(source_address).collect();
        assert_eq!(addresses.len(), 5000);
        assert!(addresses.iter().all(Ipv4Addr::is_loopback));
    }
}
