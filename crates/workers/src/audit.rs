//! Audit: the ledger is proved every minute, and says loudly what does not hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::audit::{self, Fault};

use crate::lease::Lease;
use crate::stage::{Stage, Step};

const EVERY: TimeDelta = TimeDelta::minutes(1);
/// Of the time at most a tenth goes into looking: an audit that takes long comes less often.
const SHARE: u32 = 10;

#[derive(Debug)]
pub struct Audit {
    shard: Arc<Shard>,
    lease: Lease,
    due_at: Timestamp,
    window: Window,
    found: Vec<Fault>,
}

impl Audit {
    pub(crate) const fn new(shard: Arc<Shard>, lease: Lease) -> Self {
        Self {
            shard,
            lease,
            due_at: Timestamp::UNIX_EPOCH,
            window: Window::new(),
            found: Vec::new(),
        }
    }

    /// What was wrong when this node looked last; nothing where it was another node's turn.
    pub fn found(&self) -> &[Fault] {
        &self.found
    }

    async fn look(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let began = Instant::now();
        let (claim, since) = (self.lease.claim(), self.window.since(now));
        let asked = audit::recent_in_turn(&self.shard, claim, since).await;
        self.due_at = now + pause(began.elapsed());
        let asked = asked.inspect_err(|_| self.window.failed())?;
        let looked = asked.is_some();
        self.found = asked.unwrap_or_default();
        if looked {
            self.window.looked(&self.found, now);
            let checked = "ledger_checked_timestamp_seconds";
            metrics::gauge!(checked, "shard" => self.shard.name.to_string())
                .set((now - Timestamp::UNIX_EPOCH).as_seconds_f64());
        }
        self.show();
        Ok(())
    }

    fn show(&self) {
        for fault in &self.found {
            tracing::error!(
                shard = %self.shard.name,
                identity = fault.identity.as_str(),
                organization.id = fault.organization.map(tracing::field::display),
                posting = fault.posting,
                cargo.id = fault.cargo.map(tracing::field::display),
                expected = fault.expected,
                found = fault.found,
                "the ledger is wrong: {fault}"
            );
        }
        metrics::gauge!("ledger_faults", "shard" => self.shard.name.to_string())
            .set(u32::try_from(self.found.len()).unwrap_or(u32::MAX));
    }
}

fn pause(took: Duration) -> TimeDelta {
    TimeDelta::from_std(took * SHARE).map_or(Window::LONGEST, |pause| pause.max(EVERY))
}

#[async_trait::async_trait]
impl Stage for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        if now >= self.due_at {
            self.look(now).await?;
        }
        Ok(Step::Idle)
    }
}

/// How far back postings are looked at.
#[derive(Debug)]
struct Window {
    /// Up to where everything was found to be well.
    clean_until: Timestamp,
    back: TimeDelta,
}

impl Window {
    /// At first, and at most. A fault stays in sight until it is mended, or as old.
    const LONGEST: TimeDelta = TimeDelta::days(1);
    const SHORTEST: TimeDelta = TimeDelta::minutes(2);
    /// A posting gets its time before it is committed.
    const OVERLAP: TimeDelta = TimeDelta::minutes(1);

    const fn new() -> Self {
        Self {
            clean_until: Timestamp::UNIX_EPOCH,
            back: Self::LONGEST,
        }
    }

    fn since(&self, now: Timestamp) -> Timestamp {
        (self.clean_until - Self::OVERLAP).max(now - self.back)
    }

    fn looked(&mut self, found: &[Fault], now: Timestamp) {
        if found.is_empty() {
            self.clean_until = now;
            self.back = Self::LONGEST;
        }
    }

    /// More may have happened than can be looked at in the time allowed.
    fn failed(&mut self) {
        self.back = (self.back / 2).max(Self::SHORTEST);
    }
}

#[cfg(test)]
mod tests {
    use store::shard::audit::Identity;

    use super::*;

    const FAULT: Fault = Fault {
        identity: Identity::Held,
        organization: None,
        posting: None,
        cargo: None,
        expected: String::new(),
        found: String::new(),
    };

    fn moment(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(minutes)
    }

    #[test]
    fn a_fault_stays_in_sight_for_a_day() {
        let mut window = Window::new();
        assert_eq!(window.since(moment(0)), moment(-24 * 60));
        window.looked(&[], moment(0));
        assert_eq!(window.since(moment(1)), moment(-1));
        window.looked(&[FAULT], moment(1));
        assert_eq!(window.since(moment(100)), moment(-1));
        assert_eq!(window.since(moment(48 * 60)), moment(24 * 60));
        window.looked(&[], moment(48 * 60));
        assert_eq!(window.since(moment(48 * 60 + 1)), moment(48 * 60 - 1));
    }

    #[test]
    fn what_cannot_be_looked_at_in_time_is_looked_at_less_far_back() {
        let mut window = Window::new();
        window.failed();
        assert_eq!(window.since(moment(0)), moment(-12 * 60));
        for _ in 0..20 {
            window.failed();
        }
        assert_eq!(window.since(moment(0)), moment(-2));
        window.looked(&[], moment(0));
        window.looked(&[FAULT], moment(1));
        assert_eq!(window.since(moment(10)), moment(-1));
    }

    #[test]
    fn looking_takes_a_tenth_of_the_time_at_most() {
        assert_eq!(pause(Duration::from_secs(1)), EVERY);
        assert_eq!(pause(Duration::from_mins(1)), TimeDelta::minutes(10));
    }
}
