//! Many loads of compressible text: small on disk, large in memory.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::json;

use crate::chaos::neighbours::steady_load::{self, LoadingOrganization, SteadyLoad};
use crate::harness::{
    DatabaseLayout, FREE_MODEL, FailureContext as _, PollLimits, Result, ServiceClient,
    TrialEnvironment, TrialVerdict, judge, report_progress, round_to,
};
use crate::options::{ChaosNeighboursOptions, CommonOptions};

const FILLER_TEXT: &str = "lorem ipsum dolor sit amet ";
const LOAD_BYTES: usize = 9_000_000;
/// Answers are as large as the mock can make them.
const MAX_TOKENS: u32 = 100_000;
const MAX_CONCURRENT_LOADS: usize = 4;
const ORGANIZATIONS: usize = 6;
/// Loads of the healthy organizations.
const LOADS_PER_SECOND: u32 = 10;
const MAX_MEGABYTES: f64 = 512.0;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(15);

pub async fn run(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let deployment = steady_load::deploy("memory", ORGANIZATIONS, 1);
    let mut environment =
        TrialEnvironment::build(common, DatabaseLayout::SingleShard, deployment).await?;
    let mut members = steady_load::members(&environment);
    let large = members.pop();
    let large = large.context("there is no organization that can load")?;
    let serving = environment.server()?.address();
    let receipts = std::sync::Arc::clone(&environment.callback_sink.receipts);
    let others = SteadyLoad::new(&environment, members, &[FREE_MODEL])?;
    let length = Duration::from_secs(options.choose_size(15, 4));
    let calm = others.load_for(LOADS_PER_SECOND, length).await;
    others.wait_for_callbacks(SETTLE_TIMEOUT).await;

    // They all wait before the workers start, so that they share batches.
    environment.stop_workers().await?;
    let count = options.choose_size(300, 12);
    report_progress(format!("loading {count} cargo of 9 MB"));
    let cargo = load_large(serving, &large, count).await?;
    environment.start_workers()?;
    let within = Duration::from_secs(options.choose_size(240, 90));
    let delivering = async {
        let begun = Instant::now();
        let came = || {
            cargo
                .iter()
                .filter(|it| receipts.find(**it).is_some())
                .count()
        };
        let limits = PollLimits::new(within, POLL_INTERVAL);
        limits.wait_until(|| came() == cargo.len()).await;
        (came(), begun.elapsed().as_secs_f64())
    };
    let ((came, seconds), disturbed) = others.load_during(LOADS_PER_SECOND, delivering).await;
    others.wait_for_callbacks(SETTLE_TIMEOUT).await;

    let work = environment.worker()?.peak_megabytes()?;
    let serve = environment.server()?.peak_megabytes()?;
    let (mut without, mut with) = (others.observe(calm, None), others.observe(disturbed, None));
    steady_load::judge_slowdown(verdict, "memory", &mut without, &mut with);
    judge! { verdict;
        record "memory_loads" => json!({"count": count, "called_back": came,
            "seconds": round_to(seconds, 1), "work_peak_megabytes": round_to(work, 1),
            "serve_peak_megabytes": round_to(serve, 1)}),
        check format!("memory: work stays below {MAX_MEGABYTES} MB") => work < MAX_MEGABYTES,
        check format!("memory: serve stays below {MAX_MEGABYTES} MB") => serve < MAX_MEGABYTES,
        check "memory: every large load is called back" => came == count,
    }
    Ok(())
}

/// Loads this many cargo of 9 MB; returns their ids.
async fn load_large(
    serving: SocketAddr,
    large: &LoadingOrganization,
    count: usize,
) -> Result<Vec<u128>> {
    let text = FILLER_TEXT.repeat(LOAD_BYTES / FILLER_TEXT.len());
    let request = steady_load::build_load(large, FREE_MODEL, &text, MAX_TOKENS);
    let target = ServiceClient::new(serving);
    let loading =
        (0..count).map(|_| steady_load::load_accepted(&target, request.clone(), "a load of 9 MB"));
    stream::iter(loading)
        .buffer_unordered(MAX_CONCURRENT_LOADS)
        .try_collect()
        .await
}
