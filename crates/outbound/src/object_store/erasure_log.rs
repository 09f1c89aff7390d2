//! The log of erasures in the bucket: an object for each, named by an id, without any text of a
//! customer. Backups of the databases do not have it, so it survives a restore.

use bytes::Bytes;
use domain::erasure_log::ErasureSubject;
use http::Method;

use super::ObjectStore;
use super::call::ObjectStoreCall;
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;

const FOLDER: &str = "erasures/";

impl ObjectStore {
    /// Called before the rows are erased.
    pub async fn log_erasure(&self, subject: ErasureSubject) -> Result<(), ObjectStoreFailure> {
        const OPERATION: &str = "log an erasure";
        let key = self.system_key(&format!("{FOLDER}{subject}"));
        let call = ObjectStoreCall {
            body: Bytes::from(format!("{subject}\n")),
            ..self.object_call(OPERATION, Method::PUT, &key)
        };
        self.call(&call).await?.require_success(OPERATION).map(drop)
    }

    /// Everything that was ever erased, in the order of ids.
    pub async fn list_erasures(&self) -> Result<Vec<ErasureSubject>, ObjectStoreFailure> {
        let folder = self.system_key(FOLDER);
        let (mut erasures, mut after) = (Vec::new(), None);
        loop {
            let page = self.list_under(folder.as_str(), after.as_deref()).await?;
            erasures.extend(page.objects.iter().filter_map(|it| subject_of(&it.key)));
            after = page.next;
            if after.is_none() {
                return Ok(erasures);
            }
        }
    }
}

fn subject_of(key: &ObjectKey) -> Option<ErasureSubject> {
    key.as_str().rsplit('/').next()?.parse().ok()
}
