//! A response body that records when it ends.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use domain::concurrency_limit::OwnerPermit;
use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::activity::ConnectionActivity;

#[derive(Debug)]
pub(super) struct ResponseBody {
    pub(super) body: axum::body::Body,
    pub(super) activity: Arc<ConnectionActivity>,
    /// The request counts for its client until its response ends.
    pub(super) _permit: Option<OwnerPermit<IpAddr>>,
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.activity.answered();
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
