//! Loads accepted per second by `POST /cargo/bulk`, compared with the single route in the same run.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::harness::environment::org_factory;
use crate::harness::http::http_client::HttpResponse;
use crate::harness::load::closed_loop;
use crate::harness::longshored::org_setup;
use crate::harness::{
    BENCH_MEMORY, BODY_BYTES, BaseEnvironment, CallbackSink, ClosedLoopLoader, DatabaseLayout,
    FREE_MODEL, FailureContext as _, LoadRequests, Result, SHARD, ServiceClient, SinkOptions,
    TrialOrganization, TrialVerdict, find_bytes, judge, median, report_progress, round_to,
    summarize, to_f64,
};
use crate::options::{BenchBulkOptions, CommonOptions};

/// Loads in bulk, compared with loads on the single route.
const MIN_RATIO_TO_SINGLE_LOADS: f64 = 3.0;
const WARM_UP: Duration = Duration::from_secs(3);
const LEDGER_CHECK_COMMAND: [&str; 4] = ["admin", "ledger", "check", "--json"];

/// The rates of all rounds, and what went wrong.
#[derive(Debug, Default)]
struct Comparison {
    single_rates: Vec<f64>,
    bulk_rates: Vec<f64>,
    bulk_milliseconds: Vec<f64>,
    failures: BTreeMap<String, u64>,
}

/// What some connections loaded in bulk.
#[derive(Debug, Default)]
struct BulkRound {
    accepted: usize,
    milliseconds: Vec<f64>,
    failures: BTreeMap<String, u64>,
}

pub async fn run(common: &CommonOptions, options: &BenchBulkOptions) -> Result<TrialVerdict> {
    let environment =
        BaseEnvironment::build(common, DatabaseLayout::SingleShard, BENCH_MEMORY).await?;
    let mut server = environment.longshored.new_process("serve", "bulk")?;
    server.start_and_wait().await?;
    // This bench delivers nothing, but a load must name a valid callback URL.
    let receiver = CallbackSink::start(SinkOptions::default()).await?;
    let organizations = create_organizations(&environment, options).await?;
    let loads = LoadRequests::new(&receiver.url(), &[FREE_MODEL]);
    let loader = ClosedLoopLoader::new(server.address(), organizations, loads);
    let loader = Arc::new(loader);
    report_progress("warming up");
    let length = Duration::from_secs(options.seconds);
    closed_loop::run(&loader, options.connections, WARM_UP.min(length)).await?;
    let mut comparison = Comparison::default();
    for number in 1..=options.rounds {
        report_progress(format!("round {number} of {}", options.rounds));
        run_round(&environment, options, &loader, &mut comparison).await?;
    }
    let mut verdict = build_verdict(options, &comparison);
    report_progress("checking the ledger");
    let checked = environment
        .longshored
        .run_to_end(&LEDGER_CHECK_COMMAND)
        .await?;
    verdict.check("the ledger is clean", checked.status.success());
    Ok(verdict)
}

async fn create_organizations(
    environment: &BaseEnvironment,
    options: &BenchBulkOptions,
) -> Result<Vec<TrialOrganization>> {
    let longshored = &environment.longshored;
    let first = org_setup::create_organization(longshored, "First", "enterprise", SHARD).await?;
    org_setup::add_credit(longshored, &first).await?;
    let copies = options.organizations.saturating_sub(1);
    org_factory::copy_organization(environment.database_server()?, first, copies).await
}

/// The single route, then bulk loads of the same size.
async fn run_round(
    environment: &BaseEnvironment,
    options: &BenchBulkOptions,
    loader: &Arc<ClosedLoopLoader>,
    comparison: &mut Comparison,
) -> Result<()> {
    let length = Duration::from_secs(options.seconds);
    environment.database_server()?.checkpoint().await?;
    let single = closed_loop::run(loader, options.connections, length).await?;
    let single_rate = single.loads_per_second();
    environment.database_server()?.checkpoint().await?;
    let began = Instant::now();
    let bulk = load_in_bulk(loader, options, began + length).await?;
    let bulk_rate = to_f64(bulk.accepted) / began.elapsed().as_secs_f64().max(0.001);
    report_progress(format!(
        "  {single_rate:>8.0} a second alone, {bulk_rate:>8.0} in bulk"
    ));
    comparison.single_rates.push(single_rate);
    comparison.bulk_rates.push(bulk_rate);
    comparison.bulk_milliseconds.extend(bulk.milliseconds);
    for (reason, count) in single.failures.into_iter().chain(bulk.failures) {
        *comparison.failures.entry(reason).or_default() += count;
    }
    Ok(())
}

