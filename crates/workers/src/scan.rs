//! Scan: uploaded bytes are proven, and the file is ready or failed.
//!
//! Several files are verified at once, large ones in slots of their own. A file under
//! verification when the stage ends is free again, and whoever takes it up begins anew: every
//! step can be made twice.

use std::collections::HashMap;
use std::sync::Arc;

use domain::time::Timestamp;
use domain::verdict::Hindrance;
use store::Shard;
use store::shard::file::{self, ClaimedFile, Class};
use tokio::task::{self, JoinError, JoinSet};

use crate::files::Files;
use crate::lease::Lease;
use crate::stage::{Bell, Stage, Step};

mod assemble;
mod digests;
mod hindered;
mod pass;
mod verify;

use hindered::Hindered;
use verify::Verifier;

#[derive(Debug)]
pub struct Scan {
    shard: Arc<Shard>,
    lease: Lease,
    files: Option<Files>,
    under_way: JoinSet<Result<(), store::Error>>,
    charges: HashMap<task::Id, Charge>,
    bell: Bell,
}

/// A file that is verified here.
#[derive(Debug)]
struct Charge {
    class: Class,
    claimed: Arc<ClaimedFile>,
    verifier: Verifier,
}

impl Scan {
    pub(crate) fn new(shard: Arc<Shard>, lease: Lease, files: Option<Files>, bell: Bell) -> Self {
        Self {
            shard,
            lease,
            files,
            under_way: JoinSet::new(),
            charges: HashMap::new(),
            bell,
        }
    }

    /// Steps until nothing that is due now is left or under way: for tests.
    pub async fn settle(&mut self, now: Timestamp) -> Result<(), store::Error> {
        while self.step(now).await? != Step::Idle || !self.under_way.is_empty() {
            if let Some(ended) = self.under_way.join_next_with_id().await {
                self.end(ended).await?;
            }
        }
        Ok(())
    }

    /// Lets go of what has ended.
    async fn collect(&mut self) -> Result<usize, store::Error> {
        let mut ended = 0;
        while let Some(one) = self.under_way.try_join_next_with_id() {
            ended += 1;
            self.end(one).await?;
        }
        Ok(ended)
    }

    async fn end(
        &mut self,
        ended: Result<(task::Id, Result<(), store::Error>), JoinError>,
    ) -> Result<(), store::Error> {
        match ended {
            Ok((task, ended)) => {
                self.charges.remove(&task);
                ended
            }
            Err(failure) => {
                let charge = self.charges.remove(&failure.id());
                // Counted, so that what always panics ends.
                let hindrance = Hindrance::Unclear;
                let why = "the verification panicked".to_owned();
                match charge.filter(|_| failure.is_panic()) {
                    Some(Charge {
                        claimed, verifier, ..
                    }) => {
                        verifier
                            .put_off(&claimed, Hindered { hindrance, why })
                            .await
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Claims as many as there are free slots.
    async fn begin(&mut self, class: Class, now: Timestamp) -> Result<usize, store::Error> {
        let Some(files) = self.files.clone() else {
            return Ok(0);
        };
        let slots = match class {
            Class::Small => files.slots.small,
            Class::Large => files.slots.large,
        };
        let taken = self.charges.values().filter(|charge| charge.class == class);
        let free = slots.saturating_sub(taken.count());
        if free == 0 {
            return Ok(0);
        }
        let most = i64::try_from(free).unwrap_or(i64::MAX);
        let claim = self.lease.claim();
        let claimed = file::claim(&self.shard, claim, class, most, now).await?;
        let begun = claimed.len();
        for claimed in claimed {
            let verifier = Verifier {
                shard: self.shard.clone(),
                files: files.clone(),
                claim,
            };
            self.start(class, claimed, verifier);
        }
        Ok(begun)
    }

    fn start(&mut self, class: Class, claimed: ClaimedFile, verifier: Verifier) {
        let claimed = Arc::new(claimed);
        let task = self.under_way.spawn({
            let (claimed, verifier) = (claimed.clone(), verifier.clone());
            let bell = self.bell.clone();
            async move {
                let ended = verifier.verify(&claimed).await;
                bell.ring();
                ended
            }
        });
        let charge = Charge {
            class,
            claimed,
            verifier,
        };
        self.charges.insert(task.id(), charge);
    }
}

#[async_trait::async_trait]
impl Stage for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let ended = self.collect().await?;
        let small = self.begin(Class::Small, now).await?;
        let large = self.begin(Class::Large, now).await?;
        Ok(match ended + small + large {
            0 => Step::Idle,
            did => Step::Did(did),
        })
    }

    /// Files that are in our hands by the rows, but nobody here looks at, are free again.
    async fn mend(&mut self) -> Result<(), store::Error> {
        let known: Vec<_> = self
            .charges
            .values()
            .map(|charge| charge.claimed.file.id)
            .collect();
        file::free_own(&self.shard, self.lease.claim(), &known).await?;
        Ok(())
    }
}
