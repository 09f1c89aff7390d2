//! Single objects: looked at, read, copied, deleted.

use bytes::Bytes;
use http::{Method, StatusCode};

use super::Objects;
use super::body::Download;
use super::call::Call;
use super::failure::Failure;
use super::key::Key;
use super::xml::quoted;

/// What the store says of an object without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub size: u64,
    /// With its quotes.
    pub etag: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    Done,
    /// The source is another than the one that was read.
    Changed,
    Missing,
}

impl Objects {
    /// None: there is nothing under this key.
    pub async fn head(&self, key: &Key) -> Result<Option<Head>, Failure> {
        const WHAT: &str = "look at an object";
        let answer = self.call(&self.about(WHAT, Method::HEAD, key)).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.accepted(WHAT)?;
        let size = answer
            .header("content-length")
            .and_then(|it| it.parse().ok());
        let etag = answer.header("etag").map(quoted);
        let head = size.zip(etag).map(|(size, etag)| Head { size, etag });
        head.map(Some).ok_or(Failure::Unreadable(WHAT))
    }

    /// The bytes of the object with this tag and of no other.
    pub async fn get(&self, key: &Key, etag: &str) -> Result<Download, Failure> {
        const WHAT: &str = "read an object";
        let etag = quoted(etag);
        let call = Call {
            headers: &[("if-match", &etag)],
            ..self.about(WHAT, Method::GET, key)
        };
        let response = self.open(&call).await?;
        match response.status() {
            StatusCode::OK => Ok(Download::of(response.into_body(), self.0.patience.chunk)),
            StatusCode::NOT_FOUND => Err(Failure::Missing),
            StatusCode::PRECONDITION_FAILED => Err(Failure::Changed),
            status => Err(Failure::Refused {
                what: WHAT,
                status: status.as_u16(),
                code: String::new(),
            }),
        }
    }

    /// Within the store, if the source still has this tag. May take as long as its bytes need.
    pub async fn copy(&self, from: &Key, to: &Key, etag: &str) -> Result<Copied, Failure> {
        const WHAT: &str = "copy an object";
        let (etag, source) = (
            quoted(etag),
            format!("/{}/{}", self.0.bucket, from.as_str()),
        );
        let call = Call {
            headers: &[
                ("x-amz-copy-source", &source),
                ("x-amz-copy-source-if-match", &etag),
            ],
            within: self.0.patience.slow,
            ..self.about(WHAT, Method::PUT, to)
        };
        let answer = self.call(&call).await?;
        match (answer.status, answer.code().as_str()) {
            (StatusCode::OK, "") => Ok(Copied::Done),
            (_, "PreconditionFailed") | (StatusCode::PRECONDITION_FAILED, _) => Ok(Copied::Changed),
            (_, "NoSuchKey") => Ok(Copied::Missing),
            _ => Err(answer.refusal(WHAT)),
        }
    }

    /// Nothing there is fine.
    pub async fn delete(&self, key: &Key) -> Result<(), Failure> {
        const WHAT: &str = "delete an object";
        let answer = self.call(&self.about(WHAT, Method::DELETE, key)).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.code() != "NoSuchBucket" {
            return Ok(());
        }
        answer.accepted(WHAT).map(drop)
    }

    pub(super) fn about<'a>(&self, what: &'static str, method: Method, key: &'a Key) -> Call<'a> {
        Call {
            what,
            method,
            key: Some(key),
            query: &[],
            headers: &[],
            body: Bytes::new(),
            within: self.0.patience.call,
        }
    }
}
