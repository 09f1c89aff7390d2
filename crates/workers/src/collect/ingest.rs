//! Results of a job that has ended: brought to disk, checked as a whole, then stored.

use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use domain::account_fault::AccountFaultReports;
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

use super::job::Source;
use super::{Collect, Load};
use crate::chaos;
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

impl Collect {
    pub(super) async fn take_in(
        &self,
        load: &Load<'_>,
        source: &Source<'_>,
        entry: &Entry,
        results: &[ResultFile],
    ) -> Result<usize, store::Error> {
        let batch = load.batch;
        // What we stopped ourselves was not refused an answer.
        let is_stopped = entry.cancel_wanted_at.is_some();
        chaos::point("collect.downloading", &load.lane.provider);
        let downloading = self.download(source, results);
        let downloaded = chaos::during("collect.receiving", &load.lane.provider, downloading).await;
        let spool = match downloaded {
            Ok(spool) => spool,
            Err(failure) => return self.not_seen(load, source, entry, &failure).await,
        };
        chaos::point("collect.downloaded", &load.lane.provider);
        let census = match census(&spool, source).await {
            Ok(census) => census,
            Err(failure) => return self.not_seen(load, source, entry, &failure.into()).await,
        };
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let open: HashMap<CargoId, Head> =
            heads.into_iter().map(|head| (head.cargo, head)).collect();
        report(load, &census);
        let account_faults = census.account_faults(&open);
        chaos::point("collect.checked", &load.lane.provider);
        let belief = Belief {
            source,
            census: &census,
            is_stopped,
        };
        let stored = match self.store_all(load, &spool, &belief, open).await? {
            Ok(stored) => stored,
            Err(failure) => return self.not_seen(load, source, entry, &failure.into()).await,
        };
        chaos::point("collect.stored", &load.lane.provider);
        if let Some(reason) = account_faults.confirmed() {
            pause(&self.shard, &load.lane.provider, reason, load.now).await?;
        }
        let going = if is_stopped {
            Going::AtOnce
        } else {
            Going::Rested
        };
        self.end(load, going).await?;
        self.note_turnaround(load, entry).await?;
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
        load: &Load<'_>,
        spool: &Spool,
        belief: &Belief<'_>,
        mut open: HashMap<CargoId, Head>,
    ) -> Result<io::Result<usize>, store::Error> {
        let (mut lines, mut stored, mut finished) = (spool.lines(), 0, Vec::new());
        let mut bytes = 0;
        chaos::point("collect.storing", &load.lane.provider);
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
            let is_much = finished.len() >= AT_ONCE || bytes >= BYTES_AT_ONCE;
            if (is_much || is_last) && !finished.is_empty() {
                bytes = 0;
                let some = counted(&self.shard, std::mem::take(&mut finished)).await?;
                let (batch, desk) = (load.batch.id, Some(&self.desk));
                stored +=
                    storing::store(&self.shard, batch, load.claim, desk, some, load.now).await?;
                chaos::point("collect.stored_some", &load.lane.provider);
            }
            if is_last {
                return Ok(Ok(stored));
            }
        }
    }

    /// Callers are told what to expect by what was seen.
    async fn note_turnaround(&self, load: &Load<'_>, entry: &Entry) -> Result<(), store::Error> {
        let Some(since) = entry.sent_at else {
            return Ok(());
        };
        let seconds = (load.now - since).as_seconds_f64().max(0.0);
        lane::took(&self.shard, load.batch.lane, seconds).await
    }
}

fn report(load: &Load<'_>, census: &Census) {
    let batch = load.batch.id;
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
    census: &'a Census,
    is_stopped: bool,
}

impl Belief<'_> {
    /// The outcome that a line is for one of the open, if it is one.
    fn outcome(&self, line: &[u8], open: &HashMap<CargoId, Head>) -> Option<(Head, Outcome, bool)> {
        let model = &self.source.model.id;
        let (key, end) = self.source.jobs.decode(line, model).ok()?;
        let head = open.get(&key.cargo)?;
        if head.attempt != key.attempt || !self.census.is_believed(key) {
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
