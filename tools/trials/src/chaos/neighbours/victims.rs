//! Organizations that load at a steady pace, and what a neighbour does to them.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::chaos::traffic;
use crate::figures::{self, percentile, rounded};
use crate::http::Target;
use crate::ledger;
use crate::organization::Organization;
use crate::receiver::{Receipt, Receipts};
use crate::request;
use crate::verdict::Verdict;

const LOOK: Duration = Duration::from_millis(100);
/// What a machine that is busy with a neighbour may add to the p99 of others.
const ALLOWED_FACTOR: f64 = 2.0;
const ALLOWED_SECONDS: f64 = 2.0;

/// Who loads, and where the callbacks go.
#[derive(Debug, Clone)]
pub struct Member {
    pub organization: Organization,
    pub callback_url: String,
}

/// One acknowledged load.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub began: Instant,
    /// From the first byte sent to the answer.
    pub took: Duration,
    pub cargo: u128,
    model: &'static str,
}

/// From one moment to another.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub from: Instant,
    pub before: Instant,
}

impl Window {
    fn has(&self, moment: Instant) -> bool {
        (self.from..self.before).contains(&moment)
    }
}

/// How callers reach the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// On connections that they keep.
    Kept,
    /// Each load on a connection of its own.
    Fresh,
}

#[derive(Debug)]
pub struct Victims {
    serving: SocketAddr,
    reach: Reach,
    kept: Target,
    members: Vec<Member>,
    models: Vec<&'static str>,
    receipts: Arc<Receipts>,
    records: Mutex<Vec<Record>>,
    /// When a load got no 2xx, and what came instead.
    refusals: Mutex<Vec<(Instant, String)>>,
}

