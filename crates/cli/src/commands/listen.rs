//! `longshore listen`: callbacks of `listen://NAME` reach a receiver on this machine.

use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use client::sse::{EventParser, ServerEvent};
use client::{ClientError, ListenerAnswer, LongshoreClient};
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, LOCATION};
use http::{Method, Request, Response, Uri};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::json_fields::text_at;
use crate::printer::OutputPrinter;
use crate::run::loader::is_temporary;
use crate::session::Session;

/// The service ends the attempt after 30 s.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(29);
/// The waits before each new connection in a row; the last is repeated.
static RECONNECT_DELAYS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(5),
];
const MAX_ANSWER_CHARACTERS: usize = 1024;

#[derive(Debug, Clone, Args)]
pub struct ListenOptions {
    /// Your receiver, such as <http://localhost:8000/hook>.
    #[arg(long, value_name = "URL")]
    pub forward_to: Uri,
    /// Lowercase letters, digits and hyphens. Of two terminals with one name the newer gets all.
    #[arg(long = "as", value_name = "NAME", default_value = "dev")]
    pub name: String,
    /// Print the secret that signs the callbacks, if the project does not sign them.
    #[arg(long)]
    pub print_secret: bool,
}

/// The first event of a stream.
#[derive(Debug, Deserialize)]
struct ReadyEvent {
    listener_id: String,
    secret: String,
}

/// A callback that the receiver is to get.
#[derive(Debug, Deserialize)]
struct CallbackEvent {
    delivery_id: String,
    number: u32,
    #[serde(default)]
    headers: Map<String, Value>,
    body: String,
}

/// Why a stream ended.
enum StreamEnd {
    /// Connect again.
    Closed,
    /// Another stream has the name.
    Replaced,
}

pub async fn run(session: &Session, options: &ListenOptions) -> CliResult<ExitStatus> {
    let client = session.client()?;
    let listen = listen(session.printer, &client, options);
    tokio::select! {
        ended = listen => ended.map(|()| ExitStatus::Done),
        _ = tokio::signal::ctrl_c() => Ok(ExitStatus::Done),
    }
}

async fn listen(
    printer: OutputPrinter,
    client: &LongshoreClient,
    options: &ListenOptions,
) -> CliResult<()> {
    let (mut failures, mut is_first) = (0, true);
    loop {
        let delay = RECONNECT_DELAYS.get(failures).or(RECONNECT_DELAYS.last());
        tokio::time::sleep(delay.copied().unwrap_or_default()).await;
        let once = client.retrying_for(Some(Duration::ZERO));
        let ended = follow(printer, &once, options, &mut is_first, &mut failures).await;
        match ended {
            Ok(StreamEnd::Replaced) => {
                let message = format!("Another terminal listens as {}.", options.name);
                return Err(CliError::new(ExitStatus::Failed, "replaced", message)
                    .with_next("Choose another name with --as."));
            }
            Ok(StreamEnd::Closed) => {}
            Err(ClientError::Refused(refusal)) if refusal.status < 500 && refusal.status != 429 => {
                return Err(ClientError::Refused(refusal).into());
            }
            Err(error) if is_temporary(&error) => {
                printer.note(&format!("{error}: connecting again"));
            }
            Err(error) => return Err(error.into()),
        }
        failures += 1;
    }
}

/// Forwards the callbacks of one stream until it ends.
async fn follow(
    printer: OutputPrinter,
    client: &LongshoreClient,
    options: &ListenOptions,
    is_first: &mut bool,
    failures: &mut usize,
) -> Result<StreamEnd, ClientError> {
    let mut lines = client.listen(&options.name).await?;
    let mut parser = EventParser::default();
    let mut listener = String::new();
    while let Some(line) = lines.next_line().await? {
        let Some(event) = parser.push_line(&String::from_utf8_lossy(&line)) else {
            continue;
        };
        match event.name.as_str() {
            "ready" => {
                let ready: ReadyEvent = parse(&event)?;
                if std::mem::take(is_first) {
                    announce(printer, options, &ready.secret);
                }
                listener = ready.listener_id;
                *failures = 0;
            }
            "callback" => {
                let callback: CallbackEvent = parse(&event)?;
                // A slow receiver does not delay the callbacks of others.
                tokio::spawn(forward(
                    printer,
                    client.clone(),
                    listener.clone(),
                    options.forward_to.clone(),
                    callback,
                ));
            }
            "replaced" => return Ok(StreamEnd::Replaced),
            _ => {}
        }
    }
    Ok(StreamEnd::Closed)
}

fn parse<'a, T: Deserialize<'a>>(event: &'a ServerEvent) -> Result<T, ClientError> {
    serde_json::from_str(&event.data)
        .map_err(|error| ClientError::UnreadableAnswer(format!("an event {}: {error}", event.name)))
}

