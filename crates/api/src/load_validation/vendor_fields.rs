//! Fields of the vendors' APIs that Longshore does not have, and what to write instead.
//!
//! A caller who sends one of them expects another answer than the one that Longshore would buy. So
//! the load is refused.

/// Fields that are explained together.
#[derive(Debug)]
pub(super) struct FieldAdvice {
    pub(super) names: &'static [&'static str],
    pub(super) advice: &'static str,
}

/// The vendors' fields at one place of the body.
#[derive(Debug)]
pub(super) struct VendorFields {
    /// They change the answer.
    pub(super) refused: &'static [FieldAdvice],
    /// They do not change the answer, and the caller may wonder why they have no effect.
    pub(super) ignored: &'static [FieldAdvice],
}

impl VendorFields {
    pub(super) fn refusal_of(&self, name: &str) -> Option<&'static str> {
        find(self.refused, name)
    }

    pub(super) fn explanation_of(&self, name: &str) -> Option<&'static str> {
        find(self.ignored, name)
    }
}

fn find(list: &'static [FieldAdvice], name: &str) -> Option<&'static str> {
    let entry = list.iter().find(|entry| entry.names.contains(&name))?;
    Some(entry.advice)
}

pub(super) const fn advise(names: &'static [&'static str], advice: &'static str) -> FieldAdvice {
    FieldAdvice { names, advice }
}

pub(super) const OPTION_ADVICE: &str =
    "Leave it out. The operator can allow it in provider_options, if the provider takes it.";

/// In `params`.
pub(super) const PARAMS_FIELDS: VendorFields = VendorFields {
    refused: VENDOR_FIELDS,
    ignored: &[
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
    ],
};

const VENDOR_FIELDS: &[FieldAdvice] = &[
    advise(
        &[
            "response_format",
            "output_format",
            "json_schema",
            "guided_json",
            "structured_outputs",
            "responseSchema",
            "responseJsonSchema",
            "response_schema",
            "responseMimeType",
            "response_mime_type",
            "text",
        ],
        "Use output_config.format: {\"type\": \"json_schema\", \"schema\": {…}}.",
    ),
    advise(
        &["functions", "function_declarations", "functionDeclarations"],
        "Use tools: [{\"name\": …, \"description\": …, \"input_schema\": {…}}].",
    ),
    advise(
        &["function_call", "toolConfig", "tool_config"],
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
            "thinkingConfig",
            "thinking_config",
            "thinking_budget",
            "thinking_token_budget",
            "reasoning_budget",
            "enable_thinking",
            "include_reasoning",
            "chat_template_kwargs",
        ],
        "Use thinking: {\"type\": \"adaptive\"}, enabled with budget_tokens, or disabled.",
    ),
    advise(
        &["generationConfig", "generation_config"],
        "Write its fields into params: max_tokens, temperature, top_p, top_k, stop_sequences, \
         thinking, output_config.",
    ),
    advise(
        &[
            "max_completion_tokens",
            "max_output_tokens",
            "maxOutputTokens",
            "max_new_tokens",
            "n_predict",
        ],
        "Use max_tokens.",
    ),
    advise(&["stop", "stopSequences"], "Use stop_sequences."),
    advise(&["topP"], "Use top_p."),
    advise(&["topK"], "Use top_k."),
    advise(&["random_seed"], "Use seed."),
    advise(
        &["input", "contents", "prompt"],
        "Use messages, or input_text for an embedding.",
    ),
    advise(
        &["instructions", "systemInstruction", "system_instruction"],
        "Use system.",
    ),
    advise(
        &["cachedContent", "cached_content"],
        "Use cache_control in the system prompt, in a tool or in a block.",
    ),
    advise(
        &["task_type", "taskType"],
        "Use input_type: query, document, similarity, classification or clustering.",
    ),
    advise(
        &[
            "output_dimensionality",
            "outputDimensionality",
            "output_dimension",
        ],
        "Use dimensions.",
    ),
    advise(
        &["encoding_format", "embedding_types", "output_dtype"],
        "Leave it out: vectors are arrays of numbers.",
    ),
    advise(
        &[
            "n",
            "candidateCount",
            "candidate_count",
            "best_of",
            "num_generations",
        ],
        "Leave it out, and load the request as often as you need answers.",
    ),
    advise(
        &[
            "logprobs",
            "top_logprobs",
            "responseLogprobs",
            "prompt_logprobs",
            "echo",
            "include",
        ],
        "Leave it out: an answer has no log probabilities and no other extra parts.",
    ),
    advise(
        &[
            "frequency_penalty",
            "frequencyPenalty",
            "presence_penalty",
            "presencePenalty",
            "repetition_penalty",
            "repeat_penalty",
            "length_penalty",
            "logit_bias",
            "min_p",
            "top_a",
            "typical_p",
            "mirostat",
            "min_tokens",
            "ignore_eos",
            "bad_words",
            "verbosity",
            "prompt_mode",
            "safe_prompt",
        ],
        OPTION_ADVICE,
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
        &["service_tier", "serviceTier", "speed", "priority"],
        "Leave it out. Use deadline_seconds or deadline_at, beside params: Longshore chooses the \
         way.",
    ),
    advise(
        &[
            "fallbacks",
            "models",
            "route",
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
            "responseModalities",
            "audio",
            "speechConfig",
            "prediction",
        ],
        "Leave it out: answers are text and calls of tools.",
    ),
    advise(
        &[
            "web_search_options",
            "search_parameters",
            "mcp_servers",
            "container",
            "tool_resources",
            "documents",
        ],
        "Leave it out: the provider runs no tools. Use tools that you run, and return their \
         results in tool_result blocks.",
    ),
    advise(
        &[
            "previous_response_id",
            "conversation",
            "context_management",
            "truncation",
            "suffix",
        ],
        "Leave it out, and send the whole conversation in messages.",
    ),
    advise(
        &[
            "safetySettings",
            "safety_settings",
            "moderation",
            "chat_template",
            "betas",
        ],
        "Leave it out: the operator decides this.",
    ),
    advise(&["citations"], "Leave it out: answers have no citations."),
];
