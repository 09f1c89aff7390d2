//! Ingests the results of an ended job: downloads them to disk, checks all of them, stores them.

use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use domain::account_fault::AccountFaultReports;
use domain::batch::ResultIngestionMode;
use domain::id::CargoId;
use domain::money::Money;
use outbound::provider::batch_provider::ResultLocation;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_key::ItemKey;
use outbound::provider::item_result::{ItemBill, ItemResult};
use outbound::provider::spool::Spool;
use sha2::{Digest as _, Sha256};
use store::shard::earlier_cost::BilledAttempt;
use store::shard::lane;
use store::shard::manifest::OpenCargo;

use super::fail_remaining;
use super::job_polling::JobPoll;
use super::result_group::{LineResult, ResultGroup};
use super::result_lines::ResultLines;
use crate::batch_end::BatchEnd;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::requeue::{RequeueTiming, final_failure};

/// How many outcomes are in memory at once.
const MAX_OUTCOMES_PER_GROUP: usize = 500;
/// Fewer outcomes are in memory when their lines together are longer than this.
const MAX_BYTES_PER_GROUP: usize = 8 << 20;

/// What the results of a job gave.
#[derive(Debug, Default)]
struct IngestedResults {
    stored: usize,
    /// What items without an outcome cost us.
    billed: HashMap<CargoId, Money>,
}

/// What all lines of a result say, read before any outcome is stored.
#[derive(Debug, Default)]
struct ResultIndex {
    /// A digest of each item's result. None: the item has lines that differ.
    digests: HashMap<ItemKey, Option<[u8; 32]>>,
    unmatched: u64,
    repeated: u64,
    /// Items that failed because of the account, with the reason.
    account_faults: Vec<(ItemKey, String)>,
}

