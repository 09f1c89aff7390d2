//! CORS for uploads from browsers: the bucket must allow the configured origins to upload and to
//! read `ETags`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::{Method, StatusCode};
use roxmltree::{Document, Node};
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use super::ObjectStore;
use super::call::{ObjectStoreCall, ObjectStoreResponse};
use super::failure::{ObjectStoreFailure, ObjectStoreProbeFailure};
use super::xml::{self, escape};

const UPLOAD_CHECK: &str = "the bucket must allow uploads from browsers (CORS)";
const ETAG_CHECK: &str = "the bucket must expose the ETag to browsers (CORS)";
/// A store takes a while to apply a new rule everywhere.
const MAX_PROPAGATION_CHECKS: u32 = 10;
const PROPAGATION_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The origin to test with when every origin is allowed.
const WILDCARD_SAMPLE_ORIGIN: &str = "https://longshore.invalid";

impl ObjectStore {
    /// Adds the rule if it is missing, then checks that it works at the public address.
    pub(super) async fn ensure_cors(&self) -> Result<(), ObjectStoreProbeFailure> {
        let mut seen = self.check_cors().await;
        if seen.is_err()
            && self
                .add_cors_rule()
                .await
                .map_err(probe_failure(UPLOAD_CHECK))?
        {
            for _ in 0..MAX_PROPAGATION_CHECKS {
                seen = self.check_cors().await;
                if seen.is_ok() {
                    break;
                }
                sleep(PROPAGATION_CHECK_INTERVAL).await;
            }
        }
        seen
    }

    async fn check_cors(&self) -> Result<(), ObjectStoreProbeFailure> {
        for origin in &self.0.cors_origins {
            let origin = if origin == "*" {
                WILDCARD_SAMPLE_ORIGIN
            } else {
                origin
            };
            self.check_cors_for(origin).await?;
        }
        Ok(())
    }

