//! Lists objects and open uploads, for comparison with the rows.

use bytes::Bytes;
use domain::id::{Berth, FileId};
use domain::time::Timestamp;
use http::Method;
use roxmltree::Node;

use super::ObjectStore;
use super::call::ObjectStoreCall;
use super::failure::ObjectStoreFailure;
use super::key::{ObjectArea, ObjectKey};
use super::xml;

/// Pages of open uploads, with a thousand uploads each.
const MAX_UPLOAD_PAGES: usize = 100;

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectListing {
    pub objects: Vec<ListedObject>,
    /// The continuation token of the next page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedObject {
    /// None: the key names none of our files.
    pub file_id: Option<FileId>,
    pub key: ObjectKey,
    pub modified_at: Timestamp,
}

/// A multipart upload that was neither completed nor aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMultipartUpload {
    pub file_id: Option<FileId>,
    pub key: ObjectKey,
    pub upload_id: String,
    pub started_at: Timestamp,
}

/// Where the next page starts: a key and an upload id. Some stores send only one of them.
type UploadsMarker = [(&'static str, String); 2];

impl ObjectStore {
    /// A page of up to a thousand objects of a berth. `after` is the last page's `next`.
    pub async fn list_objects(
        &self,
        area: ObjectArea,
        berth: Berth,
        after: Option<&str>,
    ) -> Result<ObjectListing, ObjectStoreFailure> {
        self.list_under(&self.folder(area, berth), after).await
    }

    /// A page of up to a thousand objects of all berths. `after` is the last page's `next`.
    pub async fn list_area(
        &self,
        area: ObjectArea,
        after: Option<&str>,
    ) -> Result<ObjectListing, ObjectStoreFailure> {
        self.list_under(&self.area_folder(area), after).await
    }

    pub(super) async fn list_under(
        &self,
        folder: &str,
        after: Option<&str>,
    ) -> Result<ObjectListing, ObjectStoreFailure> {
        const OPERATION: &str = "list objects";
        let mut query = vec![("list-type", "2"), ("prefix", folder)];
        query.extend(after.map(|token| ("continuation-token", token)));
        let answer = self
            .call(&self.list_call(OPERATION, &query))
            .await?
            .require_success(OPERATION)?;
        xml::parse_document(&answer.body, OPERATION, |root| parse_listing(root, folder))
    }

    /// All open uploads of a berth.
    pub async fn list_multipart_uploads(
        &self,
        berth: Berth,
    ) -> Result<Vec<OpenMultipartUpload>, ObjectStoreFailure> {
        const OPERATION: &str = "list multipart uploads";
        let folder = self.folder(ObjectArea::Staging, berth);
        let (mut uploads, mut after) = (Vec::new(), None::<UploadsMarker>);
        for _ in 0..MAX_UPLOAD_PAGES {
            let mut query = vec![("uploads", ""), ("prefix", folder.as_str())];
            let markers = after.iter().flatten();
            let present = markers.filter(|(_, marker)| !marker.is_empty());
            query.extend(present.map(|(name, marker)| (*name, marker.as_str())));
            let answer = self
                .call(&self.list_call(OPERATION, &query))
                .await?
                .require_success(OPERATION)?;
            let (page, next) =
                xml::parse_document(&answer.body, OPERATION, |root| parse_uploads(root, &folder))?;
            uploads.extend(page);
            // Prevents an endless loop when a page points to itself.
            if next.is_none() || next == after {
                break;
            }
            after = next;
        }
        Ok(uploads)
    }

    fn list_call<'a>(
        &self,
        what: &'static str,
        query: &'a [(&'a str, &'a str)],
    ) -> ObjectStoreCall<'a> {
        ObjectStoreCall {
            operation: what,
            method: Method::GET,
            key: None,
            query,
            headers: &[],
            body: Bytes::new(),
            timeout: self.0.timeouts.call,
        }
    }
}

/// Skips keys outside the folder, in case the store ignores the prefix.
fn key_under(node: Node<'_, '_>, folder: &str) -> Option<ObjectKey> {
    let key = xml::child_text(node, "Key")?;
    key.starts_with(folder)
        .then(|| ObjectKey::from_listing(key.to_owned()))
}

fn parse_listing(root: Node<'_, '_>, folder: &str) -> Option<ObjectListing> {
    let objects = xml::children(root, "Contents").filter_map(|object| {
        let key = key_under(object, folder)?;
        let modified = xml::timestamp(object, "LastModified");
        Some(modified.map(|modified| ListedObject {
            file_id: key.file_id(),
            key,
            modified_at: modified,
        }))
    });
    Some(ObjectListing {
        objects: objects.collect::<Option<_>>()?,
        next: xml::next_page_marker(root, "NextContinuationToken").map(str::to_owned),
    })
}

fn parse_uploads(
    root: Node<'_, '_>,
    folder: &str,
) -> Option<(Vec<OpenMultipartUpload>, Option<UploadsMarker>)> {
    let uploads = xml::children(root, "Upload").filter_map(|node| {
        let key = key_under(node, folder)?;
        let open = || {
            Some(OpenMultipartUpload {
                file_id: key.file_id(),
                upload_id: xml::child_text(node, "UploadId")?.to_owned(),
                started_at: xml::timestamp(node, "Initiated")?,
                key,
            })
        };
        Some(open())
    });
    let uploads = uploads.collect::<Option<_>>()?;
    let marker = |name| {
        xml::next_page_marker(root, name)
            .unwrap_or_default()
            .to_owned()
    };
    let next: UploadsMarker = [
        ("key-marker", marker("NextKeyMarker")),
        ("upload-id-marker", marker("NextUploadIdMarker")),
    ];
    let next = next
        .iter()
        .any(|(_, marker)| !marker.is_empty())
        .then_some(next);
    Some((uploads, next))
}
