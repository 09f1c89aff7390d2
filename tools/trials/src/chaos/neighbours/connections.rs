//! Half-open requests: they begin and never end, and hold connections of the `serve` process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::chaos::neighbours::steady_load::{self, SteadyLoad};
use crate::harness::measurement::statistics;
use crate::harness::{
    ConnectionReuse, DatabaseLayout, FREE_MODEL, FailureContext as _, Result, ServiceClient,
    TrialEnvironment, TrialVerdict, judge,
};
use crate::options::{ChaosNeighboursOptions, CommonOptions};

const ORGANIZATIONS: usize = 6;
/// Loads of the healthy organizations.
const LOADS_PER_SECOND: u32 = 20;
/// With few open files, fewer half-open requests are enough.
const SMALL_OPEN_FILES: u32 = 1024;
/// Half of the requests come from one address; the others from this many addresses.
const SOURCE_ADDRESSES: usize = 100;
const DRIP_INTERVAL: Duration = Duration::from_secs(5);
/// The service must end an unfinished request within this time.
const HALF_OPEN_TIMEOUT: Duration = Duration::from_mins(1);
/// How much slower the healthy loads may be at p99: a factor, plus milliseconds.
const MAX_P99_FACTOR: f64 = 2.0;
const MAX_P99_EXTRA_MILLISECONDS: f64 = 500.0;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Where a request stops.
#[derive(Debug, Clone, Copy)]
enum HalfOpenPoint {
    /// In the middle of its head.
    InHead,
    /// Before the body of a dashboard form.
    BeforeForm,
    /// After one byte of the body of a load.
    InLoad,
    /// The same, and then one more byte every few seconds.
    Drip,
}

const HALF_OPEN_POINTS: [HalfOpenPoint; 4] = [
    HalfOpenPoint::InHead,
    HalfOpenPoint::BeforeForm,
    HalfOpenPoint::InLoad,
    HalfOpenPoint::Drip,
];

pub async fn run(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let open_files = options
        .open_files
        .or(options.choose_size(None, Some(SMALL_OPEN_FILES)));
    let mut deployment = steady_load::deploy("connections", ORGANIZATIONS, 1);
    if let Some(server) = deployment.processes.first_mut() {
        server.open_files = open_files;
    }
    let environment =
        TrialEnvironment::build(common, DatabaseLayout::SingleShard, deployment).await?;
    let mut members = steady_load::members(&environment);
    let holder = members.pop();
    let holder = holder.context("there is no organization that can load")?;
    let serving = environment.server()?.address();
    // A keep-alive connection already has its file descriptor.
    let client = ServiceClient::with_reuse(serving, ConnectionReuse::PerRequest);
    let others = SteadyLoad::with_client(client, &environment, members, &[FREE_MODEL]);
    let length = Duration::from_secs(options.choose_size(15, 4));
    let calm = others.load_for(LOADS_PER_SECOND, length).await;

    let count = options.choose_size(2000, 1200);
    let mut held = HalfOpenRequests::default();
    let length = options.choose_size(
        HALF_OPEN_TIMEOUT + Duration::from_secs(5),
        Duration::from_secs(6),
    );
    let (opened, disturbed) = others
        .load_during(LOADS_PER_SECOND, async {
            let opened = held
                .open_requests(serving, &holder.organization.api_key, count)
                .await;
            tokio::time::sleep(length).await;
            opened
        })
        .await;
    others.wait_for_callbacks(SETTLE_TIMEOUT).await;

    let (mut without, mut with) = (others.observe(calm, None), others.observe(disturbed, None));
    steady_load::judge_slowdown(verdict, "connections", &mut without, &mut with);
    let is_alike = without.load_p99().zip(with.load_p99());
    let is_alike = is_alike.is_some_and(|(without, with)| {
        with <= without.mul_add(MAX_P99_FACTOR, MAX_P99_EXTRA_MILLISECONDS)
    });
    let mut seconds = held.closed_after_seconds();
    let closed = seconds.len();
    judge! { verdict;
        record "connections_half_open" => json!({"count": count, "opened": opened, "closed": closed,
            "closed_after_seconds": statistics::summarize(&mut seconds),
            "open_files_allowed": open_files}),
        check_figure "connections: load p99 stays within twice the usual and 500 ms" => is_alike,
    }
    if !options.small {
        let name = format!(
            "connections: the service ends every half-open request within {} s",
            HALF_OPEN_TIMEOUT.as_secs()
        );
        verdict.check(name, closed >= opened);
    }
    Ok(())
}

/// Requests that are held until this is dropped.
#[derive(Debug, Default)]
struct HalfOpenRequests {
    holding: JoinSet<()>,
    /// Seconds after which the service ended each request.
    closed_after_seconds: Arc<Mutex<Vec<f64>>>,
}

impl HalfOpenRequests {
    /// Opens `count` requests; returns how many were accepted.
    async fn open_requests(&mut self, serving: SocketAddr, key: &str, count: usize) -> usize {
        let mut opened = 0;
        for number in 0..count {
            let stop = HALF_OPEN_POINTS
                .get(number % HALF_OPEN_POINTS.len())
                .copied();
            let stop = stop.unwrap_or(HalfOpenPoint::InHead);
            let begun = Instant::now();
            // A refused connection holds nothing.
            let Ok(stream) = open_request(source_address(number), serving, stop, key).await else {
                continue;
            };
            opened += 1;
            let closed = Arc::clone(&self.closed_after_seconds);
            self.holding.spawn(async move {
                hold_until_closed(stream, stop).await;
                closed.lock().push(begun.elapsed().as_secs_f64());
            });
        }
        opened
    }

    fn closed_after_seconds(&self) -> Vec<f64> {
        self.closed_after_seconds.lock().clone()
    }
}

/// The source address: never the one of the healthy organizations.
fn source_address(number: usize) -> Ipv4Addr {
    let one_of_many = u8::try_from(1 + number % SOURCE_ADDRESSES).unwrap_or(1);
    if number.is_multiple_of(2) {
        Ipv4Addr::new(127, 0, 70, 1)
    } else {
        Ipv4Addr::new(127, 0, 71, one_of_many)
    }
}

async fn open_request(
    from: Ipv4Addr,
    serving: SocketAddr,
    stop: HalfOpenPoint,
    key: &str,
) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    let connecting = tokio::time::timeout(DRIP_INTERVAL, socket.connect(serving));
    let mut stream = connecting.await.map_err(std::io::Error::other)??;
    stream.write_all(first_bytes(stop, key).as_bytes()).await?;
    Ok(stream)
}

fn first_bytes(stop: HalfOpenPoint, key: &str) -> String {
    match stop {
        HalfOpenPoint::InHead => "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-begun: ".to_owned(),
        HalfOpenPoint::BeforeForm => "POST /dashboard/sign-in HTTP/1.1\r\nhost: trial\r\n\
            content-type: application/x-www-form-urlencoded\r\ncontent-length: 1000\r\n\r\n"
            .to_owned(),
        HalfOpenPoint::InLoad | HalfOpenPoint::Drip => format!(
            "POST /cargo/load HTTP/1.1\r\nhost: trial\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: 1000\r\n\r\n{{"
        ),
    }
}

/// Holds the connection until the service closes it.
async fn hold_until_closed(mut stream: TcpStream, stop: HalfOpenPoint) {
    let (mut reading, mut writing) = stream.split();
    let read = async {
        let mut buffer = [0; 1024];
        while matches!(reading.read(&mut buffer).await, Ok(length) if length > 0) {}
    };
    let write = async {
        if !matches!(stop, HalfOpenPoint::Drip) {
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
