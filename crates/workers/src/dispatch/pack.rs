//! A batch becomes lines: on disk, in an order, with a digest.
//!
//! Requests with the same system prompt lie together, so that a provider that remembers prompts
//! reads each once. The order is written down, and built again it is the same to the byte.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use domain::id::{CargoId, OrganizationId};
use domain::params::Params;
use outbound::objects::Objects;
use outbound::provider::Item;
use outbound::provider::jobs::{ENCODER, Jobs};
use outbound::provider::media::Unfit;
use outbound::provider::spool::Spool;
use sha2::{Digest as _, Sha256};
use store::Shard;
use store::shard::batch::Claimed;
use store::shard::manifest::Head;
use store::shard::submission::Packed;

use crate::manifest::{in_order, read_chunk};
use crate::media::{self, MediaFailure};
use crate::providers::Share;
use crate::storing::Finished;

/// A token is about so many bytes of text.
pub(super) const BYTES_PER_TOKEN: u64 = 4;

/// What can be submitted.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) spool: Spool,
    pub(super) order: Vec<CargoId>,
    pub(super) packed: Packed,
    /// Those that cannot be put into the provider's words.
    pub(super) unfit: Vec<Finished>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PackFailure {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the spool cannot be written: {0}")]
    Disk(#[from] std::io::Error),
    #[error(transparent)]
    Media(MediaFailure),
}

impl From<MediaFailure> for PackFailure {
    fn from(failure: MediaFailure) -> Self {
        match failure {
            MediaFailure::Store(failure) => Self::Store(failure),
            other @ (MediaFailure::Away(_) | MediaFailure::Nowhere) => Self::Media(other),
        }
    }
}

/// A line that was written, and where it belongs.
struct Line {
    prefix: [u8; 8],
    cargo: CargoId,
    from: u64,
    length: u64,
}

pub(super) struct Packer<'a> {
    pub(super) shard: &'a Shard,
    pub(super) folder: &'a Path,
    pub(super) jobs: &'a dyn Jobs,
    pub(super) share: Share,
    pub(super) upstream: &'a str,
    pub(super) objects: Option<&'a Objects>,
}

impl Packer<'_> {
    /// Packs a batch for the first time: as much of it as one job may hold.
    pub(super) async fn pack(
        &self,
        batch: &Claimed,
        heads: Vec<Head>,
        most_tokens: u64,
    ) -> Result<Parcel, PackFailure> {
        let mut written = Spool::new(self.folder).await?;
        let (mut lines, mut unfit) = (Vec::with_capacity(heads.len()), Vec::new());
        let (mut inputs, mut is_full) = (0, false);
        let mut heads = in_turns(in_order(heads, &batch.cargo));
        while !heads.is_empty() && !is_full {
            for stored in read_chunk(self.shard, &mut heads).await? {
                let (item, head) = match stored.open() {
                    Ok(opened) => opened,
                    Err(failed) => {
                        unfit.push(*failed);
                        continue;
                    }
                };
                let line = match self.encode(&item).await? {
                    Ok(line) => line,
                    Err(why) => {
                        unfit.push(Finished::failed(head, why.0));
                        continue;
                    }
                };
                inputs += inputs_of(&item);
                let after = written.length() + line.len() as u64;
                if !lines.is_empty()
                    && self.is_too_much(&item, lines.len(), after, inputs, most_tokens)
                {
                    is_full = true;
                    break;
                }
                lines.push(Line {
                    prefix: prefix(&item.params),
                    cargo: item.cargo,
                    from: written.length(),
                    length: line.len() as u64,
                });
                written.write(&line).await?;
            }
        }
        lines.sort_by_key(|line| line.prefix);
        let spool = self.sorted(&written, &lines).await?;
        let packed = Packed {
            encoder: ENCODER,
            digest: spool.sha256().0.to_vec(),
            tokens: spool.length() / BYTES_PER_TOKEN,
        };
        let order = lines.iter().map(|line| line.cargo).collect();
        Ok(Parcel {
            spool,
            order,
            packed,
            unfit,
        })
    }

    /// Builds again what was packed before; nothing when it is no longer the same.
    pub(super) async fn rebuild(
        &self,
        batch: &Claimed,
        heads: Vec<Head>,
        packed: &Packed,
    ) -> Result<Option<Spool>, PackFailure> {
        if packed.encoder != ENCODER || heads.len() != batch.cargo.len() {
            return Ok(None);
        }
        let mut spool = Spool::new(self.folder).await?;
        let mut heads = in_order(heads, &batch.cargo);
        while !heads.is_empty() {
            for stored in read_chunk(self.shard, &mut heads).await? {
                let Ok((item, _)) = stored.open() else {
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

    async fn encode(&self, item: &Item) -> Result<Result<Vec<u8>, Unfit>, PackFailure> {
        let form = |media_type| self.jobs.form(media_type);
        let media = media::fetch(self.shard, self.objects, item, form).await?;
        Ok(self.jobs.encode(item, self.upstream, &media))
    }

    fn is_too_much(
        &self,
        item: &Item,
        lines: usize,
        bytes: u64,
        inputs: u64,
        most_tokens: u64,
    ) -> bool {
        let limits = self.jobs.limits(item.params.kind());
        lines >= self.share.most_items
            || lines as u64 >= limits.most_items
            || bytes > self.share.most_bytes.min(limits.most_bytes)
            || inputs > limits.most_inputs
            || bytes / BYTES_PER_TOKEN > self.share.most_tokens.min(most_tokens)
    }

    async fn sorted(&self, written: &Spool, lines: &[Line]) -> Result<Spool, PackFailure> {
        let mut sorted = Spool::new(self.folder).await?;
        for line in lines {
            let mut part = written.part(line.from, line.length);
            while let Some(chunk) = part.next().await? {
                sorted.write(&chunk).await?;
            }
        }
        Ok(sorted)
    }
}

/// Everyone's first, then everyone's second: what does not fit is of those who have most.
fn in_turns(heads: VecDeque<Head>) -> VecDeque<Head> {
    let mut counts: HashMap<OrganizationId, usize> = HashMap::new();
    let turn = |head: Head| {
        let count = counts.entry(head.organization).or_default();
        *count += 1;
        (*count, head)
    };
    let mut turns: Vec<(usize, Head)> = heads.into_iter().map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, head)| head).collect()
}

fn inputs_of(item: &Item) -> u64 {
    match &item.params {
        Params::Chat(_) => 1,
        Params::Embedding(embedding) => embedding.input_text.texts().len() as u64,
    }
}

/// Alike for the same system prompt.
fn prefix(params: &Params) -> [u8; 8] {
    let system = match params {
        Params::Chat(chat) => chat.system.as_deref().unwrap_or_default(),
        Params::Embedding(_) => "",
    };
    let digest: [u8; 32] = Sha256::digest(system.as_bytes()).into();
    let mut prefix = [0; 8];
    prefix.copy_from_slice(&digest[..8]);
    prefix
}
