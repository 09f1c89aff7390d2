//! The program `longshored`, with a relay in front of its object store that can be closed.

use std::sync::Arc;

use serde_json::{Value, json};
use test_support::environment::required_variable;
use test_support::object_store;
use test_support::sample_files;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

use crate::support::files::{create_file_request, upload};
use crate::support::http::chat_request;
use crate::support::server_process::{EnvironmentVariables, ServerProcess};

/// Forwards everything while it is open, and nothing while it is closed.
struct TcpRelay {
    url: String,
    open: watch::Sender<bool>,
}

impl TcpRelay {
    async fn in_front_of(store: &Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let store: Arc<str> = store[url::Position::BeforeHost..url::Position::AfterPort].into();
        let (open, is_open) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(forward(caller, store.clone(), is_open.clone()));
            }
        });
        Self { url, open }
    }
}

async fn forward(mut caller: TcpStream, store: Arc<str>, mut is_open: watch::Receiver<bool>) {
    if !*is_open.borrow_and_update() {
        return;
    }
    let mut store = TcpStream::connect(&*store).await.unwrap();
    tokio::select! {
        _ = copy_bidirectional(&mut caller, &mut store) => {}
        _ = is_open.wait_for(|open| !open) => {}
    }
}

fn settings(store: &str) -> EnvironmentVariables {
    let (options, keys) = (object_store::options(), object_store::static_keys());
    vec![
        ("SVC_OBJECTS_URL", store.to_owned()),
        ("SVC_OBJECTS_BUCKET", options.bucket),
        ("SVC_OBJECTS_PREFIX", options.prefix),
        ("SVC_OBJECTS_ACCESS_KEY", keys.access_key),
        ("SVC_OBJECTS_SECRET_KEY", keys.secret_key),
        ("SVC_SCANNER", required_variable("LONGSHORE_TEST_SCANNER")),
        ("SVC_COMPLETE_WAIT_SECONDS", "25".to_owned()),
    ]
}

/// Waits until `/ready` reports this state of the object store.
async fn wait_for_store(program: &ServerProcess, state: &str) {
    let is_store = |row: &&Value| row["name"] == "object store";
    let has_state = |ready: &Value| {
        let mut rows = ready["dependencies"].as_array().into_iter().flatten();
        rows.find(is_store).is_some_and(|row| row["state"] == state)
    };
    program.wait_for("/ready", has_state).await;
}

async fn upload_ready_file(program: &ServerProcess) {
    let bytes = sample_files::text(100);
    let (status, session) = program
        .request("POST", "/files", &create_file_request(&bytes, "text/plain"))
        .await;
    assert_eq!(status, 201, "{session}");
    upload(&session["upload"], &bytes).await;
    let path = format!("/files/{}/complete", session["id"].as_str().unwrap());
    let (status, record) = program.request("POST", &path, &json!({})).await;
    assert_eq!(
        (status, &record["status"]),
        (200, &json!("ready")),
        "{record}"
    );
}

#[tokio::test]
async fn files_work_again_after_a_store_outage() {
    let relay = TcpRelay::in_front_of(&object_store::options().internal).await;
    let program = ServerProcess::start(settings(&relay.url)).await;
    wait_for_store(&program, "ok").await;
    upload_ready_file(&program).await;

    relay.open.send_replace(false);
    wait_for_store(&program, "away").await;
    let (status, refused) = program
        .request("POST", "/files", &create_file_request(b"x", "text/plain"))
        .await;
    assert_eq!(
        (status, &refused["error"]),
        (503, &json!("storage_unavailable"))
    );
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("File storage is unavailable: the object store "),
        "{message}"
    );
    let (status, loaded) = program
        .request("POST", "/cargo/load", &chat_request("Go on.", None))
        .await;
    assert_eq!(status, 202, "{loaded}");

    relay.open.send_replace(true);
    wait_for_store(&program, "ok").await;
    upload_ready_file(&program).await;
    program.kill().await;
}
