//! Providers, as they answer when all is well and when it is not.

use std::time::Duration;

use bytes::Bytes;
use domain::id::{Berth, CargoId};
use domain::model::Kind;
use domain::time::Timestamp;
use outbound::provider::Item;
use outbound::provider::anthropic::Anthropic;
use outbound::provider::call::{Options, Patience};
use outbound::provider::credential::Credential;
use outbound::provider::gemini::Gemini;
use outbound::provider::jobs::{Jobs, Label, Order, Sought, Upload};
use outbound::provider::media::NoMedia;
use outbound::provider::openai::OpenAi;
use outbound::provider::server::Server;
use outbound::provider::spool::Spool;
use serde_json::json;
use tokio_rustls::rustls::RootCertStore;
use url::Url;

use crate::support::{AMPLE, Receiver, Reply};

mod calls;
mod downloads;
mod journeys;
mod lines;
mod lists;
mod servers;
mod simulated;
mod troubles;
mod uploads;

const SECRET: &str = "sk-secret";

const PATIENCE: Patience = Patience {
    connect: Duration::from_secs(5),
    call: AMPLE,
    transfer: AMPLE,
    chunk: AMPLE,
    moment: Duration::from_millis(1),
};

fn options(base: &str, patience: Patience) -> Options {
    Options {
        base: Url::parse(base).unwrap(),
        credential: Some(Credential::new(SECRET)),
        patience,
    }
}

fn base(receiver: &Receiver) -> String {
    format!("http://127.0.0.1:{}", receiver.port())
}

fn openai(base: &str, patience: Patience) -> OpenAi {
    OpenAi::new(options(base, patience), RootCertStore::empty()).unwrap()
}

fn anthropic(base: &str, patience: Patience) -> Anthropic {
    Anthropic::new(options(base, patience), RootCertStore::empty()).unwrap()
}

fn gemini(base: &str, patience: Patience) -> Gemini {
    Gemini::new(options(base, patience), RootCertStore::empty()).unwrap()
}

fn server(base: &str, patience: Patience) -> Server {
    Server::new(options(base, patience), RootCertStore::empty()).unwrap()
}

/// All three, spoken to in the same way.
fn every(base: &str, patience: Patience) -> [Box<dyn Jobs>; 3] {
    [
        Box::new(openai(base, patience)),
        Box::new(anthropic(base, patience)),
        Box::new(gemini(base, patience)),
    ]
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_794_744_000 + seconds, 0).unwrap()
}

fn item(number: u64, text: &str) -> Item {
    let params = json!({
        "model": "ours", "max_tokens": 50, "messages": [{"role": "user", "content": text}],
    });
    Item {
        cargo: CargoId::new(at(0), Berth::new(7).unwrap(), number),
        attempt: 1,
        loaded_at: at(0),
        params: serde_json::from_value(params).unwrap(),
    }
}

fn label() -> Label {
    Label("sub_1".to_owned())
}

fn order(items: u64) -> Order {
    Order {
        label: label(),
        upstream: "theirs".to_owned(),
        kind: Kind::Chat,
        items,
        upload: Some(Upload("file-1".to_owned())),
    }
}

fn sought(items: u64, since: Timestamp) -> Sought {
    Sought {
        label: label(),
        upload: Some(Upload("file-1".to_owned())),
        items,
        since,
    }
}

async fn spool() -> Spool {
    Spool::new(&std::env::temp_dir()).await.unwrap()
}

async fn spooled(jobs: &dyn Jobs, texts: &[&str]) -> Spool {
    let mut spool = spool().await;
    for (number, text) in (0..).zip(texts) {
        let line = jobs.encode(&item(number, text), "theirs", &NoMedia);
        spool.write(&line.unwrap()).await.unwrap();
    }
    spool
}

async fn content(spool: &Spool) -> Vec<u8> {
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

/// A whole answer with headers.
fn said(status: u16, headers: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n{headers}\r\n");
    Reply::Send([head.as_bytes(), body.as_bytes()].concat())
}
