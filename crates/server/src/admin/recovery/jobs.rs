//! `longshored admin recovery jobs`: adopts and cancels jobs that the rows do not know.

use chrono::TimeDelta;
use domain::id::Berth;
use domain::recovery::JobFate;
use store::Shard;
use store::control::berth;
use store::shard::recovery;
use workers::Providers;
use workers::recovery::unknown_jobs::{self, FoundJobs, JobSearchScope};

use crate::admin::AdminFailure;
use crate::admin::print_output;
use crate::admin::recovery::view::FoundJobView;
use crate::admin::recovery::{JobSearchArguments, OnlyShard, RecoveryContext, failed_on};

/// How far back jobs are listed when a shard was never paused.
const DEFAULT_LOOKBACK: TimeDelta = TimeDelta::days(1);

pub(super) async fn run(
    context: RecoveryContext<'_>,
    only: &OnlyShard,
    search: &JobSearchArguments,
    dry_run: bool,
) -> Result<(), AdminFailure> {
    let mut views = Vec::new();
    for shard in context.shards(only)? {
        let (providers, found) = find(context, shard, search).await?;
        if !dry_run {
            context.record("recovery.jobs", shard).await?;
            resolve(shard, &providers, &found).await?;
        }
        views.extend(render(shard, &found, !dry_run));
    }
    print_output(&context.admin.printer.render_many(&views)?)
}

/// Fails when an account cannot be listed: its jobs would stay unknown.
pub(super) async fn find(
    context: RecoveryContext<'_>,
    shard: &Shard,
    search: &JobSearchArguments,
) -> Result<(Providers, FoundJobs), AdminFailure> {
    let mut providers = context.providers(shard)?;
    for name in search.exclusive.iter().chain(&search.skip) {
        if !providers.0.contains_key(name) {
            return Err(AdminFailure::NoProvider {
                name: name.clone(),
                hint: String::new(),
            });
        }
    }
    providers.0.retain(|name, _| !search.skip.contains(name));
    let state = recovery::read_state(shard)
        .await
        .map_err(failed_on(shard))?;
    let since = search.since.or(state.known_until);
    let since = since.unwrap_or(context.admin.now - DEFAULT_LOOKBACK);
    let scope = JobSearchScope::since(since)
        .with_exclusive(&search.exclusive)
        .with_berths(list_berths(context, shard).await?);
    let found = unknown_jobs::find(shard, &providers, &scope).await;
    let found = found.map_err(failed_on(shard))?;
    match found.failures.first() {
        Some((account, why)) => Err(AdminFailure::JobsNotListed {
            account: account.clone(),
            why: why.clone(),
        }),
        None => Ok((providers, found)),
    }
}

async fn list_berths(
    context: RecoveryContext<'_>,
    shard: &Shard,
) -> Result<Vec<Berth>, AdminFailure> {
    let map = berth::read_map(context.admin.control).await?;
    let numbered = (0..).zip(map);
    let own = numbered.filter(|(_, name)| **name == *shard.name);
    Ok(own.filter_map(|(number, _)| Berth::new(number)).collect())
}

pub(super) async fn resolve(
    shard: &Shard,
    providers: &Providers,
    found: &FoundJobs,
) -> Result<(), AdminFailure> {
    let adopted = unknown_jobs::adopt(shard, found).await;
    adopted.map_err(failed_on(shard))?;
    for job in found.jobs.iter().filter(|it| it.fate == JobFate::Cancel) {
        let cancelled = unknown_jobs::cancel(providers, job).await;
        cancelled.map_err(|why| AdminFailure::JobNotCancelled {
            account: job.account.clone(),
            job: job.job.0.clone(),
            why,
        })?;
    }
    Ok(())
}

pub(super) fn render(shard: &Shard, found: &FoundJobs, is_resolved: bool) -> Vec<FoundJobView> {
    let jobs = found.jobs.iter();
    let views = jobs.map(|job| {
        let is_done = is_resolved && job.fate != JobFate::Report;
        FoundJobView::new(&shard.name, job, is_done)
    });
    views.collect()
}
