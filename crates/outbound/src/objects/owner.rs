//! Whose bucket it is: two installations that cleaned up after each other would lose every file.

use bytes::Bytes;
use http::{Method, StatusCode};
use uuid::Uuid;

use super::Objects;
use super::call::Call;
use super::failure::{Failure, ProbeFailure};
use super::key::Key;

pub(super) const CHECK: &str = "the bucket must belong to this installation";

impl Objects {
    /// Whether the store is there and reads: the owner's mark, once, with no second try.
    pub async fn ping(&self) -> Result<(), Failure> {
        let within = self.0.patience.ping;
        let marked = tokio::time::timeout(within, self.mark(within)).await;
        match marked.unwrap_or(Err(Failure::TimedOut(within)))? {
            Some(_) => Ok(()),
            None => Err(Failure::Refused {
                what: "show the owner's mark",
                status: StatusCode::NOT_FOUND.as_u16(),
                code: String::new(),
            }),
        }
    }

    /// Marks the bucket as ours, unless another has.
    pub(super) async fn own(&self, installation: Uuid) -> Result<(), ProbeFailure> {
        let within = self.0.patience.call;
        let ours = installation.simple().to_string();
        let away = |failure: Failure| ProbeFailure::from_failure(CHECK, &failure);
        if self.mark(within).await.map_err(away)?.is_none() {
            self.put_mark(&ours).await.map_err(away)?;
        }
        let found = self.mark(within).await.map_err(away)?;
        match found {
            Some(mark) if mark == ours.as_bytes() => Ok(()),
            Some(_) => Err(ProbeFailure::seen(
                CHECK,
                "the bucket belongs to another installation",
            )),
            None => Err(ProbeFailure::seen(
                CHECK,
                "the mark that was written is not there",
            )),
        }
    }

    async fn mark(&self, within: std::time::Duration) -> Result<Option<Bytes>, Failure> {
        const WHAT: &str = "read the owner's mark";
        let key = self.mark_key();
        let call = Call {
            within,
            ..self.about(WHAT, Method::GET, &key)
        };
        let answer = self.call(&call).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.code() != "NoSuchBucket" {
            return Ok(None);
        }
        answer.accepted(WHAT).map(|answer| Some(answer.body))
    }

    /// Where the store knows it, only if nobody was quicker. What is there afterwards counts.
    async fn put_mark(&self, ours: &str) -> Result<(), Failure> {
        const WHAT: &str = "write the owner's mark";
        let key = self.mark_key();
        let call = Call {
            headers: &[("if-none-match", "*")],
            body: Bytes::from(ours.to_owned()),
            ..self.about(WHAT, Method::PUT, &key)
        };
        let answer = self.call(&call).await?;
        if matches!(answer.status.as_u16(), 409 | 412) {
            return Ok(());
        }
        answer.accepted(WHAT).map(drop)
    }

    fn mark_key(&self) -> Key {
        self.own_key("owner")
    }
}
