//! The verbs of the scenarios: with the program where it has a command, else with the client.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use client::call::random_key;
use client::canonical_json;
use client::cargo::CargoListFilter;
use client::longshore_client::{ClientOptions, LongshoreClient};
use client::webhook_signature::WebhookSecret;
use serde_json::{Map, Value, json};

use crate::environment::scenario_variable;
use crate::program::{CommandOutput, TestFolder, longshore};
use crate::receiver::ScenarioReceiver;
use crate::scenario_checks::{
    StepResult, check_answer, check_error, contains, decode_base64, equal, parse, text_of,
};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
const MAX_POLLS: usize = 600;

pub(crate) struct ScenarioRun {
    word: String,
    folder: TestFolder,
    /// What steps returned, by name.
    named: HashMap<String, String>,
    receiver: ScenarioReceiver,
}

impl ScenarioRun {
    pub(crate) async fn new() -> Self {
        let word = random_key();
        Self {
            folder: TestFolder::new(&word),
            word,
            named: HashMap::new(),
            receiver: ScenarioReceiver::start().await,
        }
    }

    pub(crate) async fn step(&mut self, step: &Value) -> StepResult {
        let text = step.to_string().replace("{run}", &self.word);
        let step: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let expect = step.get("expect").cloned().unwrap_or_default();
        let returned = match step["do"].as_str().unwrap_or_default() {
            "load" => self.load(&step, &expect).await?,
            "bulk" => self.bulk(&step, &expect).await?,
            "run" => self.run(&step, &expect)?,
            "track" | "await_status" => self.track(&step, &expect).await?,
            "result" => self.result(&step, &expect)?,
            "cancel" => self.cancel(&step, &expect)?,
            "upload" => self.upload(&step, &expect)?,
            "create_group" => self.create_group(&step, &expect).await?,
            "seal_group" => self.seal_group(&step, &expect).await?,
            "await_group" => self.await_group(&step, &expect)?,
            "count_cargo" => self.count_cargo(&step, &expect).await?,
            "map" => self.map(&step, &expect)?,
            "await_callback" => self.await_callback(&step, &expect).await?,
            other => return Err(format!("the runner does not know {other}")),
        };
        if let Some(name) = step.get("as").and_then(Value::as_str) {
            self.named.insert(name.to_owned(), returned);
        }
        Ok(())
    }

    fn base_url(step: &Value) -> Result<String, String> {
        let is_proxied = step.get("proxy") == Some(&Value::Bool(true));
        scenario_variable(if is_proxied { "PROXY_URL" } else { "BASE_URL" })
    }

    fn client(step: &Value) -> Result<LongshoreClient, String> {
        let options = ClientOptions {
            base_url: Self::base_url(step)?,
            api_key: scenario_variable("API_KEY")?,
            user_agent: "longshore-scenarios".to_owned(),
            retry_for: Some(Duration::from_mins(2)),
        };
        LongshoreClient::new(&options).map_err(|error| error.to_string())
    }

