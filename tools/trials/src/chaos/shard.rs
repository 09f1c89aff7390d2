//! Three database servers, each stopped in turn: only its own organizations may notice.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::checks::completion;
use crate::harness::checks::readiness_watch;
use crate::harness::http::load_request;
use crate::harness::load::load_log;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    ChaosCallers, DatabaseLayout, HttpRequest, HttpResponse, LoadRecord, LoadSource,
    LongshoredProcess, ReadinessReport, Result, ServerOutages, TrialEnvironment,
    TrialPostgresServer, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosShardOptions, CommonOptions};

const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
const BEFORE_OUTAGES: Duration = Duration::from_secs(3);
/// Each outage is followed by as long a pause, up to this.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// `/ready` must report an outage by then.
const MAX_NOTICE_DELAY: Duration = Duration::from_secs(5);

/// The responses of the service, by the shard of the organization.
#[derive(Debug, Default)]
struct ShardResponses {
    outages: ServerOutages,
    counts: Mutex<ResponseCounts>,
    /// The last cargo of each organization, for tracking.
    latest: Mutex<BTreeMap<usize, u128>>,
}

#[derive(Debug, Default)]
struct ResponseCounts {
    served: u64,
    /// 503 with `Retry-After` for organizations on the missing server.
    refused: u64,
    /// The same for others.
    others_refused: u64,
    /// Anything else.
    failed: BTreeMap<String, u64>,
    /// Milliseconds of requests that were served while another server was down.
    other_shards_milliseconds: Vec<f64>,
}

pub async fn run(common: &CommonOptions, options: &ChaosShardOptions) -> Result<TrialVerdict> {
    let mut environment =
        TrialEnvironment::build_default(common, DatabaseLayout::ServerPerDatabase).await?;
    let responses = Arc::new(ShardResponses::default());
    warm_key_caches(&environment.callers).await;
    let addresses: Vec<SocketAddr> = environment
        .processes
        .iter()
        .map(LongshoredProcess::address)
        .collect();
    let away = Duration::from_secs(options.seconds);
    let load = |number| {
        let (callers, responses) = (Arc::clone(&environment.callers), Arc::clone(&responses));
        async move { load_and_track(&callers, &responses, number).await }
    };
    let (servers, outages) = (&mut environment.postgres, &responses.outages);
    let injection = run_outages(servers, &addresses, outages, away);
    let (offered, reports) = open_loop::offer_loads_during(options.rate, load, injection).await;
    let reports = reports?;
    report_progress("waiting for completion");
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("chaos shard");
    settled.judge(&environment.callers, &mut verdict);
    verdict.record("offered", offered.loads);
    judge(&mut verdict, &responses, &reports);
    Ok(verdict)
}

fn judge(
    verdict: &mut TrialVerdict,
    responses: &ShardResponses,
    reports: &BTreeMap<String, ReadinessReport>,
) {
    let mut requests = responses.counts.lock();
    let seconds = |noticed: Duration| statistics::round_to(noticed.as_secs_f64(), 1);
    let ready: BTreeMap<&String, Value> = reports
        .iter()
        .map(|(server, report)| {
            let noticed = report.noticed_after.map(seconds);
            let first_wrong = report.wrong.first();
            let figures = json!({"probes": report.probes, "noticed_after_seconds": noticed,
                "wrong": report.wrong.len(), "first_wrong": first_wrong,
                "unanswered": report.unanswered});
            (server, figures)
        })
        .collect();
    let failed: u64 = requests.failed.values().sum();
    let elsewhere = statistics::summarize(&mut requests.other_shards_milliseconds);
    judge! { verdict;
        record "served" => requests.served,
        record "refused_by_the_missing" => requests.refused,
        record "refused_by_others" => requests.others_refused,
        record "failed" => failed,
        record "failed_by" => json!(requests.failed),
        record "other_shards_milliseconds" => elsewhere,
        record "ready" => json!(ready),
        check "no request for other shards fails" => failed == 0,
        check_figure "no request for other shards is refused" => requests.others_refused == 0,
        check "the missing shard refuses with Retry-After" => requests.refused > 0,
    }
    for (server, report) in reports {
        let noticed = report.noticed_after;
        judge! { verdict;
            check format!("/ready names {server}") => noticed.is_some() && report.wrong.is_empty(),
            check_figure format!("/ready names {server} within 5 s, alone and in each answer") =>
                noticed.is_some_and(|noticed| noticed <= MAX_NOTICE_DELAY)
                    && report.named_others == 0 && report.unanswered == 0,
        }
    }
}

