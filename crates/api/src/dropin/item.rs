//! What a format makes of one item: a load, or a fault that becomes the item's result.

use bytes::Bytes;
use domain::id::GroupId;
use serde_json::{Map, Value};

/// An item as a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConvertedItem {
    /// Its name in the batch. The envelope was checked when the body arrived.
    pub(crate) custom_id: String,
    pub(crate) params: Map<String, Value>,
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) callback_url: Option<String>,
    /// ISO 8601.
    pub(crate) deadline_at: Option<String>,
}

/// An item that cannot be a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemFault {
    pub(crate) custom_id: String,
    /// As the item names it; empty if it names none.
    pub(crate) model: String,
    /// For the caller: what is wrong and what to do.
    pub(crate) message: String,
}

impl ConvertedItem {
    /// The model that it names; empty if it names none.
    pub(crate) fn model(&self) -> String {
        let model = self.params.get("model").and_then(Value::as_str);
        model.unwrap_or_default().to_owned()
    }

    /// The body of the load. Its place in the group makes it repeatable.
    pub(crate) fn into_load(self, group: GroupId, position: u64) -> Bytes {
        let mut body = Map::new();
        body.insert("params".into(), self.params.into());
        body.insert("group_id".into(), group.to_string().into());
        body.insert("custom_id".into(), self.custom_id.into());
        body.insert("position".into(), position.into());
        let optional = [
            ("metadata", self.metadata.map(Value::from)),
            ("callback_url", self.callback_url.map(Value::from)),
            ("deadline_at", self.deadline_at.map(Value::from)),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                body.insert(name.into(), value);
            }
        }
        Bytes::from(Value::from(body).to_string())
    }
}
