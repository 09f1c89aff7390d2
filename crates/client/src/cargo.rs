//! Calls about single cargo, and bulk loads.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::call::{ApiCall, encode, query};
use crate::client_error::ClientError;
use crate::longshore_client::LongshoreClient;
use crate::records::{BulkAnswer, LoadReceipt};

/// A filter of the list of cargo. None: any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CargoListFilter {
    pub status: Vec<String>,
    pub success: Option<bool>,
    pub model: Option<String>,
    pub group_id: Option<String>,
    pub callback_host: Option<String>,
    pub created_after: Option<String>,
    pub created_before: Option<String>,
}

impl CargoListFilter {
    fn path(&self, limit: u32, cursor: Option<&str>) -> String {
        let mut pairs: Vec<(&str, Option<String>)> = self
            .status
            .iter()
            .map(|status| ("status", Some(status.clone())))
            .collect();
        pairs.extend([
            ("success", self.success.map(|it| it.to_string())),
            ("model", self.model.clone()),
            ("group_id", self.group_id.clone()),
            ("callback_host", self.callback_host.clone()),
            ("created_after", self.created_after.clone()),
            ("created_before", self.created_before.clone()),
            ("limit", Some(limit.to_string())),
            ("cursor", cursor.map(str::to_owned)),
        ]);
        format!("/cargo{}", query(&pairs))
    }
}

impl LongshoreClient {
    /// Loads one cargo. The same key and body again are the same cargo.
    pub async fn load(&self, body: &Value, key: String) -> Result<LoadReceipt, ClientError> {
        self.json(&ApiCall::post("/cargo/load", body).with_key(key))
            .await
    }

    /// Loads up to 1,000 items, one per line. Each has an idempotency key, or a `custom_id` in a
    /// group, so a repeat is the same cargo.
    pub async fn load_bulk(&self, lines: Bytes) -> Result<BulkAnswer, ClientError> {
        let call = ApiCall::post_lines("/cargo/bulk", lines).idempotent();
        self.json(&call).await
    }

    /// Checks up to 1,000 items and estimates what they cost. Stores nothing.
    pub async fn estimate(&self, lines: Bytes) -> Result<Value, ClientError> {
        let call = ApiCall::post_lines("/cargo/estimate", lines).idempotent();
        self.json(&call).await
    }

    /// The tracking record, after up to `wait` seconds if the cargo is not completed.
    pub async fn track(&self, cargo: &str, wait: u32) -> Result<Value, ClientError> {
        let wait_pair = (wait > 0).then(|| wait.to_string());
        let path = format!(
            "/cargo/{}/tracking{}",
            encode(cargo),
            query(&[("wait", wait_pair)])
        );
        self.json(&ApiCall::get(path).waiting(wait)).await
    }

    pub async fn list_cargo(
        &self,
        filter: &CargoListFilter,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Value, ClientError> {
        self.json(&ApiCall::get(filter.path(limit, cursor))).await
    }

    pub async fn cancel_cargo(&self, cargo: &str) -> Result<Value, ClientError> {
        let path = format!("/cargo/{}/cancel", encode(cargo));
        self.json(&ApiCall::post(path, &json!({})).idempotent())
            .await
    }

    /// The key, its project, limits and balance.
    pub async fn whoami(&self) -> Result<Value, ClientError> {
        self.json(&ApiCall::get("/whoami")).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_its_filters() {
        let filter = CargoListFilter {
            status: vec!["PENDING".to_owned(), "BATCHED".to_owned()],
            success: Some(false),
            ..CargoListFilter::default()
        };
        let path = filter.path(20, Some("c/1"));
        let expected = "/cargo?status=PENDING&status=BATCHED&success=false&limit=20&cursor=c%2F1";
        assert_eq!(path, expected);
    }
}
