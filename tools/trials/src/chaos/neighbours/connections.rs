//! Requests that are begun and never ended, held against the process that serves.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::catalogue::FREE;
use crate::chaos::neighbours::environment::{Environment, Plan};
use crate::chaos::neighbours::victims::{self, Reach, Victims};
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{Common, NeighboursOptions};
use crate::stand::{CHAOS_MEMORY, Stand};
use crate::verdict::Verdict;

const ORGANIZATIONS: usize = 6;
/// Loads a second of the others.
const RATE: u32 = 20;
/// With so few files fewer half-open requests are enough.
const SMALL_OPEN_FILES: u32 = 1024;
/// Half of the requests come from one address; the others from so many.
const OTHER_ADDRESSES: usize = 100;
const DRIP_INTERVAL: Duration = Duration::from_secs(5);
/// A request that is never ended is ended by the service within this time.
const MAX_HELD: Duration = Duration::from_mins(1);
/// What the others' loads may take at p99: so often the usual, and so many milliseconds more.
const ALLOWED_FACTOR: f64 = 2.0;
const ALLOWED_MILLISECONDS: f64 = 500.0;
const SETTLING: Duration = Duration::from_secs(15);

/// How far a request goes.
#[derive(Debug, Clone, Copy)]
enum Stop {
    /// Its head has no end.
    InHead,
    /// A form of the dashboard without its body.
    BeforeForm,
    /// A load with a key and one byte of its body.
    InLoad,
    /// The same, and every few seconds one byte more.
    Drip,
}

const STOPS: [Stop; 4] = [Stop::InHead, Stop::BeforeForm, Stop::InLoad, Stop::Drip];

pub async fn run(
    common: &Common,
    options: &NeighboursOptions,
    verdict: &mut Verdict,
) -> Result<()> {
    let open_files = options
        .open_files
        .or(options.size(None, Some(SMALL_OPEN_FILES)));
    let stand = Stand::build(common, CHAOS_MEMORY).await?;
    let plan = Plan {
        part: "connections",
        organizations: ORGANIZATIONS,
        workers: 1,
        settings: &[],
        open_files,
    };
    let environment = Environment::start(stand, plan).await?;
    let mut members = environment.members();
    let holder = members.pop();
    let holder = holder.ok_or_else(|| Failure::new("there is no organization to load"))?;
    let serving = environment.serving.address();
    let receipts = &environment.receiver.receipts;
    // A kept connection has its file already.
    let others = Victims::reaching(Reach::Fresh, serving, members, &[FREE], receipts);
    let length = Duration::from_secs(options.size(15, 6));
    let ((), calm) = others.load_during(RATE, tokio::time::sleep(length)).await;

    let count = options.size(2000, 1200);
    let mut held = HalfOpen::default();
    let length = options.size(MAX_HELD + Duration::from_secs(5), Duration::from_secs(12));
    let (opened, beside) = others
        .load_during(RATE, async {
            let opened = held.open(serving, &holder.organization.key, count).await;
            tokio::time::sleep(length).await;
            opened
        })
        .await;
    others.settle(SETTLING).await;

    let (mut without, mut with) = (others.observe(calm, None), others.observe(beside, None));
    victims::compare(verdict, "connections", &mut without, &mut with);
    let is_alike = without.load_p99().zip(with.load_p99());
    let is_alike = is_alike.is_some_and(|(without, with)| {
        with <= without.mul_add(ALLOWED_FACTOR, ALLOWED_MILLISECONDS)
    });
    let mut seconds = held.closed();
    let closed = seconds.len();
    verdict
        .note(
            "connections_half_open",
            json!({"count": count, "opened": opened, "closed": closed,
                "closed_after_seconds": figures::spread(&mut seconds),
                "open_files_allowed": open_files}),
        )
        .promise(
            "connections: load p99 stays within twice the usual and 500 ms",
            is_alike,
        );
    if !options.small {
        let name = format!(
            "connections: every half-open request is ended within {} s",
            MAX_HELD.as_secs()
        );
        verdict.promise(name, closed >= opened);
    }
    Ok(())
}

/// Requests that are held until this is dropped.
#[derive(Debug, Default)]
struct HalfOpen {
    holding: JoinSet<()>,
    /// After how many seconds the service ended each.
    closed: Arc<Mutex<Vec<f64>>>,
}

impl HalfOpen {
    /// Opens so many; says how many were accepted.
    async fn open(&mut self, serving: SocketAddr, key: &str, count: usize) -> usize {
        let mut opened = 0;
        for number in 0..count {
            let stop = STOPS.get(number % STOPS.len()).copied();
            let stop = stop.unwrap_or(Stop::InHead);
            let begun = Instant::now();
            // One that is refused at once holds nothing.
            let Ok(stream) = begin(source(number), serving, stop, key).await else {
                continue;
            };
            opened += 1;
            let closed = Arc::clone(&self.closed);
            self.holding.spawn(async move {
                hold(stream, stop).await;
                open(&closed).push(begun.elapsed().as_secs_f64());
            });
        }
        opened
    }

    fn closed(&self) -> Vec<f64> {
        open(&self.closed).clone()
    }
}

/// Where the request comes from: never the address of the others.
fn source(number: usize) -> Ipv4Addr {
    let one_of_many = u8::try_from(1 + number % OTHER_ADDRESSES).unwrap_or(1);
    if number.is_multiple_of(2) {
        Ipv4Addr::new(127, 0, 70, 1)
    } else {
        Ipv4Addr::new(127, 0, 71, one_of_many)
    }
}

async fn begin(
    from: Ipv4Addr,
    serving: SocketAddr,
    stop: Stop,
    key: &str,
) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    let connecting = tokio::time::timeout(DRIP_INTERVAL, socket.connect(serving));
    let mut stream = connecting.await.map_err(std::io::Error::other)??;
    stream.write_all(beginning(stop, key).as_bytes()).await?;
    Ok(stream)
}

fn beginning(stop: Stop, key: &str) -> String {
    match stop {
        Stop::InHead => "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-begun: ".to_owned(),
        Stop::BeforeForm => "POST /dashboard/sign-in HTTP/1.1\r\nhost: trial\r\n\
            content-type: application/x-www-form-urlencoded\r\ncontent-length: 1000\r\n\r\n"
            .to_owned(),
        Stop::InLoad | Stop::Drip => format!(
            "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: 1000\r\n\r\n{{"
        ),
    }
}

/// Until the service ends it.
async fn hold(mut stream: TcpStream, stop: Stop) {
    let (mut reading, mut writing) = stream.split();
    let read = async {
        let mut buffer = [0; 1024];
        while matches!(reading.read(&mut buffer).await, Ok(length) if length > 0) {}
    };
    let write = async {
        if !matches!(stop, Stop::Drip) {
            std::future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(DRIP_INTERVAL).await;
            if writing.write_all(b" ").await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