impl JobPoll<'_> {
    pub(super) async fn ingest_results(
        &self,
        results: &[ResultLocation],
    ) -> Result<usize, store::Error> {
        let claimed = self.claimed;
        let care = ResultIngestionMode::after_takeovers(claimed.batch.takeovers);
        if care == ResultIngestionMode::FailRemaining {
            return fail_remaining(claimed).await;
        }
        // A job that this service cancelled did not fail to answer.
        let is_stopped = self.record.cancel_wanted_at.is_some();
        claimed.failpoint("collect.downloading");
        let downloading = self.download(results);
        let downloading =
            failpoint::during("collect.receiving", &claimed.lane.provider, downloading);
        let spool = match claimed.call_provider(downloading).await? {
            Ok(spool) => spool,
            // A database that was restored to an earlier moment may have collected the results
            // before, and deleted them at the provider.
            Err(ProviderCallFailure::NotFound) => return self.handle_missing_job().await,
            Err(failure) => return self.handle_call_failure(&failure).await,
        };
        claimed.failpoint("collect.downloaded");
        // After takeovers no line is read before the earlier ones are stored: it may be the one
        // that kills the worker. Of two lines that differ, the first one counts then.
        let indexing = async {
            if care == ResultIngestionMode::Normal {
                self.index_results(&spool).await.map(Some)
            } else {
                Ok(None)
            }
        };
        let index = match indexing.await {
            Ok(index) => index,
            Err(failure) => return self.handle_call_failure(&failure.into()).await,
        };
        let heads = claimed.list_open().await?;
        let open: HashMap<CargoId, OpenCargo> =
            heads.into_iter().map(|head| (head.cargo, head)).collect();
        if let Some(index) = &index {
            report_anomalies(claimed, index);
        }
        let account_faults = index.as_ref().map(|it| it.account_faults(&open));
        claimed.failpoint("collect.checked");
        let reader = ResultReader {
            job_poll: self,
            index: index.as_ref(),
            is_cancelled: is_stopped,
            care,
        };
        let ingested = match self.store_results(&spool, &reader, open).await? {
            Ok(ingested) => ingested,
            Err(failure) => return self.handle_call_failure(&failure.into()).await,
        };
        claimed.failpoint("collect.stored");
        if let Some(reason) = account_faults
            .as_ref()
            .and_then(AccountFaultReports::confirmed)
        {
            claimed.pause_account(reason, claimed.claimed_at).await?;
        }
        let timing = if is_stopped {
            RequeueTiming::Immediately
        } else {
            RequeueTiming::AfterBackoff
        };
        let (end, billed) = (BatchEnd::JobOver(timing), ingested.billed_attempts());
        claimed.end_billed(end, &billed, claimed.claimed_at).await?;
        self.record_turnaround().await?;
        Ok(ingested.stored.max(1))
    }

    async fn download(&self, results: &[ResultLocation]) -> Result<Spool, ProviderCallFailure> {
        let mut spool = Spool::new(&self.claimed.deps.spool_dir).await?;
        for file in results {
            self.provider
                .download_results(&self.job, file, &mut spool)
                .await?;
        }
        Ok(spool)
    }

    /// Stores the outcomes in groups. After a crash only the missing ones are repeated.
    async fn store_results(
        &self,
        spool: &Spool,
        reader: &ResultReader<'_>,
        mut open: HashMap<CargoId, OpenCargo>,
    ) -> Result<io::Result<IngestedResults>, store::Error> {
        let mut lines = match ResultLines::of(spool, reader.care).await {
            Ok(lines) => lines,
            Err(failure) => return Ok(Err(failure)),
        };
        let claimed = self.claimed;
        let most = reader.care.group_size(MAX_OUTCOMES_PER_GROUP);
        let mut ingested = IngestedResults::default();
        let (mut bytes, mut group) = (0, ResultGroup::default());
        claimed.failpoint("collect.storing");
        loop {
            let line = match lines.next().await {
                Ok(line) => line,
                Err(failure) => return Ok(Err(failure)),
            };
            let is_last = line.is_none();
            bytes += line.as_ref().map_or(0, Bytes::len);
            match line.and_then(|line| reader.read_line(&line, &open)) {
                Some(LineResult::Billed(attempt)) => {
                    ingested.billed.insert(attempt.cargo, attempt.cost);
                }
                Some(LineResult::Finished(one)) => {
                    open.remove(&one.open_cargo.cargo);
                    group.finished.push(*one);
                }
                Some(LineResult::Uncut(one)) => {
                    open.remove(&one.open_cargo.cargo);
                    group.uncut.push(*one);
                }
                None => {}
            }
            let is_much = group.len() >= most || bytes >= MAX_BYTES_PER_GROUP;
            if (is_much || is_last) && group.len() > 0 {
                bytes = 0;
                ingested.stored += std::mem::take(&mut group).store(claimed).await?;
                claimed.failpoint("collect.stored_some");
            }
            if is_last {
                return Ok(Ok(ingested));
            }
        }
    }

    /// Records how long the batch took: estimates for callers come from this.
    async fn record_turnaround(&self) -> Result<(), store::Error> {
        let Some(since) = self.record.sent_at else {
            return Ok(());
        };
        let claimed = self.claimed;
        let seconds = (claimed.claimed_at - since).as_seconds_f64().max(0.0);
        lane::record_turnaround(claimed.shard(), claimed.batch.lane, seconds).await
    }

    /// Reads every line once: to which item it belongs, and whether an item has lines that differ.
    async fn index_results(&self, spool: &Spool) -> io::Result<ResultIndex> {
        let mut index = ResultIndex::default();
        let mut lines = spool.lines();
        while let Some(line) = lines.next().await? {
            let Ok((key, end)) = self.provider.decode_result(&line) else {
                index.unmatched += 1;
                continue;
            };
            if let ItemResult::AccountFault(reason) = &end {
                index.account_faults.push((key, reason.clone()));
            }
            let digest: [u8; 32] = Sha256::digest(format!("{end:?}").as_bytes()).into();
            match index.digests.get_mut(&key) {
                None => {
                    index.digests.insert(key, Some(digest));
                }
                Some(known) => {
                    index.repeated += 1;
                    if *known != Some(digest) {
                        *known = None;
                    }
                }
            }
        }
        Ok(index)
    }
}

