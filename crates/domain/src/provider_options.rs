//! `provider_options`: fields for one kind of provider that go to it as they are. The operator lists
//! which; some can never be allowed, because accounts are shared by many organizations.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::feature_check::{FieldRefusal, LocationPart};
use crate::field_spelling::is_same_field;

/// By kind of provider, the keys that the operator allows for a model.
pub type AllowedOptions = BTreeMap<String, Vec<String>>;

/// Keys that name objects in the shared account, send data elsewhere, cost more than the hold,
/// carry identity or retention, or run code on a server.
pub const DENIED: &[&str] = &[
    // Objects of other tenants in the same account.
    "file_id",
    "input_file_id",
    "fileData",
    "previous_response_id",
    "conversation",
    "prompt",
    "cachedContent",
    "vector_store_ids",
    "container",
    "previous_message_id",
    "diagnostics",
    "comparison_response_id",
    "previous_thread_event_id",
    "session_id",
    "session_params",
    // Data leaves, or the provider's network is used.
    "tools",
    "mcp",
    "mcp_servers",
    "connector_id",
    "server_url",
    "authorization",
    "headers",
    "web_search_options",
    "generation_output_config",
    "webhook",
    "webhooks",
    "google_search",
    "url_context",
    "retrieval",
    // Cost or latency outside the hold.
    "n",
    "candidateCount",
    "best_of",
    "use_beam_search",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "service_tier",
    "serviceTier",
    "speed",
    "prediction",
    "modalities",
    "responseModalities",
    "audio",
    "speechConfig",
    "image",
    "imageConfig",
    "thinkingConfig",
    "reasoning",
    "inference_geo",
    "fallbacks",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "cache_control",
    // Identity and retention.
    "model",
    "messages",
    "input",
    "contents",
    "metadata",
    "user",
    "user_profile_id",
    "workspace_id",
    "safety_identifier",
    "labels",
    "store",
    "background",
    "stream",
    "stream_options",
    "access_programs",
    // The operator answers for safety.
    "safetySettings",
    "safety_settings",
    "model_armor_config",
    "moderation",
    // Code, other tenants and denial of service on servers.
    "chat_template",
    "chat_template_kwargs",
    "custom_logit_processor",
    "custom_params",
    "logits_processors",
    "lora_path",
    "kv_transfer_params",
    "ec_transfer_params",
    "vllm_xargs",
    "cache_salt",
    "extra_key",
    "priority",
    "request_id",
    "rid",
    "routed_dp_rank",
    "input_ids",
    "prompt_logprobs",
    "echo",
    "truncate_prompt_tokens",
    "ignore_eos",
    "min_tokens",
    "mm_processor_kwargs",
    "media_io_kwargs",
    "structured_outputs",
    "regex",
    "ebnf",
    "grammar",
    "structural_tag",
    "id_slot",
    "cache_prompt",
    "samplers",
];

/// Whether no operator can allow the key.
pub fn is_denied(key: &str) -> bool {
    DENIED.iter().any(|denied| is_same_field(denied, key)) || key.starts_with("return_")
}

/// Refuses every option that the operator did not allow for the model.
pub fn check(
    options: &BTreeMap<String, Map<String, Value>>,
    allowed: &AllowedOptions,
) -> Vec<FieldRefusal> {
    let mut refusals = Vec::new();
    for (kind, given) in options {
        let Some(allowed) = allowed.get(kind) else {
            let message = format!("No route of this model goes to a provider of the kind {kind}");
            refusals.push(refusal(kind, None, message));
            continue;
        };
        for key in given.keys() {
            if is_denied(key) || !allowed.contains(key) {
                let message = "The operator does not allow this option".to_owned();
                refusals.push(refusal(kind, Some(key), message));
            }
        }
    }
    refusals
}

fn refusal(kind: &str, key: Option<&String>, message: String) -> FieldRefusal {
    let path = ["params", "provider_options", kind]
        .into_iter()
        .chain(key.map(String::as_str));
    FieldRefusal {
        location: path
            .map(|part| LocationPart::Key(part.to_owned()))
            .collect(),
        message,
        capability: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: Value) -> Vec<String> {
        let options = serde_json::from_value(options).unwrap();
        let allowed = AllowedOptions::from([(
            "openai".to_owned(),
            vec!["verbosity".to_owned(), "store".to_owned()],
        )]);
        let refusals = check(&options, &allowed);
        let path = |refusal: &FieldRefusal| {
            let parts: Vec<String> = refusal
                .location
                .iter()
                .map(|part| match part {
                    LocationPart::Key(key) => key.clone(),
                    LocationPart::Index(index) => index.to_string(),
                })
                .collect();
            parts.join(".")
        };
        refusals.iter().map(path).collect()
    }

    #[test]
    fn only_what_the_operator_lists_is_allowed() {
        let allowed = serde_json::json!({"openai": {"verbosity": "low"}});
        assert_eq!(refused(allowed), [""; 0]);
        let unlisted = serde_json::json!({"openai": {"logit_bias": {}}});
        assert_eq!(
            refused(unlisted),
            ["params.provider_options.openai.logit_bias"]
        );
        let elsewhere = serde_json::json!({"gemini": {"verbosity": "low"}});
        assert_eq!(refused(elsewhere), ["params.provider_options.gemini"]);
    }

    #[test]
    fn a_denied_key_stays_denied_when_it_is_listed() {
        let denied = serde_json::json!({"openai": {"store": true}});
        assert_eq!(refused(denied), ["params.provider_options.openai.store"]);
        assert!(is_denied("return_tokens"));
        assert!(is_denied("candidate_count"));
        // Options of Gemini go into its `generationConfig`.
        for key in [
            "responseModalities",
            "speechConfig",
            "imageConfig",
            "thinkingConfig",
        ] {
            assert!(is_denied(key), "{key}");
        }
    }
}
