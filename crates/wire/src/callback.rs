//! The result callback: the body that is POSTed to `callback_url`.

use domain::id::{CargoId, GroupId};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::completion::CompletionBody;

/// Sent when processing finishes, with success or failure.
///
/// It may be delivered more than once: deduplicate by `cargo_id`. If your project does not sign
/// its callbacks, check that the `cargo_id` is one that you were given.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ResultCallback)]
pub struct CallbackBody {
    #[schema(example = "crg_019b76da807b774b805000000000002a")]
    pub cargo_id: String,
    pub success: bool,
    /// Null on failure.
    #[schema(required = true)]
    pub response: Option<CompletionBody>,
    /// Null on success. For people: the text may change.
    #[schema(required = true)]
    pub error: Option<String>,
    /// One of the codes for failures. A code keeps its meaning; new codes may be added. Absent on
    /// success, and if the cargo failed before codes existed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "request_rejected")]
    pub error_code: Option<String>,
    /// The name that the load gave it in its group. Absent if the load named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "row-7")]
    pub custom_id: Option<String>,
    /// The group of the load. Absent if the load named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "grp_019b76da807b774b805000000000002a")]
    pub group_id: Option<String>,
    /// The metadata of the load. Only if your project includes it in callbacks, and the load had
    /// some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"order": 7}))]
    pub metadata: Option<Map<String, Value>>,
}

/// The body for a success. `response` is the stored JSON, passed on unparsed.
pub fn success_body(cargo: CargoId, response: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(response.len() + 110);
    body.extend_from_slice(br#"{"cargo_id":""#);
    body.extend_from_slice(cargo.to_string().as_bytes());
    body.extend_from_slice(br#"","success":true,"response":"#);
    body.extend_from_slice(response);
    body.extend_from_slice(br#","error":null}"#);
    body
}

/// The body for a failure.
pub fn failure_body(cargo: CargoId, code: Option<&str>, error: &str) -> Vec<u8> {
    // A string always serializes.
    let error = Value::from(error);
    let code = code.map_or_else(String::new, |code| format!(r#","error_code":"{code}""#));
    let cargo_id = cargo.to_string();
    format!(r#"{{"cargo_id":"{cargo_id}","success":false,"response":null,"error":{error}{code}}}"#)
        .into_bytes()
}

/// A body with the group of the load, and with its name there if it has one.
pub fn with_group(mut body: Vec<u8>, custom_id: Option<&str>, group: GroupId) -> Vec<u8> {
    // The closing brace.
    body.pop();
    if let Some(custom_id) = custom_id {
        // A string always serializes.
        body.extend_from_slice(format!(r#","custom_id":{}"#, Value::from(custom_id)).as_bytes());
    }
    body.extend_from_slice(format!(r#","group_id":"{group}"}}"#).as_bytes());
    body
}

/// A body with the metadata of the load, which is passed on unparsed.
pub fn with_metadata(mut body: Vec<u8>, metadata: &[u8]) -> Vec<u8> {
    // The closing brace.
    body.pop();
    body.extend_from_slice(br#","metadata":"#);
    body.extend_from_slice(metadata);
    body.push(b'}');
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: &str = r#"{"id":"i","type":"message","role":"assistant","content":[{"type":"text","text":"a\u0000b"}],"model":"m","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;

    fn cargo() -> CargoId {
        "crg_019b76da807b774b805000000000002a".parse().unwrap()
    }

    #[test]
    fn a_success_carries_the_stored_bytes() {
        let body = String::from_utf8(success_body(cargo(), RESPONSE.as_bytes())).unwrap();
        assert!(body.contains(RESPONSE));
        let described = CallbackBody {
            cargo_id: cargo().to_string(),
            success: true,
            response: serde_json::from_str(RESPONSE).unwrap(),
            error: None,
            error_code: None,
            custom_id: None,
            group_id: None,
            metadata: None,
        };
        assert_eq!(body, serde_json::to_string(&described).unwrap());
        let metadata = r#"{"order":7}"#;
        let described = CallbackBody {
            metadata: serde_json::from_str(metadata).unwrap(),
            ..described
        };
        let body = with_metadata(body.into_bytes(), metadata.as_bytes());
        let body = String::from_utf8(body).unwrap();
        assert_eq!(body, serde_json::to_string(&described).unwrap());
    }

    #[test]
    fn names_of_the_load_come_before_the_metadata() {
        let group: GroupId = "grp_019b76da807b774b805000000000002a".parse().unwrap();
        for custom_id in [Some("row \"7\" ✓"), None] {
            let described = CallbackBody {
                cargo_id: cargo().to_string(),
                success: true,
                response: serde_json::from_str(RESPONSE).unwrap(),
                error: None,
                error_code: None,
                custom_id: custom_id.map(str::to_owned),
                group_id: Some(group.to_string()),
                metadata: serde_json::from_str(r#"{"order":7}"#).unwrap(),
            };
            let body = success_body(cargo(), RESPONSE.as_bytes());
            let body = with_metadata(with_group(body, custom_id, group), br#"{"order":7}"#);
            let body = String::from_utf8(body).unwrap();
            assert_eq!(body, serde_json::to_string(&described).unwrap());
        }
    }

    #[test]
    fn a_failure_carries_its_text_and_its_code() {
        for code in [Some("request_rejected"), None] {
            let body = failure_body(cargo(), code, "\"no\"\n\0");
            let described = CallbackBody {
                cargo_id: cargo().to_string(),
                success: false,
                response: None,
                error: Some("\"no\"\n\0".to_owned()),
                error_code: code.map(str::to_owned),
                custom_id: None,
                group_id: None,
                metadata: None,
            };
            let body = String::from_utf8(body).unwrap();
            assert_eq!(body, serde_json::to_string(&described).unwrap());
        }
    }
}
