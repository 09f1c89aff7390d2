//! A service with files: a real object store, a real malware scanner and the real probe.

use std::path::PathBuf;
use std::time::Duration;

use api::files::{FileService, FileServiceOptions};
use axum::body::Body;
use axum::http::Request;
use chrono::TimeDelta;
use domain::file::MediaType;
use outbound::health::{DependencyHealth, FilesHealth};
use outbound::object_store::{ObjectStore, PostGrant};
use outbound::probe::Prober;
use serde_json::{Value, json};
use store::shard::file::audit;
use test_support::{object_store, sample_files};
use tokio::sync::watch;
use workers::stage::{Stage as _, StepResult};
use workers::{FileStageDeps, ScanSlots};

use crate::files_scan::fixture::test_scanner;
use crate::support::http::{AppResponse, send};
use crate::support::test_limits::TestLimits;
use crate::support::{Customer, DatabaseLayout, TestService};

const ALL_HEALTHY: FilesHealth = FilesHealth {
    credentials: DependencyHealth::NotConfigured,
    store: DependencyHealth::Healthy,
    scanner: DependencyHealth::Healthy,
    probe: DependencyHealth::Healthy,
};

/// The object store and the malware scanner of a test. The test sets their health.
#[derive(Debug)]
pub(crate) struct TestFileBackends {
    pub(crate) object_store: ObjectStore,
    pub(crate) health: watch::Sender<FilesHealth>,
    pub(crate) complete_wait: Duration,
}

impl TestFileBackends {
    pub(crate) async fn new() -> Self {
        Self {
            object_store: object_store::object_store().await,
            health: watch::channel(ALL_HEALTHY).0,
            complete_wait: Duration::from_secs(20),
        }
    }

    pub(super) fn file_service(&self) -> FileService {
        let options = file_service_options(self.complete_wait);
        FileService::new(
            Some(self.object_store.clone()),
            self.health.subscribe(),
            options,
        )
    }

    pub(super) fn file_stage_deps(&self) -> FileStageDeps {
        FileStageDeps {
            objects: self.object_store.clone(),
            scanner: test_scanner(),
            prober: Prober::new(PathBuf::from(env!("CARGO_BIN_EXE_longshored"))),
            slots: ScanSlots { small: 8, large: 2 },
            abandon_after: TimeDelta::days(1),
            patrol_interval: TimeDelta::hours(1),
            grace: TimeDelta::zero(),
            health: self.health.subscribe(),
        }
    }
}

/// The options of the cloud deployment.
const fn file_service_options(complete_wait: Duration) -> FileServiceOptions {
    FileServiceOptions {
        allows_free_plan: false,
        verdict_timeout: complete_wait,
        grant_lifetime: Duration::from_mins(15),
    }
}

/// For a service without an object store.
pub(super) fn file_service_without_store() -> FileService {
    FileService::without_store(file_service_options(Duration::ZERO))
}

/// The body of `POST /files` for these bytes.
pub(crate) fn create_file_request(bytes: &[u8], media_type: &str) -> Value {
    json!({
        "filename": "sample.bin", "media_type": media_type, "size_bytes": bytes.len(),
        "sha256": hex::encode(object_store::digest(bytes).0),
    })
}

/// The body of `POST /files` for a file of this size that is never uploaded.
pub(crate) fn create_file_request_of_size(size: usize) -> Value {
    let mut body = create_file_request(b"never sent", "text/plain");
    body["size_bytes"] = json!(size);
    body["sha256"] = json!(format!("{:064x}", rand::random::<u128>()));
    body
}

/// A chat that references files, each given as a block type and a file id.
pub(crate) fn file_chat_request(model: &str, files: &[(&str, &str)]) -> Value {
    let blocks = files
        .iter()
        .map(|(kind, id)| json!({"type": kind, "source": {"file_id": id}}));
    let text = json!({"type": "text", "text": "What is in it?"});
    let content: Vec<_> = blocks.chain([text]).collect();
    json!({"params": {
        "model": model, "max_tokens": 64, "messages": [{"role": "user", "content": content}],
    }})
}

impl TestService {
    pub(crate) async fn with_files() -> Self {
        Self::with_file_backends(TestLimits::default(), Some(TestFileBackends::new().await)).await
    }

