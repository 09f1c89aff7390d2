//! Requests as callers send them: to the public address, with the grant only.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;

use super::ObjectStore;
use super::call::{MAX_RESPONSE_BYTES, ObjectStoreResponse};
use super::failure::ObjectStoreFailure;
use super::key::ObjectKey;
use super::presigned_grant::{DOWNLOAD_LIFETIME, PostGrant};
use super::sigv4::UnsignedRequest;

const BOUNDARY: &str = "longshore-probe-7f3c51d2";

impl ObjectStore {
    /// Sends once and returns any response.
    pub(super) async fn send_as_caller(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<ObjectStoreResponse, ObjectStoreFailure> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body));
        let request =
            request.map_err(|_| ObjectStoreFailure::Unreadable("answer at its public address"))?;
        let (client, deadline) = (&self.0.public_client, self.0.timeouts.call);
        let answer = client.exchange(request, deadline, MAX_RESPONSE_BYTES);
        Ok(answer.await?.into())
    }

    /// Sends the form of a grant, as a browser does.
    pub(super) async fn post_form(
        &self,
        grant: &PostGrant,
        bytes: &[u8],
    ) -> Result<ObjectStoreResponse, ObjectStoreFailure> {
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
        self.send_as_caller(Method::POST, &grant.url, &headers, form.into())
            .await
    }

    /// A presigned link that reads one key.
    pub(super) fn presign_read(
        &self,
        key: &ObjectKey,
        query: &[(&str, &str)],
    ) -> Result<String, ObjectStoreFailure> {
        let public = &self.0.public;
        let signer = self.grant_signer(DOWNLOAD_LIFETIME)?;
        let request = UnsignedRequest {
            method: &Method::GET,
            host: &public.host,
            path: &public.path(Some(key)),
            query,
            headers: &[],
            expires: signer.lifetime(),
        };
        Ok(public.url(&signer.presign(request)))
    }

    pub(super) fn unsigned_url(&self, key: &ObjectKey) -> String {
        let public = &self.0.public;
        public.url(&public.path(Some(key)))
    }
}
