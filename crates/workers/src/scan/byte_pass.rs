//! The one pass over a file's bytes: checksum, magic bytes, probe and malware scan.
//!
//! Each chunk is dropped before the next is read, so that memory does not depend on the size of the
//! file. The slowest check sets the pace.

use bytes::Bytes;
use domain::file_validation::{FileFindings, MalwareScanVerdict};
use domain::magic_bytes::{self, SNIFFED_BYTES};
use domain::upload::PART_BYTES;
use futures::StreamExt as _;
use outbound::malware_scanner::{MalwareScan, MalwareVerdict};
use outbound::object_store::ObjectHead;
use outbound::probe::{FeedStatus, ProbeProcess};
use store::shard::file::ClaimedFile;

use super::digests::{DeclaredChecksums, FileDigests};
use super::verification_failure::VerificationFailure;
use crate::file_stage_deps::FileStageDeps;

/// Hashing this many bytes blocks other tasks for about a tenth of a millisecond.
const HASH_CHUNK_BYTES: usize = 64 << 10;

/// What is known about the bytes read so far.
#[derive(Debug)]
struct FilePass<'a> {
    claimed: &'a ClaimedFile,
    digests: FileDigests,
    head_bytes: Vec<u8>,
    bytes_read: u64,
    findings: FileFindings,
    probing: Option<ProbeProcess>,
}

/// Reads the object once. Findings of a failed file may be incomplete: they do not wait for the
/// scanner.
pub(super) async fn verify_bytes(
    files: &FileStageDeps,
    claimed: &ClaimedFile,
    head: &ObjectHead,
) -> Result<FileFindings, VerificationFailure> {
    let file = &claimed.file;
    // First, because without a scanner the file need not be read.
    let mut scanning = match files.scanner.begin().await {
        Ok(scanning) => scanning,
        Err(failure) => {
            return Err(VerificationFailure::from_scanner(failure, &files.scanner).await);
        }
    };
    let probing = files.prober.start(file.media_type)?;
    let key = files.objects.staging_key(file.id);
    let mut bytes = files.objects.get(&key, &head.etag).await?;
    let mut pass = FilePass::new(claimed, probing);
    while let Some(chunk) = bytes.next().await {
        let chunk = chunk?;
        if pass.process_chunk(&chunk).await?.has_failed() {
            return Ok(pass.findings);
        }
        if let Err(failure) = scanning.feed(chunk).await {
            return Err(VerificationFailure::from_scanner(failure, &files.scanner).await);
        }
    }
    drop(bytes);
    let mut findings = pass.finish().await?;
    if findings.failure_reason().is_none() {
        findings.scan = Some(await_malware_verdict(scanning, files).await?);
    }
    Ok(findings)
}

async fn await_malware_verdict(
    scanning: MalwareScan,
    files: &FileStageDeps,
) -> Result<MalwareScanVerdict, VerificationFailure> {
    match scanning.verdict().await {
        Ok(MalwareVerdict::Clean) => Ok(MalwareScanVerdict::Clean),
        Ok(MalwareVerdict::Infected(_)) => Ok(MalwareScanVerdict::Infected),
        Ok(MalwareVerdict::LimitExceeded) => Ok(MalwareScanVerdict::LimitExceeded),
        Err(failure) => Err(VerificationFailure::from_scanner(failure, &files.scanner).await),
    }
}

/// Whether the bytes read so far fail the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PassStatus {
    Valid,
    Failed,
}

impl PassStatus {
    fn has_failed(self) -> bool {
        self == Self::Failed
    }
}

impl<'a> FilePass<'a> {
    fn new(claimed: &'a ClaimedFile, probing: ProbeProcess) -> Self {
        Self {
            claimed,
            digests: FileDigests::new(declared_checksums(claimed)),
            head_bytes: Vec::new(),
            bytes_read: 0,
            findings: FileFindings::default(),
            probing: Some(probing),
        }
    }

    async fn process_chunk(&mut self, chunk: &Bytes) -> Result<PassStatus, VerificationFailure> {
        let before = self.bytes_read;
        self.bytes_read += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        if self.bytes_read > self.claimed.file.size_bytes {
            self.findings.size_matches = Some(false);
            return Ok(PassStatus::Failed);
        }
        self.collect_magic_bytes(chunk);
        for piece in chunk.chunks(HASH_CHUNK_BYTES) {
            self.digests.update(piece);
            tokio::task::yield_now().await;
        }
        self.feed_probe(chunk).await?;
        // A wrong format counts only when the checksum of its part is known: a wrong checksum
        // explains more.
        if before / PART_BYTES == self.bytes_read / PART_BYTES {
            return Ok(PassStatus::Valid);
        }
        if !self.digests.is_matching() {
            self.findings.checksum_matches = Some(false);
        }
        Ok(match self.findings.failure_reason() {
            Some(_) => PassStatus::Failed,
            None => PassStatus::Valid,
        })
    }

    fn collect_magic_bytes(&mut self, chunk: &Bytes) {
        if self.findings.media_type_matches.is_some() {
            return;
        }
        let missing = SNIFFED_BYTES.saturating_sub(self.head_bytes.len());
        self.head_bytes.extend(chunk.iter().take(missing));
        if self.head_bytes.len() == SNIFFED_BYTES {
            self.check_magic_bytes();
        }
    }

    fn check_magic_bytes(&mut self) {
        let fits = magic_bytes::matches_media_type(self.claimed.file.media_type, &self.head_bytes);
        self.findings.media_type_matches = Some(fits);
    }

    /// Feeds the probe. A probe that needs no more bytes has its answer.
    async fn feed_probe(&mut self, chunk: &Bytes) -> Result<(), VerificationFailure> {
        if let Some(probing) = &mut self.probing
            && probing.feed(chunk.clone()).await == FeedStatus::Finished
        {
            self.finish_probe().await?;
        }
        Ok(())
    }

    async fn finish_probe(&mut self) -> Result<(), VerificationFailure> {
        if let Some(probing) = self.probing.take() {
            self.findings.structure = Some(probing.finish().await?);
        }
        Ok(())
    }

    /// All findings except the malware scan.
    async fn finish(mut self) -> Result<FileFindings, VerificationFailure> {
        let file = &self.claimed.file;
        self.findings.size_matches = Some(self.bytes_read == file.size_bytes);
        if self.findings.media_type_matches.is_none() {
            self.check_magic_bytes();
        }
        self.finish_probe().await?;
        self.findings.checksum_matches = Some(self.digests.finish(file.sha256));
        Ok(self.findings)
    }
}

/// The part checksums that the caller declared. A single-shot upload has none.
fn declared_checksums(claimed: &ClaimedFile) -> DeclaredChecksums {
    let at_creation = claimed.file.part_checksums.as_ref();
    let at_creation = at_creation.map(|list| list.iter().copied().map(Some).collect());
    let at_complete = claimed.parts.as_ref();
    let at_complete = at_complete.map(|list| list.iter().map(|part| part.checksum).collect());
    DeclaredChecksums(at_creation.into_iter().chain(at_complete).collect())
}