impl Victims {
    /// They load for each model in turn, on connections that they keep.
    pub fn new(
        serving: SocketAddr,
        members: Vec<Member>,
        models: &[&'static str],
        receipts: &Arc<Receipts>,
    ) -> Arc<Self> {
        Self::reaching(Reach::Kept, serving, members, models, receipts)
    }

    pub fn reaching(
        reach: Reach,
        serving: SocketAddr,
        members: Vec<Member>,
        models: &[&'static str],
        receipts: &Arc<Receipts>,
    ) -> Arc<Self> {
        Arc::new(Self {
            serving,
            reach,
            kept: Target::new(serving),
            members,
            models: models.to_vec(),
            receipts: Arc::clone(receipts),
            records: Mutex::default(),
            refusals: Mutex::default(),
        })
    }

    /// One load, never repeated.
    pub async fn load(&self, number: u64) {
        let turn = usize::try_from(number).unwrap_or_default();
        let model = self.models.get(turn % self.models.len().max(1));
        let turn = turn / self.models.len().max(1);
        let member = self.members.get(turn % self.members.len().max(1));
        let (Some(model), Some(member)) = (model, member) else {
            return;
        };
        let text = format!("cargo {number}: what lies in the harbour?");
        let request = written(member, model, &text, 64);
        let began = Instant::now();
        let sent = match self.reach {
            Reach::Kept => self.kept.send(request.as_bytes()).await,
            Reach::Fresh => Target::new(self.serving).send(request.as_bytes()).await,
        };
        let reason = match sent {
            Ok(answer) if answer.is_success() => {
                let record = answer.cargo().map(|cargo| Record {
                    began,
                    took: began.elapsed(),
                    cargo,
                    model,
                });
                open(&self.records).extend(record);
                return;
            }
            Ok(answer) => answer.status.to_string(),
            Err(error) => ledger::reason(&error),
        };
        open(&self.refusals).push((began, reason));
    }

    /// Loads at this rate until `event` has ended; returns what that returned, and when it was.
    pub async fn load_during<T>(
        self: &Arc<Self>,
        rate: u32,
        event: impl Future<Output = T>,
    ) -> (T, Window) {
        let from = Instant::now();
        let (over, enough) = oneshot::channel::<()>();
        let loading = traffic::offer(rate, async { drop(enough.await) }, |number| {
            let victims = Arc::clone(self);
            async move { victims.load(number).await }
        });
        let event = async {
            let ended = event.await;
            let before = Instant::now();
            drop(over);
            (ended, Window { from, before })
        };
        tokio::join!(loading, event).1
    }

    /// Waits until every acknowledged cargo has its callback.
    pub async fn settle(&self, within: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < within && !self.is_complete() {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_complete(&self) -> bool {
        let records = open(&self.records);
        let mut cargo = records.iter().map(|record| record.cargo);
        cargo.all(|cargo| self.receipts.find(cargo).is_some())
    }

    /// Loads that began in the window, with the receipts of those that were called back.
    pub fn between(&self, window: Window) -> Vec<(Record, Option<Receipt>)> {
        let records = open(&self.records);
        let within = records.iter().filter(|record| window.has(record.began));
        within
            .map(|record| (*record, self.receipts.find(record.cargo)))
            .collect()
    }

    /// What became of the loads that began in the window, of one model or of all.
    pub fn observe(&self, window: Window, model: Option<&str>) -> Observation {
        let now = Instant::now();
        let mut seen = Observation::default();
        let mut times = vec![window.from];
        for (record, receipt) in self.between(window) {
            if model.is_some_and(|model| model != record.model) {
                continue;
            }
            let until = receipt.map_or(now, |receipt| receipt.first);
            let waited = until.saturating_duration_since(record.began);
            seen.seconds.push(waited.as_secs_f64());
            seen.load_milliseconds
                .push(figures::milliseconds(record.took));
            seen.open += usize::from(receipt.is_none());
            times.extend(receipt.map(|receipt| receipt.first));
        }
        // Silence ends with the window, even if nothing came by then.
        times.push(
            times
                .iter()
                .copied()
                .max()
                .unwrap_or(now)
                .max(window.before),
        );
        times.sort_unstable();
        let gaps = times.windows(2).filter_map(|pair| match pair {
            [first, second] => Some(second.saturating_duration_since(*first).as_secs_f64()),
            _ => None,
        });
        seen.silence = gaps.fold(0.0, f64::max);
        for (at, reason) in open(&self.refusals).iter() {
            if window.has(*at) {
                *seen.refused.entry(reason.clone()).or_default() += 1;
            }
        }
        seen
    }
}

/// A load request.
pub fn written(member: &Member, model: &str, text: &str, max_tokens: u32) -> String {
    let message = json!({"role": "user", "content": text});
    let params = json!({"model": model, "max_tokens": max_tokens, "messages": [message]});
    let body = json!({"params": params, "callback_url": member.callback_url}).to_string();
    request::load(&member.organization, &body)
}

/// What victims saw in a window. What has no callback yet counts with its age.
#[derive(Debug, Default)]
pub struct Observation {
    /// From the load to its callback.
    pub seconds: Vec<f64>,
    pub load_milliseconds: Vec<f64>,
    /// Without a callback.
    pub open: usize,
    /// The longest time without any callback, in seconds.
    pub silence: f64,
    pub refused: BTreeMap<String, u64>,
}

impl Observation {
    pub fn p99(&mut self) -> Option<f64> {
        percentile(&mut self.seconds, 990)
    }

    pub fn load_p99(&mut self) -> Option<f64> {
        percentile(&mut self.load_milliseconds, 990)
    }

    pub fn figures(&mut self) -> Value {
        json!({
            "loaded": self.seconds.len(),
            "seconds_to_callback": figures::spread(&mut self.seconds),
            "load_milliseconds": figures::spread(&mut self.load_milliseconds),
            "longest_silence_seconds": rounded(self.silence, 2),
            "without_callback": self.open,
            "refused": self.refused,
        })
    }
}

/// The victims' figures without the neighbour and with it; the second may be little worse.
pub fn compare(
    verdict: &mut Verdict,
    name: &str,
    calm: &mut Observation,
    beside: &mut Observation,
) {
    verdict.note(
        name,
        json!({"without": calm.figures(), "with": beside.figures()}),
    );
    let (without, with) = (calm.p99(), beside.p99());
    let is_alike = without
        .zip(with)
        .is_some_and(|(without, with)| with <= without.mul_add(ALLOWED_FACTOR, ALLOWED_SECONDS));
    verdict
        .promise(
            format!("{name}: load to callback p99 stays within twice the usual and 2 s"),
            is_alike,
        )
        .promise(
            format!("{name}: every load is accepted and called back"),
            beside.open == 0 && beside.refused.is_empty(),
        );
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