fn announce(printer: OutputPrinter, options: &ListenOptions, secret: &str) {
    let name = &options.name;
    printer.note(&format!(
        "Ready. Load with \"callback_url\": \"listen://{name}\". Callbacks go to {}.",
        options.forward_to
    ));
    if options.print_secret {
        printer.note(&format!("Secret, if the project does not sign: {secret}"));
    }
}

async fn forward(
    printer: OutputPrinter,
    client: LongshoreClient,
    listener: String,
    to: Uri,
    callback: CallbackEvent,
) {
    let started = Instant::now();
    let sent = match build_request(&to, &callback) {
        Ok(request) => {
            let sent = client.transport().exchange(request, RECEIVER_TIMEOUT).await;
            sent.map_err(|failure| failure.to_string())
        }
        Err(reason) => Err(reason),
    };
    let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = to_answer(&callback.delivery_id, sent, latency_ms);
    show(printer, &to, &callback, &answer);
    let client = client.retrying_for(Some(Duration::from_secs(20)));
    if let Err(error) = client.answer_callback(&listener, &answer).await {
        printer.note(&format!("the answer did not reach the service: {error}"));
    }
}

fn build_request(to: &Uri, callback: &CallbackEvent) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::builder().method(Method::POST).uri(to);
    for (name, value) in &callback.headers {
        let is_of_connection = [HOST, CONTENT_LENGTH, CONNECTION]
            .iter()
            .any(|own: &HeaderName| own.as_str().eq_ignore_ascii_case(name));
        if let Some(value) = value.as_str().filter(|_| !is_of_connection) {
            request = request.header(name, value);
        }
    }
    request
        .body(Full::new(Bytes::from(callback.body.clone())))
        .map_err(|error| error.to_string())
}

fn to_answer(
    delivery_id: &str,
    sent: Result<Response<Bytes>, String>,
    latency_ms: u64,
) -> ListenerAnswer {
    let nothing = ListenerAnswer {
        delivery_id: delivery_id.to_owned(),
        status: None,
        location: None,
        body: String::new(),
        latency_ms,
        error: None,
    };
    match sent {
        Ok(answer) => {
            let location = answer.headers().get(LOCATION);
            let location = location.and_then(|it| it.to_str().ok()).map(str::to_owned);
            let text = String::from_utf8_lossy(answer.body());
            ListenerAnswer {
                status: Some(answer.status().as_u16()),
                location,
                body: text.chars().take(MAX_ANSWER_CHARACTERS).collect(),
                ..nothing
            }
        }
        Err(reason) => ListenerAnswer {
            error: Some(reason),
            ..nothing
        },
    }
}

fn show(printer: OutputPrinter, to: &Uri, callback: &CallbackEvent, answer: &ListenerAnswer) {
    let body: Value = serde_json::from_str(&callback.body).unwrap_or_default();
    let cargo = text_at(&body, "/cargo_id");
    let value = json!({
        "cargo_id": cargo,
        "delivery_id": callback.delivery_id,
        "attempt": callback.number,
        "status": answer.status,
        "error": answer.error,
        "latency_ms": answer.latency_ms,
    });
    // A closed output does not stop the callbacks.
    let _printed = printer.result(&value, |_| {
        let result = match (answer.status, &answer.error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => "no answer".to_owned(),
        };
        format!(
            "→ POST {} {result} {} ms {cargo} (attempt {})",
            to.path(),
            answer.latency_ms,
            callback.number
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callback() -> CallbackEvent {
        let event = ServerEvent {
            name: "callback".to_owned(),
            data: json!({
                "delivery_id": "dlv_1",
                "number": 2,
                "headers": {"content-type": "application/json", "Host": "x", "webhook-id": "crg_1"},
                "body": "{\"cargo_id\": \"crg_1\"}",
            })
            .to_string(),
        };
        parse(&event).unwrap()
    }

    #[test]
    fn the_receiver_gets_the_headers_of_the_callback() {
        let to: Uri = "http://localhost:1/hook".parse().unwrap();
        let request = build_request(&to, &callback()).unwrap();
        assert_eq!(request.headers()["webhook-id"], "crg_1");
        assert_eq!(request.headers().get(HOST), None);
    }

    #[test]
    fn an_answer_has_a_status_or_an_error() {
        let answered = Response::builder()
            .status(500)
            .body(Bytes::from("é"))
            .unwrap();
        let answer = to_answer("dlv_1", Ok(answered), 7);
        assert_eq!((answer.status, answer.body.as_str()), (Some(500), "é"));
        let answer = to_answer("dlv_1", Err("connection refused".to_owned()), 7);
        assert_eq!(answer.error.as_deref(), Some("connection refused"));
        assert_eq!(answer.status, None);
    }
}
