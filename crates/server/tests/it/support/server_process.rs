//! The program `longshored`, started as a process of its own with a project and a key.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use test_support::database::TestDatabase;
use test_support::object_store::{RawResponse, send};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};

const WAIT_TIMEOUT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) type EnvironmentVariables = Vec<(&'static str, String)>;

/// `longshored all` and a key for it.
pub(crate) struct ServerProcess {
    child: Child,
    base_url: String,
    key: String,
    _database: TestDatabase,
}

impl ServerProcess {
    /// Starts it on a new database, with these settings in addition to those that it needs.
    pub(crate) async fn start(additional: EnvironmentVariables) -> Self {
        let database = TestDatabase::new().await;
        let mut settings = needed_settings(&database);
        settings.extend(additional);
        run_command(&settings, "migrate").await;
        let made = run_admin(&settings, "organization create Demo --plan pro").await;
        let organization = text_field(&made, "organization_id");
        let project = format!("project create --slug demo --organization {organization}");
        let project = text_field(&run_admin(&settings, &project).await, "project_id");
        let key = format!("key create --name test --project {project}");
        let key = text_field(&run_admin(&settings, &key).await, "key");
        let mut child = command(&settings).arg("all").spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listening = tokio::time::timeout(WAIT_TIMEOUT, wait_until_listening(lines));
        Self {
            base_url: listening.await.unwrap(),
            child,
            key,
            _database: database,
        }
    }

    pub(crate) async fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.base_url);
        let key = [("X-API-Key", self.key.as_str())];
        let RawResponse { status, body, .. } =
            send(method, &url, &key, body.to_string().as_bytes()).await;
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Gets this path until its body meets the condition.
    pub(crate) async fn wait_for(&self, path: &str, condition: impl Fn(&Value) -> bool) {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        let mut last = Value::Null;
        let wait = async {
            while !condition(&last) {
                interval.tick().await;
                (_, last) = self.request("GET", path, &Value::Null).await;
            }
        };
        let waited = tokio::time::timeout(WAIT_TIMEOUT, wait).await;
        assert!(waited.is_ok(), "{path}: {last}");
    }

    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Starts `longshored all` on a new database, ends it once it has logged this text, and returns
/// all that it wrote.
pub(crate) async fn run_until_logged(text: &str) -> String {
    let database = TestDatabase::new().await;
    let settings = needed_settings(&database);
    run_command(&settings, "migrate").await;
    let mut child = command(&settings).arg("all").spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut written = String::new();
    let read = async {
        while !written.contains(text) {
            written += &lines.next_line().await.unwrap().unwrap();
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, read).await.unwrap();
    child.start_kill().unwrap();
    let output = child.wait_with_output().await.unwrap();
    written + &String::from_utf8_lossy(&output.stdout)
}

/// Starts `longshored` in this role on a new database, expects that it ends with an error, and
/// returns what it wrote. The parameters are those of the database's address.
pub(crate) async fn run_refused(
    role: &str,
    parameters: &str,
    additional: EnvironmentVariables,
) -> String {
    let database = TestDatabase::new().await;
    let mut settings = needed_settings(&database);
    run_command(&settings, "migrate").await;
    settings.push((
        "SVC_DATABASE_URL",
        format!("{}{parameters}", database.url()),
    ));
    settings.extend(additional);
    let running = command(&settings).arg(role).output();
    let output = tokio::time::timeout(WAIT_TIMEOUT, running)
        .await
        .unwrap()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

fn needed_settings(database: &TestDatabase) -> EnvironmentVariables {
    vec![
        ("SVC_DATABASE_URL", database.url()),
        ("SVC_DATABASE_CONNECTIONS", "6".to_owned()),
        ("SVC_LISTEN", "127.0.0.1:0".to_owned()),
        ("SVC_METRICS_LISTEN", "127.0.0.1:0".to_owned()),
        // The server of the tests does not sync its log.
        ("SVC_DURABILITY", "managed".to_owned()),
    ]
}

fn command(settings: &EnvironmentVariables) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longshored"));
    command
        .env_clear()
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

pub(crate) async fn run_admin(settings: &EnvironmentVariables, line: &str) -> Value {
    let output = run_command(settings, &format!("admin --json {line}")).await;
    serde_json::from_slice(&output).unwrap()
}

/// Runs a command and returns its output.
pub(crate) async fn run_command(settings: &EnvironmentVariables, line: &str) -> Vec<u8> {
    let output = command(settings).args(line.split(' ')).output();
    let output = output.await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    output.stdout
}

pub(crate) fn text_field(answer: &Value, field: &str) -> String {
    answer[field].as_str().unwrap().to_owned()
}

/// Reads from the log where the API listens. Later lines are read and dropped.
async fn wait_until_listening(mut lines: tokio::io::Lines<BufReader<ChildStderr>>) -> String {
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
