//! Checks of form uploads: exactly the declared bytes, under their key.

use super::super::presigned_grant::PostGrant;
use super::{CheckResult, StoreProbe, expect_refusal, expect_success};
use crate::object_store::failure::ObjectStoreProbeFailure;

const UPLOAD_CHECK: &str = "an upload grant must accept the declared bytes";
const STORED_CHECK: &str = "an uploaded object must be stored as sent";

impl StoreProbe<'_> {
    pub(super) async fn check_forms(&self) -> CheckResult {
        let bytes = &self.bytes;
        let longer = [bytes, b"!".as_slice()].concat();
        let shorter = bytes.get(1..).unwrap_or_default();
        let grant = |name: &str| self.grant(name);
        self.check_refusal(
            "an upload grant must refuse a longer file",
            &grant("longer")?,
            &longer,
        )
        .await?;
        self.check_refusal(
            "an upload grant must refuse a shorter file",
            &grant("shorter")?,
            shorter,
        )
        .await?;
        self.check_refusal(
            "an upload grant must refuse other bytes (x-amz-checksum-sha256)",
            &grant("other")?,
            &self.different_bytes(),
        )
        .await?;
        for (check, name, field) in [
            (
                "an upload grant must refuse another signature",
                "signature",
                "x-amz-signature",
            ),
            ("an upload grant must refuse another key", "key", "key"),
            (
                "an upload grant must refuse another media type",
                "type",
                "Content-Type",
            ),
        ] {
            let altered = alter_field(grant(name)?, field);
            self.check_refusal(check, &altered, bytes).await?;
        }
        let taken = self.objects.post_form(&grant("form")?, bytes).await;
        expect_success(UPLOAD_CHECK, taken)?;
        self.check_stored().await
    }

    fn grant(&self, name: &str) -> Result<PostGrant, ObjectStoreProbeFailure> {
        let declared = self.declared();
        let grant = self.objects.post_grant_to(&self.key(name), &declared);
        grant.map_err(|failure| ObjectStoreProbeFailure::from_failure(UPLOAD_CHECK, &failure))
    }

    async fn check_refusal(
        &self,
        check: &'static str,
        grant: &PostGrant,
        bytes: &[u8],
    ) -> CheckResult {
        expect_refusal(check, self.objects.post_form(grant, bytes).await)
    }

    async fn check_stored(&self) -> CheckResult {
        let head = self.objects.head(&self.key("form")).await;
        let head =
            head.map_err(|failure| ObjectStoreProbeFailure::from_failure(STORED_CHECK, &failure))?;
        match head {
            Some(head) if head.size == self.bytes.len() as u64 => Ok(()),
            Some(head) => Err(ObjectStoreProbeFailure::new(
                STORED_CHECK,
                format!("it has {} bytes", head.size),
            )),
            None => Err(ObjectStoreProbeFailure::new(
                STORED_CHECK,
                "it does not exist",
            )),
        }
    }
}

/// Changes the last character of one field.
fn alter_field(mut grant: PostGrant, name: &str) -> PostGrant {
    for (field, value) in &mut grant.fields {
        if field == name {
            let last = value.pop();
            value.push(if last == Some('0') { '1' } else { '0' });
        }
    }
    grant
}
