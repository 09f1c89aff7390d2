//! Fields of the vendors' APIs inside messages, blocks and tools.

use std::sync::LazyLock;

use super::vendor_fields::{OPTION_ADVICE, VendorFields, advise};

/// Where no vendor has a field of its own.
pub(super) static NO_VENDOR_FIELDS: LazyLock<VendorFields> =
    LazyLock::new(|| VendorFields::new(&[], &[]));

/// In a message.
pub(super) static MESSAGE_FIELDS: LazyLock<VendorFields> = LazyLock::new(|| {
    VendorFields::new(
        &[
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
        &[],
    )
});

/// In a content block.
pub(super) static BLOCK_FIELDS: LazyLock<VendorFields> = LazyLock::new(|| {
    VendorFields::new(
        &[
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
                    "inline_data",
                ],
                "Upload the file, and reference it: {\"type\": \"image\", \"source\": \
                 {\"file_id\": …}}.",
            ),
            advise(
                &["detail", "media_resolution", "video_metadata"],
                "Leave it out: images and videos are sent as they are.",
            ),
            advise(
                &["prompt_cache_breakpoint"],
                "Use cache_control: {\"type\": \"ephemeral\"}.",
            ),
            advise(
                &["function_call", "function_response", "thought_signature"],
                "Use blocks of the types tool_use, tool_result and thinking.",
            ),
        ],
        &[],
    )
});

/// In a tool.
pub(super) static TOOL_FIELDS: LazyLock<VendorFields> = LazyLock::new(|| {
    VendorFields::new(
        &[
            advise(
                &["function", "function_declarations", "custom"],
                "Write name, description and input_schema directly into the tool.",
            ),
            advise(
                &["parameters", "parameters_json_schema"],
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
        &[],
    )
});

/// In `tool_choice`.
pub(super) static TOOL_CHOICE_FIELDS: LazyLock<VendorFields> = LazyLock::new(|| {
    VendorFields::new(
        &[advise(
            &["function", "allowed_tools", "mode", "tools"],
            "Use {\"type\": \"tool\", \"name\": …}, and send only the tools that may be called.",
        )],
        &[],
    )
});

/// In `output_config` and in its `format`.
pub(super) static OUTPUT_FIELDS: LazyLock<VendorFields> = LazyLock::new(|| {
    VendorFields::new(
        &[
            advise(
                &["json_schema"],
                "Write schema and name directly into format.",
            ),
            advise(&["strict"], "Leave it out: the schema is always enforced."),
            advise(&["description"], "Write the description into the schema."),
            advise(&["verbosity", "task_budget"], OPTION_ADVICE),
        ],
        &[],
    )
});

/// In `thinking`.
pub(super) static THINKING_FIELDS: LazyLock<VendorFields> = LazyLock::new(|| {
    VendorFields::new(
        &[
            advise(&["effort", "thinking_level"], "Use output_config.effort."),
            advise(
                &["thinking_budget"],
                "Use budget_tokens with the type enabled.",
            ),
            advise(
                &["include_thoughts", "summary"],
                "Use display: summarized or omitted.",
            ),
        ],
        &[],
    )
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_validation::params_vendor_fields::PARAMS_FIELDS;

    #[test]
    fn an_advice_is_a_sentence() {
        let all = [
            &PARAMS_FIELDS,
            &MESSAGE_FIELDS,
            &BLOCK_FIELDS,
            &TOOL_FIELDS,
            &TOOL_CHOICE_FIELDS,
            &OUTPUT_FIELDS,
            &THINKING_FIELDS,
            &NO_VENDOR_FIELDS,
        ];
        for field in all.iter().flat_map(|fields| fields.iter()) {
            let advice = field.advice;
            assert!(advice.ends_with('.') && !advice.contains('\n'), "{advice}");
        }
    }
}
