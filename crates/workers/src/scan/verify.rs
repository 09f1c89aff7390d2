//! One claimed file, from its bytes to what is written of it.

use std::sync::Arc;
use std::time::Instant;

use domain::file::{Flaw, Status, Structure};
use domain::verdict::{self, Next};
use outbound::objects::{Copied, Head};
use store::Shard;
use store::shard::file::{self, ClaimedFile, File, Published};
use store::shard::node::Claim;
use store::shard::patrol;

use super::assemble::assemble;
use super::hindered::Hindered;
use super::pass::pass;
use crate::files::Files;

/// Who verifies, and with what.
#[derive(Debug, Clone)]
pub(super) struct Verifier {
    pub(super) shard: Arc<Shard>,
    pub(super) files: Files,
    pub(super) claim: Claim,
}

enum Judged {
    Sound(Structure, Head),
    Flawed(Flaw),
}

impl Verifier {
    pub(super) async fn verify(&self, claimed: &ClaimedFile) -> Result<(), store::Error> {
        if verdict::is_poisonous(claimed.takeovers) {
            let id = claimed.file.id;
            tracing::error!(file.id = %id, "workers died with {id} too often: it is taken for the cause");
            return self
                .fail(&claimed.file, claimed.file.kind.malformed())
                .await;
        }
        let began = Instant::now();
        let judged = self.judge(claimed).await;
        metrics::histogram!("scan_seconds").record(began.elapsed().as_secs_f64());
        match judged {
            Ok(Judged::Sound(structure, head)) => match self.copy(&claimed.file, &head).await {
                Ok(()) => self.publish(&claimed.file, structure).await,
                Err(hindered) => self.put_off(claimed, hindered).await,
            },
            Ok(Judged::Flawed(flaw)) => self.fail(&claimed.file, flaw).await,
            Err(hindered) => self.put_off(claimed, hindered).await,
        }
    }

    async fn judge(&self, claimed: &ClaimedFile) -> Result<Judged, Hindered> {
        let head = match assemble(&self.files.objects, claimed).await? {
            Ok(head) => head,
            Err(flaw) => return Ok(Judged::Flawed(flaw)),
        };
        let findings = pass(&self.files, claimed, &head).await?;
        match (findings.flaw(), findings.sound()) {
            (Some(flaw), _) => Ok(Judged::Flawed(flaw)),
            (None, Some(structure)) => {
                let bytes = metrics::counter!("scan_bytes_total");
                bytes.increment(claimed.file.size_bytes);
                Ok(Judged::Sound(structure, head))
            }
            (None, None) => Err(Hindered::away(&"not everything was looked at")),
        }
    }

    /// Puts the bytes that were read where no grant leads. Made twice, it is the same.
    async fn copy(&self, file: &File, head: &Head) -> Result<(), Hindered> {
        let objects = &self.files.objects;
        let (from, to) = (objects.staging(file.id), objects.published(file.id));
        match objects.copy(&from, &to, &head.etag).await? {
            Copied::Done => Ok(()),
            Copied::Changed => Err(Hindered::away(&"the upload changed after it was read")),
            Copied::Missing => Err(Hindered::away(&"the upload vanished after it was read")),
        }
    }

    async fn publish(&self, file: &File, structure: Structure) -> Result<(), store::Error> {
        let id = file.id;
        let now = self.shard.clock.now();
        match file::publish(&self.shard, file, self.claim, structure, now).await? {
            Published::Ready { own } => {
                metrics::counter!("files_ready_total").increment(1);
                tracing::info!(file.id = %id, "{id} is ready");
                if !own {
                    // The project has these bytes already, and nobody will come to want these.
                    self.remove_copy(file).await;
                }
                // Its parts, if it had any, are one object since it was read.
                self.clean(file, None).await
            }
            Published::Moved => self.give_up_copy(file).await,
        }
    }

    /// The file is another's now, or ended. A copy goes only if nobody can come to want it.
    async fn give_up_copy(&self, file: &File) -> Result<(), store::Error> {
        let id = file.id;
        tracing::info!(file.id = %id, "{id} was settled or taken over while it was verified");
        let known = patrol::published(&self.shard, &[id]).await?;
        let is_unwanted = known
            .get(&id)
            .is_some_and(|it| it.file.is_some_and(Status::is_settled) && !it.is_live);
        if is_unwanted {
            self.remove_copy(file).await;
        }
        Ok(())
    }

    async fn fail(&self, file: &File, flaw: Flaw) -> Result<(), store::Error> {
        let id = file.id;
        if file::fail(&self.shard, id, self.claim, flaw, flaw.scan_status()).await? {
            let reason = flaw.as_str();
            metrics::counter!("files_failed_total", "reason" => reason).increment(1);
            tracing::info!(file.id = %id, reason, "{id} failed");
            self.clean(file, file.upload.as_deref()).await?;
        }
        Ok(())
    }

    pub(super) async fn put_off(
        &self,
        claimed: &ClaimedFile,
        hindered: Hindered,
    ) -> Result<(), store::Error> {
        let Hindered { hindrance, why } = hindered;
        let (id, now) = (claimed.file.id, self.shard.clock.now());
        match verdict::after(hindrance, claimed.tries, claimed.completed_at, now) {
            Next::Again { at, counted } => {
                tracing::warn!(file.id = %id, counted, why, "{id} could not be verified and will be again");
                file::later(&self.shard, id, self.claim, at, counted).await?;
                Ok(())
            }
            Next::Fail(flaw) => {
                tracing::warn!(file.id = %id, why, "{id} could not be verified and will not be again");
                self.fail(&claimed.file, flaw).await
            }
        }
    }

    /// What is left here is found by sweep.
    async fn clean(&self, file: &File, upload: Option<&str>) -> Result<(), store::Error> {
        match self.files.unstage(file.id, upload).await {
            Ok(()) => file::cleaned(&self.shard, file.id).await,
            Err(failure) => {
                left_behind(file, &failure);
                Ok(())
            }
        }
    }

    /// What is left here is found by patrol.
    async fn remove_copy(&self, file: &File) {
        let key = self.files.objects.published(file.id);
        if let Err(failure) = self.files.objects.delete(&key).await {
            left_behind(file, &failure);
        }
    }
}

fn left_behind(file: &File, failure: &outbound::objects::Failure) {
    let id = file.id;
    tracing::info!(file.id = %id, failure = %failure, "what is left of {id} in the store is removed later");
}
