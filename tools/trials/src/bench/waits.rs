//! What waiting requests cost: thousands of long-polls, first while nothing happens, then while
//! their cargo complete.

mod long_poll;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::task::JoinSet;

use crate::bench::waits::long_poll::{AwaitedCargo, PollEnd, poll_until_completed};
use crate::harness::measurement::{cpu_time, open_files, process_memory};
use crate::harness::{
    BENCH_MEMORY, BaseEnvironment, CallbackSink, DatabaseLayout, FREE_MODEL, FailureContext as _,
    HttpClient, LoadRequests, LongshoredProcess, PollLimits, Result, ServiceClient, SinkOptions,
    TrialOrganization, TrialVerdict, judge, report_progress, round_to, summarize,
};
use crate::options::{BenchWaitsOptions, CommonOptions};

/// A project may have a thousand.
const MAX_WAITS_PER_ORGANIZATION: usize = 1000;
const MAX_SHARE_OF_A_CORE: f64 = 0.1;
const CONCURRENT_LOADS: usize = 32;
/// Connections are opened in groups: the queue of the listener is limited.
const CONNECTIONS_PER_GROUP: usize = 250;
const GROUP_DELAY: Duration = Duration::from_millis(50);
const OTHER_OPEN_FILES: usize = 2000;
const START_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(1), Duration::from_millis(250));
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_mins(5);

pub async fn run(common: &CommonOptions, options: &BenchWaitsOptions) -> Result<TrialVerdict> {
    // Three quarters of the connections may wait.
    let connections = (options.waits + options.waits / 2).max(1000);
    open_files::raise_limit(connections + OTHER_OPEN_FILES)?;
    let mut environment =
        BaseEnvironment::build(common, DatabaseLayout::SingleShard, BENCH_MEMORY).await?;
    environment
        .longshored
        .set("MAX_CONNECTIONS", &connections.to_string());
    let organizations = options.waits.div_ceil(MAX_WAITS_PER_ORGANIZATION);
    let organizations = environment.create_organizations(organizations).await?;
    let mut serve = environment.longshored.new_process("serve", "serve")?;
    serve.start_and_wait().await?;
    let receiver = CallbackSink::start(SinkOptions::default()).await?;
    let loads = LoadRequests::new(&receiver.url(), &[FREE_MODEL]);
    let awaited = load_cargo(&serve, &organizations, &loads, options.waits).await?;

    report_progress(format!("starting {} long-polls", awaited.len()));
    let answered = Arc::new(AtomicU64::new(0));
    let mut polls = start_polls(&serve, awaited, &answered).await;
    let is_started = |waiting: &f64| *waiting >= count(options.waits);
    let read = async || Result::Ok(serve.scrape_metrics().await?.sum("longshore_long_polls"));
    let waiting = START_LIMITS.read_until(is_started, read).await?;
    let idle = measure_idle(&environment, &serve, options).await?;
    let early = answered.load(Ordering::Relaxed);

    report_progress("completing all cargo");
    let mut work = environment.longshored.new_process("work", "work")?;
    let began = Instant::now();
    work.start()?;
    let mut ends = collect_ends(&mut polls).await?;
    let seconds = began.elapsed().as_secs_f64();
    let metrics = serve.scrape_metrics().await?;

    let mut verdict = TrialVerdict::new("bench waits").judging_figures(!options.small);
    judge! { verdict;
        record "waits" => options.waits,
        record "waiting" => waiting,
        record "seconds" => options.seconds,
        record "serve_share_of_a_core" => round_to(idle.serve, 4),
        record "postgres_share_of_a_core" => round_to(idle.postgres, 4),
        record "serve_megabytes" => round_to(idle.megabytes, 1),
        record "completed_within_seconds" => round_to(seconds, 1),
        record "milliseconds_from_completion_to_answer" => summarize(&mut ends.milliseconds),
        record "requests" => ends.requests,
        record "refused" => metrics.sum("longshore_long_polls_refused_total"),
        record "feed_read_failures" => metrics.sum("longshore_feed_read_failures_total"),
        check "all requests wait at once" => waiting >= count(options.waits),
        check "no request is answered before its cargo completes" => early == 0,
        check "every request is answered with its completed cargo" =>
            ends.milliseconds.len() == options.waits,
        check_figure "waiting requests cost at most a tenth of a core" =>
            idle.serve <= MAX_SHARE_OF_A_CORE,
        check_figure "their reads cost PostgreSQL at most a tenth of a core" =>
            idle.postgres <= MAX_SHARE_OF_A_CORE,
    }
    verdict.check_none("no request fails", "failures", &ends.failures);
    Ok(verdict)
}

