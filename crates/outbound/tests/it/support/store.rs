//! The object store of the tests, a folder of its own for each.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::file::{Declared, MediaType, Sha256};
use domain::id::{Berth, FileId};
use domain::time::{Clock, Timestamp};
use outbound::objects::{Objects, Options, Patience, PostGrant, Style};
use sha2::Digest as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::setting;

/// `http://access:secret@host:port/bucket`
const SERVER: &str = "LONGSHORE_TEST_OBJECTS_URL";

/// What an HTTP exchange by hand brought.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().skip(1);
        lines
            .filter_map(|line| line.split_once(':'))
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
    }
}

/// Signatures are good by the store's clock, so that is the clock here.
#[derive(Debug)]
struct ServersClock {
    told: Timestamp,
    at: Instant,
}

impl ServersClock {
    async fn of(server: &Url) -> Arc<Self> {
        let answer = send("GET", server.as_str(), &[], b"").await;
        let told = answer.header("date").unwrap();
        let told = chrono::DateTime::parse_from_rfc2822(&told).unwrap();
        Arc::new(Self {
            told: told.to_utc(),
            at: Instant::now(),
        })
    }
}

impl Clock for ServersClock {
    fn now(&self) -> Timestamp {
        self.told + self.at.elapsed()
    }

    fn learn(&self, _told: Timestamp) {}
}

/// Everything for an `Objects` at the store of the tests, under a prefix that no other test has.
pub(crate) fn options() -> Options {
    let url = Url::parse(&setting(SERVER)).unwrap();
    let mut server = url.clone();
    server.set_username("").unwrap();
    server.set_password(None).unwrap();
    server.set_path("/");
    Options {
        internal: server.clone(),
        public: server,
        bucket: url.path().trim_matches('/').to_owned(),
        region: "us-east-1".to_owned(),
        style: Style::Path,
        access_key: url.username().to_owned(),
        secret_key: url.password().unwrap().to_owned(),
        prefix: format!("outbound/{:032x}/", rand::random::<u128>()),
        grant: Duration::from_mins(15),
        origins: Vec::new(),
        patience: Patience::default(),
    }
}

pub(crate) async fn objects() -> Objects {
    objects_with(options()).await
}

pub(crate) async fn objects_with(options: Options) -> Objects {
    // Of the store itself, whatever stands before it.
    let clock = ServersClock::of(&self::options().internal).await;
    Objects::new(options, clock).unwrap()
}

pub(crate) fn file() -> FileId {
    file_in(Berth::new(0x0a1).unwrap())
}

pub(crate) fn file_in(berth: Berth) -> FileId {
    FileId::new(Timestamp::default(), berth, rand::random())
}

pub(crate) fn declared(bytes: &[u8]) -> Declared {
    Declared {
        media_type: MediaType::Text,
        size_bytes: bytes.len() as u64,
        sha256: digest(bytes),
    }
}

pub(crate) fn digest(bytes: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(bytes).into())
}

/// Fills the form in and sends it, as a caller does.
pub(crate) async fn post(grant: &PostGrant, bytes: &[u8]) -> Answered {
    let mut form = Vec::new();
    for (name, value) in &grant.fields {
        let field =
            format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        form.extend_from_slice(field.as_bytes());
    }
    form.extend_from_slice(
        b"--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n",
    );
    form.extend_from_slice(bytes);
    form.extend_from_slice(b"\r\n--edge--\r\n");
    let kind = [("Content-Type", "multipart/form-data; boundary=edge")];
    send("POST", &grant.url, &kind, &form).await
}

/// One exchange over a connection of its own, with nothing that was not asked for.
pub(crate) async fn send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answered {
    let parsed = Url::parse(url).unwrap();
    let authority = &parsed[url::Position::BeforeHost..url::Position::AfterPort];
    let target = &parsed[url::Position::BeforePath..url::Position::AfterQuery];
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {authority}\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    let length = body.len();
    write!(
        head,
        "Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut tcp = TcpStream::connect(authority).await.unwrap();
    tcp.write_all(head.as_bytes()).await.unwrap();
    // Who refuses may not read to the end.
    let _ = tcp.write_all(body).await;
    let mut answer = Vec::new();
    let _ = tcp.read_to_end(&mut answer).await;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    assert!(end.is_some(), "no answer to {method} {target}");
    let end = end.unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    Answered {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: answer.split_off(end + 4),
    }
}
