//! The object store of the test run, with a prefix for each test.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::file::{FileDeclaration, MediaType, Sha256};
use domain::id::{Berth, FileId};
use domain::time::{Clock, Timestamp};
use outbound::object_store::{
    AddressingStyle, ObjectStore, ObjectStoreCredentials, ObjectStoreTimeouts, Options, PostGrant,
};
use sha2::Digest as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use crate::environment::required_variable;

/// `http://access:secret@host:port/bucket`
const SERVER_VARIABLE: &str = "LONGSHORE_TEST_OBJECTS_URL";

/// The response of a raw HTTP exchange.
#[derive(Debug)]
pub struct RawResponse {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl RawResponse {
    pub fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().skip(1);
        lines
            .filter_map(|line| line.split_once(':'))
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
    }
}

/// Follows the store's clock, which decides whether a signature is valid.
#[derive(Debug)]
struct StoreClock {
    server_time: Timestamp,
    read_at: Instant,
}

impl StoreClock {
    async fn read_from(server: &Url) -> Arc<Self> {
        let answer = send("GET", server.as_str(), &[], b"").await;
        let date = answer.header("date").unwrap();
        let date = chrono::DateTime::parse_from_rfc2822(&date).unwrap();
        Arc::new(Self {
            server_time: date.to_utc(),
            read_at: Instant::now(),
        })
    }
}

impl Clock for StoreClock {
    fn now(&self) -> Timestamp {
        self.server_time + self.read_at.elapsed()
    }

    fn synchronize(&self, _time: Timestamp) {}
}

/// Options for the store of the test run, under a random prefix.
pub fn options() -> Options {
    let url = Url::parse(&required_variable(SERVER_VARIABLE)).unwrap();
    let mut server = url.clone();
    server.set_username("").unwrap();
    server.set_password(None).unwrap();
    server.set_path("/");
    let keys = static_keys();
    Options {
        internal: server.clone(),
        public: server,
        public_connect: None,
        bucket: url.path().trim_matches('/').to_owned(),
        region: "us-east-1".to_owned(),
        style: AddressingStyle::Path,
        credentials: ObjectStoreCredentials::Static {
            access_key: keys.access_key,
            secret_key: keys.secret_key,
        },
        prefix: format!("outbound/{:032x}/", rand::random::<u128>()),
        grant_lifetime: Duration::from_mins(15),
        cors_origins: Vec::new(),
        timeouts: ObjectStoreTimeouts::default(),
    }
}

/// The static keys of the store of the test run.
#[derive(Debug)]
pub struct StaticKeys {
    pub access_key: String,
    pub secret_key: String,
}

pub fn static_keys() -> StaticKeys {
    let url = Url::parse(&required_variable(SERVER_VARIABLE)).unwrap();
    StaticKeys {
        access_key: url.username().to_owned(),
        secret_key: url.password().unwrap().to_owned(),
    }
}

pub async fn object_store() -> ObjectStore {
    object_store_with(options()).await
}

pub async fn object_store_with(options: Options) -> ObjectStore {
    // Reads the clock of the store itself, not of a proxy.
    let clock = StoreClock::read_from(&self::options().internal).await;
    ObjectStore::new(options, clock).unwrap()
}

pub fn file() -> FileId {
    file_in(Berth::new(0x0a1).unwrap())
}

pub fn file_in(berth: Berth) -> FileId {
    FileId::new(Timestamp::default(), berth, rand::random())
}

pub fn declared(bytes: &[u8]) -> FileDeclaration {
    FileDeclaration {
        media_type: MediaType::Text,
        size_bytes: bytes.len() as u64,
        sha256: digest(bytes),
    }
}

pub fn digest(bytes: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(bytes).into())
}

/// Fills in and sends the form, as a caller does.
pub async fn post_form(grant: &PostGrant, bytes: &[u8]) -> RawResponse {
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

/// One exchange over a new connection, with the given headers only.
pub async fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> RawResponse {
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
    // A store that refuses may not read the whole body.
    let _ = tcp.write_all(body).await;
    let mut answer = Vec::new();
    let _ = tcp.read_to_end(&mut answer).await;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    assert!(end.is_some(), "no answer to {method} {target}");
    let end = end.unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    RawResponse {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: answer.split_off(end + 4),
    }
}
