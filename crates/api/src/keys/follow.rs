//! Following control: what changed there is forgotten here, and uses are written behind.

use std::time::Duration;

use store::Error;
use store::control::change::{self, Change, Kind};
use store::control::{api_key, berth};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::keys::DEADLINE;
use crate::keys::Keys;
use crate::keys::used::Use;

const LOOK_EVERY: Duration = Duration::from_millis(500);
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// Changes read at once.
const PAGE: u32 = 1000;
/// Uses written at once.
const WRITTEN: usize = 2000;

impl Keys {
    /// Follows control and writes uses until it is stopped. To be stopped after the last
    /// request was answered: the last uses are written then.
    pub async fn run(&self, stop: CancellationToken) {
        tokio::join!(self.follow(&stop), self.write_behind(&stop));
    }

    async fn follow(&self, stop: &CancellationToken) {
        let mut tick = interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if stop.run_until_cancelled(self.refresh()).await.is_none() {
                return;
            }
        }
    }

    async fn write_behind(&self, stop: &CancellationToken) {
        let mut tick = interval(WRITE_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if !self.contact.is_away() {
                self.flush().await;
            }
        }
        self.flush().await;
    }

    /// Reads the feed to its end once. Done before the first request, it spares that one a lookup
    /// whose answer could not be kept.
    pub async fn refresh(&self) {
        let mut position = self.position.lock().await;
        // The moment before: what was changed while we read is not promised to be known.
        let now = self.clock.now();
        match timeout(DEADLINE, self.catch_up(&mut position)).await {
            Ok(Ok(())) => {
                if self.contact.seen(now) {
                    tracing::info!("control answers again");
                }
            }
            Ok(Err(failure)) => {
                if self.contact.failed(self.clock.now()) {
                    let error = &failure as &dyn std::error::Error;
                    tracing::warn!(error, "control is away; known keys go on");
                }
            }
            Err(_) => {
                if self.contact.failed(self.clock.now()) {
                    tracing::warn!("control is away: it took too long; known keys go on");
                }
            }
        }
    }

    async fn catch_up(&self, position: &mut Option<i64>) -> Result<(), Error> {
        loop {
            let Some(seq) = *position else {
                // The map is read after the number, so it holds every change up to it.
                let head = change::head(&self.control).await?;
                self.berths.replace(berth::map(&self.control).await?);
                self.memory.forget_all();
                *position = Some(head);
                continue;
            };
            let page = change::since(&self.control, seq, PAGE).await?;
            self.clock.learn(page.told);
            let (read, news): (Vec<Change>, Vec<Change>) = page
                .changes
                .into_iter()
                .partition(|change| change.seq <= seq);
            if seq > 0 && read.is_empty() {
                tracing::warn!("the feed of changes is not the one we followed; all is forgotten");
                *position = None;
                continue;
            }
            let Some(newest) = news.last() else {
                return Ok(());
            };
            self.apply(&news).await?;
            *position = Some(newest.seq);
        }
    }

    async fn apply(&self, news: &[Change]) -> Result<(), Error> {
        if news.iter().any(|change| change.kind == Kind::Berth) {
            self.berths.replace(berth::map(&self.control).await?);
        }
        self.memory.forget(news);
        Ok(())
    }

    /// Writes the uses that wait; those that cannot be written go on waiting.
    pub async fn flush(&self) {
        let uses = self.used.take();
        let mut chunks = uses.chunks(WRITTEN);
        while let Some(chunk) = chunks.next() {
            let rows: Vec<_> = chunk.iter().map(Use::row).collect();
            let written = timeout(DEADLINE, api_key::touch(&self.control, &rows)).await;
            if !matches!(written, Ok(Ok(()))) {
                self.used.put_back(chunk);
                return chunks.for_each(|rest| self.used.put_back(rest));
            }
        }
    }
}
