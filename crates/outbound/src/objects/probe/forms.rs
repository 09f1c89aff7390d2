//! The POST of a single shot: exactly the declared bytes, under their key, and nothing else.

use super::super::grant::PostGrant;
use super::{Probed, Trial, accepted, refused};
use crate::objects::failure::ProbeFailure;

const TAKES: &str = "an upload grant must take the bytes it was made for";
const KEEPS: &str = "what was uploaded must be there as it was sent";

impl Trial<'_> {
    pub(super) async fn forms(&self) -> Probed {
        let bytes = &self.bytes;
        let longer = [bytes, b"!".as_slice()].concat();
        let shorter = bytes.get(1..).unwrap_or_default();
        let grant = |name: &str| self.grant(name);
        self.refuses(
            "an upload grant must refuse a longer file",
            &grant("longer"),
            &longer,
        )
        .await?;
        self.refuses(
            "an upload grant must refuse a shorter file",
            &grant("shorter"),
            shorter,
        )
        .await?;
        self.refuses(
            "an upload grant must refuse other bytes (x-amz-checksum-sha256)",
            &grant("other"),
            &self.other_bytes(),
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
            let altered = altered(grant(name), field);
            self.refuses(check, &altered, bytes).await?;
        }
        let taken = self.objects.post_form(&grant("form"), bytes).await;
        accepted(TAKES, taken)?;
        self.kept().await
    }

    fn grant(&self, name: &str) -> PostGrant {
        let declared = self.declared();
        self.objects.post_grant_to(&self.key(name), &declared)
    }

    async fn refuses(&self, check: &'static str, grant: &PostGrant, bytes: &[u8]) -> Probed {
        refused(check, self.objects.post_form(grant, bytes).await)
    }

    async fn kept(&self) -> Probed {
        let head = self.objects.head(&self.key("form")).await;
        let head = head.map_err(|failure| ProbeFailure::from_failure(KEEPS, &failure))?;
        match head {
            Some(head) if head.size == self.bytes.len() as u64 => Ok(()),
            Some(head) => Err(ProbeFailure::seen(
                KEEPS,
                format!("it has {} bytes", head.size),
            )),
            None => Err(ProbeFailure::seen(KEEPS, "it is not there")),
        }
    }
}

/// The last character of one field is another.
fn altered(mut grant: PostGrant, name: &str) -> PostGrant {
    for (field, value) in &mut grant.fields {
        if field == name {
            let last = value.pop();
            value.push(if last == Some('0') { '1' } else { '0' });
        }
    }
    grant
}
