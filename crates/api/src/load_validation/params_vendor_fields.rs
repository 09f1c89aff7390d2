//! Fields of the vendors' APIs in `params`: the top level of a request there, and the fields of
//! configurations that callers write at the top level.

use std::sync::LazyLock;

use super::vendor_fields::{FieldAdvice, OPTION_ADVICE, VendorFields, advise};

/// In `params`.
pub(super) static PARAMS_FIELDS: LazyLock<VendorFields> =
    LazyLock::new(|| VendorFields::new(REFUSED, IGNORED));

/// None of them changes the answer.
const IGNORED: &[FieldAdvice] = &[
    advise(
        &["stream", "stream_options"],
        "The field is ignored: the answer is sent to callback_url when it is complete.",
    ),
    advise(
        &["metadata", "user", "labels"],
        "The field is ignored. Put your own tags into metadata, beside params.",
    ),
    advise(
        &["store", "background"],
        "The field is ignored: Longshore stores the answer by the retention of the project.",
    ),
    advise(
        &[
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "cache_prompt",
            "cache_salt",
            "extra_key",
        ],
        "The field is ignored: Longshore keeps the caches of organizations apart. Mark what to \
         cache with cache_control.",
    ),
    advise(
        &["safety_identifier", "user_profile_id", "workspace_id"],
        "The field is ignored: Longshore tells the provider for which organization it asks.",
    ),
    advise(
        &[
            "diagnostics",
            "request_id",
            "rid",
            "session_id",
            "id_slot",
            "routed_dp_rank",
            "should_return_http_response",
            "timeout",
        ],
        "The field is ignored: Longshore chooses how a request is sent.",
    ),
];

