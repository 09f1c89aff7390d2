//! The limits of the account, and whether the service ever exceeded them.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::bench::batches::provider_jobs::ProviderJob;
use crate::harness::environment::databases;
use crate::harness::{Result, TrialVerdict, judge};

/// As in `providers.toml`.
#[derive(Debug, Clone, Copy)]
pub struct BenchAccountLimits {
    pub job_items: u64,
    pub job_bytes: u64,
    /// For all shards together; each has an equal share.
    pub enqueued_tokens: u64,
}

impl BenchAccountLimits {
    pub fn to_toml(&self, grace: u32) -> String {
        format!(
            "job_items = {}, job_bytes = {}, enqueued_tokens = {}, grace_seconds = {grace}, \
             linger_seconds = 1",
            self.job_items, self.job_bytes, self.enqueued_tokens
        )
    }

    pub fn judge(
        &self,
        verdict: &mut TrialVerdict,
        jobs: &[ProviderJob],
        owners: &HashMap<u128, String>,
    ) {
        let most =
            |count: fn(&ProviderJob) -> u64| jobs.iter().map(count).max().unwrap_or_default();
        let items = most(|job| u64::try_from(job.lines.len()).unwrap_or(u64::MAX));
        let (bytes, tokens) = (most(ProviderJob::bytes), most(ProviderJob::tokens));
        let of_all = max_enqueued_tokens(jobs.iter());
        let mut by_shard: BTreeMap<&str, u64> = BTreeMap::new();
        for shard in owners.values() {
            let of_shard = jobs
                .iter()
                .filter(|job| owners.get(&job.batch) == Some(shard));
            by_shard
                .entry(shard)
                .or_insert_with(|| max_enqueued_tokens(of_shard));
        }
        let share = self.enqueued_tokens / 2;
        let failed = jobs.iter().filter(|job| job.state != "completed").count();
        judge! { verdict;
            record "jobs" => jobs.len(),
            record "limits" => json!({"job_items": self.job_items, "job_bytes": self.job_bytes,
                "enqueued_tokens": self.enqueued_tokens, "share_of_a_shard": share}),
            record "largest_job" => json!({"items": items, "bytes": bytes, "tokens": tokens}),
            record "most_enqueued_tokens" => json!({"account": of_all, "shards": by_shard}),
            record "jobs_not_completed" => failed,
            check "jobs were created" => !jobs.is_empty(),
            check "no job has too many items" => items <= self.job_items,
            check "no job has too many bytes" => bytes <= self.job_bytes,
            check "the account never has too many tokens enqueued" =>
                of_all <= self.enqueued_tokens,
            check "no shard ever has more than its share enqueued" =>
                by_shard.values().all(|tokens| *tokens <= share),
            check "the provider refused no job" => failed == 0,
        }
    }
}

/// The shard of each batch.
pub async fn find_batch_shards(shards: &[(String, PgPool)]) -> Result<HashMap<u128, String>> {
    let query = "select id, current_database()::text from shard.batch";
    let owners: Vec<(Uuid, String)> = databases::fetch_rows(shards, query).await?;
    Ok(owners
        .into_iter()
        .map(|(id, shard)| (id.as_u128(), shard))
        .collect())
}

/// The maximum of tokens in jobs that had been created and had not ended, at any time.
fn max_enqueued_tokens<'a>(jobs: impl Iterator<Item = &'a ProviderJob>) -> u64 {
    let spans = jobs.map(|job| (job.created_at, job.ended_at, job.tokens()));
    max_overlapping_tokens(spans)
}

fn max_overlapping_tokens(
    spans: impl Iterator<Item = (DateTime<Utc>, Option<DateTime<Utc>>, u64)>,
) -> u64 {
    // At the same time, ends sort before starts: false is before true.
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
        assert_eq!(max_overlapping_tokens(spans.into_iter()), 17);
        assert_eq!(max_overlapping_tokens(std::iter::empty()), 0);
    }
}
