//! Uploads that are interrupted and continued.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::http_request::{WholeRequest, read_request};
use crate::program::{CommandOutput, TestFolder, longshore};

const PART_BYTES: usize = 16 * 1024 * 1024;

/// The service and its object store: what they were asked, and which part fails.
#[derive(Debug, Default)]
struct FakeStore {
    base_url: String,
    declared: usize,
    /// The part numbers for which grants were refreshed.
    refreshed: Vec<Value>,
    stored_parts: Vec<String>,
    /// The status of the next upload of a part, by the path of its URL.
    failures: Vec<(String, u16)>,
    completion: Value,
}

impl FakeStore {
    async fn start() -> Arc<Mutex<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let store = Arc::new(Mutex::new(Self {
            base_url: format!("http://{}", listener.local_addr().unwrap()),
            ..Self::default()
        }));
        let served = Arc::clone(&store);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(answer(connection, Arc::clone(&served)));
            }
        });
        store
    }

    fn grants(&self, numbers: &[u64]) -> Value {
        let part = |number: &u64| json!({"part_number": number, "url": format!("{}/store/{number}", self.base_url)});
        let parts: Vec<Value> = numbers.iter().map(part).collect();
        json!({"checksum_header": "x-amz-checksum-sha256", "parts": parts})
    }

    fn respond(&mut self, request: &WholeRequest) -> (u16, Value) {
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap();
        match request.target.as_str() {
            "POST /files" => {
                self.declared += 1;
                (201, json!({"id": "file_1", "upload": self.grants(&[1, 2])}))
            }
            "POST /files/file_1/parts" => {
                let numbers = body()["part_numbers"].clone();
                let wanted: Vec<u64> = serde_json::from_value(numbers.clone()).unwrap();
                self.refreshed.push(numbers);
                (200, json!({"id": "file_1", "upload": self.grants(&wanted)}))
            }
            "POST /files/file_1/complete" => {
                self.completion = body();
                (200, json!({"id": "file_1", "status": "ready"}))
            }
            put => {
                let failure = self.failures.iter().position(|(path, _)| path == put);
                if let Some(failure) = failure {
                    return (self.failures.remove(failure).1, Value::Null);
                }
                self.stored_parts.push(put.to_owned());
                (200, Value::Null)
            }
        }
    }
}

async fn answer(mut connection: TcpStream, store: Arc<Mutex<FakeStore>>) {
    let Some(request) = read_request(&mut connection).await else {
        return;
    };
    let (status, body) = store.lock().respond(&request);
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\netag: \"e{}\"\r\ncontent-length: {}\r\n\r\n",
        request.target.len(),
        body.len()
    );
    let _written = connection.write_all(head.as_bytes()).await;
    let _written = connection.write_all(body.as_bytes()).await;
}

/// Uploads a file of two parts.
async fn upload(folder: &TestFolder, store: &Mutex<FakeStore>) -> CommandOutput {
    let base_url = store.lock().base_url.clone();
    let mut command = longshore(folder);
    command
        .env("LONGSHORE_BASE_URL", base_url)
        .env(
            "LONGSHORE_API_KEY",
            "svc_sk_00000000000000000000000000000000",
        )
        .args(["--json", "upload", "large.txt"]);
    let output = Command::from(command).output().await.unwrap();
    output.into()
}

fn write_large_file(folder: &TestFolder) {
    folder.write("large.txt", vec![b'a'; PART_BYTES + 5]);
}

#[tokio::test]
async fn an_interrupted_upload_sends_only_the_missing_parts() {
    let folder = TestFolder::new("upload");
    write_large_file(&folder);
    let store = FakeStore::start().await;
    store.lock().failures.push(("PUT /store/2".to_owned(), 400));
    let first = upload(&folder, &store).await;
    assert_ne!(first.code, 0, "{}", first.stderr);
    let second = upload(&folder, &store).await;
    assert_eq!(second.code, 0, "{}", second.stderr);
    {
        let store = store.lock();
        assert_eq!(store.declared, 1);
        assert_eq!(store.refreshed, [json!([2])]);
        assert_eq!(store.stored_parts, ["PUT /store/1", "PUT /store/2"]);
        let parts = store.completion["parts"].as_array().unwrap();
        let numbers: Vec<&Value> = parts.iter().map(|part| &part["part_number"]).collect();
        assert_eq!(numbers, [1, 2]);
    }
    // The upload is done: the next one begins.
    let third = upload(&folder, &store).await;
    assert_eq!(third.code, 0, "{}", third.stderr);
    assert_eq!(store.lock().declared, 2);
}

#[tokio::test]
async fn a_grant_that_has_expired_is_refreshed() {
    let folder = TestFolder::new("upload-grant");
    write_large_file(&folder);
    let store = FakeStore::start().await;
    store.lock().failures.push(("PUT /store/1".to_owned(), 403));
    let ended = upload(&folder, &store).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let store = store.lock();
    assert_eq!(store.refreshed, [json!([1])]);
    assert_eq!(store.stored_parts, ["PUT /store/1", "PUT /store/2"]);
}
