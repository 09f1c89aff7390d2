//! Follows control's change feed and removes changed keys; writes key uses in the background.

use std::time::Duration;

use store::Error;
use store::control::change_feed::{self, ChangeKind, ControlChange};
use store::control::{api_key, berth};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::api_keys::ApiKeyCache;
use crate::api_keys::usage_queue::KeyUse;

const FEED_INTERVAL: Duration = Duration::from_millis(500);
const USAGE_WRITE_INTERVAL: Duration = Duration::from_secs(1);
const MAX_CHANGES_PER_READ: u32 = 1000;
const MAX_USES_PER_WRITE: usize = 2000;

impl ApiKeyCache {
    /// Follows the feed and writes key uses until `stop` is cancelled. It then writes the last
    /// uses, so cancel `stop` after the last request.
    pub async fn run(&self, stop: CancellationToken) {
        tokio::join!(self.follow_feed(&stop), self.write_usage(&stop));
    }

    async fn follow_feed(&self, stop: &CancellationToken) {
        let mut tick = interval(FEED_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if stop.run_until_cancelled(self.read_feed()).await.is_none() {
                return;
            }
        }
    }

    async fn write_usage(&self, stop: &CancellationToken) {
        let mut tick = interval(USAGE_WRITE_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if !self.control_monitor.is_unreachable() {
                self.flush_usage().await;
            }
        }
        self.flush_usage().await;
    }

    /// Reads the feed to its end. Call it before the first request: a key that is looked up
    /// earlier cannot be cached.
    pub async fn read_feed(&self) {
        let mut position = self.feed_position.lock().await;
        // Taken before the read, because a change during the read may be missed.
        let now = self.clock.now();
        match timeout(self.control_timeout, self.catch_up(&mut position)).await {
            Ok(Ok(())) => {
                if self.control_monitor.record_feed_read(now) {
                    tracing::info!("control is reachable again");
                }
            }
            Ok(Err(failure)) => {
                if self.control_monitor.record_failure(self.clock.now()) {
                    let error = &failure as &dyn std::error::Error;
                    tracing::warn!(error, "control is unreachable; cached API keys stay valid");
                }
            }
            Err(_) => {
                if self.control_monitor.record_failure(self.clock.now()) {
                    tracing::warn!("control timed out; cached API keys stay valid");
                }
            }
        }
    }

    async fn catch_up(&self, position: &mut Option<i64>) -> Result<(), Error> {
        loop {
            let Some(seq) = *position else {
                // The map is read after the position, so it includes every change up to there.
                let head = change_feed::read_newest_seq(&self.control).await?;
                self.berths.replace(berth::read_map(&self.control).await?);
                self.lookups.invalidate_all();
                *position = Some(head);
                continue;
            };
            let page = change_feed::read_since(&self.control, seq, MAX_CHANGES_PER_READ).await?;
            self.clock.synchronize(page.server_time);
            let (read, news): (Vec<ControlChange>, Vec<ControlChange>) = page
                .changes
                .into_iter()
                .partition(|change| change.seq <= seq);
            if seq > 0 && read.is_empty() {
                tracing::warn!("the change feed was replaced; all cached API keys are removed");
                *position = None;
                continue;
            }
            let Some(newest) = news.last() else {
                return Ok(());
            };
            self.apply_changes(&news).await?;
            *position = Some(newest.seq);
        }
    }

    async fn apply_changes(&self, news: &[ControlChange]) -> Result<(), Error> {
        if news.iter().any(|change| change.kind == ChangeKind::Berth) {
            self.berths.replace(berth::read_map(&self.control).await?);
        }
        self.lookups.invalidate(news);
        Ok(())
    }

    /// Writes the queued uses. Those that cannot be written stay queued.
    pub async fn flush_usage(&self) {
        let uses = self.usage_queue.take();
        let mut chunks = uses.chunks(MAX_USES_PER_WRITE);
        while let Some(chunk) = chunks.next() {
            let rows: Vec<_> = chunk.iter().map(KeyUse::row).collect();
            let written = timeout(
                self.control_timeout,
                api_key::record_last_used(&self.control, &rows),
            )
            .await;
            if !matches!(written, Ok(Ok(()))) {
                self.usage_queue.put_back(chunk);
                return chunks.for_each(|rest| self.usage_queue.put_back(rest));
            }
        }
    }
}
