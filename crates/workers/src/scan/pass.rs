//! The one pass over a file's bytes: hashed, sniffed, probed and scanned as they go by.
//!
//! Each chunk is let go before the next is read, so that memory does not depend on the size
//! of the file, and whoever is slowest sets the pace.

use bytes::Bytes;
use domain::sniff::{self, SNIFFED_BYTES};
use domain::upload::PART_BYTES;
use domain::verdict::{Findings, Scan};
use futures::StreamExt as _;
use outbound::objects::Head;
use outbound::probe::{Appetite, Probing};
use outbound::scanner::{Scanning, Verdict};
use store::shard::file::ClaimedFile;

use super::digests::{Digests, Said};
use super::hindered::Hindered;
use crate::files::Files;

/// Hashing so many bytes keeps others from the processor for a tenth of a millisecond or so.
const PIECE: usize = 64 << 10;

/// What is known of the bytes that went by.
#[derive(Debug)]
struct Pass<'a> {
    claimed: &'a ClaimedFile,
    digests: Digests,
    first: Vec<u8>,
    read: u64,
    findings: Findings,
    probing: Option<Probing>,
}

/// Reads the object once. Findings that are flawed may be incomplete: nobody waits for the
/// scanner then.
pub(super) async fn pass(
    files: &Files,
    claimed: &ClaimedFile,
    head: &Head,
) -> Result<Findings, Hindered> {
    let file = &claimed.file;
    // First: without a scanner, nothing is read in vain.
    let mut scanning = match files.scanner.begin().await {
        Ok(scanning) => scanning,
        Err(failure) => return Err(Hindered::by_scanner(failure, &files.scanner).await),
    };
    let probing = files.prober.start(file.media_type)?;
    let key = files.objects.staging(file.id);
    let mut bytes = files.objects.get(&key, &head.etag).await?;
    let mut pass = Pass::new(claimed, probing);
    while let Some(chunk) = bytes.next().await {
        let chunk = chunk?;
        if pass.take(&chunk).await?.is_flawed() {
            return Ok(pass.findings);
        }
        if let Err(failure) = scanning.feed(chunk).await {
            return Err(Hindered::by_scanner(failure, &files.scanner).await);
        }
    }
    drop(bytes);
    let mut findings = pass.end().await?;
    if findings.flaw().is_none() {
        findings.scan = Some(listen(scanning, files).await?);
    }
    Ok(findings)
}

async fn listen(scanning: Scanning, files: &Files) -> Result<Scan, Hindered> {
    match scanning.verdict().await {
        Ok(Verdict::Clean) => Ok(Scan::Clean),
        Ok(Verdict::Infected(_)) => Ok(Scan::Infected),
        Ok(Verdict::LimitExceeded) => Ok(Scan::LimitExceeded),
        Err(failure) => Err(Hindered::by_scanner(failure, &files.scanner).await),
    }
}

/// Whether there is anything left to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SoFar {
    Well,
    Flawed,
}

impl SoFar {
    fn is_flawed(self) -> bool {
        self == Self::Flawed
    }
}

impl<'a> Pass<'a> {
    fn new(claimed: &'a ClaimedFile, probing: Probing) -> Self {
        Self {
            claimed,
            digests: Digests::new(said(claimed)),
            first: Vec::new(),
            read: 0,
            findings: Findings::default(),
            probing: Some(probing),
        }
    }

    async fn take(&mut self, chunk: &Bytes) -> Result<SoFar, Hindered> {
        let before = self.read;
        self.read += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        if self.read > self.claimed.file.size_bytes {
            self.findings.has_its_size = Some(false);
            return Ok(SoFar::Flawed);
        }
        self.sniff(chunk);
        for piece in chunk.chunks(PIECE) {
            self.digests.update(piece);
            tokio::task::yield_now().await;
        }
        self.feed(chunk).await?;
        // A flaw of form counts when the hash of its part is known: that other bytes came
        // than were declared explains more than what they happen to look like.
        if before / PART_BYTES == self.read / PART_BYTES {
            return Ok(SoFar::Well);
        }
        if !self.digests.parts_are_right() {
            self.findings.has_its_checksum = Some(false);
        }
        Ok(match self.findings.flaw() {
            Some(_) => SoFar::Flawed,
            None => SoFar::Well,
        })
    }

    fn sniff(&mut self, chunk: &Bytes) {
        if self.findings.has_its_type.is_some() {
            return;
        }
        let missing = SNIFFED_BYTES.saturating_sub(self.first.len());
        self.first.extend(chunk.iter().take(missing));
        if self.first.len() == SNIFFED_BYTES {
            self.look_at_first();
        }
    }

    fn look_at_first(&mut self) {
        let fits = sniff::fits(self.claimed.file.media_type, &self.first);
        self.findings.has_its_type = Some(fits);
    }

    /// A child that wants no more knows its answer.
    async fn feed(&mut self, chunk: &Bytes) -> Result<(), Hindered> {
        if let Some(probing) = &mut self.probing
            && probing.feed(chunk.clone()).await == Appetite::Full
        {
            self.hear().await?;
        }
        Ok(())
    }

    async fn hear(&mut self) -> Result<(), Hindered> {
        if let Some(probing) = self.probing.take() {
            self.findings.structure = Some(probing.finish().await?);
        }
        Ok(())
    }

    /// All that can be known without the scanner.
    async fn end(mut self) -> Result<Findings, Hindered> {
        let file = &self.claimed.file;
        self.findings.has_its_size = Some(self.read == file.size_bytes);
        if self.findings.has_its_type.is_none() {
            self.look_at_first();
        }
        self.hear().await?;
        self.findings.has_its_checksum = Some(self.digests.finish(file.sha256));
        Ok(self.findings)
    }
}

/// What the caller said of the parts. Of a single shot, the hash of the whole is all.
fn said(claimed: &ClaimedFile) -> Said {
    let at_creation = claimed.file.part_checksums.as_ref();
    let at_creation = at_creation.map(|list| list.iter().copied().map(Some).collect());
    let at_complete = claimed.parts.as_ref();
    let at_complete = at_complete.map(|list| list.iter().map(|part| part.checksum).collect());
    Said(at_creation.into_iter().chain(at_complete).collect())
}
