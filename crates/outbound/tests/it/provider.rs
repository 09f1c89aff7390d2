//! Provider clients, against responses that succeed and responses that fail.

use std::time::Duration;

use bytes::Bytes;
use domain::id::{Berth, CargoId, OrganizationId};
use domain::model::ModelKind;
use domain::route::{ChatApi, InferenceMode, Route};
use domain::time::Timestamp;
use outbound::provider::BatchItem;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::batch_provider::{
    BatchProvider, JobOwner, JobSearch, ProviderFileId, ProviderJobRequest, SubmissionLabel,
};
use outbound::provider::client::{ProviderOptions, ProviderTimeouts};
use outbound::provider::credential::ProviderCredential;
use outbound::provider::gemini::Gemini;
use outbound::provider::media::NoMedia;
use outbound::provider::openai::OpenAi;
use outbound::provider::realtime::{OpenAiRealtime, ServerDialect};
use outbound::provider::spool::Spool;
use serde_json::json;
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply};
use tokio_rustls::rustls::RootCertStore;
use url::Url;
use uuid::Uuid;

use crate::support::LONG_TIMEOUT;

mod calls;
mod deletions;
mod downloads;
mod encoder_version;
mod gemini_realtime;
mod lines;
mod lists;
mod model_info;
mod openai_services;
mod provider_faults;
mod realtime_provider;
mod simulated;
mod uploads;
mod whole_jobs;

const SECRET: &str = "sk-secret";

const TIMEOUTS: ProviderTimeouts = ProviderTimeouts {
    connect: Duration::from_secs(5),
    call: LONG_TIMEOUT,
    transfer: LONG_TIMEOUT,
    chunk: LONG_TIMEOUT,
    file_poll_interval: Duration::from_millis(1),
};

fn options(base: &str, timeouts: ProviderTimeouts) -> ProviderOptions {
    ProviderOptions {
        base_url: Url::parse(base).unwrap(),
        credential: Some(ProviderCredential::new(SECRET)),
        timeouts,
    }
}

fn base(receiver: &ScriptedReceiver) -> String {
    format!("http://127.0.0.1:{}", receiver.port())
}

fn openai(base: &str, timeouts: ProviderTimeouts) -> OpenAi {
    OpenAi::new(options(base, timeouts), RootCertStore::empty()).unwrap()
}

fn anthropic(base: &str, timeouts: ProviderTimeouts) -> Anthropic {
    Anthropic::new(options(base, timeouts), RootCertStore::empty()).unwrap()
}

fn gemini(base: &str, timeouts: ProviderTimeouts) -> Gemini {
    Gemini::new(options(base, timeouts), RootCertStore::empty()).unwrap()
}

fn realtime(base: &str, timeouts: ProviderTimeouts) -> OpenAiRealtime {
    let options = options(base, timeouts);
    OpenAiRealtime::new(options, RootCertStore::empty(), ServerDialect::SelfHosted).unwrap()
}

/// A route for plain requests to the model that the provider calls `theirs`.
fn plain_route(via: InferenceMode) -> Route {
    Route::plain("account", "theirs", via)
}

/// All three batch providers.
fn batch_providers(base: &str, timeouts: ProviderTimeouts) -> [Box<dyn BatchProvider>; 3] {
    [
        Box::new(openai(base, timeouts)),
        Box::new(anthropic(base, timeouts)),
        Box::new(gemini(base, timeouts)),
    ]
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_794_744_000 + seconds, 0).unwrap()
}

fn item(number: u64, text: &str) -> BatchItem {
    let params = json!({
        "model": "ours", "max_tokens": 50, "messages": [{"role": "user", "content": text}],
    });
    BatchItem {
        cargo: CargoId::new(at(0), Berth::new(7).unwrap(), number),
        attempt: 1,
        loaded_at: at(0),
        organization: OrganizationId::new(at(0), Berth::new(7).unwrap(), 1),
        params: serde_json::from_value(params).unwrap(),
    }
}

fn label() -> SubmissionLabel {
    SubmissionLabel("sub_1".to_owned())
}

fn job_request(items: u64) -> ProviderJobRequest {
    ProviderJobRequest {
        label: label(),
        owner: JobOwner(Uuid::from_u128(5)),
        upstream: "theirs".to_owned(),
        kind: ModelKind::Chat,
        api: ChatApi::Completions,
        items,
        upload: Some(ProviderFileId("file-1".to_owned())),
    }
}

fn job_search(items: u64, since: Timestamp) -> JobSearch {
    JobSearch {
        label: label(),
        upload: Some(ProviderFileId("file-1".to_owned())),
        items,
        since,
    }
}

async fn spool() -> Spool {
    Spool::new(&std::env::temp_dir()).await.unwrap()
}

async fn spool_items(jobs: &dyn BatchProvider, texts: &[&str]) -> Spool {
    let (mut spool, route) = (spool().await, plain_route(InferenceMode::Batch));
    for (number, text) in (0..).zip(texts) {
        let line = jobs.encode(&item(number, text), &route, &NoMedia);
        spool.write(&line.unwrap()).await.unwrap();
    }
    spool
}

async fn read_all(spool: &Spool) -> Vec<u8> {
    let mut chunks = spool.chunks();
    let mut read = Vec::new();
    while let Some(chunk) = chunks.next().await.unwrap() {
        read.extend_from_slice(&chunk);
    }
    read
}

async fn read_lines(spool: &Spool) -> Vec<Bytes> {
    let mut lines = spool.lines();
    let mut read = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        read.push(line);
    }
    read
}

/// A complete HTTP response with headers.
fn plain_reply_with_headers(status: u16, headers: &str, body: &str) -> ScriptedReply {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n{headers}\r\n");
    ScriptedReply::Send([head.as_bytes(), body.as_bytes()].concat())
}
