//! Packs a batch into the lines of a job: on disk, in a recorded order, with a digest.
//!
//! Requests with the same tools and system prompt are adjacent, so that a provider with a prompt
//! cache reads each prompt once. A rebuild in the recorded order gives the same bytes.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use domain::id::{CargoId, OrganizationId};
use domain::params::Params;
use domain::params::content::SystemPrompt;
use domain::route::Route;
use outbound::object_store::ObjectStore;
use outbound::provider::BatchItem;
use outbound::provider::batch_provider::{BatchProvider, ENCODER_VERSION};
use outbound::provider::media::UnsupportedItem;
use outbound::provider::spool::Spool;
use sha2::{Digest as _, Sha256};
use store::Shard;
use store::shard::batch::ClaimedBatchRow;
use store::shard::batch_submission::PackedSubmission;
use store::shard::manifest::OpenCargo;

use crate::media::{self, MediaFailure};
use crate::outcome_writer::FinishedCargo;
use crate::providers::AccountShare;
use crate::stored_requests::{read_chunk, sort_by_batch_order};

/// An estimate of the bytes of text in one token.
pub(super) const BYTES_PER_TOKEN: u64 = 4;

/// A job that can be submitted.
#[derive(Debug)]
pub(super) struct PackedJob {
    pub(super) spool: Spool,
    pub(super) order: Vec<CargoId>,
    pub(super) packed: PackedSubmission,
    /// Cargo that the provider's format cannot express. It fails.
    pub(super) unfit: Vec<FinishedCargo>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PackFailure {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the spool file cannot be written: {0}")]
    Disk(#[from] std::io::Error),
    #[error(transparent)]
    Media(MediaFailure),
}

impl From<MediaFailure> for PackFailure {
    fn from(failure: MediaFailure) -> Self {
        match failure {
            MediaFailure::Store(failure) => Self::Store(failure),
            other @ (MediaFailure::Unavailable(_) | MediaFailure::NotConfigured) => {
                Self::Media(other)
            }
        }
    }
}

/// A line in the first spool, and the key by which lines are sorted.
struct PackedLine {
    prompt_hash: [u8; 8],
    cargo: CargoId,
    from: u64,
    length: u64,
}

pub(super) struct Packer<'a> {
    pub(super) shard: &'a Shard,
    pub(super) spool_dir: &'a Path,
    pub(super) provider: &'a dyn BatchProvider,
    pub(super) share: AccountShare,
    pub(super) route: &'a Route,
    pub(super) objects: Option<&'a ObjectStore>,
}

impl Packer<'_> {
    /// Packs a batch for the first time: as much of it as one job may contain.
    pub(super) async fn pack(
        &self,
        batch: &ClaimedBatchRow,
        heads: Vec<OpenCargo>,
        most_tokens: u64,
    ) -> Result<PackedJob, PackFailure> {
        let mut written = Spool::new(self.spool_dir).await?;
        let (mut lines, mut unfit) = (Vec::with_capacity(heads.len()), Vec::new());
        let (mut inputs, mut is_full) = (0, false);
        let mut heads = interleave_organizations(sort_by_batch_order(heads, &batch.cargo));
        while !heads.is_empty() && !is_full {
            for stored in read_chunk(self.shard, &mut heads).await? {
                let (item, head) = match stored.unpack() {
                    Ok(opened) => opened,
                    Err(failed) => {
                        unfit.push(*failed);
                        continue;
                    }
                };
                let line = match self.encode(&item).await? {
                    Ok(line) => line,
                    Err(why) => {
                        unfit.push(FinishedCargo::failed(head, why.0));
                        continue;
                    }
                };
                inputs += count_inputs(&item);
                let after = written.length() + line.len() as u64;
                if !lines.is_empty()
                    && self.exceeds_limits(&item, lines.len(), after, inputs, most_tokens)
                {
                    is_full = true;
                    break;
                }
                lines.push(PackedLine {
                    prompt_hash: hash_prompt_start(&item.params),
                    cargo: item.cargo,
                    from: written.length(),
                    length: line.len() as u64,
                });
                written.write(&line).await?;
            }
        }
        lines.sort_by_key(|line| line.prompt_hash);
        let spool = self.sort_lines(&written, &lines).await?;
        let packed = PackedSubmission {
            encoder: ENCODER_VERSION,
            digest: spool.sha256().0.to_vec(),
            tokens: spool.length() / BYTES_PER_TOKEN,
        };
        let order = lines.iter().map(|line| line.cargo).collect();
        Ok(PackedJob {
            spool,
            order,
            packed,
            unfit,
        })
    }

