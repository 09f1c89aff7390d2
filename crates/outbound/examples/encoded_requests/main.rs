//! Prints the requests that the encoders write, for the tests in `crates/outbound/sdk`.
//!
//! Reads a JSON list of `{"name": …, "params": {…}}` from stdin. Prints one line of JSON for each
//! request and route. A request of a realtime route is what a server received: fields such as the
//! tier are added when it is sent.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "it prints, and has nothing to recover from"
)]

mod routes;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use domain::file::MediaType;
use domain::params::Params;
use domain::time::Timestamp;
use outbound::provider::BatchItem;
use outbound::provider::item_result::ItemResult;
use outbound::provider::media::MediaSource;
use serde::Deserialize;
use serde_json::{Value, json};

use routes::{EncodedRoute, EncodedWay};

const CARGO: &str = "crg_019b76da807b774b805000000000002a";
const ORGANIZATION: &str = "org_019b76da807b774b805000000000002a";
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, Deserialize)]
struct NamedRequest {
    name: String,
    params: Params,
}

/// The body of a request, or why the encoder refuses it.
type Encoded = Result<Value, String>;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let requests: Vec<NamedRequest> =
        serde_json::from_reader(io::stdin()).expect("a list of requests");
    let routes = routes::all().await;
    for request in &requests {
        for route in &routes {
            println!("{}", describe(request, route).await);
        }
    }
}

async fn describe(request: &NamedRequest, route: &EncodedRoute) -> Value {
    let item = BatchItem {
        cargo: CARGO.parse().expect("an id"),
        attempt: 1,
        loaded_at: Timestamp::default(),
        organization: ORGANIZATION.parse().expect("an id"),
        params: request.params.clone(),
    };
    let encoded = encode(&item, route).await;
    let (body, refusal) = (encoded.as_ref().ok(), encoded.as_ref().err());
    json!({
        "name": request.name, "kind": request.params.kind().as_str(),
        "route": route.name, "api": route.api, "body": body, "refusal": refusal,
    })
}

async fn encode(item: &BatchItem, route: &EncodedRoute) -> Encoded {
    match &route.way {
        EncodedWay::Batch {
            body_field,
            provider,
        } => {
            let line = provider.encode(item, &route.route, &SampleFiles);
            let line = line.map_err(|unsupported| unsupported.to_string())?;
            let mut line: Value = serde_json::from_slice(&line).expect("a line of JSON");
            Ok(line.get_mut(*body_field).map(Value::take).expect("a body"))
        }
        EncodedWay::Realtime { provider, server } => {
            let before = server.received().len();
            let sent = provider.complete_item(item, &route.route, &SampleFiles, CALL_TIMEOUT);
            if let ItemResult::Failure { failure, .. } = sent.await.expect("a response") {
                return Err(failure.message);
            }
            let received = server.received();
            assert_eq!(received.len(), before + 1, "each request is sent once");
            let request = received.last().expect("a request");
            Ok(serde_json::from_slice(&request.body).expect("a body of JSON"))
        }
    }
}

/// Files whose id is their type.
#[derive(Debug)]
struct SampleFiles;

impl MediaSource for SampleFiles {
    fn media_type(&self, file: &str) -> Option<MediaType> {
        match file {
            "png" => Some(MediaType::Png),
            "pdf" => Some(MediaType::Pdf),
            "csv" => Some(MediaType::Csv),
            "mp4" => Some(MediaType::Mp4),
            _ => None,
        }
    }

    fn url(&self, file: &str) -> Option<String> {
        Some(format!("https://files.example/{file}"))
    }

    fn text(&self, _: &str) -> Option<String> {
        Some("a,b\n1,2".to_owned())
    }

    fn bytes(&self, file: &str) -> Option<Bytes> {
        Some(file.to_owned().into())
    }
}
