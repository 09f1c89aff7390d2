//! A bucket as its owner sees it: signed requests, and listings of all that is in it.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http_body_util::Full;
use hyper::{Method, Request};
use ring::hmac;

use crate::digest::hex_of;
use crate::failure::{During as _, Failure, Result};
use crate::web::{Reply, Web};

const REGION: &str = "us-east-1";

/// Where it is and who owns it.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// Host and port.
    pub host: String,
    pub name: String,
    pub access_key: String,
    pub secret_key: String,
    pub web: Web,
}

/// A multipart upload that was begun and neither completed nor aborted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenUpload {
    pub key: String,
    pub upload: String,
}

impl Bucket {
    /// Makes it, unless it is there.
    pub async fn make(&self) -> Result<()> {
        let reply = self.ask(&Method::PUT, "", &[], Bytes::new()).await?;
        match reply.status {
            200 | 409 => Ok(()),
            _ => Err(complaint("making the bucket", &reply)),
        }
    }

    /// Whether what is put can be got.
    pub async fn works(&self) -> Result<()> {
        let body = Bytes::from_static(b"is anybody there");
        let put = self.ask(&Method::PUT, "ready", &[], body.clone()).await?;
        let got = self.ask(&Method::GET, "ready", &[], Bytes::new()).await?;
        if !put.is_success() || got.body != body {
            return Err(complaint("putting and getting", &got));
        }
        self.delete("ready").await
    }

    pub async fn delete(&self, key: &str) -> Result<()> {
        let gone = self.ask(&Method::DELETE, key, &[], Bytes::new()).await?;
        if gone.is_success() {
            return Ok(());
        }
        Err(complaint("deleting", &gone))
    }

    /// Every key.
    pub async fn keys(&self) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        let mut after = String::new();
        loop {
            let query = [("list-type", "2"), ("start-after", &after)];
            let reply = self.ask(&Method::GET, "", &query, Bytes::new()).await?;
            if !reply.is_success() {
                return Err(complaint("listing objects", &reply));
            }
            let text = reply.text();
            keys.extend(values(&text, "Key"));
            if values(&text, "IsTruncated").next().as_deref() != Some("true") {
                return Ok(keys);
            }
            after = keys.last().cloned().unwrap_or_default();
        }
    }

    /// Every open multipart upload; a trial never has more than one page of them.
    pub async fn uploads(&self) -> Result<Vec<OpenUpload>> {
        let query = [("uploads", ""), ("max-uploads", "1000")];
        let reply = self.ask(&Method::GET, "", &query, Bytes::new()).await?;
        if !reply.is_success() {
            return Err(complaint("listing uploads", &reply));
        }
        let text = reply.text();
        let open = values(&text, "Upload").map(|entry| {
            let field = |name| values(&entry, name).next().unwrap_or_default();
            OpenUpload {
                key: field("Key"),
                upload: field("UploadId"),
            }
        });
        Ok(open.collect())
    }

    async fn ask(
        &self,
        method: &Method,
        key: &str,
        query: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply> {
        let url = self.presigned(method, key, query, now());
        let request = Request::builder().method(method).uri(url);
        let request = request.body(Full::new(body)).during("asking the store")?;
        let reply = self.web.send(request).await;
        reply.map_err(|lost| Failure::new(format!("asking the store: {lost}")))
    }

    /// AWS signature version 4, in the query. Keys of a trial need no escaping.
    fn presigned(
        &self,
        method: &Method,
        key: &str,
        query: &[(&str, &str)],
        now: DateTime<Utc>,
    ) -> String {
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
            .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        let pairs = pairs.collect::<Vec<_>>().join("&");
        let canonical = format!(
            "{method}\n{path}\n{pairs}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD",
            self.host
        );
        let text = format!(
            "AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}",
            hex_of(canonical.as_bytes())
        );
        let secret = format!("AWS4{}", self.secret_key).into_bytes();
        let key = scope.split('/').fold(secret, |key, word| mac(&key, word));
        let signature = hex::encode(mac(&key, &text));
        format!(
            "http://{}{path}?{pairs}&X-Amz-Signature={signature}",
            self.host
        )
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the store compares the moment of a signature with its own clock"
)]
fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

/// As signatures want it: every byte but the unreserved.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// What stands between `<name>` and `</name>`, each time.
fn values<'a>(text: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (value, after) = after.split_once(&close)?;
        rest = after;
        Some(value.replace("&quot;", "\"").replace("&amp;", "&"))
    })
}

fn complaint(what: &str, reply: &Reply) -> Failure {
    let text: String = reply.text().chars().take(300).collect();
    Failure::new(format!(
        "{what}: the store answered {}: {text}",
        reply.status
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_moment_and_its_scope() {
        let bucket = Bucket {
            host: "examplebucket.s3.amazonaws.com".to_owned(),
            name: "examplebucket".to_owned(),
            access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            web: Web::default(),
        };
        let now = DateTime::from_timestamp(1_369_353_600, 0).unwrap();
        let url = bucket.presigned(&Method::GET, "test.txt", &[], now);
        assert!(url.contains("X-Amz-Date=20130524T000000Z"), "{url}");
        assert!(
            url.contains("X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3"),
            "{url}"
        );
        assert_eq!(url.rsplit_once("Signature=").unwrap().1.len(), 64);
    }

    #[test]
    fn values_are_read_between_their_tags() {
        let text = "<Key>a&amp;b</Key><Keys>no</Keys><Key>c</Key>";
        assert_eq!(values(text, "Key").collect::<Vec<_>>(), ["a&b", "c"]);
    }
}