    /// Runs the program with `--json`, and input if there is some.
    fn program(
        &self,
        step: &Value,
        input: &str,
        arguments: &[&str],
    ) -> Result<CommandOutput, String> {
        let child = longshore(&self.folder)
            .env("LONGSHORE_BASE_URL", Self::base_url(step)?)
            .env("LONGSHORE_API_KEY", scenario_variable("API_KEY")?)
            .arg("--json")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            let written = stdin.write_all(input.as_bytes());
            written.map_err(|error| error.to_string())?;
        }
        let ended = child.wait_with_output();
        ended
            .map(CommandOutput::from)
            .map_err(|error| error.to_string())
    }

    fn id_of(&self, step: &Value, field: &str) -> Result<String, String> {
        let name = step[field].as_str().unwrap_or_default();
        let found = self.named.get(name).cloned();
        found.ok_or_else(|| format!("no step is called {name}"))
    }

    fn build_load(&self, step: &Value) -> Result<Map<String, Value>, String> {
        let mut params = json!({
            "model": "svc-mock",
            "max_tokens": 64,
            "messages": [{"role": "user", "content": step["text"]}],
        });
        if let (Some(params), Some(changes)) = (params.as_object_mut(), step["params"].as_object())
        {
            params.extend(changes.clone());
        }
        let mut load = Map::new();
        load.insert("params".to_owned(), params);
        for field in ["metadata", "custom_id"] {
            if let Some(value) = step.get(field) {
                load.insert(field.to_owned(), value.clone());
            }
        }
        if step.get("group").is_some() {
            load.insert("group_id".to_owned(), json!(self.id_of(step, "group")?));
        }
        if step.get("callback") == Some(&Value::Bool(true)) {
            load.insert("callback_url".to_owned(), json!(self.receiver.url));
        }
        Ok(load)
    }

    async fn load(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let client = Self::client(step)?;
        let mut cargo = String::new();
        for row in 0..step["repeat"].as_u64().unwrap_or(1) {
            let text = step.to_string().replace("{row}", &row.to_string());
            let step: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let key = step["idempotency_key"].as_str().map(str::to_owned);
            let load = Value::Object(self.build_load(&step)?);
            let loaded = client.load(&load, key.unwrap_or_else(random_key)).await;
            let Some(loaded) = check_error(loaded, expect)? else {
                return Ok(String::new());
            };
            cargo = loaded.cargo_id;
        }
        if let Some(other) = expect["same_as"].as_str() {
            equal("cargo", Some(&cargo), self.named.get(other))?;
        }
        Ok(cargo)
    }

    async fn bulk(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let mut lines = String::new();
        for item in step["items"].as_array().into_iter().flatten() {
            let load = Value::Object(self.build_load(item)?);
            lines.push_str(&canonical_json::to_text(&load));
            lines.push('\n');
        }
        let answer = Self::client(step)?.load_bulk(Bytes::from(lines)).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let statuses: Vec<u16> = answer.results.iter().map(|it| it.status).collect();
        let accepted = statuses.iter().filter(|status| **status < 300).count();
        let found = json!({
            "accepted": accepted,
            "refused": statuses.len() - accepted,
            "statuses": statuses,
        });
        contains(&found, expect)?;
        Ok(String::new())
    }

    fn run(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let load = Value::Object(self.build_load(step)?).to_string();
        let mut arguments = vec!["load", "-", "--wait"];
        if let Some(key) = step["idempotency_key"].as_str() {
            arguments.extend(["--key", key]);
        }
        let ended = self.program(step, &load, &arguments)?;
        check_answer(&ended, expect)
    }

    fn result(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let cargo = self.id_of(step, "cargo")?;
        let ended = self.program(step, "", &["track", &cargo, "--wait"])?;
        check_answer(&ended, expect)
    }

    async fn track(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let cargo = self.id_of(step, "cargo")?;
        let awaited = step["status"].as_array();
        let allowed = expect["status"].as_array().or(awaited);
        for _ in 0..MAX_POLLS {
            let ended = self.program(step, "", &["track", &cargo])?;
            let record = parse(&ended.stdout, &ended)?;
            let is_allowed = allowed.is_none_or(|allowed| allowed.contains(&record["status"]));
            if is_allowed {
                let success = expect.get("success");
                equal(
                    "success",
                    success.or(record.get("success")),
                    record.get("success"),
                )?;
                return Ok(cargo);
            }
            if awaited.is_none() {
                return Err(format!("the status is {}", record["status"]));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Err("the status never came".to_owned())
    }

    fn cancel(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let cargo = self.id_of(step, "cargo")?;
        let ended = self.program(step, "", &["cancel", &cargo])?;
        let answer = parse(&ended.stdout, &ended)?;
        let allowed = expect["cancel"].as_array();
        if allowed.is_none_or(|allowed| allowed.contains(&answer["cancel"])) {
            return Ok(cargo);
        }
        Err(format!("the result is {}", answer["cancel"]))
    }

    fn upload(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let name = step["filename"].as_str().unwrap_or("file.txt");
        let mut content = step["text"]
            .as_str()
            .unwrap_or_default()
            .as_bytes()
            .to_vec();
        if let Some(encoded) = step["base64"].as_str() {
            content = decode_base64(encoded);
        }
        let random = step["random_bytes"].as_u64().unwrap_or_default();
        let seed: Vec<u8> = random_key().into_bytes();
        let random = usize::try_from(random).unwrap_or_default();
        content.extend(seed.iter().copied().cycle().take(random));
        let path = self.folder.write(name, content).display().to_string();
        let mut arguments = vec!["upload", &path];
        if let Some(media_type) = step["media_type"].as_str() {
            arguments.extend(["--media-type", media_type]);
        }
        let ended = self.program(step, "", &arguments)?;
        let record = parse(&ended.stdout, &ended)?;
        let status = expect.get("file_status");
        equal(
            "status",
            status.or(record.get("status")),
            record.get("status"),
        )?;
        let id = record["id"].as_str().unwrap_or_default().to_owned();
        if let Some(other) = expect["same_as"].as_str() {
            equal("file", Some(&id), self.named.get(other))?;
        }
        Ok(id)
    }

    async fn create_group(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let name = step["name"].as_str().unwrap_or_default();
        let group = Self::client(step)?.create_group(name).await;
        let group = group.map_err(|error| error.to_string())?;
        contains(&json!({"existing": group.existing}), expect)?;
        Ok(group.group_id)
    }

    async fn seal_group(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let group = self.id_of(step, "group")?;
        let total = step["total"].as_u64();
        let sealed = Self::client(step)?.seal_group(&group, total).await;
        check_error(sealed, expect)?;
        Ok(group)
    }

    fn await_group(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let group = self.id_of(step, "group")?;
        let arguments = ["track", &group, "--wait", "--timeout", "120"];
        let ended = self.program(step, "", &arguments)?;
        let record = parse(&ended.stdout, &ended)?;
        contains(&record, expect)?;
        Ok(group)
    }

    async fn count_cargo(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let group = self.id_of(step, "group")?;
        let filter = CargoListFilter {
            group_id: Some(group.clone()),
            ..CargoListFilter::default()
        };
        let client = Self::client(step)?;
        let (mut ids, mut cursor) = (std::collections::BTreeSet::new(), None::<String>);
        loop {
            let page = client.list_cargo(&filter, 200, cursor.as_deref()).await;
            let page = page.map_err(|error| error.to_string())?;
            let cargo = page["cargo"].as_array().into_iter().flatten();
            ids.extend(cargo.map(|it| it["cargo_id"].to_string()));
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        contains(&json!({"cargo": ids.len()}), expect)?;
        Ok(group)
    }

    fn map(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let rows = step["rows"].as_u64().unwrap_or_default();
        let mut lines = String::new();
        for row in 0..rows {
            let text = step.to_string().replace("{row}", &row.to_string());
            let step: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            lines.push_str(&Value::Object(self.build_load(&step)?).to_string());
            lines.push('\n');
        }
        let name = step["name"].as_str().unwrap_or_default();
        let input = self.folder.write("rows.jsonl", lines).display().to_string();
        let output = self.folder.path().join(format!("{name}.answers"));
        let output_text = output.display().to_string();
        let arguments = [
            "run",
            &input,
            "-o",
            &output_text,
            "--name",
            name,
            "--yes",
            "--force",
        ];
        let ended = self.program(step, "", &arguments)?;
        let report = parse(&ended.stdout, &ended)?;
        let answers = std::fs::read_to_string(&output).map_err(|error| error.to_string())?;
        for (row, line) in answers.lines().enumerate() {
            let answer: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            if let Some(text) = expect["texts"].as_str() {
                let expected = text.replace("{row}", &row.to_string());
                equal("text", Some(&expected), Some(&text_of(&answer)))?;
            }
        }
        equal(
            "answers",
            Some(&rows),
            u64::try_from(answers.lines().count()).ok().as_ref(),
        )?;
        Ok(report["group_id"].as_str().unwrap_or_default().to_owned())
    }

    async fn await_callback(&self, step: &Value, expect: &Value) -> Result<String, String> {
        let cargo = self.id_of(step, "cargo")?;
        for _ in 0..MAX_POLLS {
            let Some(callback) = self.receiver.find(&cargo).await else {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            };
            let secret = scenario_variable("SIGNING_SECRET")?;
            let secret = WebhookSecret::parse(&secret).ok_or("the secret cannot be read")?;
            let header = |name: &str| callback.headers.get(name).cloned().unwrap_or_default();
            let timestamp = header("webhook-timestamp").parse().unwrap_or_default();
            let token = secret.sign(&header("webhook-id"), timestamp, &callback.body);
            if !header("webhook-signature").split(' ').any(|it| it == token) {
                return Err("the signature is wrong".to_owned());
            }
            let body: Value = serde_json::from_slice(&callback.body).unwrap_or_default();
            contains(&body, expect)?;
            return Ok(cargo);
        }
        Err("the callback never came".to_owned())
    }
}
