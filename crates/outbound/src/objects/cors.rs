//! Uploads from browsers: the bucket must say that our pages may, and let them see the tag of a part.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::{Method, StatusCode};
use roxmltree::{Document, Node};
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use super::Objects;
use super::call::{Answer, Call};
use super::failure::{Failure, ProbeFailure};
use super::xml::{self, escaped};

const MAY: &str = "the bucket must let our pages upload (CORS)";
const SEES: &str = "the bucket must let our pages see the ETag (CORS)";
/// A rule takes a moment to be known everywhere in a store.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);
/// Stands for any page when all may.
const ANYONE: &str = "https://longshore.invalid";

impl Objects {
    /// Adds the rule if it is missing, then looks whether it works at the public address.
    pub(super) async fn open_to_browsers(&self) -> Result<(), ProbeFailure> {
        let mut seen = self.open_to_all().await;
        if seen.is_err() && self.put_rule().await.map_err(failed(MAY))? {
            for _ in 0..TRIES {
                seen = self.open_to_all().await;
                if seen.is_ok() {
                    break;
                }
                sleep(PAUSE).await;
            }
        }
        seen
    }

    async fn open_to_all(&self) -> Result<(), ProbeFailure> {
        for origin in &self.0.origins {
            let origin = if origin == "*" { ANYONE } else { origin };
            self.open_to(origin).await?;
        }
        Ok(())
    }

    async fn open_to(&self, origin: &str) -> Result<(), ProbeFailure> {
        let key = self.own_key("owner");
        let asking = [
            ("origin", origin),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "x-amz-checksum-sha256"),
        ];
        let url = self.bare_url(&key);
        let asked = self.as_caller(Method::OPTIONS, &url, &asking, Bytes::new());
        let asked = asked.await.map_err(failed(MAY))?;
        let methods = list(&asked, "access-control-allow-methods");
        if !asked.status.is_success() || !lets_in(&asked, origin) || !names(&methods, "put") {
            let why = format!("a page of {origin} may not send a part");
            return Err(ProbeFailure::seen(MAY, why));
        }
        let (link, from) = (self.link(&key, &[]), [("origin", origin)]);
        let read = self.as_caller(Method::GET, &link, &from, Bytes::new());
        let read = read.await.map_err(failed(SEES))?;
        let shown = list(&read, "access-control-expose-headers");
        if lets_in(&read, origin) && names(&shown, "etag") {
            return Ok(());
        }
        let why = format!("a page of {origin} is not shown it");
        Err(ProbeFailure::seen(SEES, why))
    }

    /// Beside the rules that are there: the bucket may serve others too. False: it was there.
    async fn put_rule(&self) -> Result<bool, Failure> {
        const WHAT: &str = "set the bucket's CORS rules";
        let rules = self.rules().await?;
        if covers(&rules, &self.0.origins) {
            return Ok(false);
        }
        let body = with_rule(&rules, &self.0.origins);
        let digest = BASE64.encode(Sha256::digest(&body));
        let call = Call {
            headers: &[
                ("content-type", "application/xml"),
                ("x-amz-checksum-sha256", &digest),
            ],
            body: body.into(),
            ..self.about_rules(WHAT, Method::PUT)
        };
        self.call(&call).await?.accepted(WHAT).map(|_| true)
    }

    /// The document there is, or an empty one.
    async fn rules(&self) -> Result<String, Failure> {
        const WHAT: &str = "read the bucket's CORS rules";
        let answer = self.call(&self.about_rules(WHAT, Method::GET)).await?;
        if answer.status == StatusCode::NOT_FOUND && answer.code() != "NoSuchBucket" {
            return Ok(String::new());
        }
        let answer = answer.accepted(WHAT)?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    fn about_rules(&self, what: &'static str, method: Method) -> Call<'static> {
        Call {
            what,
            method,
            key: None,
            query: &[("cors", "")],
            headers: &[],
            body: Bytes::new(),
            within: self.0.patience.call,
        }
    }
}

fn failed(check: &'static str) -> impl Fn(Failure) -> ProbeFailure {
    move |failure| ProbeFailure::from_failure(check, &failure)
}

/// Whether one of the rules does what ours would.
fn covers(rules: &str, origins: &[String]) -> bool {
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

fn with_rule(rules: &str, origins: &[String]) -> String {
    const END: &str = "</CORSConfiguration>";
    let origins = origins.iter().map(|origin| {
        let origin = escaped(origin);
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

fn lets_in(answer: &Answer, origin: &str) -> bool {
    let allowed = answer.header("access-control-allow-origin");
    allowed.is_some_and(|allowed| allowed == "*" || allowed == origin)
}

/// Every value of a header that may come more than once.
fn list(answer: &Answer, name: &str) -> String {
    let values = answer.headers.get_all(name).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    values.join(",")
}

fn names(list: &str, wanted: &str) -> bool {
    let mut words = list.split(',').map(str::trim);
    words.any(|word| word == "*" || word.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_joins_those_that_are_there() {
        let first = with_rule("", &["https://a.example".to_owned()]);
        assert!(first.starts_with("<CORSConfiguration xmlns") && first.ends_with('>'));
        let both = with_rule(&first, &["https://b.example?<".to_owned()]);
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
        let rules = with_rule("", &of(&["https://a.example", "https://b.example"]));
        assert!(covers(&rules, &of(&["https://b.example"])));
        assert!(!covers(
            &rules,
            &of(&["https://b.example", "https://c.example"])
        ));
        assert!(!covers(
            &rules.replace("ETag", "Date"),
            &of(&["https://a.example"])
        ));
        assert!(!covers("", &of(&["https://a.example"])));
    }

    #[test]
    fn a_header_is_named_in_any_case() {
        assert!(names("x-a, ETag", "etag") && names("*", "etag"));
        assert!(!names("", "etag") && !names("x-etag", "etag"));
    }
}
