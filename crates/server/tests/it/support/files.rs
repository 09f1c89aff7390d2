//! A service with files: the real store, the real scanner, the real probe.

use std::path::PathBuf;
use std::time::Duration;

use api::harbour::{Desk, FilesOptions};
use axum::body::Body;
use axum::http::Request;
use chrono::TimeDelta;
use domain::file::MediaType;
use outbound::health::{Condition, FilesHealth};
use outbound::objects::{Objects, PostGrant};
use outbound::probe::Prober;
use serde_json::{Value, json};
use store::shard::file::audit;
use tokio::sync::watch;
use workers::stage::{Stage as _, Step};
use workers::{Files, Slots};

use crate::files_scan::samples;
use crate::files_scan::world::scanner;
use crate::storage;
use crate::support::http::{Answer, send};
use crate::support::limited::Limited;
use crate::support::{Customer, Service};

const WELL: FilesHealth = FilesHealth {
    store: Condition::Well,
    scanner: Condition::Well,
};

/// Where files of a test lie. Its health is said by hand.
#[derive(Debug)]
pub(crate) struct Harbour {
    pub(crate) objects: Objects,
    pub(crate) health: watch::Sender<FilesHealth>,
    pub(crate) complete_wait: Duration,
}

impl Harbour {
    pub(crate) async fn new() -> Self {
        Self {
            objects: storage::objects().await,
            health: watch::channel(WELL).0,
            complete_wait: Duration::from_secs(20),
        }
    }

    pub(super) fn desk(&self) -> Desk {
        let options = options(self.complete_wait);
        Desk::new(Some(self.objects.clone()), self.health.subscribe(), options)
    }

    pub(super) fn files(&self) -> Files {
        Files {
            objects: self.objects.clone(),
            scanner: scanner(),
            prober: Prober::new(PathBuf::from(env!("CARGO_BIN_EXE_longshored"))),
            slots: Slots { small: 8, large: 2 },
            abandon: TimeDelta::days(1),
            patrol: TimeDelta::hours(1),
            grace: TimeDelta::zero(),
            health: self.health.subscribe(),
        }
    }
}

/// As on cloud.
const fn options(complete_wait: Duration) -> FilesOptions {
    FilesOptions {
        free_plan: false,
        complete_wait,
    }
}

/// A service that has no store.
pub(super) fn closed() -> Desk {
    Desk::closed(options(Duration::ZERO))
}

/// What `POST /files` takes for these bytes.
pub(crate) fn declare(bytes: &[u8], media_type: &str) -> Value {
    json!({
        "filename": "sample.bin", "media_type": media_type, "size_bytes": bytes.len(),
        "sha256": hex::encode(storage::digest(bytes).0),
    })
}

/// One whose bytes never come.
pub(crate) fn sized(size: usize) -> Value {
    let mut body = declare(b"never sent", "text/plain");
    body["size_bytes"] = json!(size);
    body["sha256"] = json!(format!("{:064x}", rand::random::<u128>()));
    body
}

/// A chat that names files: each as a kind of block and an id.
pub(crate) fn question(model: &str, files: &[(&str, &str)]) -> Value {
    let blocks = files
        .iter()
        .map(|(kind, id)| json!({"type": kind, "source": {"file_id": id}}));
    let text = json!({"type": "text", "text": "What is in it?"});
    let content: Vec<_> = blocks.chain([text]).collect();
    json!({"params": {
        "model": model, "max_tokens": 64, "messages": [{"role": "user", "content": content}],
    }})
}

impl Service {
    pub(crate) async fn with_files() -> Self {
        Self::with_harbour(Limited::default(), Some(Harbour::new().await)).await
    }

    pub(crate) fn harbour(&self) -> &Harbour {
        self.harbour.as_ref().unwrap()
    }

