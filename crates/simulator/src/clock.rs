//! The time that all simulated providers live by: the host's, or one that stands still until it is moved.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::watch;

pub type Moment = DateTime<Utc>;

#[derive(Debug)]
pub struct Clock {
    base: Base,
    moved: watch::Sender<TimeDelta>,
}

#[derive(Debug)]
enum Base {
    Host,
    Held(Moment),
}

impl Clock {
    /// Goes with the host, and can be moved ahead of it.
    pub fn host() -> Self {
        Self::on(Base::Host)
    }

    /// Stands still until it is moved.
    pub fn held(start: Moment) -> Self {
        Self::on(Base::Held(start))
    }

    fn on(base: Base) -> Self {
        let (moved, _) = watch::channel(TimeDelta::zero());
        Self { base, moved }
    }

    pub fn now(&self) -> Moment {
        let base = match self.base {
            Base::Host => host_now(),
            Base::Held(start) => start,
        };
        base + *self.moved.borrow()
    }

    pub fn advance(&self, by: Duration) {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        self.moved
            .send_modify(|moved| *moved = moved.checked_add(&by).unwrap_or(*moved));
    }

    pub async fn wait_until(&self, moment: Moment) {
        let mut moved = self.moved.subscribe();
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
            Base::Host => tokio::time::sleep(left).await,
            Base::Held(_) => std::future::pending().await,
        }
    }
}

/// What the host's clock says.
#[expect(
    clippy::disallowed_methods,
    reason = "the simulator is a program of its own, and this its one reader of the clock"
)]
pub fn host_now() -> Moment {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    Moment::from_timestamp_micros(micros).unwrap_or_default()
}
