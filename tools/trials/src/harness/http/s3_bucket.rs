//! An S3 client of one bucket: signed requests and full listings.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http_body_util::Full;
use hyper::{Method, Request};
use ring::hmac;

use crate::harness::http::http_client::{HttpClient, HttpResponse};
use crate::harness::{FailureContext as _, Result, TrialFailure, sha256_hex};

const REGION: &str = "us-east-1";

/// The bucket's address and credentials.
#[derive(Debug, Clone)]
pub struct S3Bucket {
    /// Host and port.
    pub host: String,
    pub name: String,
    pub access_key: String,
    pub secret_key: String,
    pub http: HttpClient,
}

/// A multipart upload that was started and neither completed nor aborted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct S3MultipartUpload {
    pub key: String,
    pub upload_id: String,
}

impl S3Bucket {
    /// `http://KEY:SECRET@HOST:PORT/BUCKET`, as tests expect it.
    pub fn url_with_keys(&self) -> String {
        let (key, secret) = (&self.access_key, &self.secret_key);
        format!("http://{key}:{secret}@{}/{}", self.host, self.name)
    }

    /// Creates the bucket unless it exists.
    pub async fn create(&self) -> Result<()> {
        let created = self.send(&Method::PUT, "", &[], Bytes::new()).await;
        created.map(drop)
    }

    /// Checks that an object that was put can be read back.
    pub async fn check_put_and_get(&self) -> Result<()> {
        let body = Bytes::from_static(b"health check");
        self.send(&Method::PUT, "ready", &[], body.clone()).await?;
        let got = self.send(&Method::GET, "ready", &[], Bytes::new()).await?;
        if got.body != body {
            return Err(store_failure("reading an object", &got));
        }
        self.delete("ready").await
    }

    pub async fn delete(&self, key: &str) -> Result<()> {
        let gone = self.send(&Method::DELETE, key, &[], Bytes::new()).await;
        gone.map(drop)
    }

    pub async fn list_keys(&self) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        let mut after = String::new();
        loop {
            let query = [("list-type", "2"), ("start-after", &after)];
            let reply = self.send(&Method::GET, "", &query, Bytes::new()).await?;
            let text = reply.text();
            keys.extend(xml_values(&text, "Key"));
            if xml_values(&text, "IsTruncated").next().as_deref() != Some("true") {
                return Ok(keys);
            }
            after = keys.last().cloned().unwrap_or_default();
        }
    }

    /// Every open multipart upload; a trial never has more than one page of them.
    pub async fn list_multipart_uploads(&self) -> Result<Vec<S3MultipartUpload>> {
        let query = [("uploads", ""), ("max-uploads", "1000")];
        let reply = self.send(&Method::GET, "", &query, Bytes::new()).await?;
        let text = reply.text();
        let open = xml_values(&text, "Upload").map(|entry| {
            let field = |name| xml_values(&entry, name).next().unwrap_or_default();
            S3MultipartUpload {
                key: field("Key"),
                upload_id: field("UploadId"),
            }
        });
        Ok(open.collect())
    }

    /// A bucket that exists already is no failure.
    async fn send(
        &self,
        method: &Method,
        key: &str,
        query: &[(&str, &str)],
        body: Bytes,
    ) -> Result<HttpResponse> {
        let url = self.presign(method, key, query);
        let request = Request::builder().method(method).uri(url);
        let request = request
            .body(Full::new(body))
            .context("building a request to the store")?;
        let reply = self.http.send(request).await;
        let reply = reply.context("sending a request to the store")?;
        if reply.is_success() || reply.status == 409 {
            return Ok(reply);
        }
        Err(store_failure(&format!("{method} {key}"), &reply))
    }

    /// AWS Signature Version 4, in the query string. The keys of a trial need no escaping.
    fn presign(&self, method: &Method, key: &str, query: &[(&str, &str)]) -> String {
        // The store compares the time of a signature with its own clock.
        let now = DateTime::<Utc>::from(std::time::SystemTime::now());
        let moment = now.format("%Y%m%dT%H%M%SZ").to_string();
        let scope = format!("{}/{REGION}/s3/aws4_request", now.format("%Y%m%d"));
        let path = match key {
            "" => format!("/{}", self.name),
            key => format!("/{}/{key}", self.name),
        };
        let credential = format!("{}/{scope}", self.access_key);
        let mut pairs = vec![
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &moment),
            ("X-Amz-Expires", "60"),
            ("X-Amz-SignedHeaders", "host"),
        ];
        pairs.extend(query);
        pairs.sort_unstable();
        let pairs = pairs
            .iter()
            .map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)));
        let pairs = pairs.collect::<Vec<_>>().join("&");
        let canonical = format!(
            "{method}\n{path}\n{pairs}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD",
            self.host
        );
        let text = format!(
            "AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}",
            sha256_hex(canonical.as_bytes())
        );
        let secret = format!("AWS4{}", self.secret_key).into_bytes();
        let key = scope
            .split('/')
            .fold(secret, |key, word| hmac_sha256(&key, word));
        let signature = hex::encode(hmac_sha256(&key, &text));
        format!(
            "http://{}{path}?{pairs}&X-Amz-Signature={signature}",
            self.host
        )
    }
}

fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

/// Escapes every byte except the unreserved ones, as signatures require.
fn percent_encode(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// The text between `<name>` and `</name>`, each time.
fn xml_values<'a>(text: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (value, after) = after.split_once(&close)?;
        rest = after;
        Some(value.replace("&quot;", "\"").replace("&amp;", "&"))
    })
}

fn store_failure(what: &str, reply: &HttpResponse) -> TrialFailure {
    let text: String = reply.text().chars().take(300).collect();
    TrialFailure::new(format!(
        "{what}: the store answered {}: {text}",
        reply.status
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_between_their_tags() {
        let text = "<Key>a&amp;b</Key><Keys>no</Keys><Key>c</Key>";
        assert_eq!(xml_values(text, "Key").collect::<Vec<_>>(), ["a&b", "c"]);
    }
}