const REFUSED: &[FieldAdvice] = &[
    advise(
        &[
            "response_format",
            "output_format",
            "json_schema",
            "guided_json",
            "structured_outputs",
            "response_schema",
            "response_json_schema",
            "response_mime_type",
            "text",
        ],
        "Use output_config.format: {\"type\": \"json_schema\", \"schema\": {…}}.",
    ),
    advise(
        &["functions", "function_declarations"],
        "Use tools: [{\"name\": …, \"description\": …, \"input_schema\": {…}}].",
    ),
    advise(
        &["function_call", "tool_config"],
        "Use tool_choice: {\"type\": \"auto\"}, any, tool with its name, or none.",
    ),
    advise(
        &["parallel_tool_calls"],
        "Use tool_choice: {\"type\": \"auto\", \"disable_parallel_tool_use\": true}.",
    ),
    advise(
        &["reasoning", "reasoning_effort", "effort", "thinking_level"],
        "Use output_config.effort: low, medium, high, xhigh or max.",
    ),
    advise(
        &[
            "thinking_config",
            "thinking_budget",
            "thinking_token_budget",
            "reasoning_budget",
            "enable_thinking",
            "include_reasoning",
            "reasoning_format",
            "separate_reasoning",
            "chat_template_kwargs",
        ],
        "Use thinking: {\"type\": \"adaptive\"}, enabled with budget_tokens, or disabled.",
    ),
    advise(
        &["include_thoughts"],
        "Use thinking.display: summarized or omitted.",
    ),
    advise(
        &["generation_config", "sampling_params"],
        "Write its fields into params: max_tokens, temperature, top_p, top_k, stop_sequences, \
         thinking, output_config.",
    ),
    advise(
        &[
            "max_completion_tokens",
            "max_output_tokens",
            "max_new_tokens",
            "max_tokens_to_sample",
            "n_predict",
        ],
        "Use max_tokens.",
    ),
    advise(&["stop"], "Use stop_sequences."),
    advise(
        &["stop_token_ids", "stop_regex"],
        "Leave it out. stop_sequences takes texts at which the answer ends.",
    ),
    advise(&["random_seed"], "Use seed."),
    advise(
        &[
            "input",
            "inputs",
            "contents",
            "prompt",
            "input_ids",
            "prompt_embeds",
        ],
        "Use messages, or input_text for an embedding.",
    ),
    advise(
        &["instructions", "system_instruction", "system_prompt"],
        "Use system.",
    ),
    advise(
        &["cached_content"],
        "Use cache_control in the system prompt, in a tool or in a block.",
    ),
    advise(
        &["task_type"],
        "Use input_type: query, document, similarity, classification or clustering.",
    ),
    advise(
        &["output_dimensionality", "output_dimension"],
        "Use dimensions.",
    ),
    advise(
        &["encoding_format", "embedding_types", "output_dtype"],
        "Leave it out: vectors are arrays of numbers.",
    ),
    advise(
        &[
            "title",
            "mime_type",
            "auto_truncate",
            "truncate_prompt_tokens",
            "document_ocr",
            "audio_track_extraction",
        ],
        "Leave it out: an embedding is made of input_text as it is.",
    ),
    advise(
        &["file_id", "input_file_id", "file_data"],
        "Leave it out. Upload the file, and reference it in a block of content: \
         {\"type\": \"document\", \"source\": {\"file_id\": …}}.",
    ),
    advise(
        &[
            "n",
            "candidate_count",
            "best_of",
            "num_generations",
            "num_return_sequences",
            "use_beam_search",
        ],
        "Leave it out, and load the request as often as you need answers.",
    ),
    advise(
        &[
            "logprobs",
            "top_logprobs",
            "response_logprobs",
            "prompt_logprobs",
            "n_probs",
            "return_logprob",
            "return_token_ids",
            "return_tokens",
            "return_tokens_as_token_ids",
            "return_hidden_states",
            "return_full_text",
            "echo",
            "include",
        ],
        "Leave it out: an answer has no log probabilities and no other extra parts.",
    ),
    advise(
        &[
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "repeat_penalty",
            "repeat_last_n",
            "no_repeat_ngram_size",
            "length_penalty",
            "logit_bias",
            "min_p",
            "top_a",
            "typical_p",
            "mirostat",
            "mirostat_tau",
            "mirostat_eta",
            "dry_multiplier",
            "xtc_probability",
            "dynatemp_range",
            "allowed_token_ids",
            "bad_words",
            "skip_special_tokens",
            "include_stop_str_in_output",
            "media_resolution",
            "verbosity",
            "prompt_mode",
            "safe_prompt",
        ],
        OPTION_ADVICE,
    ),
    advise(
        &[
            "ignore_eos",
            "min_tokens",
            "samplers",
            "logits_processors",
            "custom_logit_processor",
            "custom_params",
            "lora_path",
            "session_params",
            "kv_transfer_params",
            "ec_transfer_params",
            "vllm_xargs",
            "mm_processor_kwargs",
            "media_io_kwargs",
            "add_generation_prompt",
            "continue_final_message",
        ],
        "Leave it out: a server answers many organizations, so the operator decides this.",
    ),
    advise(
        &[
            "grammar",
            "guided_grammar",
            "guided_regex",
            "guided_choice",
            "regex",
            "ebnf",
            "structural_tag",
        ],
        "Leave it out. output_config.format takes a JSON schema, which may have enum and pattern \
         where the model supports them.",
    ),
    advise(
        &["service_tier", "speed", "priority"],
        "Leave it out. Use deadline_seconds or deadline_at, beside params: Longshore chooses the \
         way.",
    ),
    advise(
        &["webhook", "webhooks"],
        "Leave it out. The answer is sent to callback_url, beside params.",
    ),
    advise(
        &[
            "fallbacks",
            "fallback_credit_token",
            "models",
            "model_selection_config",
            "route",
            "routing_config",
            "provider",
            "plugins",
            "transforms",
            "inference_geo",
        ],
        "Leave it out: the operator chooses providers and fallbacks for a model.",
    ),
    advise(
        &[
            "modalities",
            "response_modalities",
            "audio",
            "audio_timestamp",
            "audio_transcription_config",
            "speech_config",
            "translation_config",
            "enable_affective_dialog",
            "image",
            "image_config",
            "prediction",
        ],
        "Leave it out: answers are text and calls of tools.",
    ),
    advise(
        &[
            "web_search_options",
            "search_parameters",
            "google_search",
            "url_context",
            "retrieval",
            "vector_store_ids",
            "mcp",
            "mcp_servers",
            "connector_id",
            "server_url",
            "container",
            "tool_resources",
            "documents",
            "automatic_function_calling",
            "max_tool_calls",
            "generation_output_config",
        ],
        "Leave it out: the provider runs no tools. Use tools that you run, and return their \
         results in tool_result blocks.",
    ),
    advise(
        &[
            "previous_response_id",
            "previous_message_id",
            "previous_thread_event_id",
            "comparison_response_id",
            "conversation",
            "thread",
            "compaction",
            "context_management",
            "automatic_continuation",
            "continuation_token",
            "truncation",
            "suffix",
        ],
        "Leave it out, and send the whole conversation in messages.",
    ),
    advise(
        &[
            "safety_settings",
            "moderation",
            "model_armor_config",
            "enable_enhanced_civic_answers",
            "access_programs",
            "chat_template",
            "betas",
            "http_options",
            "extra_body",
            "extra_headers",
            "extra_query",
            "headers",
            "authorization",
        ],
        "Leave it out: the operator decides this.",
    ),
    advise(&["citations"], "Leave it out: answers have no citations."),
];

#[cfg(test)]
mod tests;