async fn run_outages(
    servers: &mut [TrialPostgresServer],
    addresses: &[SocketAddr],
    outages: &ServerOutages,
    away: Duration,
) -> Result<BTreeMap<String, ReadinessReport>> {
    let mut reports = BTreeMap::new();
    tokio::time::sleep(BEFORE_OUTAGES).await;
    for server in servers.iter_mut().rev() {
        let name = server.name().to_owned();
        report_progress(format!("stopping {name}"));
        outages.begin(&name);
        server.crash().await?;
        reports.insert(
            name.clone(),
            readiness_watch::watch_readiness(addresses, &name, away).await,
        );
        server.start().await?;
        outages.end();
        report_progress(format!("{name} is up again"));
        tokio::time::sleep(MAX_PAUSE.min(away)).await;
    }
    Ok(reports)
}

/// Makes both processes cache every key before control goes down.
async fn warm_key_caches(callers: &ChaosCallers) {
    for target in &callers.clients {
        for organization in &callers.organizations {
            let request = load_request::get(&load_request::tracking_path(0), organization);
            // The response is always 404; the request alone fills the cache.
            let _ = target.send(request).await;
        }
    }
}

/// One load, and every fourth time a tracking request for an earlier one.
async fn load_and_track(callers: &ChaosCallers, responses: &ShardResponses, number: u64) {
    let which = open_loop::organization_index(callers, number);
    let Some(organization) = callers.organizations.get(which) else {
        return;
    };
    let request = callers.requests.build(organization, number);
    let began_at = Instant::now();
    if let Some(answer) = send_request(callers, responses, which, request).await
        && let Some(cargo) = answer.cargo_id()
    {
        let source = LoadSource::of_organization(which);
        let record = LoadRecord::new(source, began_at, Ok(&answer));
        callers.load_log.record(record);
        responses.latest.lock().insert(which, cargo);
    }
    let latest = responses.latest.lock().get(&which).copied();
    if let (0, Some(cargo)) = (number % 4, latest) {
        let request = load_request::get(&load_request::tracking_path(cargo), organization);
        send_request(callers, responses, which, request).await;
    }
}

/// Sends one request and counts its result; returns the response if it was a success.
async fn send_request(
    callers: &ChaosCallers,
    responses: &ShardResponses,
    which: usize,
    request: HttpRequest,
) -> Option<HttpResponse> {
    let organization = callers.organizations.get(which)?;
    let target = callers
        .clients
        .get(rand::random_range(0..callers.clients.len()))?;
    let began = Instant::now();
    let answered = target.send(request).await;
    let excused = responses.outages.may_affect(&organization.shard, began);
    let mut requests = responses.counts.lock();
    let reason = match answered {
        Ok(answer) if answer.is_success() => {
            requests.served += 1;
            if responses.outages.is_any_down() && !excused {
                requests
                    .other_shards_milliseconds
                    .push(statistics::to_milliseconds(began.elapsed()));
            }
            return Some(answer);
        }
        Ok(answer) if answer.status == 503 && answer.retry_after().is_some() => {
            if excused {
                requests.refused += 1;
            } else {
                requests.others_refused += 1;
            }
            return None;
        }
        Ok(answer) => format!("{} {}", answer.status, answer.text()),
        Err(error) => load_log::error_reason(&error),
    };
    let place = if excused {
        "missing shard"
    } else {
        "other shards"
    };
    *requests
        .failed
        .entry(format!("{place}: {reason}"))
        .or_default() += 1;
    None
}
