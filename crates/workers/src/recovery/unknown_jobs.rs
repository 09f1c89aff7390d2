//! Jobs at providers that the rows may not know: those that were created after the last moment
//! that a restored or promoted database has.

use std::collections::{HashMap, HashSet};

use chrono::TimeDelta;
use domain::id::BatchId;
use domain::recovery::{BatchKnowledge, JobFate, JobOrigin, judge_job};
use domain::time::Timestamp;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider, JobOwner, ListedJob, ProviderFileId};
use store::Shard;
use store::shard::provider;
use store::shard::recovery::{self, LabelledBatch};

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
}

impl JobSearchScope {
    /// `known_until` is the last moment that the rows certainly know.
    pub fn since(known_until: Timestamp) -> Self {
        Self {
            since: known_until - SEARCH_MARGIN,
            exclusive: HashSet::new(),
        }
    }

    #[must_use]
    pub fn with_exclusive(mut self, accounts: &[String]) -> Self {
        self.exclusive.extend(accounts.iter().cloned());
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

/// Lists the jobs of each account of this shard, and decides about each.
pub async fn find(
    shard: &Shard,
    providers: &Providers,
    scope: &JobSearchScope,
) -> Result<FoundJobs, store::Error> {
    let owner = JobOwner(recovery::read_state(shard).await?.identity);
    let mut found = FoundJobs::default();
    let mut accounts: Vec<_> = batch_accounts(providers).collect();
    accounts.sort_unstable_by_key(|(name, _)| *name);
    for (account, jobs) in accounts {
        // Jobs first, so that the rows are newer.
        let listed = match jobs.list_jobs(scope.since).await {
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
        let is_exclusive = scope.exclusive.contains(account);
        let judged = judge_jobs(shard, account, listed, owner, is_exclusive).await?;
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

async fn judge_jobs(
    shard: &Shard,
    account: &str,
    listed: Vec<ListedJob>,
    owner: JobOwner,
    is_exclusive: bool,
) -> Result<Vec<FoundJob>, store::Error> {
    let labelled: Vec<(BatchId, ListedJob)> = listed
        .into_iter()
        .filter_map(|job| Some((job.label.as_ref()?.0.parse().ok()?, job)))
        .collect();
    let ids: Vec<BatchId> = labelled.iter().map(|(id, _)| *id).collect();
    let rows = recovery::find_batches(shard, &ids).await?;
    let rows: HashMap<BatchId, LabelledBatch> = rows.into_iter().map(|row| (row.id, row)).collect();
    let judged = labelled.into_iter().map(|(batch, job)| {
        let origin = match job.owner {
            Some(other) if other != owner => JobOrigin::Other,
            Some(_) => JobOrigin::ThisShard,
            None if is_exclusive => JobOrigin::ThisShard,
            None => JobOrigin::Unproven,
        };
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
