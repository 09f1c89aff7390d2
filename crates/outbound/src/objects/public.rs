//! Calls as callers make them: to the public address, with nothing but what they were granted.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tokio::time::timeout;

use super::Objects;
use super::call::{Answer, collected};
use super::failure::Failure;
use super::grant::PostGrant;
use super::key::Key;
use super::sign::Unsigned;

const BOUNDARY: &str = "longshore-probe-7f3c51d2";

impl Objects {
    /// Once, whatever the answer.
    pub(super) async fn as_caller(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Answer, Failure> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body));
        let request =
            request.map_err(|_| Failure::Unreadable("be called by its public address"))?;
        let within = self.0.patience.call;
        let answered = timeout(within, async { collected(self.send(request).await?).await });
        answered.await.unwrap_or(Err(Failure::TimedOut(within)))
    }

    /// The form of a grant, as a browser would send it.
    pub(super) async fn post_form(
        &self,
        grant: &PostGrant,
        bytes: &[u8],
    ) -> Result<Answer, Failure> {
        let mut form = Vec::new();
        for (name, value) in &grant.fields {
            let field = format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            form.extend_from_slice(field.as_bytes());
        }
        let file = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"probe\"\r\n\r\n"
        );
        form.extend_from_slice(file.as_bytes());
        form.extend_from_slice(bytes);
        form.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        let headers = [("content-type", content_type.as_str())];
        self.as_caller(Method::POST, &grant.url, &headers, form.into())
            .await
    }

    /// A link that reads a key of ours.
    pub(super) fn link(&self, key: &Key, query: &[(&str, &str)]) -> String {
        let public = &self.0.public;
        let request = Unsigned {
            method: &Method::GET,
            host: &public.host,
            path: &public.path(Some(key)),
            query,
            headers: &[],
            expires: super::grant::DOWNLOAD,
        };
        public.url(&self.0.signer.presign(request, self.now()))
    }

    /// Without any signature.
    pub(super) fn bare_url(&self, key: &Key) -> String {
        let public = &self.0.public;
        public.url(&public.path(Some(key)))
    }
}