fn count(value: usize) -> f64 {
    u32::try_from(value).map_or(f64::MAX, f64::from)
}

/// One cargo for each long-poll. No worker runs yet.
async fn load_cargo(
    serve: &LongshoredProcess,
    organizations: &[TrialOrganization],
    loads: &LoadRequests,
    wanted: usize,
) -> Result<Vec<AwaitedCargo>> {
    report_progress(format!("loading {wanted} cargo"));
    let client = ServiceClient::new(serve.address());
    let owners = organizations.iter().cycle().take(wanted).enumerate();
    let loading = owners.map(|(number, organization)| {
        let number = u64::try_from(number).unwrap_or_default();
        let request = loads.build(organization, number);
        let client = &client;
        async move {
            let response = client.send_load(request).await.context("loading")?;
            let cargo = response.cargo_id();
            let cargo = cargo.context(format!("not accepted: {}", response.text()))?;
            Result::Ok(AwaitedCargo {
                cargo,
                organization: organization.clone(),
            })
        }
    });
    stream::iter(loading)
        .buffer_unordered(CONCURRENT_LOADS)
        .try_collect()
        .await
}

async fn start_polls(
    serve: &LongshoredProcess,
    awaited: Vec<AwaitedCargo>,
    answered: &Arc<AtomicU64>,
) -> JoinSet<PollEnd> {
    let (client, host) = (HttpClient::default(), serve.address().to_string());
    let mut polls = JoinSet::new();
    for (number, awaited) in awaited.into_iter().enumerate() {
        if number % CONNECTIONS_PER_GROUP == 0 {
            tokio::time::sleep(GROUP_DELAY).await;
        }
        let (client, host, answered) = (client.clone(), host.clone(), Arc::clone(answered));
        polls.spawn(async move {
            let end = poll_until_completed(&client, &host, &awaited).await;
            answered.fetch_add(1, Ordering::Relaxed);
            end
        });
    }
    polls
}

/// Shares of a core while nothing completes, and the memory of `serve`.
#[derive(Debug)]
struct IdleCost {
    serve: f64,
    postgres: f64,
    megabytes: f64,
}

async fn measure_idle(
    environment: &BaseEnvironment,
    serve: &LongshoredProcess,
    options: &BenchWaitsOptions,
) -> Result<IdleCost> {
    report_progress(format!("measuring for {} s", options.seconds));
    let pid = serve.child.pid().context("serve has exited")?;
    let postgres = environment.database_server()?.child.pid();
    let postgres = postgres.context("PostgreSQL has exited")?;
    let read = || {
        let serve = cpu_time::process_cpu_seconds(pid)?;
        Result::Ok((serve, cpu_time::process_tree_cpu_seconds(postgres)?))
    };
    let (began, before) = (Instant::now(), read()?);
    tokio::time::sleep(Duration::from_secs(options.seconds)).await;
    let (after, seconds) = (read()?, began.elapsed().as_secs_f64());
    Ok(IdleCost {
        serve: (after.0 - before.0) / seconds,
        postgres: (after.1 - before.1) / seconds,
        megabytes: process_memory::resident_megabytes(pid)?,
    })
}

#[derive(Debug, Default)]
struct AllPollEnds {
    milliseconds: Vec<f64>,
    requests: u64,
    failures: Vec<String>,
}

async fn collect_ends(polls: &mut JoinSet<PollEnd>) -> Result<AllPollEnds> {
    let mut all = AllPollEnds::default();
    let latest = tokio::time::Instant::now() + LAST_ANSWER_TIMEOUT;
    while let Some(end) = tokio::time::timeout_at(latest, polls.join_next())
        .await
        .context("waiting for the last answer")?
    {
        let end = end.context("polling")?;
        all.requests += end.requests;
        match end.result {
            Ok(milliseconds) => all.milliseconds.push(milliseconds),
            Err(failure) => all.failures.push(failure),
        }
    }
    Ok(all)
}
