//! Ingests the results of an ended job: downloads them to disk, checks all of them, stores them.

use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use domain::account_fault::AccountFaultReports;
use domain::batch::ResultIngestionMode;
use domain::id::CargoId;
use domain::outcome::Outcome;
use outbound::provider::batch_provider::ResultLocation;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_key::ItemKey;
use outbound::provider::item_result::ItemResult;
use outbound::provider::spool::Spool;
use sha2::{Digest as _, Sha256};
use store::shard::batch_submission::SubmissionRecord;
use store::shard::lane;
use store::shard::manifest::{self, OpenCargo};

use super::Collector;
use super::job_polling::JobSource;
use super::result_lines::ResultLines;
use crate::account_pause::pause_account;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::outcome_writer::{self, FinishedCargo};
use crate::requeue::{RequeueTiming, final_failure};
use crate::usage_estimate::estimate_missing_usage;

/// How many outcomes are in memory at once.
const MAX_OUTCOMES_PER_GROUP: usize = 500;
/// Fewer outcomes are in memory when their lines together are longer than this.
const MAX_BYTES_PER_GROUP: usize = 8 << 20;

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

impl Collector {
    pub(super) async fn ingest_results(
        &self,
        claimed: &ClaimedBatch,
        source: &JobSource<'_>,
        entry: &SubmissionRecord,
        results: &[ResultLocation],
    ) -> Result<usize, store::Error> {
        let batch = &claimed.batch;
        let care = ResultIngestionMode::after_takeovers(batch.takeovers);
        if care == ResultIngestionMode::FailRemaining {
            return self.fail_remaining(claimed).await;
        }
        // A job that this service cancelled did not fail to answer.
        let is_stopped = entry.cancel_wanted_at.is_some();
        failpoint::point("collect.downloading", &claimed.lane.provider);
        let downloading = self.download(source, results);
        let downloading =
            failpoint::during("collect.receiving", &claimed.lane.provider, downloading);
        let downloaded = claimed.call_provider(downloading).await?;
        let spool = match downloaded {
            Ok(spool) => spool,
            Err(failure) => {
                return self
                    .handle_call_failure(claimed, source, entry, &failure)
                    .await;
            }
        };
        failpoint::point("collect.downloaded", &claimed.lane.provider);
        // After takeovers no line is read before the earlier ones are stored: it may be the one
        // that kills the worker. Of two lines that differ, the first one counts then.
        let indexing = async {
            if care == ResultIngestionMode::Normal {
                index_results(&spool, source).await.map(Some)
            } else {
                Ok(None)
            }
        };
        let index = match indexing.await {
            Ok(index) => index,
            Err(failure) => {
                return self
                    .handle_call_failure(claimed, source, entry, &failure.into())
                    .await;
            }
        };
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        let open: HashMap<CargoId, OpenCargo> =
            heads.into_iter().map(|head| (head.cargo, head)).collect();
        if let Some(index) = &index {
            report_anomalies(claimed, index);
        }
        let account_faults = index.as_ref().map(|it| it.account_faults(&open));
        failpoint::point("collect.checked", &claimed.lane.provider);
        let reader = ResultReader {
            source,
            index: index.as_ref(),
            is_cancelled: is_stopped,
            care,
        };
        let stored = match self.store_outcomes(claimed, &spool, &reader, open).await? {
            Ok(stored) => stored,
            Err(failure) => {
                return self
                    .handle_call_failure(claimed, source, entry, &failure.into())
                    .await;
            }
        };
        failpoint::point("collect.stored", &claimed.lane.provider);
        if let Some(reason) = account_faults
            .as_ref()
            .and_then(AccountFaultReports::confirmed)
        {
            pause_account(
                &self.shard,
                &claimed.lane.provider,
                reason,
                claimed.claimed_at,
            )
            .await?;
        }
        let timing = if is_stopped {
            RequeueTiming::Immediately
        } else {
            RequeueTiming::AfterBackoff
        };
        self.end_batch(claimed, timing).await?;
        self.record_turnaround(claimed, entry).await?;
        Ok(stored.max(1))
    }

    async fn download(
        &self,
        source: &JobSource<'_>,
        results: &[ResultLocation],
    ) -> Result<Spool, ProviderCallFailure> {
        let mut spool = Spool::new(&self.spool_dir).await?;
        for file in results {
            source
                .provider
                .download_results(source.job, file, &mut spool)
                .await?;
        }
        Ok(spool)
    }

