//! Verifies one claimed file and records the result.

use std::sync::Arc;
use std::time::Instant;

use domain::file::{FileFailureReason, FileStatus, FileStructure};
use domain::file_validation::{self, ScanRetryDecision};
use outbound::object_store::{CopyResult, ObjectHead};
use store::Shard;
use store::shard::file::{self, ClaimedFile, FileRow, PublishResult};
use store::shard::node::Claim;
use store::shard::patrol;

use super::byte_pass::verify_bytes;
use super::multipart_assembly::assemble;
use super::verification_failure::VerificationFailure;
use crate::file_stage_deps::FileStageDeps;

/// What a verification needs.
#[derive(Debug, Clone)]
pub(super) struct FileVerifier {
    pub(super) shard: Arc<Shard>,
    pub(super) files: FileStageDeps,
    pub(super) claim: Claim,
}

enum FileVerdict {
    Valid(FileStructure, ObjectHead),
    Failed(FileFailureReason),
}

impl FileVerifier {
    pub(super) async fn verify(&self, claimed: &ClaimedFile) -> Result<(), store::Error> {
        if file_validation::is_poison_pill(claimed.takeovers) {
            let id = claimed.file.id;
            tracing::error!(file.id = %id, "a file killed its workers too often: it fails as malformed");
            return self
                .fail(&claimed.file, claimed.file.kind.malformed_reason())
                .await;
        }
        let began = Instant::now();
        let judged = self.check_file(claimed).await;
        metrics::histogram!("longshore_scan_duration_seconds")
            .record(began.elapsed().as_secs_f64());
        match judged {
            Ok(FileVerdict::Valid(structure, head)) => {
                match self.copy(&claimed.file, &head).await {
                    Ok(()) => self.publish(&claimed.file, structure).await,
                    Err(failure) => self.postpone(claimed, failure).await,
                }
            }
            Ok(FileVerdict::Failed(flaw)) => self.fail(&claimed.file, flaw).await,
            Err(failure) => self.postpone(claimed, failure).await,
        }
    }

    async fn check_file(&self, claimed: &ClaimedFile) -> Result<FileVerdict, VerificationFailure> {
        let head = match assemble(&self.files.objects, claimed).await? {
            Ok(head) => head,
            Err(flaw) => return Ok(FileVerdict::Failed(flaw)),
        };
        let findings = verify_bytes(&self.files, claimed, &head).await?;
        match (findings.failure_reason(), findings.verified_structure()) {
            (Some(flaw), _) => Ok(FileVerdict::Failed(flaw)),
            (None, Some(structure)) => {
                let bytes = metrics::counter!("longshore_scanned_bytes_total");
                bytes.increment(claimed.file.size_bytes);
                Ok(FileVerdict::Valid(structure, head))
            }
            (None, None) => Err(VerificationFailure::unavailable(&"not every check has run")),
        }
    }

    /// Copies the verified bytes to a key that no grant names. Can be repeated.
    async fn copy(&self, file: &FileRow, head: &ObjectHead) -> Result<(), VerificationFailure> {
        let objects = &self.files.objects;
        let (from, to) = (objects.staging_key(file.id), objects.published_key(file.id));
        match objects.copy(&from, &to, &head.etag).await? {
            CopyResult::Done => Ok(()),
            CopyResult::Changed => Err(VerificationFailure::unavailable(
                &"the upload changed after it was read",
            )),
            CopyResult::Missing => Err(VerificationFailure::unavailable(
                &"the upload vanished after it was read",
            )),
        }
    }

    async fn publish(&self, file: &FileRow, structure: FileStructure) -> Result<(), store::Error> {
        let id = file.id;
        let now = self.shard.clock.now();
        match file::publish(&self.shard, file, self.claim, structure, now).await? {
            PublishResult::Ready { is_new_object: own } => {
                metrics::counter!("longshore_files_ready_total").increment(1);
                tracing::info!(file.id = %id, "a file is ready");
                if !own {
                    // The project already has these bytes: no row will reference this copy.
                    self.remove_copy(file).await;
                }
                // Its parts, if any, were assembled before it was read.
                self.clear_staging(file, None).await
            }
            PublishResult::Fenced => self.give_up_copy(file).await,
        }
    }

    /// Another worker has the file, or it has ended. Removes the copy if no row can reference it.
    async fn give_up_copy(&self, file: &FileRow) -> Result<(), store::Error> {
        let id = file.id;
        tracing::info!(file.id = %id, "a file ended or was taken over during its verification");
        let known = patrol::find_published(&self.shard, &[id]).await?;
        let is_unwanted = known
            .get(&id)
            .is_some_and(|it| it.file.is_some_and(FileStatus::is_settled) && !it.is_live);
        if is_unwanted {
            self.remove_copy(file).await;
        }
        Ok(())
    }

    async fn fail(&self, file: &FileRow, flaw: FileFailureReason) -> Result<(), store::Error> {
        let id = file.id;
        if file::fail(&self.shard, id, self.claim, flaw, flaw.scan_status()).await? {
            let reason = flaw.as_str();
            metrics::counter!("longshore_files_failed_total", "reason" => reason).increment(1);
            tracing::info!(file.id = %id, reason, "a file failed");
            self.clear_staging(file, file.upload.as_deref()).await?;
        }
        Ok(())
    }

    pub(super) async fn postpone(
        &self,
        claimed: &ClaimedFile,
        failed: VerificationFailure,
    ) -> Result<(), store::Error> {
        let VerificationFailure { kind, why } = failed;
        let (id, now) = (claimed.file.id, self.shard.clock.now());
        match file_validation::decide_scan_retry(kind, claimed.tries, claimed.completed_at, now) {
            ScanRetryDecision::Retry { at, counted } => {
                tracing::warn!(file.id = %id, counted, why, "a file could not be verified and will be tried again");
                file::reschedule(&self.shard, id, self.claim, at, counted).await?;
                Ok(())
            }
            ScanRetryDecision::Fail(flaw) => {
                tracing::warn!(file.id = %id, why, "a file could not be verified and fails");
                self.fail(&claimed.file, flaw).await
            }
        }
    }

    /// Removes the staged bytes. Sweep finds what is left.
    async fn clear_staging(
        &self,
        file: &FileRow,
        upload: Option<&str>,
    ) -> Result<(), store::Error> {
        match self.files.clear_staging(file.id, upload).await {
            Ok(()) => file::mark_cleaned(&self.shard, file.id).await,
            Err(failure) => {
                log_leftover(file, &failure);
                Ok(())
            }
        }
    }

    /// Removes the published copy. Patrol finds what is left.
    async fn remove_copy(&self, file: &FileRow) {
        let key = self.files.objects.published_key(file.id);
        if let Err(failure) = self.files.objects.delete(&key).await {
            log_leftover(file, &failure);
        }
    }
}

fn log_leftover(file: &FileRow, failure: &outbound::object_store::ObjectStoreFailure) {
    let id = file.id;
    tracing::info!(file.id = %id, failure = %failure, "bytes of a file are left in the object store and will be removed later");
}
