//! The files that an item names, in the form that its provider wants them.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use domain::file::MediaType;
use domain::id::FileId;
use futures::StreamExt as _;
use outbound::objects::Objects;
use outbound::provider::Item;
use outbound::provider::media::{Form, MediaSource};
use store::Shard;
use store::shard::file::reference::{self, Stored};

/// What one item may bring along within its request.
const MOST_BYTES: u64 = 48 << 20;

/// The files of one item. A file that is not in it is gone, or too large to be sent along.
#[derive(Debug, Default)]
pub(crate) struct Media(HashMap<String, Medium>);

#[derive(Debug)]
struct Medium {
    media_type: MediaType,
    url: Option<String>,
    bytes: Option<Bytes>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum MediaFailure {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the object store cannot be asked: {0}")]
    Away(#[from] outbound::objects::Failure),
    #[error("there is no object store")]
    Nowhere,
}

/// Addresses are signed as of the moment of loading: built again, they are the same.
pub(crate) async fn fetch(
    shard: &Shard,
    objects: Option<&Objects>,
    item: &Item,
    form: impl Fn(MediaType) -> Form,
) -> Result<Media, MediaFailure> {
    let files: Vec<FileId> = item.params.files().into_iter().collect();
    if files.is_empty() {
        return Ok(Media::default());
    }
    let objects = objects.ok_or(MediaFailure::Nowhere)?;
    let mut room = MOST_BYTES;
    let mut media = HashMap::new();
    for (id, stored) in reference::stored(shard, &files).await? {
        let media_type = stored.media_type;
        let medium = match form(media_type) {
            Form::Address => Medium {
                media_type,
                url: Some(objects.lend(stored.object, media_type, item.loaded_at)),
                bytes: None,
            },
            Form::Bytes | Form::Text => {
                let Some(left) = room.checked_sub(stored.size_bytes) else {
                    continue;
                };
                room = left;
                let bytes = read(objects, &stored).await?;
                let url = None;
                Medium {
                    media_type,
                    url,
                    bytes,
                }
            }
        };
        media.insert(id.to_string(), medium);
    }
    Ok(Media(media))
}

/// Nothing when they have gone meanwhile.
async fn read(
    objects: &Objects,
    stored: &Stored,
) -> Result<Option<Bytes>, outbound::objects::Failure> {
    let key = objects.published(stored.object);
    let Some(head) = objects.head(&key).await? else {
        return Ok(None);
    };
    let mut download = objects.get(&key, &head.etag).await?;
    let mut bytes = BytesMut::new();
    while let Some(chunk) = download.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(Some(bytes.freeze()))
}

impl MediaSource for Media {
    fn media_type(&self, file: &str) -> Option<MediaType> {
        Some(self.0.get(file)?.media_type)
    }

    fn url(&self, file: &str) -> Option<String> {
        self.0.get(file)?.url.clone()
    }

    fn text(&self, file: &str) -> Option<String> {
        let bytes = self.0.get(file)?.bytes.clone()?;
        String::from_utf8(bytes.into()).ok()
    }

    fn bytes(&self, file: &str) -> Option<Bytes> {
        self.0.get(file)?.bytes.clone()
    }
}