    /// Stores the outcomes in groups. After a crash only the missing ones are repeated.
    async fn store_outcomes(
        &self,
        claimed: &ClaimedBatch,
        spool: &Spool,
        reader: &ResultReader<'_>,
        mut open: HashMap<CargoId, OpenCargo>,
    ) -> Result<io::Result<usize>, store::Error> {
        let mut lines = match ResultLines::of(spool, reader.care).await {
            Ok(lines) => lines,
            Err(failure) => return Ok(Err(failure)),
        };
        let most = reader.care.group_size(MAX_OUTCOMES_PER_GROUP);
        let (mut stored, mut bytes, mut finished) = (0, 0, Vec::new());
        failpoint::point("collect.storing", &claimed.lane.provider);
        loop {
            let line = match lines.next().await {
                Ok(line) => line,
                Err(failure) => return Ok(Err(failure)),
            };
            let is_last = line.is_none();
            bytes += line.as_ref().map_or(0, Bytes::len);
            if let Some((head, outcome, usage_known)) =
                line.and_then(|line| reader.read_outcome(&line, &open))
            {
                open.remove(&head.cargo);
                let one = FinishedCargo {
                    open_cargo: head,
                    outcome,
                    realtime_price: reader.source.model.realtime(),
                };
                finished.push((one, usage_known));
            }
            let is_much = finished.len() >= most || bytes >= MAX_BYTES_PER_GROUP;
            if (is_much || is_last) && !finished.is_empty() {
                bytes = 0;
                let some =
                    estimate_missing_usage(&self.shard, std::mem::take(&mut finished)).await?;
                let (batch, slots) = (claimed.batch.id, Some(&self.callback_slots));
                stored += outcome_writer::store_outcomes(
                    &self.shard,
                    batch,
                    claimed.claim,
                    slots,
                    some,
                    claimed.claimed_at,
                )
                .await?;
                failpoint::point("collect.stored_some", &claimed.lane.provider);
            }
            if is_last {
                return Ok(Ok(stored));
            }
        }
    }

    /// Records how long the batch took: estimates for callers come from this.
    async fn record_turnaround(
        &self,
        claimed: &ClaimedBatch,
        entry: &SubmissionRecord,
    ) -> Result<(), store::Error> {
        let Some(since) = entry.sent_at else {
            return Ok(());
        };
        let seconds = (claimed.claimed_at - since).as_seconds_f64().max(0.0);
        lane::record_turnaround(&self.shard, claimed.batch.lane, seconds).await
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
    source: &'a JobSource<'a>,
    /// None after takeovers: then lines count in the order in which they are read.
    index: Option<&'a ResultIndex>,
    is_cancelled: bool,
    care: ResultIngestionMode,
}

impl ResultReader<'_> {
    /// The outcome in a line, if the line belongs to an open item.
    fn read_outcome(
        &self,
        line: &[u8],
        open: &HashMap<CargoId, OpenCargo>,
    ) -> Option<(OpenCargo, Outcome, bool)> {
        let model = &self.source.model.id;
        let (key, end) = self.source.provider.decode_result(line, model).ok()?;
        let head = open.get(&key.cargo)?;
        let is_consistent = self.index.is_none_or(|index| index.is_consistent(key));
        if head.attempt != key.attempt || !is_consistent {
            return None;
        }
        let (outcome, usage_known) = match end {
            ItemResult::Outcome {
                outcome,
                is_usage_known: usage_known,
            } => (outcome, usage_known),
            ItemResult::Retry(why) | ItemResult::AccountFault(why) if !self.is_cancelled => {
                (final_failure(head, &why)?, true)
            }
            ItemResult::Retry(_) | ItemResult::AccountFault(_) => return None,
        };
        Some((head.clone(), outcome, usage_known))
    }
}

/// Reads every line once: to which item it belongs, and whether an item has lines that differ.
async fn index_results(spool: &Spool, source: &JobSource<'_>) -> io::Result<ResultIndex> {
    let mut index = ResultIndex::default();
    let mut lines = spool.lines();
    while let Some(line) = lines.next().await? {
        let Ok((key, end)) = source.provider.decode_result(&line, &source.model.id) else {
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
