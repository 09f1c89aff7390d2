//! Results of a job that has ended: brought to disk, checked as a whole, then stored.

use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use domain::account_fault::AccountFaultReports;
use domain::batch::Care;
use domain::id::CargoId;
use domain::outcome::Outcome;
use outbound::provider::call::CallFailure;
use outbound::provider::ending::ItemEnd;
use outbound::provider::jobs::ResultFile;
use outbound::provider::key::ItemKey;
use outbound::provider::spool::Spool;
use sha2::{Digest as _, Sha256};
use store::shard::lane;
use store::shard::manifest::{self, Head};
use store::shard::submission::Entry;

use super::Collector;
use super::job::Source;
use super::lines::ResultLines;
use crate::chaos;
use crate::claimed::ClaimedBatch;
use crate::counted::counted;
use crate::onward::{Going, last_word};
use crate::pause::pause;
use crate::storing::{self, Finished};

/// Outcomes that are in memory at a time.
const AT_ONCE: usize = 500;
/// Fewer, when their lines are longer than this together.
const BYTES_AT_ONCE: usize = 8 << 20;

/// What the lines are, before any of them is believed.
#[derive(Debug, Default)]
struct Census {
    /// How each item's line begins and ends, in a digest; None: it has lines that differ.
    lines: HashMap<ItemKey, Option<[u8; 32]>>,
    strangers: u64,
    repeated: u64,
    /// Items that were refused for the account, with the reason.
    account_faults: Vec<(ItemKey, String)>,
}

impl Collector {
    pub(super) async fn take_in(
        &self,
        claimed: &ClaimedBatch,
        source: &Source<'_>,
        entry: &Entry,
        results: &[ResultFile],
    ) -> Result<usize, store::Error> {
        let batch = &claimed.batch;
        let care = Care::after(batch.takeovers);
        if care == Care::SetAside {
            return self.set_aside(claimed).await;
        }
        // What we stopped ourselves was not refused an answer.
        let is_stopped = entry.cancel_wanted_at.is_some();
        chaos::point("collect.downloading", &claimed.lane.provider);
        let downloading = self.download(source, results);
        let downloading = chaos::during("collect.receiving", &claimed.lane.provider, downloading);
        let downloaded = claimed.call(downloading).await?;
        let spool = match downloaded {
            Ok(spool) => spool,
            Err(failure) => return self.not_seen(claimed, source, entry, &failure).await,
        };
        chaos::point("collect.downloaded", &claimed.lane.provider);
        // With care no line is read before those ahead of it are stored: it may be the one that
        // kills. Of two that differ, the first is believed then.
        let counting = async {
            if care == Care::Usual {
                census(&spool, source).await.map(Some)
            } else {
                Ok(None)
            }
        };
        let census = match counting.await {
            Ok(census) => census,
            Err(failure) => return self.not_seen(claimed, source, entry, &failure.into()).await,
        };
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let open: HashMap<CargoId, Head> =
            heads.into_iter().map(|head| (head.cargo, head)).collect();
        if let Some(census) = &census {
            report(claimed, census);
        }
        let account_faults = census.as_ref().map(|it| it.account_faults(&open));
        chaos::point("collect.checked", &claimed.lane.provider);
        let belief = Belief {
            source,
            census: census.as_ref(),
            is_stopped,
            care,
        };
        let stored = match self.store_all(claimed, &spool, &belief, open).await? {
            Ok(stored) => stored,
            Err(failure) => return self.not_seen(claimed, source, entry, &failure.into()).await,
        };
        chaos::point("collect.stored", &claimed.lane.provider);
        if let Some(reason) = account_faults
            .as_ref()
            .and_then(AccountFaultReports::confirmed)
        {
            pause(&self.shard, &claimed.lane.provider, reason, claimed.now).await?;
        }
        let going = if is_stopped {
            Going::AtOnce
        } else {
            Going::Rested
        };
        self.end(claimed, going).await?;
        self.note_turnaround(claimed, entry).await?;
        Ok(stored.max(1))
    }

    async fn download(
        &self,
        source: &Source<'_>,
        results: &[ResultFile],
    ) -> Result<Spool, CallFailure> {
        let mut spool = Spool::new(&self.spools).await?;
        for file in results {
            source.jobs.results(source.job, file, &mut spool).await?;
        }
        Ok(spool)
    }