    async fn check_cors_for(&self, origin: &str) -> Result<(), ObjectStoreProbeFailure> {
        let key = self.system_key("owner");
        let preflight = [
            ("origin", origin),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "x-amz-checksum-sha256"),
        ];
        let url = self.unsigned_url(&key);
        let response = self.send_as_caller(Method::OPTIONS, &url, &preflight, Bytes::new());
        let response = response.await.map_err(probe_failure(UPLOAD_CHECK))?;
        let methods = header_values(&response, "access-control-allow-methods");
        if !response.status.is_success()
            || !allows_origin(&response, origin)
            || !contains_word(&methods, "put")
        {
            let why = format!("{origin} may not upload a part");
            return Err(ObjectStoreProbeFailure::new(UPLOAD_CHECK, why));
        }
        let link = self.presign_read(&key, &[]);
        let link = link.map_err(probe_failure(ETAG_CHECK))?;
        let from = [("origin", origin)];
        let read = self.send_as_caller(Method::GET, &link, &from, Bytes::new());
        let read = read.await.map_err(probe_failure(ETAG_CHECK))?;
        let shown = header_values(&read, "access-control-expose-headers");
        if allows_origin(&read, origin) && contains_word(&shown, "etag") {
            return Ok(());
        }
        let why = format!("{origin} cannot read it");
        Err(ObjectStoreProbeFailure::new(ETAG_CHECK, why))
    }

    /// Keeps the existing rules: other applications may use the bucket too. False: the rule exists.
    async fn add_cors_rule(&self) -> Result<bool, ObjectStoreFailure> {
        const OPERATION: &str = "set the bucket's CORS rules";
        let rules = self.read_cors_rules().await?;
        if covers_origins(&rules, &self.0.cors_origins) {
            return Ok(false);
        }
        let body = append_rule(&rules, &self.0.cors_origins);
        let digest = BASE64.encode(Sha256::digest(&body));
        let call = ObjectStoreCall {
            headers: &[
                ("content-type", "application/xml"),
                ("x-amz-checksum-sha256", &digest),
            ],
            body: body.into(),
            ..self.cors_call(OPERATION, Method::PUT)
        };
        self.call(&call)
            .await?
            .require_success(OPERATION)
            .map(|_| true)
    }

    /// The current document, or an empty string.
    async fn read_cors_rules(&self) -> Result<String, ObjectStoreFailure> {
        const OPERATION: &str = "read the bucket's CORS rules";
        let answer = self.call(&self.cors_call(OPERATION, Method::GET)).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.error_code() != "NoSuchBucket" {
            return Ok(String::new());
        }
        let answer = answer.require_success(OPERATION)?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    fn cors_call(&self, what: &'static str, method: Method) -> ObjectStoreCall<'static> {
        ObjectStoreCall {
            operation: what,
            method,
            key: None,
            query: &[("cors", "")],
            headers: &[],
            body: Bytes::new(),
            timeout: self.0.timeouts.call,
        }
    }
}

fn probe_failure(check: &'static str) -> impl Fn(ObjectStoreFailure) -> ObjectStoreProbeFailure {
    move |failure| ObjectStoreProbeFailure::from_failure(check, &failure)
}

/// Whether an existing rule allows everything that our rule would.
fn covers_origins(rules: &str, origins: &[String]) -> bool {
    let Ok(document) = Document::parse(rules.trim_start()) else {
        return false;
    };
    let texts = |rule: Node<'_, '_>, name| -> Vec<String> {
        let found = xml::children(rule, name).filter_map(|node| node.text());
        found.map(str::to_lowercase).collect()
    };
    let mut rules = xml::children(document.root_element(), "CORSRule");
    rules.any(|rule| {
        let allowed = texts(rule, "AllowedOrigin");
        let mut wanted = origins.iter().map(|origin| origin.to_lowercase());
        wanted.all(|origin| allowed.contains(&origin))
            && texts(rule, "AllowedMethod").contains(&"put".to_owned())
            && texts(rule, "ExposeHeader").contains(&"etag".to_owned())
    })
}

fn append_rule(rules: &str, origins: &[String]) -> String {
    const END: &str = "</CORSConfiguration>";
    let origins = origins.iter().map(|origin| {
        let origin = escape(origin);
        format!("<AllowedOrigin>{origin}</AllowedOrigin>")
    });
    let rule = format!(
        "<CORSRule>{}<AllowedMethod>GET</AllowedMethod><AllowedMethod>HEAD</AllowedMethod>\
         <AllowedMethod>POST</AllowedMethod><AllowedMethod>PUT</AllowedMethod>\
         <AllowedHeader>*</AllowedHeader><ExposeHeader>ETag</ExposeHeader>\
         <ExposeHeader>x-amz-checksum-sha256</ExposeHeader>\
         <MaxAgeSeconds>3600</MaxAgeSeconds></CORSRule>",
        origins.collect::<String>()
    );
    match rules.rsplit_once(END) {
        Some((before, _)) => format!("{before}{rule}{END}"),
        None => format!(
            "<CORSConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{rule}{END}"
        ),
    }
}

fn allows_origin(answer: &ObjectStoreResponse, origin: &str) -> bool {
    let allowed = answer.header("access-control-allow-origin");
    allowed.is_some_and(|allowed| allowed == "*" || allowed == origin)
}

/// All values of a header that may be repeated.
fn header_values(answer: &ObjectStoreResponse, name: &str) -> String {
    let values = answer.headers.get_all(name).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
}

fn contains_word(list: &str, wanted: &str) -> bool {
    let mut words = list.split(',').map(str::trim);
    words.any(|word| word == "*" || word.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_joins_those_that_are_there() {
        let first = append_rule("", &["https://a.example".to_owned()]);
        assert!(first.starts_with("<CORSConfiguration xmlns") && first.ends_with('>'));
        let both = append_rule(&first, &["https://b.example?<".to_owned()]);
        let document = Document::parse(&both).unwrap();
        let origins: Vec<_> = document
            .descendants()
            .filter(|node| node.tag_name().name() == "AllowedOrigin")
            .filter_map(|node| node.text())
            .collect();
        assert_eq!(origins, ["https://a.example", "https://b.example?<"]);
    }

    #[test]
    fn a_rule_that_is_there_is_not_added_again() {
        let of = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let rules = append_rule("", &of(&["https://a.example", "https://b.example"]));
        assert!(covers_origins(&rules, &of(&["https://b.example"])));
        assert!(!covers_origins(
            &rules,
            &of(&["https://b.example", "https://c.example"])
        ));
        assert!(!covers_origins(
            &rules.replace("ETag", "Date"),
            &of(&["https://a.example"])
        ));
        assert!(!covers_origins("", &of(&["https://a.example"])));
    }

    #[test]
    fn a_header_is_named_in_any_case() {
        assert!(contains_word("x-a, ETag", "etag") && contains_word("*", "etag"));
        assert!(!contains_word("", "etag") && !contains_word("x-etag", "etag"));
    }
}