impl IngestedResults {
    fn billed_attempts(&self) -> Vec<BilledAttempt> {
        let billed = self.billed.iter();
        billed
            .map(|(&cargo, &cost)| BilledAttempt { cargo, cost })
            .collect()
    }
}

fn report_anomalies(claimed: &ClaimedBatch, index: &ResultIndex) {
    let batch = claimed.batch.id;
    let differing = index.digests.values().filter(|it| it.is_none()).count() as u64;
    metrics::counter!("longshore_batch_results_unmatched_total").increment(index.unmatched);
    metrics::counter!("longshore_batch_results_repeated_total").increment(index.repeated);
    if index.unmatched > 0 || differing > 0 {
        let unmatched = index.unmatched;
        tracing::error!(batch.id = %batch, unmatched, differing, "results name items that are not in the batch, or have different answers for one item: those results are ignored");
    }
}

impl ResultIndex {
    /// The account faults that results of open items report, by organization.
    fn account_faults(&self, open: &HashMap<CargoId, OpenCargo>) -> AccountFaultReports {
        let mut reports = AccountFaultReports::default();
        for (key, reason) in &self.account_faults {
            let head = open.get(&key.cargo);
            if let Some(head) = head.filter(|head| head.attempt == key.attempt)
                && self.is_consistent(*key)
            {
                reports.add(head.organization, reason);
            }
        }
        reports
    }

    fn is_consistent(&self, key: ItemKey) -> bool {
        self.digests.get(&key).is_some_and(Option::is_some)
    }
}

/// Reads outcomes from result lines, by the index of all lines.
struct ResultReader<'a> {
    job_poll: &'a JobPoll<'a>,
    /// None after takeovers: then lines count in the order in which they are read.
    index: Option<&'a ResultIndex>,
    is_cancelled: bool,
    care: ResultIngestionMode,
}

impl ResultReader<'_> {
    /// What a line says, if it belongs to an open item and is more than a reason to retry.
    fn read_line(&self, line: &[u8], open: &HashMap<CargoId, OpenCargo>) -> Option<LineResult> {
        let (key, result) = self.job_poll.provider.decode_result(line).ok()?;
        let head = open.get(&key.cargo)?;
        let is_consistent = self.index.is_none_or(|index| index.is_consistent(key));
        if head.attempt != key.attempt || !is_consistent {
            return None;
        }
        let context = self.job_poll.claimed.result_context();
        match result {
            ItemResult::Answer(answer) => Some(LineResult::answered(head, answer, context)),
            ItemResult::Embeddings { vectors, usage } => {
                let finished = context.embedded(head.clone(), vectors, usage);
                Some(LineResult::finished(finished))
            }
            ItemResult::Failure { failure, billed } => {
                let finished = context.failed(head.clone(), failure, billed);
                Some(LineResult::finished(finished))
            }
            ItemResult::Retry { why, billed } => self.read_unanswered(head, &why, billed),
            ItemResult::AccountFault(why) => self.read_unanswered(head, &why, ItemBill::default()),
        }
    }

    /// The item fails when its attempts are used up. Otherwise it is requeued.
    fn read_unanswered(&self, head: &OpenCargo, why: &str, billed: ItemBill) -> Option<LineResult> {
        let context = self.job_poll.claimed.result_context();
        let failure = (!self.is_cancelled)
            .then(|| final_failure(head, why))
            .flatten();
        match failure {
            Some(failure) => {
                let finished = context.failed(head.clone(), failure, billed);
                Some(LineResult::finished(finished))
            }
            None => context.billed_attempt(head, billed).map(LineResult::Billed),
        }
    }
}
