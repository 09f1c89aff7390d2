//! Fetches the files that an item references, in the form that its provider needs.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use domain::file::MediaType;
use domain::id::FileId;
use futures::StreamExt as _;
use outbound::object_store::ObjectStore;
use outbound::provider::BatchItem;
use outbound::provider::media::{MediaForm, MediaSource};
use store::Shard;
use store::shard::file::reference::{self, StoredObject};

/// How many bytes of files one request may contain.
const MAX_INLINE_BYTES: u64 = 48 << 20;

/// The files of one item, without those that were deleted or are too large to be sent inline.
#[derive(Debug, Default)]
pub(crate) struct ItemMedia(HashMap<String, FetchedMedia>);

#[derive(Debug)]
struct FetchedMedia {
    media_type: MediaType,
    url: Option<String>,
    bytes: Option<Bytes>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum MediaFailure {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the object store did not answer: {0}")]
    Unavailable(#[from] outbound::object_store::ObjectStoreFailure),
    #[error("no object store is configured")]
    NotConfigured,
}

/// URLs are signed as of the time of loading, so that a rebuild gives the same bytes.
pub(crate) async fn fetch(
    shard: &Shard,
    objects: Option<&ObjectStore>,
    item: &BatchItem,
    form: impl Fn(MediaType) -> MediaForm,
) -> Result<ItemMedia, MediaFailure> {
    let files: Vec<FileId> = item.params.file_ids().into_iter().collect();
    if files.is_empty() {
        return Ok(ItemMedia::default());
    }
    let objects = objects.ok_or(MediaFailure::NotConfigured)?;
    let mut room = MAX_INLINE_BYTES;
    let mut media = HashMap::new();
    for (id, stored) in reference::find_stored(shard, &files).await? {
        let media_type = stored.media_type;
        let url = match form(media_type) {
            MediaForm::Url => {
                objects.presign_provider_link(stored.object, media_type, item.loaded_at)
            }
            MediaForm::Bytes | MediaForm::Text => None,
        };
        let bytes = if url.is_some() {
            None
        } else {
            let Some(left) = room.checked_sub(stored.size_bytes) else {
                continue;
            };
            room = left;
            read_object(objects, &stored).await?
        };
        let medium = FetchedMedia {
            media_type,
            url,
            bytes,
        };
        media.insert(id.to_string(), medium);
    }
    Ok(ItemMedia(media))
}

/// None when the object was deleted meanwhile.
async fn read_object(
    objects: &ObjectStore,
    stored: &StoredObject,
) -> Result<Option<Bytes>, outbound::object_store::ObjectStoreFailure> {
    let key = objects.published_key(stored.object);
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

impl MediaSource for ItemMedia {
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
