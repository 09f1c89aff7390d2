//! Jobs at providers that the rows may not know: those that were created after the last moment
//! that a restored or promoted database has.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::TimeDelta;
use domain::id::{BatchId, Berth};
use domain::recovery::{BatchKnowledge, JobFate, JobOrigin, judge_job};
use domain::time::Timestamp;
use futures::future::join_all;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider, JobOwner, ListedJob, ProviderFileId};
use outbound::provider::client::ProviderCallFailure;
use store::Shard;
use store::shard::provider;
use store::shard::recovery::{self, LabelledBatch};
use tokio::time::timeout;

use crate::providers::{ProviderAccess, Providers};

/// How much earlier than the last known moment jobs are listed: clocks differ, and a marker is
/// written only every few seconds.
const SEARCH_MARGIN: TimeDelta = TimeDelta::minutes(10);

/// What is searched.
#[derive(Debug, Clone)]
pub struct JobSearchScope {
    since: Timestamp,
    /// Accounts that no other installation uses.
    exclusive: HashSet<String>,
    /// Those of the shard. None: they are not known, so nothing is proven by them.
    berths: Option<HashSet<Berth>>,
    /// How long an account has to list its jobs. None: as long as its calls may take.
    account_timeout: Option<Duration>,
}

impl JobSearchScope {
    /// `known_until` is the last moment that the rows certainly know.
    pub fn since(known_until: Timestamp) -> Self {
        Self {
            since: known_until - SEARCH_MARGIN,
            exclusive: HashSet::new(),
            berths: None,
            account_timeout: None,
        }
    }

    #[must_use]
    pub fn with_exclusive(mut self, accounts: &[String]) -> Self {
        self.exclusive.extend(accounts.iter().cloned());
        self
    }

    /// Jobs without an identity may be those of another shard of this installation: its berths
    /// tell them apart.
    #[must_use]
    pub fn with_berths(mut self, berths: impl IntoIterator<Item = Berth>) -> Self {
        self.berths = Some(berths.into_iter().collect());
        self
    }

    fn judge_origin(
        &self,
        account: &str,
        batch: BatchId,
        found: Option<JobOwner>,
        ours: JobOwner,
    ) -> JobOrigin {
        let is_elsewhere = |berths: &HashSet<Berth>| !berths.contains(&batch.berth());
        match found {
            Some(owner) if owner == ours => JobOrigin::ThisShard,
            Some(_) => JobOrigin::Other,
            None if self.berths.as_ref().is_some_and(is_elsewhere) => JobOrigin::Other,
            None if self.exclusive.contains(account) => JobOrigin::ThisShard,
            None => JobOrigin::Unproven,
        }
    }

    #[must_use]
    pub const fn with_account_timeout(mut self, limit: Duration) -> Self {
        self.account_timeout = Some(limit);
        self
    }
}

/// A job under one of our labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundJob {
    pub account: String,
    pub job: ProviderJobId,
    pub batch: BatchId,
    pub created_at: Option<Timestamp>,
    pub items: Option<u64>,
    /// The file with its requests, if the provider says.
    pub upload: Option<ProviderFileId>,
    pub fate: JobFate,
}

/// What providers have.
#[derive(Debug, Default)]
pub struct FoundJobs {
    /// Without those that are known.
    pub jobs: Vec<FoundJob>,
    /// Unknown jobs of accounts whose provider keeps no labels, by account.
    pub unlabelled: HashMap<String, u64>,
    /// Accounts that could not be listed, and why.
    pub failures: Vec<(String, String)>,
}

impl FoundJobs {
    /// Jobs whose rows are lost.
    pub fn count_unknown(&self) -> u64 {
        let lost = |job: &&FoundJob| matches!(job.fate, JobFate::Cancel | JobFate::Report);
        let labelled = self.jobs.iter().filter(lost).count() as u64;
        labelled + self.unlabelled.values().sum::<u64>()
    }
}

/// What an account answered.
struct AccountListing<'a> {
    account: &'a str,
    jobs: &'a dyn BatchProvider,
    listed: Result<Vec<ListedJob>, ProviderCallFailure>,
}

/// Lists the jobs of each account of this shard, and decides about each. An account that does not
/// answer stops no other.
pub async fn find(
    shard: &Shard,
    providers: &Providers,
    scope: &JobSearchScope,
) -> Result<FoundJobs, store::Error> {
    let owner = JobOwner(recovery::read_state(shard).await?.identity);
    let mut found = FoundJobs::default();
    let mut accounts: Vec<_> = batch_accounts(providers).collect();
    accounts.sort_unstable_by_key(|(name, _)| *name);
    let listings = accounts
        .into_iter()
        .map(|(account, jobs)| list_account(account, jobs, scope));
    // Jobs first, so that the rows are newer.
    for listing in join_all(listings).await {
        let AccountListing { account, jobs, .. } = listing;
        let listed = match listing.listed {
            Ok(listed) => listed,
            Err(failure) => {
                let failure = (account.to_owned(), failure.diagnosis());
                found.failures.push(failure);
                continue;
            }
        };
        if !jobs.supports_labels() {
            let unknown = count_unknown_jobs(shard, &listed).await?;
            if unknown > 0 {
                found.unlabelled.insert(account.to_owned(), unknown);
            }
            continue;
        }
        let judged = judge_jobs(shard, account, listed, owner, scope).await?;
        found.jobs.extend(judged);
    }
    Ok(found)
}

