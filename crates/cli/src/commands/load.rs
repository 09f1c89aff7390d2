//! `longshore load`: one request, from a file or from options.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use client::call::random_key;
use client::files::guess_media_type;
use client::{LongshoreClient, load_check};
use serde_json::{Map, Value, json};

use crate::cli_error::{CliError, CliResult};
use crate::commands::track::{self, TrackWaitOptions};
use crate::exit_status::ExitStatus;
use crate::json_fields::{answer_text, text_at};
use crate::session::Session;

const DEFAULT_MAX_TOKENS: u32 = 1024;

#[derive(Debug, Clone, Args)]
pub struct LoadOptions {
    /// The body of a load as JSON; `-` reads it from standard input.
    #[arg(conflicts_with_all = ["message", "system", "attach"])]
    pub file: Option<PathBuf>,
    /// The text of the user's message.
    #[arg(long, short = 't', required_unless_present = "file")]
    pub message: Option<String>,
    #[arg(long, short)]
    pub model: Option<String>,
    /// The most tokens the answer may have.
    #[arg(long)]
    pub max_tokens: Option<u32>,
    /// The system prompt.
    #[arg(long)]
    pub system: Option<String>,
    /// A file that is uploaded and added to the message. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub attach: Vec<PathBuf>,
    /// Where the answer is sent: an https URL, or `listen://NAME`.
    #[arg(long, value_name = "URL")]
    pub callback: Option<String>,
    /// The idempotency key. The same key and body again are the same cargo.
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    #[command(flatten)]
    pub waiting: TrackWaitOptions,
}

pub async fn run(session: &Session, options: &LoadOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let mut load = if let Some(path) = &options.file {
        read_load(path)?
    } else {
        let state_folder = session.environment.upload_folder.as_deref();
        build_load(&client, options, state_folder).await?
    };
    override_fields(&mut load, options);
    let faults = load_check::find_faults(&load);
    if !faults.is_empty() {
        let message = format!(
            "The load has faults: {}. Nothing was loaded.",
            faults.join("; ")
        );
        return Err(CliError::new(ExitStatus::Failed, "invalid_load", message));
    }
    let key = options.key.clone().unwrap_or_else(random_key);
    let loaded = client.load(&Value::Object(load), key).await?;
    for warning in &loaded.warnings {
        let (field, text) = (text_at(warning, "/field"), text_at(warning, "/message"));
        session.printer.note(&format!("warning: {field}: {text}"));
    }
    if !options.waiting.wait {
        let value = json!({"cargo_id": loaded.cargo_id});
        session
            .printer
            .result(&value, |_| loaded.cargo_id.clone())?;
        return Ok(ExitStatus::Done);
    }
    session.printer.note(&loaded.cargo_id);
    let record = track::track(&client, &loaded.cargo_id, options.waiting).await?;
    report(session, &record)
}

fn report(session: &Session, record: &Value) -> CliResult<ExitStatus> {
    let is_success = record.get("success") == Some(&Value::Bool(true));
    session.printer.result(record, |record| {
        if is_success {
            answer_text(record.get("response").unwrap_or(&Value::Null))
        } else {
            track::render_cargo(record)
        }
    })?;
    Ok(if is_success {
        ExitStatus::Done
    } else {
        ExitStatus::SomeItemsFailed
    })
}

fn read_load(path: &Path) -> CliResult<Map<String, Value>> {
    let text = if path == Path::new("-") {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        fs::read(path)
    };
    let text = text.map_err(|error| CliError::file(path, &error))?;
    serde_json::from_slice(&text).map_err(|error| {
        let message = format!("{} is not a JSON object: {error}", path.display());
        CliError::new(ExitStatus::Failed, "invalid_load", message)
    })
}

async fn build_load(
    client: &LongshoreClient,
    options: &LoadOptions,
    state_folder: Option<&Path>,
) -> CliResult<Map<String, Value>> {
    let text = options.message.clone().unwrap_or_default();
    let mut blocks = Vec::new();
    for path in &options.attach {
        blocks.push(upload_block(client, path, state_folder).await?);
    }
    let content = if blocks.is_empty() {
        Value::String(text)
    } else {
        blocks.push(json!({"type": "text", "text": text}));
        Value::Array(blocks)
    };
    let mut params = Map::new();
    params.insert(
        "messages".to_owned(),
        json!([{"role": "user", "content": content}]),
    );
    params.insert("max_tokens".to_owned(), json!(DEFAULT_MAX_TOKENS));
    if let Some(system) = &options.system {
        params.insert("system".to_owned(), json!(system));
    }
    let mut load = Map::new();
    load.insert("params".to_owned(), Value::Object(params));
    Ok(load)
}

async fn upload_block(
    client: &LongshoreClient,
    path: &Path,
    state_folder: Option<&Path>,
) -> CliResult<Value> {
    let media_type = guess_media_type(path).ok_or_else(|| unknown_media_type(path))?;
    let record = client.upload(path, media_type, state_folder).await?;
    Ok(json!({"type": record.get("kind"), "source": {"file_id": record.get("id")}}))
}

pub fn unknown_media_type(path: &Path) -> CliError {
    let message = format!("The media type of {} is not known.", path.display());
    CliError::new(ExitStatus::Failed, "unsupported_media_type", message)
        .with_next("`longshore upload --media-type TYPE` names it.")
}

/// Options replace what the file says.
fn override_fields(load: &mut Map<String, Value>, options: &LoadOptions) {
    if let Some(url) = &options.callback {
        load.insert("callback_url".to_owned(), json!(url));
    }
    let Some(Value::Object(params)) = load.get_mut("params") else {
        return;
    };
    if let Some(model) = &options.model {
        params.insert("model".to_owned(), json!(model));
    }
    if let Some(max_tokens) = options.max_tokens {
        params.insert("max_tokens".to_owned(), json!(max_tokens));
    }
}