    pub(crate) async fn ask(
        &self,
        customer: &Customer,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Answer {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("X-API-Key", &customer.key);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    pub(crate) async fn post_file(&self, customer: &Customer, body: &Value) -> Answer {
        self.ask(customer, "POST", "/files", body).await
    }

    /// A session for these bytes.
    pub(crate) async fn session(
        &self,
        customer: &Customer,
        bytes: &[u8],
        media_type: &str,
    ) -> Value {
        let answer = self.post_file(customer, &declare(bytes, media_type)).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body
    }

    pub(crate) async fn file(&self, customer: &Customer, id: &str) -> Value {
        let answer = self.get(customer, &format!("/files/{id}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// Completes while the north crew scans.
    pub(crate) async fn complete(&mut self, customer: &Customer, id: &str, body: &Value) -> Answer {
        let request = Request::post(format!("/files/{id}/complete"));
        let request = request.header("X-API-Key", &customer.key);
        let request = request.body(Body::from(body.to_string())).unwrap();
        let answer = send(self.router.clone(), request);
        let mut answer = std::pin::pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                () = scan(self) => {}
            }
        }
    }

    /// The id of a ready file with these bytes.
    pub(crate) async fn ready(
        &mut self,
        customer: &Customer,
        bytes: &[u8],
        media_type: &str,
    ) -> String {
        let session = self.session(customer, bytes, media_type).await;
        upload(&session["upload"], bytes).await;
        let id = session["id"].as_str().unwrap().to_owned();
        let answer = self.complete(customer, &id, &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        id
    }

    pub(crate) async fn ready_image(&mut self, customer: &Customer) -> String {
        let bytes = samples::of(MediaType::Png);
        self.ready(customer, &bytes, "image/png").await
    }

    pub(crate) async fn sweep_files(&mut self) {
        let now = self.now();
        while self.crews[0].sweep_files.step(now).await.unwrap() != Step::Idle {}
    }

    /// Every count of the north shard is right.
    pub(crate) async fn prove_files(&self) {
        let faults = audit::check(&self.north).await.unwrap();
        assert_eq!(faults, []);
    }
}

async fn scan(service: &mut Service) {
    let now = service.clock.advance(Duration::ZERO);
    service.crews[0].scan.settle(now).await.unwrap();
}

/// Sends bytes as a caller does with what `POST /files` answered.
pub(crate) async fn post(upload: &Value, bytes: &[u8]) -> storage::Answered {
    let fields = upload["fields"].as_object().unwrap().iter();
    let grant = PostGrant {
        url: upload["url"].as_str().unwrap().to_owned(),
        fields: fields
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect(),
        expires_at: <_>::default(),
    };
    storage::post(&grant, bytes).await
}

pub(crate) async fn upload(upload: &Value, bytes: &[u8]) {
    let sent = post(upload, bytes).await;
    assert_eq!(sent.status / 100, 2, "{sent:?}");
}

/// PUTs every part and says what complete takes.
pub(crate) async fn put_parts(upload: &Value, bytes: &[u8]) -> Value {
    let size = usize::try_from(upload["part_size_bytes"].as_u64().unwrap()).unwrap();
    let parts = upload["parts"].as_array().unwrap();
    let mut listed = Vec::new();
    for (part, chunk) in parts.iter().zip(bytes.chunks(size)) {
        let (sum, sent) = put_part(upload, part, chunk).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        let (number, etag) = (&part["part_number"], sent.header("etag").unwrap());
        listed.push(json!({"part_number": number, "etag": etag, "checksum_sha256": sum}));
    }
    json!({ "parts": listed })
}

pub(crate) async fn put_part(
    upload: &Value,
    part: &Value,
    chunk: &[u8],
) -> (String, storage::Answered) {
    let sum = checksum(chunk);
    let header = upload["checksum_header"].as_str().unwrap();
    let url = part["url"].as_str().unwrap();
    let sent = storage::send("PUT", url, &[(header, &sum)], chunk).await;
    (sum, sent)
}

pub(crate) fn checksum(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(storage::digest(bytes).0)
}
