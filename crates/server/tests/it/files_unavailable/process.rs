//! The program `longshored`, with a relay in front of its object store that can be closed.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use url::Url;

use crate::database::TestDatabase;
use crate::files_scan::samples;
use crate::required_variable;
use crate::storage::{self, RawResponse, send};
use crate::support::files::{create_file_request, upload};
use crate::support::http::chat_request;

const WAIT_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

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

/// `longshored all` and a key for it.
struct ServerProcess {
    child: Child,
    base_url: String,
    key: String,
    _database: TestDatabase,
}

impl ServerProcess {
    async fn start(store: &str) -> Self {
        let database = TestDatabase::new().await;
        let settings = settings(&database.url(), store);
        run_command(&settings, &["migrate"]).await;
        let made = run_command(
            &settings,
            &[
                "admin",
                "--json",
                "organization",
                "create",
                "Demo",
                "--plan",
                "pro",
            ],
        );
        let organization = text_field(&made.await, "organization_id");
        let slug = [
            "admin",
            "--json",
            "project",
            "create",
            "--slug",
            "demo",
            "--organization",
        ];
        let made = run_command(&settings, &[&slug[..], &[&organization]].concat()).await;
        let project = text_field(&made, "project_id");
        let name = [
            "admin",
            "--json",
            "key",
            "create",
            "--name",
            "test",
            "--project",
        ];
        let made = run_command(&settings, &[&name[..], &[&project]].concat()).await;
        let mut child = command(&settings).arg("all").spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self {
            base_url: tokio::time::timeout(WAIT_TIMEOUT, wait_until_listening(lines))
                .await
                .unwrap(),
            child,
            key: text_field(&made, "key"),
            _database: database,
        }
    }

    async fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.base_url);
        let key = [("X-API-Key", self.key.as_str())];
        let RawResponse { status, body, .. } =
            send(method, &url, &key, body.to_string().as_bytes()).await;
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Waits until `/ready` reports this state of the object store.
    async fn wait_for_store(&self, state: &str) {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        let wait = async {
            loop {
                interval.tick().await;
                let (_, ready) = self.request("GET", "/ready", &Value::Null).await;
                let rows = ready["dependencies"].as_array().unwrap().clone();
                let mut rows = rows.into_iter();
                let row = rows.find(|row| row["name"] == "object store").unwrap();
                if row["state"] == state {
                    return;
                }
            }
        };
        let waited = tokio::time::timeout(WAIT_TIMEOUT, wait).await;
        assert!(waited.is_ok(), "the object store did not become {state}");
    }

    async fn upload_ready_file(&self) {
        let bytes = samples::text(100);
        let (status, session) = self
            .request("POST", "/files", &create_file_request(&bytes, "text/plain"))
            .await;
        assert_eq!(status, 201, "{session}");
        upload(&session["upload"], &bytes).await;
        let path = format!("/files/{}/complete", session["id"].as_str().unwrap());
        let (status, record) = self.request("POST", &path, &json!({})).await;
        assert_eq!(
            (status, &record["status"]),
            (200, &json!("ready")),
            "{record}"
        );
    }
}

fn settings(database: &str, store: &str) -> Vec<(&'static str, String)> {
    let options = storage::options();
    vec![
        ("SVC_DATABASE_URL", database.to_owned()),
        ("SVC_DATABASE_CONNECTIONS", "6".to_owned()),
        ("SVC_LISTEN", "127.0.0.1:0".to_owned()),
        ("SVC_METRICS_LISTEN", "127.0.0.1:0".to_owned()),
        ("SVC_OBJECTS_URL", store.to_owned()),
        ("SVC_OBJECTS_BUCKET", options.bucket),
        ("SVC_OBJECTS_PREFIX", options.prefix),
        ("SVC_OBJECTS_ACCESS_KEY", options.access_key),
        ("SVC_OBJECTS_SECRET_KEY", options.secret_key),
        ("SVC_SCANNER", required_variable("LONGSHORE_TEST_SCANNER")),
        ("SVC_COMPLETE_WAIT_SECONDS", "25".to_owned()),
    ]
}

fn command(settings: &[(&'static str, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longshored"));
    command
        .env_clear()
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Runs a command and returns its output, if that is JSON.
async fn run_command(settings: &[(&'static str, String)], arguments: &[&str]) -> Value {
    let output = command(settings).args(arguments).output().await.unwrap();
    assert!(
        output.status.success(),
        "{arguments:?} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn text_field(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap().to_owned()
}

/// Reads from the log where the API listens. Later lines are read and dropped.
async fn wait_until_listening(
    mut lines: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
) -> String {
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        if line["message"] == "listening" && line["listener"] == "api" {
            let address = line["address"].as_str().unwrap().to_owned();
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return format!("http://{address}");
        }
    }
}

#[tokio::test]
async fn files_work_again_after_a_store_outage() {
    let relay = TcpRelay::in_front_of(&storage::options().internal).await;
    let mut program = ServerProcess::start(&relay.url).await;
    program.wait_for_store("ok").await;
    program.upload_ready_file().await;

    relay.open.send_replace(false);
    program.wait_for_store("away").await;
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
    program.wait_for_store("ok").await;
    program.upload_ready_file().await;
    program.child.kill().await.unwrap();
}
