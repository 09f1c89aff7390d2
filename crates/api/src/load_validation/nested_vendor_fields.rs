//! Fields of the vendors' APIs inside messages, blocks and tools, and beside `params`.

use super::vendor_fields::{OPTION_ADVICE, VendorFields, advise};

/// Where no vendor has a field of its own.
pub(super) const NO_VENDOR_FIELDS: VendorFields = VendorFields {
    refused: &[],
    ignored: &[],
};

/// Beside `params`.
pub(super) const BODY_FIELDS: VendorFields = VendorFields {
    refused: &[],
    ignored: &[advise(
        &[
            "model",
            "max_tokens",
            "messages",
            "system",
            "tools",
            "tool_choice",
            "output_config",
            "thinking",
            "temperature",
            "input_text",
        ],
        "The field belongs into params. Here it is ignored.",
    )],
};

/// In a message.
pub(super) const MESSAGE_FIELDS: VendorFields = VendorFields {
    refused: &[
        advise(
            &["tool_calls", "function_call"],
            "Write each call as a block of content: {\"type\": \"tool_use\", \"id\": …, \
             \"name\": …, \"input\": {…}}.",
        ),
        advise(
            &["tool_call_id"],
            "Write the result as a block of a user message: {\"type\": \"tool_result\", \
             \"tool_use_id\": …, \"content\": …}.",
        ),
        advise(
            &["reasoning", "reasoning_content", "reasoning_details"],
            "Return the thinking blocks of the answer in content.",
        ),
        advise(&["parts"], "Use content."),
        advise(
            &["audio", "prefix", "phase"],
            "Leave it out: no provider gets it.",
        ),
    ],
    ignored: &[],
};

/// In a content block.
pub(super) const BLOCK_FIELDS: VendorFields = VendorFields {
    refused: &[
        advise(
            &["citations", "context", "title"],
            "Leave it out, or write it into a text block: answers have no citations.",
        ),
        advise(
            &[
                "image_url",
                "input_audio",
                "file",
                "file_data",
                "inlineData",
                "inline_data",
                "fileData",
            ],
            "Upload the file, and reference it: {\"type\": \"image\", \"source\": \
             {\"file_id\": …}}.",
        ),
        advise(
            &["detail", "media_resolution", "videoMetadata"],
            "Leave it out: images and videos are sent as they are.",
        ),
        advise(
            &["prompt_cache_breakpoint"],
            "Use cache_control: {\"type\": \"ephemeral\"}.",
        ),
        advise(
            &["functionCall", "functionResponse", "thoughtSignature"],
            "Use blocks of the types tool_use, tool_result and thinking.",
        ),
    ],
    ignored: &[],
};

/// In a tool.
pub(super) const TOOL_FIELDS: VendorFields = VendorFields {
    refused: &[
        advise(
            &[
                "function",
                "functionDeclarations",
                "function_declarations",
                "custom",
            ],
            "Write name, description and input_schema directly into the tool.",
        ),
        advise(
            &["parameters", "parametersJsonSchema", "inputSchema"],
            "Use input_schema.",
        ),
        advise(
            &["input_examples", "format", "response", "behavior"],
            "Leave it out, or write it into the description of the tool.",
        ),
        advise(
            &["defer_loading", "allowed_callers", "max_uses"],
            "Leave it out: the provider runs no tools.",
        ),
    ],
    ignored: &[],
};

/// In `tool_choice`.
pub(super) const TOOL_CHOICE_FIELDS: VendorFields = VendorFields {
    refused: &[advise(
        &["function", "allowed_tools", "mode", "tools"],
        "Use {\"type\": \"tool\", \"name\": …}, and send only the tools that may be called.",
    )],
    ignored: &[],
};

/// In `output_config` and in its `format`.
pub(super) const OUTPUT_FIELDS: VendorFields = VendorFields {
    refused: &[
        advise(
            &["json_schema"],
            "Write schema and name directly into format.",
        ),
        advise(&["strict"], "Leave it out: the schema is always enforced."),
        advise(&["description"], "Write the description into the schema."),
        advise(&["verbosity", "task_budget"], OPTION_ADVICE),
    ],
    ignored: &[],
};

/// In `thinking`.
pub(super) const THINKING_FIELDS: VendorFields = VendorFields {
    refused: &[
        advise(
            &["effort", "thinkingLevel", "thinking_level"],
            "Use output_config.effort.",
        ),
        advise(
            &["thinkingBudget", "thinking_budget"],
            "Use budget_tokens with the type enabled.",
        ),
        advise(
            &["includeThoughts", "include_thoughts", "summary"],
            "Use display: summarized or omitted.",
        ),
    ],
    ignored: &[],
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::load_validation::vendor_fields::PARAMS_FIELDS;

    const ALL: [&VendorFields; 9] = [
        &BODY_FIELDS,
        &PARAMS_FIELDS,
        &MESSAGE_FIELDS,
        &BLOCK_FIELDS,
        &TOOL_FIELDS,
        &TOOL_CHOICE_FIELDS,
        &OUTPUT_FIELDS,
        &THINKING_FIELDS,
        &NO_VENDOR_FIELDS,
    ];

    #[test]
    fn a_field_is_explained_once_at_its_place() {
        for place in ALL {
            let entries = place.refused.iter().chain(place.ignored);
            let names: Vec<&str> = entries.flat_map(|entry| entry.names).copied().collect();
            let distinct: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
        }
    }

    #[test]
    fn an_advice_is_a_sentence() {
        for place in ALL {
            for entry in place.refused.iter().chain(place.ignored) {
                let advice = entry.advice;
                assert!(advice.ends_with('.') && !advice.contains('\n'), "{advice}");
            }
        }
    }
}
