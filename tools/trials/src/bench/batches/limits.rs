//! What the account may take, and whether it was ever given more.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::bench::batches::jobs::Job;
use crate::failure::{During as _, Result};
use crate::verdict::Verdict;

/// As `providers.toml` says them.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub job_items: u64,
    pub job_bytes: u64,
    /// Of all shards together; each has the same share.
    pub enqueued_tokens: u64,
}

impl Limits {
    pub fn in_file(&self, grace: u32) -> String {
        format!(
            "job_items = {}, job_bytes = {}, enqueued_tokens = {}, grace_seconds = {grace}, \
             linger_seconds = 1",
            self.job_items, self.job_bytes, self.enqueued_tokens
        )
    }

    pub fn judge(&self, verdict: &mut Verdict, jobs: &[Job], owners: &HashMap<u128, String>) {
        let most = |count: fn(&Job) -> u64| jobs.iter().map(count).max().unwrap_or_default();
        let items = most(|job| u64::try_from(job.lines.len()).unwrap_or(u64::MAX));
        let (bytes, tokens) = (most(Job::bytes), most(Job::tokens));
        let of_all = most_enqueued(jobs.iter());
        let mut by_shard: BTreeMap<&str, u64> = BTreeMap::new();
        for shard in owners.values() {
            let of_shard = jobs
                .iter()
                .filter(|job| owners.get(&job.batch) == Some(shard));
            by_shard
                .entry(shard)
                .or_insert_with(|| most_enqueued(of_shard));
        }
        let share = self.enqueued_tokens / 2;
        let failed = jobs.iter().filter(|job| job.state != "completed").count();
        verdict
            .note("jobs", jobs.len())
            .note(
                "limits",
                json!({"job_items": self.job_items, "job_bytes": self.job_bytes,
                    "enqueued_tokens": self.enqueued_tokens, "share_of_a_shard": share}),
            )
            .note(
                "largest_job",
                json!({"items": items, "bytes": bytes, "tokens": tokens}),
            )
            .note(
                "most_enqueued_tokens",
                json!({"account": of_all, "shards": by_shard}),
            )
            .note("jobs_not_completed", failed)
            .promise("jobs were created", !jobs.is_empty())
            .promise("no job has too many items", items <= self.job_items)
            .promise("no job has too many bytes", bytes <= self.job_bytes)
            .promise(
                "never do too many tokens wait at the account",
                of_all <= self.enqueued_tokens,
            )
            .promise(
                "never does a shard have more than its share waiting",
                by_shard.values().all(|tokens| *tokens <= share),
            )
            .promise(
                "the provider refused no job, for its tokens or otherwise",
                failed == 0,
            );
    }
}

/// Which shard each batch lies on.
pub async fn owners(shards: &[(String, PgPool)]) -> Result<HashMap<u128, String>> {
    let mut owners = HashMap::new();
    for (name, pool) in shards {
        let batches = sqlx::query_scalar::<_, Uuid>("select id from shard.batch");
        let batches = batches.fetch_all(pool).await.during("reading batches")?;
        owners.extend(batches.iter().map(|id| (id.as_u128(), name.clone())));
    }
    Ok(owners)
}

/// The most tokens in jobs that had been created and had not ended, at any moment.
fn most_enqueued<'a>(jobs: impl Iterator<Item = &'a Job>) -> u64 {
    let spans = jobs.map(|job| (job.created_at, job.ended_at, job.tokens()));
    most_at_once(spans)
}

fn most_at_once(spans: impl Iterator<Item = (DateTime<Utc>, Option<DateTime<Utc>>, u64)>) -> u64 {
    // At the same moment what ends goes first: false is before true.
    let mut changes = Vec::new();
    for (from, until, tokens) in spans {
        changes.push((from, true, tokens));
        changes.extend(until.map(|until| (until, false, tokens)));
    }
    changes.sort_unstable();
    let (mut now, mut most) = (0_u64, 0);
    for (_, begins, tokens) in changes {
        now = if begins {
            now + tokens
        } else {
            now.saturating_sub(tokens)
        };
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_waits_no_more() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let spans = [
            (at(1), Some(at(5)), 10),
            (at(2), Some(at(3)), 7),
            (at(3), None, 6),
            (at(5), None, 9),
        ];
        assert_eq!(most_at_once(spans.into_iter()), 17);
        assert_eq!(most_at_once(std::iter::empty()), 0);
    }
}
