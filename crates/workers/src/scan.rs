//! Scan: verifies uploaded bytes, and makes the file ready or failed.
//!
//! Several files are verified at once, with separate slots for large ones. When the stage ends, its
//! files are free again and another worker starts from the beginning: every step can be repeated.

use std::collections::HashMap;
use std::sync::Arc;

use domain::file_validation::ScanFailure;
use domain::time::Timestamp;
use store::Shard;
use store::shard::file::{self, ClaimedFile, FileSizeClass};
use tokio::task::{self, JoinError, JoinSet};

use crate::claim_checks::ClaimChecks;
use crate::file_stage_deps::FileStageDeps;
use crate::lease::Lease;
use crate::stage::{Stage, StepResult, Wakeup};

mod byte_pass;
mod digests;
mod multipart_assembly;
mod verification_failure;
mod verify;

use verification_failure::VerificationFailure;
use verify::FileVerifier;

#[derive(Debug)]
pub struct ScanStage {
    shard: Arc<Shard>,
    lease: Lease,
    files: Option<FileStageDeps>,
    tasks: JoinSet<Result<(), store::Error>>,
    running: HashMap<task::Id, ScanTask>,
    wakeup: Wakeup,
    /// When claims without a task are searched for.
    claim_checks: ClaimChecks,
}

/// A file that this node is verifying.
#[derive(Debug)]
struct ScanTask {
    class: FileSizeClass,
    claimed: Arc<ClaimedFile>,
    verifier: FileVerifier,
}

impl ScanStage {
    pub(crate) fn new(
        shard: Arc<Shard>,
        lease: Lease,
        files: Option<FileStageDeps>,
        bell: Wakeup,
    ) -> Self {
        Self {
            shard,
            lease,
            files,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            wakeup: bell,
            claim_checks: ClaimChecks::default(),
        }
    }

    /// Steps until no due file is left or being verified. For tests.
    pub async fn run_until_idle(&mut self, now: Timestamp) -> Result<(), store::Error> {
        while self.step(now).await? != StepResult::Idle || !self.tasks.is_empty() {
            if let Some(ended) = self.tasks.join_next_with_id().await {
                self.finish_task(ended).await?;
            }
        }
        Ok(())
    }

    /// Frees files that this node has claimed but does not verify.
    async fn free_unknown_claims(&self) -> Result<(), store::Error> {
        let known = self.running.values().map(|it| it.claimed.file.id);
        let known: Vec<_> = known.collect();
        file::free_unknown_claims(&self.shard, self.lease.claim(), &known).await?;
        Ok(())
    }

    /// Handles the tasks that have ended.
    async fn reap(&mut self) -> Result<usize, store::Error> {
        let mut ended = 0;
        while let Some(one) = self.tasks.try_join_next_with_id() {
            ended += 1;
            self.finish_task(one).await?;
        }
        Ok(ended)
    }

    async fn finish_task(
        &mut self,
        ended: Result<(task::Id, Result<(), store::Error>), JoinError>,
    ) -> Result<(), store::Error> {
        match ended {
            Ok((task, ended)) => {
                self.running.remove(&task);
                ended
            }
            Err(failure) => {
                let charge = self.running.remove(&failure.id());
                // Counted, so that a file that always panics fails in the end.
                let kind = ScanFailure::Inconclusive;
                let why = "the verification panicked".to_owned();
                match charge.filter(|_| failure.is_panic()) {
                    Some(ScanTask {
                        claimed, verifier, ..
                    }) => {
                        verifier
                            .postpone(&claimed, VerificationFailure { kind, why })
                            .await
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Claims as many files as there are free slots.
    async fn claim_files(
        &mut self,
        class: FileSizeClass,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        let Some(files) = self.files.clone() else {
            return Ok(0);
        };
        let slots = match class {
            FileSizeClass::Small => files.slots.small,
            FileSizeClass::Large => files.slots.large,
        };
        let taken = self.running.values().filter(|charge| charge.class == class);
        let free = slots.saturating_sub(taken.count());
        if free == 0 {
            return Ok(0);
        }
        let most = i64::try_from(free).unwrap_or(i64::MAX);
        let claim = self.lease.claim();
        let claimed = file::claim(&self.shard, claim, class, most, now).await?;
        let begun = claimed.len();
        for claimed in claimed {
            let verifier = FileVerifier {
                shard: self.shard.clone(),
                files: files.clone(),
                claim,
            };
            self.start(class, claimed, verifier);
        }
        Ok(begun)
    }

    fn start(&mut self, class: FileSizeClass, claimed: ClaimedFile, verifier: FileVerifier) {
        let claimed = Arc::new(claimed);
        let task = self.tasks.spawn({
            let (claimed, verifier) = (claimed.clone(), verifier.clone());
            let bell = self.wakeup.clone();
            async move {
                let ended = verifier.verify(&claimed).await;
                bell.wake();
                ended
            }
        });
        let charge = ScanTask {
            class,
            claimed,
            verifier,
        };
        self.running.insert(task.id(), charge);
    }
}

#[async_trait::async_trait]
impl Stage for ScanStage {
    fn name(&self) -> &'static str {
        "scan"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let ended = self.reap().await?;
        if self.claim_checks.is_due(now) {
            self.free_unknown_claims().await?;
        }
        let small = self.claim_files(FileSizeClass::Small, now).await?;
        let large = self.claim_files(FileSizeClass::Large, now).await?;
        Ok(StepResult::from_count(ended + small + large))
    }

    async fn recover(&mut self) -> Result<(), store::Error> {
        self.claim_checks.doubt(self.shard.clock.now());
        // A task that has ended knows nothing of a later claim on its file.
        self.reap().await?;
        self.free_unknown_claims().await
    }
}
