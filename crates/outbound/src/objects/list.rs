//! What lies in the store, for those who compare it with the rows.

use bytes::Bytes;
use domain::id::{Berth, FileId};
use domain::time::Timestamp;
use http::Method;
use roxmltree::Node;

use super::Objects;
use super::call::Call;
use super::failure::Failure;
use super::key::{Area, Key};
use super::xml;

/// Of open uploads; a thousand each.
const MOST_PAGES: usize = 100;

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub objects: Vec<Listed>,
    /// What to ask the next page with.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// None: nobody of ours gave it this name.
    pub id: Option<FileId>,
    pub key: Key,
    pub modified: Timestamp,
}

/// An upload in parts that was neither finished nor given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenUpload {
    pub id: Option<FileId>,
    pub key: Key,
    pub upload: String,
    pub begun: Timestamp,
}

/// Where the next page of uploads begins: a key and an upload of it. Some stores tell only one.
type Marker = [(&'static str, String); 2];

impl Objects {
    /// A page of up to a thousand objects of a berth. `after` is what the last page called next.
    pub async fn list(
        &self,
        area: Area,
        berth: Berth,
        after: Option<&str>,
    ) -> Result<Listing, Failure> {
        self.list_under(&self.folder(area, berth), after).await
    }

    pub(super) async fn list_under(
        &self,
        folder: &str,
        after: Option<&str>,
    ) -> Result<Listing, Failure> {
        const WHAT: &str = "list objects";
        let mut query = vec![("list-type", "2"), ("prefix", folder)];
        query.extend(after.map(|token| ("continuation-token", token)));
        let answer = self
            .call(&self.asking(WHAT, &query))
            .await?
            .accepted(WHAT)?;
        xml::read(&answer.body, WHAT, |root| read_listing(root, folder))
    }

    /// All open uploads of a berth.
    pub async fn list_uploads(&self, berth: Berth) -> Result<Vec<OpenUpload>, Failure> {
        const WHAT: &str = "list uploads in parts";
        let folder = self.folder(Area::Staging, berth);
        let (mut uploads, mut after) = (Vec::new(), None::<Marker>);
        for _ in 0..MOST_PAGES {
            let mut query = vec![("uploads", ""), ("prefix", folder.as_str())];
            let markers = after.iter().flatten();
            let told = markers.filter(|(_, marker)| !marker.is_empty());
            query.extend(told.map(|(name, marker)| (*name, marker.as_str())));
            let answer = self
                .call(&self.asking(WHAT, &query))
                .await?
                .accepted(WHAT)?;
            let (page, next) = xml::read(&answer.body, WHAT, |root| read_uploads(root, &folder))?;
            uploads.extend(page);
            // A page that leads to itself would be read for ever.
            if next.is_none() || next == after {
                break;
            }
            after = next;
        }
        Ok(uploads)
    }

    fn asking<'a>(&self, what: &'static str, query: &'a [(&'a str, &'a str)]) -> Call<'a> {
        Call {
            what,
            method: Method::GET,
            key: None,
            query,
            headers: &[],
            body: Bytes::new(),
            within: self.0.patience.call,
        }
    }
}

/// Only what is under the folder, should a store take the prefix for a hint.
fn key_under(node: Node<'_, '_>, folder: &str) -> Option<Key> {
    let key = xml::child(node, "Key")?;
    key.starts_with(folder).then(|| Key::listed(key.to_owned()))
}

fn read_listing(root: Node<'_, '_>, folder: &str) -> Option<Listing> {
    let objects = xml::children(root, "Contents").filter_map(|object| {
        let key = key_under(object, folder)?;
        let modified = xml::moment(object, "LastModified");
        Some(modified.map(|modified| Listed {
            id: key.id(),
            key,
            modified,
        }))
    });
    Some(Listing {
        objects: objects.collect::<Option<_>>()?,
        next: xml::next(root, "NextContinuationToken").map(str::to_owned),
    })
}

fn read_uploads(root: Node<'_, '_>, folder: &str) -> Option<(Vec<OpenUpload>, Option<Marker>)> {
    let uploads = xml::children(root, "Upload").filter_map(|node| {
        let key = key_under(node, folder)?;
        let open = || {
            Some(OpenUpload {
                id: key.id(),
                upload: xml::child(node, "UploadId")?.to_owned(),
                begun: xml::moment(node, "Initiated")?,
                key,
            })
        };
        Some(open())
    });
    let uploads = uploads.collect::<Option<_>>()?;
    let marker = |name| xml::next(root, name).unwrap_or_default().to_owned();
    let next: Marker = [
        ("key-marker", marker("NextKeyMarker")),
        ("upload-id-marker", marker("NextUploadIdMarker")),
    ];
    let next = next
        .iter()
        .any(|(_, marker)| !marker.is_empty())
        .then_some(next);
    Some((uploads, next))
}
