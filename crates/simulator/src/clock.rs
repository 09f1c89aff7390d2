//! The clock of all simulated providers: the host's, or a manual one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::watch;

pub type SimulatorTime = DateTime<Utc>;

#[derive(Debug)]
pub struct SimulatorClock {
    base: ClockBase,
    offset: watch::Sender<TimeDelta>,
}

#[derive(Debug)]
enum ClockBase {
    Host,
    Manual(SimulatorTime),
}

impl SimulatorClock {
    /// Follows the host's clock and can be moved ahead of it.
    pub fn host() -> Self {
        Self::with_base(ClockBase::Host)
    }

    /// Stands still until `advance`.
    pub fn manual(start: SimulatorTime) -> Self {
        Self::with_base(ClockBase::Manual(start))
    }

    fn with_base(base: ClockBase) -> Self {
        let (moved, _) = watch::channel(TimeDelta::zero());
        Self {
            base,
            offset: moved,
        }
    }

    pub fn now(&self) -> SimulatorTime {
        let base = match self.base {
            ClockBase::Host => host_now(),
            ClockBase::Manual(start) => start,
        };
        base + *self.offset.borrow()
    }

    pub fn advance(&self, by: Duration) {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        self.offset
            .send_modify(|moved| *moved = moved.checked_add(&by).unwrap_or(*moved));
    }

    pub async fn wait_until(&self, moment: SimulatorTime) {
        let mut moved = self.offset.subscribe();
        loop {
            let left = (moment - self.now()).to_std().unwrap_or_default();
            if left.is_zero() {
                return;
            }
            tokio::select! {
                _ = moved.changed() => {}
                () = self.elapse(left) => {}
            }
        }
    }

    async fn elapse(&self, left: Duration) {
        match self.base {
            ClockBase::Host => tokio::time::sleep(left).await,
            ClockBase::Manual(_) => std::future::pending().await,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulator is a separate program, and only this function reads the clock"
)]
pub fn host_now() -> SimulatorTime {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    SimulatorTime::from_timestamp_micros(micros).unwrap_or_default()
}
