//! What a provider tells about one of its models: limits, capabilities and its end.
//!
//! `OpenAI` and compatible servers tell only the names of their models; see `RealtimeProvider`.

use chrono::NaiveDate;
use domain::params::thinking::Effort;
use serde_json::Value;
use tokio_rustls::rustls::RootCertStore;

use super::client::{
    AuthScheme, ProviderCallFailure, ProviderClient, ProviderOptions, ProviderSetupFailure,
};
use crate::percent_encoding::percent_encode;

const ANTHROPIC_HEADERS: &[(&str, &str)] = &[("anthropic-version", "2023-06-01")];
const GEMINI_HEADERS: &[(&str, &str)] = &[];

/// What is None is not told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelInfo {
    pub max_input: Option<u64>,
    pub max_output: Option<u64>,
    pub retires_at: Option<NaiveDate>,
    pub batch: Option<bool>,
    pub images: Option<bool>,
    pub documents: Option<bool>,
    pub structured_output: Option<bool>,
    pub thinking: ThinkingInfo,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThinkingInfo {
    pub adaptive: Option<bool>,
    /// With a budget of tokens.
    pub enabled: Option<bool>,
    pub disabled: Option<bool>,
    pub efforts: Option<Vec<Effort>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelInfoApi {
    Anthropic,
    Gemini,
}

/// Reads the description of models.
#[derive(Debug)]
pub struct ModelInfoClient {
    client: ProviderClient,
    api: ModelInfoApi,
}

impl ModelInfoClient {
    /// The base URL is that of the account, without a version.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
        api: ModelInfoApi,
    ) -> Result<Self, ProviderSetupFailure> {
        let (key_header, headers) = match api {
            ModelInfoApi::Anthropic => ("x-api-key", ANTHROPIC_HEADERS),
            ModelInfoApi::Gemini => ("x-goog-api-key", GEMINI_HEADERS),
        };
        let auth = AuthScheme::Header(key_header);
        let client = ProviderClient::new(options, auth, headers, roots)?;
        Ok(Self { client, api })
    }

    /// None if the provider has no such model.
    pub async fn describe(&self, upstream: &str) -> Result<Option<ModelInfo>, ProviderCallFailure> {
        let name = percent_encode(upstream);
        let path = match self.api {
            ModelInfoApi::Anthropic => format!("/v1/models/{name}"),
            ModelInfoApi::Gemini => format!("/v1beta/models/{name}"),
        };
        match self.client.send_and_parse(self.client.get(path)).await {
            Ok((document, _)) => Ok(Some(self.api.read(&document))),
            Err(ProviderCallFailure::NotFound) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

impl ModelInfoApi {
    fn read(self, document: &Value) -> ModelInfo {
        match self {
            Self::Anthropic => anthropic_info(document),
            Self::Gemini => gemini_info(document),
        }
    }
}

fn anthropic_info(document: &Value) -> ModelInfo {
    let capability = |path: &str| support(document.pointer(&format!("/capabilities/{path}")));
    let efforts = Effort::ALL.map(|effort| {
        let is_supported = capability(&format!("effort/{}", effort.as_str()))?;
        Some((effort, is_supported))
    });
    let efforts: Vec<(Effort, bool)> = efforts.into_iter().flatten().collect();
    let supported = efforts.iter().filter(|(_, is_supported)| *is_supported);
    let supported = supported.map(|(effort, _)| *effort).collect();
    ModelInfo {
        max_input: count(document, "max_input_tokens"),
        max_output: count(document, "max_tokens"),
        retires_at: date(document.get("retires_at")),
        batch: capability("batch"),
        images: capability("image_input"),
        documents: capability("pdf_input"),
        structured_output: capability("structured_outputs"),
        thinking: ThinkingInfo {
            adaptive: capability("thinking/types/adaptive"),
            enabled: capability("thinking/types/enabled"),
            disabled: capability("thinking/types/disabled"),
            efforts: (!efforts.is_empty()).then_some(supported),
        },
    }
}

fn gemini_info(document: &Value) -> ModelInfo {
    ModelInfo {
        max_input: count(document, "inputTokenLimit"),
        max_output: count(document, "outputTokenLimit"),
        ..ModelInfo::default()
    }
}

/// `true`, or an object with `supported`.
fn support(value: Option<&Value>) -> Option<bool> {
    let value = value?;
    value
        .as_bool()
        .or_else(|| value.get("supported").and_then(Value::as_bool))
}

/// Google writes some numbers as strings.
fn count(document: &Value, field: &str) -> Option<u64> {
    let value = document.get(field)?;
    let read = value.as_u64();
    read.or_else(|| value.as_str()?.parse().ok())
        .filter(|count| *count > 0)
}

/// The day of a date or a timestamp.
fn date(value: Option<&Value>) -> Option<NaiveDate> {
    value?.as_str()?.get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn anthropic_tells_what_a_model_can_do() {
        let document = json!({
            "id": "claude-a", "max_input_tokens": 1_000_000, "max_tokens": 128_000,
            "retires_at": "2027-07-24T00:00:00Z",
            "capabilities": {
                "batch": {"supported": true},
                "image_input": {"supported": true},
                "pdf_input": {"supported": false},
                "structured_outputs": true,
                "effort": {
                    "supported": true, "low": {"supported": true}, "max": {"supported": false},
                },
                "thinking": {"supported": true, "types": {
                    "adaptive": {"supported": true}, "enabled": {"supported": false},
                }},
            },
        });
        let expected = ModelInfo {
            max_input: Some(1_000_000),
            max_output: Some(128_000),
            retires_at: NaiveDate::from_ymd_opt(2027, 7, 24),
            batch: Some(true),
            images: Some(true),
            documents: Some(false),
            structured_output: Some(true),
            thinking: ThinkingInfo {
                adaptive: Some(true),
                enabled: Some(false),
                disabled: None,
                efforts: Some(vec![Effort::Low]),
            },
        };
        assert_eq!(ModelInfoApi::Anthropic.read(&document), expected);
    }

    #[test]
    fn gemini_tells_the_limits_of_a_model() {
        let document = json!({
            "name": "models/gemini-a", "inputTokenLimit": 1_048_576, "outputTokenLimit": "65536",
        });
        let expected = ModelInfo {
            max_input: Some(1_048_576),
            max_output: Some(65_536),
            ..ModelInfo::default()
        };
        assert_eq!(ModelInfoApi::Gemini.read(&document), expected);
    }

    #[test]
    fn what_a_provider_does_not_tell_is_unknown() {
        for api in [ModelInfoApi::Anthropic, ModelInfoApi::Gemini] {
            assert_eq!(api.read(&json!({"id": "a"})), ModelInfo::default());
            assert_eq!(api.read(&json!([])), ModelInfo::default());
        }
    }
}
