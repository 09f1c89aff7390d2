//! Uploads in parts that are missing, out of order or overwritten.

use serde_json::{Value, json};

use super::{ExpectedEnd, MEBIBYTE, ScenarioResult, UploadSession};
use crate::chaos::files::fault_kind::UploadFaultKind;

impl UploadSession<'_> {
    pub(super) async fn complete_with_bad_parts(&self, fault: UploadFaultKind) -> ScenarioResult {
        let mut listed = if fault == UploadFaultKind::MissingPart {
            self.upload_first_part().await?
        } else {
            self.upload().await?
        };
        if let Some([first, second]) = listed
            .get_mut("parts")
            .and_then(Value::as_array_mut)
            .map(Vec::as_mut_slice)
        {
            std::mem::swap(first, second);
            if let (Some(one), Some(two)) = (first.as_object_mut(), second.as_object_mut()) {
                one.insert("part_number".to_owned(), 1.into());
                two.insert("part_number".to_owned(), 2.into());
            }
        }
        let (_, note) = self.complete_until_final(&listed).await;
        Ok((ExpectedEnd::NotReady, note))
    }

    /// Uploads the first part and lists a second part that does not exist.
    async fn upload_first_part(&self) -> Result<Value, String> {
        let part = self.grant.pointer("/parts/0").unwrap_or(&Value::Null);
        let bytes = self.content.part(0, 16 * MEBIBYTE);
        let first = self.client.put_part(&self.grant, part, bytes).await?;
        let mut second = first.clone();
        if let Some(second) = second.as_object_mut() {
            second.insert("part_number".to_owned(), 2.into());
        }
        Ok(json!({"parts": [second, first]}))
    }

    pub(super) async fn overwrite_part_while_validating(&self) -> ScenarioResult {
        let listed = self.upload().await?;
        let part = self.grant.pointer("/parts/0").unwrap_or(&Value::Null);
        let mut bytes = self.content.part(0, 16 * MEBIBYTE).to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        let again = self.client.put_part(&self.grant, part, bytes.into());
        let ((_, note), again) = tokio::join!(self.complete_until_final(&listed), again);
        // Either write may be first; a ready file has the declared bytes.
        Ok((ExpectedEnd::AnyEnd, format!("{note}; {again:?}")))
    }
}