async fn load_in_bulk(
    loader: &Arc<ClosedLoopLoader>,
    options: &BenchBulkOptions,
    until: Instant,
) -> Result<BulkRound> {
    let mut running = JoinSet::new();
    for _ in 0..options.bulk_connections {
        running.spawn(run_connection(Arc::clone(loader), options.items, until));
    }
    let mut round = BulkRound::default();
    while let Some(one) = running.join_next().await {
        let one = one.context("loading in bulk")?;
        round.accepted += one.accepted;
        round.milliseconds.extend(one.milliseconds);
        for (reason, count) in one.failures {
            *round.failures.entry(reason).or_default() += count;
        }
    }
    Ok(round)
}

async fn run_connection(loader: Arc<ClosedLoopLoader>, items: u64, until: Instant) -> BulkRound {
    let client = ServiceClient::new(loader.address);
    let mut round = BulkRound::default();
    while Instant::now() < until {
        let first = loader.next_number.fetch_add(items, Ordering::Relaxed);
        let turn = usize::try_from(first / items.max(1)).unwrap_or_default();
        let place = turn % loader.organizations.len().max(1);
        let Some(organization) = loader.organizations.get(place) else {
            break;
        };
        let request = loader
            .loads
            .build_bulk(organization, first..first.saturating_add(items));
        let began = Instant::now();
        let response = client.send(request).await;
        round
            .milliseconds
            .push(began.elapsed().as_secs_f64() * 1000.0);
        round.record(response);
    }
    round
}

impl BulkRound {
    fn record(&mut self, response: io::Result<HttpResponse>) {
        let (reason, count) = match response {
            Ok(response) if response.status == 200 => {
                let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
                let count = |name: &str| body.get(name).and_then(Value::as_u64);
                let accepted = count("accepted").unwrap_or_default();
                self.accepted += usize::try_from(accepted).unwrap_or_default();
                // A group of items that is not stored is refused as a single load is.
                let is_unavailable = find_bytes(&response.body, b"service_unavailable").is_some();
                let reason = if is_unavailable {
                    "503"
                } else {
                    "refused items"
                };
                (reason.to_owned(), count("refused").unwrap_or(1))
            }
            Ok(response) => (response.status.to_string(), 1),
            Err(error) => (error.kind().to_string(), 1),
        };
        if count > 0 {
            *self.failures.entry(reason).or_default() += count;
        }
    }
}

fn build_verdict(options: &BenchBulkOptions, comparison: &Comparison) -> TrialVerdict {
    let pairs = comparison.bulk_rates.iter().zip(&comparison.single_rates);
    let mut ratios: Vec<f64> = pairs.map(|(bulk, single)| bulk / single.max(1.0)).collect();
    let ratio = median(&mut ratios).unwrap_or_default();
    let rate = |rates: &[f64]| median(&mut rates.to_vec()).map(|rate| round_to(rate, 0));
    let mut verdict = TrialVerdict::new("bench bulk").judging_figures(!options.small);
    judge! { verdict;
        record "ratio" => round_to(ratio, 2),
        record "bulk_loads_per_second" => rate(&comparison.bulk_rates),
        record "single_loads_per_second" => rate(&comparison.single_rates),
        record "bulk_milliseconds" => summarize(&mut comparison.bulk_milliseconds.clone()),
        record "items" => options.items,
        record "bulk_connections" => options.bulk_connections,
        record "single_connections" => options.connections,
        record "organizations" => options.organizations,
        record "request_bytes" => BODY_BYTES,
        record "failed" => serde_json::json!(comparison.failures),
        check "something was loaded in bulk" => comparison.bulk_rates.iter().all(|it| *it > 0.0),
        check_figure "bulk loads reach three times the rate of single loads" =>
            ratio >= MIN_RATIO_TO_SINGLE_LOADS,
    }
    closed_loop::judge_failures(&mut verdict, &comparison.failures);
    verdict
}
