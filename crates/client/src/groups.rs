//! Calls about groups and their results.

use std::time::Duration;

use serde_json::{Value, json};

use crate::call::{ApiCall, encode, query};
use crate::client_error::ClientError;
use crate::line_reader::LineReader;
use crate::longshore_client::LongshoreClient;
use crate::records::GroupRecord;

/// How much longer than the wait a stream of results may be silent.
const STREAM_IDLE_MARGIN: Duration = Duration::from_secs(40);

impl LongshoreClient {
    /// The group of this name. It is created if there is none.
    pub async fn create_group(&self, name: &str) -> Result<GroupRecord, ClientError> {
        let call = ApiCall::post("/groups", &json!({"name": name}));
        self.json(&call.idempotent()).await
    }

    pub async fn group(&self, id: &str) -> Result<Value, ClientError> {
        let path = format!("/groups/{}", encode(id));
        self.json(&ApiCall::get(path)).await
    }

    /// No new cargo is added from now on.
    pub async fn seal_group(
        &self,
        id: &str,
        total: Option<u64>,
    ) -> Result<GroupRecord, ClientError> {
        let path = format!("/groups/{}/seal", encode(id));
        let body = total.map_or_else(|| json!({}), |total| json!({"total": total}));
        self.json(&ApiCall::post(path, &body).idempotent()).await
    }

    pub async fn cancel_group(&self, id: &str) -> Result<Value, ClientError> {
        let path = format!("/groups/{}/cancel", encode(id));
        self.json(&ApiCall::post(path, &json!({})).idempotent())
            .await
    }

    /// The results after a number, in the order of completion. The stream goes on for `wait`
    /// seconds with the results that are added meanwhile.
    pub async fn open_results(
        &self,
        id: &str,
        after: u64,
        wait: u32,
    ) -> Result<LineReader, ClientError> {
        let pairs = [
            ("order", Some("completion".to_owned())),
            ("after", (after > 0).then(|| after.to_string())),
            ("wait", (wait > 0).then(|| wait.to_string())),
        ];
        let path = format!("/groups/{}/results{}", encode(id), query(&pairs));
        let answer = self.open(&ApiCall::get(path).waiting(wait)).await?;
        let idle = Duration::from_secs(u64::from(wait)).saturating_add(STREAM_IDLE_MARGIN);
        Ok(LineReader::new(answer.into_body(), idle))
    }
}
