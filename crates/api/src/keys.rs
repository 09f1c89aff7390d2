//! The keys that this node knows, and how it keeps what it knows true.
//!
//! A key is looked up in control once and then remembered. A node follows the
//! feed of control's changes and forgets what a change is about, so a key that
//! is revoked stops within about a second. While control does not answer, what
//! is remembered goes on for the stale time; what is not cannot be judged, and
//! nobody is refused as unknown for it.

mod berths;
mod contact;
mod follow;
mod known;
mod memory;
#[cfg(test)]
mod tests;
mod used;

use std::sync::Arc;
use std::time::Duration;

use domain::api_key::{ApiKey, Digest, KeyRefusal};
use domain::id::Berth;
use domain::time::{Clock, Timestamp};
use store::Control;
use store::control::api_key::{self, Holder};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use crate::caller::Caller;
use crate::keys::berths::Berths;
use crate::keys::contact::Contact;
use crate::keys::known::Known;
use crate::keys::memory::{Memory, Recall};
use crate::keys::used::Used;

/// Lookups under way at once. A flood of unknown keys must leave connections to
/// the feed, and queues here rather than at the pool.
const ASKING: usize = 8;
/// How long a lookup may wait for its turn.
const TURN: Duration = Duration::from_secs(1);
/// How long control may take to answer before it counts as away.
const DEADLINE: Duration = Duration::from_secs(2);
/// What a caller is told to wait when its key cannot be judged.
const RETRY_AFTER: u32 = 2;

/// How keys are kept.
#[derive(Debug, Clone, Copy)]
pub struct KeyOptions {
    /// How long a remembered key goes on after the last contact with control.
    pub stale: Duration,
    /// How many keys are remembered.
    pub capacity: usize,
}

impl Default for KeyOptions {
    fn default() -> Self {
        Self {
            stale: Duration::from_mins(15),
            capacity: 200_000,
        }
    }
}

/// How this node stands with control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlContact {
    /// When the feed was last read; never, for a node that has just begun.
    pub last_seen: Option<Timestamp>,
    /// The last question went unanswered.
    pub away: bool,
    /// So long ago that remembered keys go on no more.
    pub stale: bool,
}

/// Why there is no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdmitted {
    Refused(KeyRefusal),
    /// The key is not remembered, and the one who knows does not answer.
    ControlAway {
        retry_after: u32,
    },
}

impl From<KeyRefusal> for NotAdmitted {
    fn from(refusal: KeyRefusal) -> Self {
        Self::Refused(refusal)
    }
}

const AWAY: NotAdmitted = NotAdmitted::ControlAway {
    retry_after: RETRY_AFTER,
};

#[derive(Debug)]
pub struct Keys {
    control: Control,
    /// The control database's clock; the feed teaches it.
    clock: Arc<dyn Clock>,
    memory: Memory,
    contact: Contact,
    used: Used,
    berths: Berths,
    asking: Semaphore,
    /// How far the feed was read; nothing before the first contact.
    position: Mutex<Option<i64>>,
}

impl Keys {
    pub fn new(control: Control, options: KeyOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            control,
            clock,
            memory: Memory::new(options.capacity),
            contact: Contact::new(options.stale),
            used: Used::default(),
            berths: Berths::default(),
            asking: Semaphore::new(ASKING),
            position: Mutex::new(None),
        }
    }

    /// From the header's bytes to a caller. A header that is missing is empty.
    pub async fn admit(&self, presented: &[u8]) -> Result<Caller, NotAdmitted> {
        if presented.is_empty() {
            return Err(KeyRefusal::Missing.into());
        }
        let digest = ApiKey::parse(presented)?.digest();
        let now = self.clock.now();
        let known = match self.memory.recall(&digest, now) {
            Recall::Known(known) if self.contact.is_fresh(now) => known,
            Recall::Stranger => return Err(KeyRefusal::Unknown.into()),
            // What went stale is asked for again, as if it had never been known.
            Recall::Known(stale) => {
                self.memory.drop_one(&digest, &stale);
                Box::pin(self.ask(digest, now)).await?
            }
            Recall::Nothing => Box::pin(self.ask(digest, now)).await?,
        };
        // Expiry is a matter of the clock alone: no contact with control is needed.
        known.standing().admit(now)?;
        self.used.note(&known, now);
        Ok(known.caller())
    }

    /// Where a berth lies; nothing as long as control has never answered.
    pub fn shard_of(&self, berth: Berth) -> Option<Arc<str>> {
        self.berths.shard_of(berth)
    }

    pub fn contact(&self) -> ControlContact {
        self.contact.describe(self.clock.now())
    }

    /// One lookup for all who wait for the same key.
    async fn ask(&self, digest: Digest, now: Timestamp) -> Result<Arc<Known>, NotAdmitted> {
        let place = match self.memory.place(&digest).await {
            Ok(known) => return Ok(known),
            Err(place) => place,
        };
        // Those who waited while another found nobody need not look themselves.
        if matches!(self.memory.recall(&digest, now), Recall::Stranger) {
            return Err(KeyRefusal::Unknown.into());
        }
        let generation = self.memory.generation();
        let Some(holder) = self.look_up(digest).await? else {
            self.memory.note_stranger(digest, now, generation);
            return Err(KeyRefusal::Unknown.into());
        };
        let known = Arc::new(Known::new(&holder));
        self.memory.fill(place, &digest, &known, generation);
        Ok(known)
    }

    async fn look_up(&self, digest: Digest) -> Result<Option<Holder>, NotAdmitted> {
        // Too many ask: that says nothing about control.
        let Ok(Ok(_turn)) = timeout(TURN, self.asking.acquire()).await else {
            return Err(AWAY);
        };
        if !self.contact.may_ask(self.clock.now()) {
            return Err(AWAY);
        }
        match timeout(DEADLINE, api_key::find_by_digest(&self.control, digest)).await {
            Ok(Ok(found)) => {
                self.contact.answered();
                Ok(found)
            }
            Ok(Err(failure)) => {
                if failure.is_away() {
                    self.contact.failed(self.clock.now());
                }
                tracing::warn!(
                    error = &failure as &dyn std::error::Error,
                    "a key was not looked up"
                );
                Err(AWAY)
            }
            Err(_) => {
                self.contact.failed(self.clock.now());
                tracing::warn!("a key was not looked up: control took too long");
                Err(AWAY)
            }
        }
    }
}