    pub(crate) async fn with_files_and_second_shard() -> Self {
        let backends = TestFileBackends::new().await;
        let (layout, limits) = (DatabaseLayout::SecondShard, TestLimits::default());
        Self::with_layout(layout, limits, Some(backends)).await
    }

    pub(crate) fn file_backends(&self) -> &TestFileBackends {
        self.file_backends.as_ref().unwrap()
    }

    pub(crate) async fn send_json(
        &self,
        customer: &Customer,
        method: &str,
        path: &str,
        body: &Value,
    ) -> AppResponse {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("X-API-Key", &customer.key);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    pub(crate) async fn post_file(&self, customer: &Customer, body: &Value) -> AppResponse {
        self.send_json(customer, "POST", "/files", body).await
    }

    /// Creates an upload session for these bytes.
    pub(crate) async fn create_upload_session(
        &self,
        customer: &Customer,
        bytes: &[u8],
        media_type: &str,
    ) -> Value {
        let answer = self
            .post_file(customer, &create_file_request(bytes, media_type))
            .await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body
    }

    pub(crate) async fn get_file(&self, customer: &Customer, id: &str) -> Value {
        let answer = self.get(customer, &format!("/files/{id}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// Completes an upload while the north worker set scans.
    pub(crate) async fn complete_upload(
        &mut self,
        customer: &Customer,
        id: &str,
        body: &Value,
    ) -> AppResponse {
        let mut answer = std::pin::pin!(self.send_complete(customer, id, body));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                () = self.scan_files() => {}
            }
        }
    }

    /// Sends a request to complete an upload. The future does not borrow the service, so that
    /// workers can scan meanwhile.
    pub(crate) fn send_complete(
        &self,
        customer: &Customer,
        id: &str,
        body: &Value,
    ) -> impl Future<Output = AppResponse> + use<> {
        let request = Request::post(format!("/files/{id}/complete"));
        let request = request.header("X-API-Key", &customer.key);
        let request = request.body(Body::from(body.to_string())).unwrap();
        send(self.router.clone(), request)
    }

    pub(crate) async fn scan_files(&mut self) {
        let now = self.now();
        self.worker_sets[0].scan.run_until_idle(now).await.unwrap();
    }

    /// Uploads these bytes, and returns the id of the ready file.
    pub(crate) async fn upload_ready_file(
        &mut self,
        customer: &Customer,
        bytes: &[u8],
        media_type: &str,
    ) -> String {
        let session = self
            .create_upload_session(customer, bytes, media_type)
            .await;
        upload(&session["upload"], bytes).await;
        let id = session["id"].as_str().unwrap().to_owned();
        let answer = self.complete_upload(customer, &id, &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        id
    }

    pub(crate) async fn upload_ready_image(&mut self, customer: &Customer) -> String {
        let bytes = sample_files::valid_file(MediaType::Png);
        self.upload_ready_file(customer, &bytes, "image/png").await
    }

    pub(crate) async fn sweep_files(&mut self) {
        let now = self.now();
        while self.worker_sets[0].sweep_files.step(now).await.unwrap() != StepResult::Idle {}
    }

    /// Asserts that the file audit of the north shard finds no fault.
    pub(crate) async fn check_file_invariants(&self) {
        let faults = audit::check(&self.north).await.unwrap();
        assert_eq!(faults, []);
    }
}

/// Uploads bytes with the grant that `POST /files` returned.
pub(crate) async fn post_upload(upload: &Value, bytes: &[u8]) -> object_store::RawResponse {
    let fields = upload["fields"].as_object().unwrap().iter();
    let grant = PostGrant {
        url: upload["url"].as_str().unwrap().to_owned(),
        fields: fields
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect(),
        expires_at: <_>::default(),
    };
    object_store::post_form(&grant, bytes).await
}

pub(crate) async fn upload(upload: &Value, bytes: &[u8]) {
    let sent = post_upload(upload, bytes).await;
    assert_eq!(sent.status / 100, 2, "{sent:?}");
}

/// Uploads every part, and returns the body for complete.
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
) -> (String, object_store::RawResponse) {
    let sum = checksum(chunk);
    let header = upload["checksum_header"].as_str().unwrap();
    let url = part["url"].as_str().unwrap();
    let sent = object_store::send("PUT", url, &[(header, &sum)], chunk).await;
    (sum, sent)
}

pub(crate) fn checksum(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(object_store::digest(bytes).0)
}