    /// Stores what is believed, some at a time; a crash in between repeats only what is missing.
    async fn store_all(
        &self,
        claimed: &ClaimedBatch,
        spool: &Spool,
        belief: &Belief<'_>,
        mut open: HashMap<CargoId, Head>,
    ) -> Result<io::Result<usize>, store::Error> {
        let mut lines = match ResultLines::of(spool, belief.care).await {
            Ok(lines) => lines,
            Err(failure) => return Ok(Err(failure)),
        };
        let most = belief.care.group(AT_ONCE);
        let (mut stored, mut bytes, mut finished) = (0, 0, Vec::new());
        chaos::point("collect.storing", &claimed.lane.provider);
        loop {
            let line = match lines.next().await {
                Ok(line) => line,
                Err(failure) => return Ok(Err(failure)),
            };
            let is_last = line.is_none();
            bytes += line.as_ref().map_or(0, Bytes::len);
            if let Some((head, outcome, usage_known)) =
                line.and_then(|line| belief.outcome(&line, &open))
            {
                open.remove(&head.cargo);
                let one = Finished {
                    head,
                    outcome,
                    realtime: belief.source.model.realtime(),
                };
                finished.push((one, usage_known));
            }
            let is_much = finished.len() >= most || bytes >= BYTES_AT_ONCE;
            if (is_much || is_last) && !finished.is_empty() {
                bytes = 0;
                let some = counted(&self.shard, std::mem::take(&mut finished)).await?;
                let (batch, slots) = (claimed.batch.id, Some(&self.callback_slots));
                stored +=
                    storing::store(&self.shard, batch, claimed.claim, slots, some, claimed.now)
                        .await?;
                chaos::point("collect.stored_some", &claimed.lane.provider);
            }
            if is_last {
                return Ok(Ok(stored));
            }
        }
    }

    /// Callers are told what to expect by what was seen.
    async fn note_turnaround(
        &self,
        claimed: &ClaimedBatch,
        entry: &Entry,
    ) -> Result<(), store::Error> {
        let Some(since) = entry.sent_at else {
            return Ok(());
        };
        let seconds = (claimed.now - since).as_seconds_f64().max(0.0);
        lane::took(&self.shard, claimed.batch.lane, seconds).await
    }
}

fn report(claimed: &ClaimedBatch, census: &Census) {
    let batch = claimed.batch.id;
    let differing = census.lines.values().filter(|it| it.is_none()).count() as u64;
    metrics::counter!("collect_unmatched_results_total").increment(census.strangers);
    metrics::counter!("collect_repeated_results_total").increment(census.repeated);
    if census.strangers > 0 || differing > 0 {
        let strangers = census.strangers;
        tracing::error!(batch.id = %batch, strangers, differing, "results of {batch} name items that are not in it, or one item twice with different answers: those are not believed");
    }
}

impl Census {
    /// What open items say about the account, by organization.
    fn account_faults(&self, open: &HashMap<CargoId, Head>) -> AccountFaultReports {
        let mut reports = AccountFaultReports::default();
        for (key, reason) in &self.account_faults {
            let head = open.get(&key.cargo);
            if let Some(head) = head.filter(|head| head.attempt == key.attempt)
                && self.is_believed(*key)
            {
                reports.add(head.organization, reason);
            }
        }
        reports
    }

    fn is_believed(&self, key: ItemKey) -> bool {
        self.lines.get(&key).is_some_and(Option::is_some)
    }
}

/// How a line is read once all lines have been seen.
struct Belief<'a> {
    source: &'a Source<'a>,
    /// Nothing when lines are believed as they come.
    census: Option<&'a Census>,
    is_stopped: bool,
    care: Care,
}

impl Belief<'_> {
    /// The outcome that a line is for one of the open, if it is one.
    fn outcome(&self, line: &[u8], open: &HashMap<CargoId, Head>) -> Option<(Head, Outcome, bool)> {
        let model = &self.source.model.id;
        let (key, end) = self.source.jobs.decode(line, model).ok()?;
        let head = open.get(&key.cargo)?;
        let is_believed = self.census.is_none_or(|census| census.is_believed(key));
        if head.attempt != key.attempt || !is_believed {
            return None;
        }
        let (outcome, usage_known) = match end {
            ItemEnd::Outcome {
                outcome,
                usage_known,
            } => (outcome, usage_known),
            ItemEnd::Again(why) | ItemEnd::AccountFault(why) if !self.is_stopped => {
                (last_word(head, &why)?, true)
            }
            ItemEnd::Again(_) | ItemEnd::AccountFault(_) => return None,
        };
        Some((head.clone(), outcome, usage_known))
    }
}

/// Reads every line once: whose they are, and whether any item has two that differ.
async fn census(spool: &Spool, source: &Source<'_>) -> io::Result<Census> {
    let mut census = Census::default();
    let mut lines = spool.lines();
    while let Some(line) = lines.next().await? {
        let Ok((key, end)) = source.jobs.decode(&line, &source.model.id) else {
            census.strangers += 1;
            continue;
        };
        if let ItemEnd::AccountFault(reason) = &end {
            census.account_faults.push((key, reason.clone()));
        }
        let digest: [u8; 32] = Sha256::digest(format!("{end:?}").as_bytes()).into();
        match census.lines.get_mut(&key) {
            None => {
                census.lines.insert(key, Some(digest));
            }
            Some(known) => {
                census.repeated += 1;
                if *known != Some(digest) {
                    *known = None;
                }
            }
        }
    }
    Ok(census)
}
