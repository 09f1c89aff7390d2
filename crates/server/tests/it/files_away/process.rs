//! The program itself, with a relay before its store that can be cut.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use url::Url;

use crate::database::Database;
use crate::files_scan::samples;
use crate::setting;
use crate::storage::{self, Answered, send};
use crate::support::files::{declare, upload};
use crate::support::http::chat;

const PATIENCE: Duration = Duration::from_mins(1);
const BEAT: Duration = Duration::from_millis(20);

/// Passes everything on, or nothing.
struct Relay {
    url: String,
    open: watch::Sender<bool>,
}

impl Relay {
    async fn before(store: &Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let store: Arc<str> = store[url::Position::BeforeHost..url::Position::AfterPort].into();
        let (open, is_open) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(pass(caller, store.clone(), is_open.clone()));
            }
        });
        Self { url, open }
    }
}

async fn pass(mut caller: TcpStream, store: Arc<str>, mut is_open: watch::Receiver<bool>) {
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
struct Program {
    child: Child,
    at: String,
    key: String,
    _database: Database,
}

impl Program {
    async fn start(store: &str) -> Self {
        let database = Database::new().await;
        let settings = settings(&database.url(), store);
        say(&settings, &["migrate"]).await;
        let made = say(
            &settings,
            &[
                "admin",
                "--json",
                "organization",
                "create",
                "Quay",
                "--plan",
                "pro",
            ],
        );
        let organization = text(&made.await, "organization_id");
        let slug = [
            "admin",
            "--json",
            "project",
            "create",
            "--slug",
            "quay",
            "--organization",
        ];
        let made = say(&settings, &[&slug[..], &[&organization]].concat()).await;
        let project = text(&made, "project_id");
        let name = [
            "admin",
            "--json",
            "key",
            "create",
            "--name",
            "test",
            "--project",
        ];
        let made = say(&settings, &[&name[..], &[&project]].concat()).await;
        let mut child = command(&settings).arg("all").spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self {
            at: tokio::time::timeout(PATIENCE, listening(lines))
                .await
                .unwrap(),
            child,
            key: text(&made, "key"),
            _database: database,
        }
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.at);
        let key = [("X-API-Key", self.key.as_str())];
        let Answered { status, body, .. } =
            send(method, &url, &key, body.to_string().as_bytes()).await;
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Returns when `/ready` says so of the object store.
    async fn until_store_is(&self, state: &str) {
        let mut beat = tokio::time::interval(BEAT);
        let seen = async {
            loop {
                beat.tick().await;
                let (_, ready) = self.ask("GET", "/ready", &Value::Null).await;
                let rows = ready["dependencies"].as_array().unwrap().clone();
                let mut rows = rows.into_iter();
                let row = rows.find(|row| row["name"] == "object store").unwrap();
                if row["state"] == state {
                    return;
                }
            }
        };
        let seen = tokio::time::timeout(PATIENCE, seen).await;
        assert!(seen.is_ok(), "the store is not {state} for {PATIENCE:?}");
    }

    async fn ready_file(&self) {
        let bytes = samples::text(100);
        let (status, session) = self
            .ask("POST", "/files", &declare(&bytes, "text/plain"))
            .await;
        assert_eq!(status, 201, "{session}");
        upload(&session["upload"], &bytes).await;
        let path = format!("/files/{}/complete", session["id"].as_str().unwrap());
        let (status, record) = self.ask("POST", &path, &json!({})).await;
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
        ("SVC_SCANNER", setting("LONGSHORE_TEST_SCANNER")),
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

/// One command's answer, if it is JSON.
async fn say(settings: &[(&'static str, String)], words: &[&str]) -> Value {
    let said = command(settings).args(words).output().await.unwrap();
    assert!(
        said.status.success(),
        "{words:?} {}",
        String::from_utf8_lossy(&said.stderr)
    );
    serde_json::from_slice(&said.stdout).unwrap_or_default()
}

fn text(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap().to_owned()
}

/// Where the API listens, by its own log; what it says afterwards is read and dropped.
async fn listening(mut lines: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>) -> String {
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
async fn a_store_that_goes_away_comes_back_by_itself() {
    let relay = Relay::before(&storage::options().internal).await;
    let mut program = Program::start(&relay.url).await;
    program.until_store_is("ok").await;
    program.ready_file().await;

    relay.open.send_replace(false);
    program.until_store_is("away").await;
    let (status, refused) = program
        .ask("POST", "/files", &declare(b"x", "text/plain"))
        .await;
    assert_eq!(
        (status, &refused["error"]),
        (503, &json!("storage_unavailable"))
    );
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("File storage is away: the object store "),
        "{message}"
    );
    let (status, loaded) = program
        .ask("POST", "/cargo/load", &chat("Go on.", None))
        .await;
    assert_eq!(status, 202, "{loaded}");

    relay.open.send_replace(true);
    program.until_store_is("ok").await;
    program.ready_file().await;
    program.child.kill().await.unwrap();
}