    /// Rebuilds a packed job. Nothing when the bytes would differ.
    pub(super) async fn rebuild(
        &self,
        batch: &ClaimedBatchRow,
        heads: Vec<OpenCargo>,
        packed: &PackedSubmission,
    ) -> Result<Option<Spool>, PackFailure> {
        if packed.encoder != ENCODER_VERSION || heads.len() != batch.cargo.len() {
            return Ok(None);
        }
        let mut spool = Spool::new(self.spool_dir).await?;
        let mut heads = sort_by_batch_order(heads, &batch.cargo);
        while !heads.is_empty() {
            for stored in read_chunk(self.shard, &mut heads).await? {
                let Ok((item, _)) = stored.unpack() else {
                    return Ok(None);
                };
                match self.encode(&item).await? {
                    Ok(line) => spool.write(&line).await?,
                    Err(_) => return Ok(None),
                }
            }
        }
        Ok((spool.sha256().0.as_slice() == packed.digest).then_some(spool))
    }

    async fn encode(
        &self,
        item: &BatchItem,
    ) -> Result<Result<Vec<u8>, UnsupportedItem>, PackFailure> {
        let form = |media_type| self.provider.media_form(media_type);
        let media = media::fetch(self.shard, self.objects, item, form).await?;
        Ok(self.provider.encode(item, self.route, &media))
    }

    fn exceeds_limits(
        &self,
        item: &BatchItem,
        lines: usize,
        bytes: u64,
        inputs: u64,
        most_tokens: u64,
    ) -> bool {
        let limits = self.provider.limits(item.params.kind());
        lines >= self.share.max_items
            || lines as u64 >= limits.max_items
            || bytes > self.share.max_bytes.min(limits.max_bytes)
            || inputs > limits.max_inputs
            || bytes / BYTES_PER_TOKEN > self.share.max_tokens.min(most_tokens)
    }

    async fn sort_lines(
        &self,
        written: &Spool,
        lines: &[PackedLine],
    ) -> Result<Spool, PackFailure> {
        let mut sorted = Spool::new(self.spool_dir).await?;
        for line in lines {
            let mut part = written.range(line.from, line.length);
            while let Some(chunk) = part.next().await? {
                sorted.write(&chunk).await?;
            }
        }
        Ok(sorted)
    }
}

/// The first cargo of each organization, then the second of each, and so on. What does not fit
/// belongs to the organizations with the most cargo.
fn interleave_organizations(heads: VecDeque<OpenCargo>) -> VecDeque<OpenCargo> {
    let mut counts: HashMap<OrganizationId, usize> = HashMap::new();
    let turn = |head: OpenCargo| {
        let count = counts.entry(head.organization).or_default();
        *count += 1;
        (*count, head)
    };
    let mut turns: Vec<(usize, OpenCargo)> = heads.into_iter().map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, head)| head).collect()
}

fn count_inputs(item: &BatchItem) -> u64 {
    match &item.params {
        Params::Chat(_) => 1,
        Params::Embedding(embedding) => embedding.input_text.texts().len() as u64,
    }
}

/// Equal for equal tools and system prompts: every prompt begins with them.
fn hash_prompt_start(params: &Params) -> [u8; 8] {
    let mut hasher = Sha256::new();
    if let Params::Chat(chat) = params {
        if !chat.tools.is_empty() {
            hasher.update(serde_json::to_vec(&chat.tools).unwrap_or_default());
        }
        let system = chat.system.as_ref().map(SystemPrompt::joined);
        hasher.update(system.unwrap_or_default());
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut prefix = [0; 8];
    prefix.copy_from_slice(&digest[..8]);
    prefix
}