/// Records that batches were sent which a provider already has. Returns how many.
pub async fn adopt(shard: &Shard, found: &FoundJobs) -> Result<u64, store::Error> {
    let mut adopted = 0;
    for job in found.jobs.iter().filter(|it| it.fate == JobFate::Adopt) {
        let sent_at = job.created_at.unwrap_or_else(|| shard.clock.now());
        if recovery::adopt_batch(shard, job.batch, sent_at).await? {
            adopted += 1;
        }
    }
    Ok(adopted)
}

/// Cancels a job whose rows are lost.
pub async fn cancel(providers: &Providers, job: &FoundJob) -> Result<(), String> {
    let accounts = batch_accounts(providers);
    let mut accounts = accounts.filter(|(name, _)| *name == job.account);
    let Some((_, jobs)) = accounts.next() else {
        return Err("the account is not configured".to_owned());
    };
    let cancelled = jobs.cancel(&job.job).await;
    cancelled.map_err(|failure| failure.diagnosis())
}

/// The accounts with a batch API.
pub fn batch_accounts(providers: &Providers) -> impl Iterator<Item = (&str, &dyn BatchProvider)> {
    let accounts = providers.0.iter();
    accounts.filter_map(|(name, access)| match access {
        ProviderAccess::Batch { batch, .. } => Some((name.as_str(), &**batch)),
        ProviderAccess::Mock(_) | ProviderAccess::Realtime { .. } => None,
    })
}

async fn list_account<'a>(
    account: &'a str,
    jobs: &'a dyn BatchProvider,
    scope: &JobSearchScope,
) -> AccountListing<'a> {
    let listing = jobs.list_jobs(scope.since);
    let listed = match scope.account_timeout {
        Some(limit) => timeout(limit, listing).await.unwrap_or_else(|_| {
            Err(ProviderCallFailure::Unavailable {
                why: "no answer in time".to_owned(),
                retry_after: None,
            })
        }),
        None => listing.await,
    };
    AccountListing {
        account,
        jobs,
        listed,
    }
}

async fn judge_jobs(
    shard: &Shard,
    account: &str,
    listed: Vec<ListedJob>,
    owner: JobOwner,
    scope: &JobSearchScope,
) -> Result<Vec<FoundJob>, store::Error> {
    let labelled: Vec<(BatchId, ListedJob)> = listed
        .into_iter()
        .filter_map(|job| Some((job.label.as_ref()?.0.parse().ok()?, job)))
        .collect();
    let ids: Vec<BatchId> = labelled.iter().map(|(id, _)| *id).collect();
    let rows = recovery::find_batches(shard, &ids).await?;
    let rows: HashMap<BatchId, LabelledBatch> = rows.into_iter().map(|row| (row.id, row)).collect();
    let judged = labelled.into_iter().map(|(batch, job)| {
        let origin = scope.judge_origin(account, batch, job.owner, owner);
        FoundJob {
            account: account.to_owned(),
            fate: judge_job(batch_knowledge(rows.get(&batch), &job.job), origin),
            job: job.job,
            batch,
            created_at: job.created_at,
            items: job.items,
            upload: job.upload,
        }
    });
    let is_news = |job: &FoundJob| !matches!(job.fate, JobFate::Known | JobFate::Ignore);
    Ok(judged.filter(is_news).collect())
}

fn batch_knowledge(row: Option<&LabelledBatch>, job: &ProviderJobId) -> BatchKnowledge {
    let Some(row) = row else {
        return BatchKnowledge::NoRow;
    };
    match &row.job {
        Some(known) if *known == job.0 => BatchKnowledge::SameJob,
        Some(_) => BatchKnowledge::OtherJob,
        None if row.has_ended => BatchKnowledge::OtherJob,
        None => BatchKnowledge::NotSubmitted,
    }
}

async fn count_unknown_jobs(shard: &Shard, listed: &[ListedJob]) -> Result<u64, store::Error> {
    let names: Vec<String> = listed.iter().map(|job| job.job.0.clone()).collect();
    let known = provider::find_known_jobs(shard, &names).await?;
    let known: HashSet<&String> = known.iter().collect();
    Ok(names.iter().filter(|name| !known.contains(name)).count() as u64)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_job_of_another_shard_is_not_ours_also_in_an_exclusive_account() {
        let [ours, theirs] = [1, 2].map(|number| Berth::new(number).unwrap());
        let batch = |berth| BatchId::new(Timestamp::default(), berth, 7);
        let identity = |number| JobOwner(Uuid::from_u128(number));
        let scope = JobSearchScope::since(Timestamp::default())
            .with_exclusive(&["gemini".to_owned()])
            .with_berths([ours]);
        let judge =
            |account, berth, found| scope.judge_origin(account, batch(berth), found, identity(1));
        assert_eq!(judge("gemini", ours, None), JobOrigin::ThisShard);
        assert_eq!(judge("gemini", theirs, None), JobOrigin::Other);
        assert_eq!(judge("shared", ours, None), JobOrigin::Unproven);
        assert_eq!(judge("shared", theirs, None), JobOrigin::Other);
        let [mine, other] = [1, 2].map(|number| Some(identity(number)));
        assert_eq!(judge("shared", ours, mine), JobOrigin::ThisShard);
        assert_eq!(judge("gemini", ours, other), JobOrigin::Other);
    }
}
