//! Google's models.

use super::first_match;

#[derive(Debug, Clone, Copy)]
pub struct GeminiRules {
    pub thinking: GeminiThinking,
    pub thinks_by_default: bool,
    /// Whether a function call of the current turn must come back with its signature.
    pub requires_signatures: bool,
    /// Whether tools and a JSON answer go together.
    pub combines_tools_and_json: bool,
}

/// How a request sets the amount of thinking.
#[derive(Debug, Clone, Copy)]
pub enum GeminiThinking {
    Unrestricted,
    Budget {
        min: i64,
        max: i64,
        /// Whether 0 turns thinking off.
        has_zero: bool,
    },
    Levels(&'static [&'static str]),
}

const UNKNOWN: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Unrestricted,
    thinks_by_default: false,
    requires_signatures: false,
    combines_tools_and_json: true,
};

const PRO_2_5: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Budget {
        min: 128,
        max: 32_768,
        has_zero: false,
    },
    thinks_by_default: true,
    requires_signatures: false,
    combines_tools_and_json: false,
};

const FLASH_2_5: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Budget {
        min: 0,
        max: 24_576,
        has_zero: true,
    },
    ..PRO_2_5
};

const FLASH_LITE_2_5: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Budget {
        min: 512,
        max: 24_576,
        has_zero: true,
    },
    thinks_by_default: false,
    ..PRO_2_5
};

const PRO_3: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Levels(&["LOW", "HIGH"]),
    thinks_by_default: true,
    requires_signatures: true,
    combines_tools_and_json: true,
};

/// Gemini 3.1 Pro, and Flash from 3.7 on.
const PRO_3_1: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Levels(&["LOW", "MEDIUM", "HIGH"]),
    ..PRO_3
};

const FLASH_3: GeminiRules = GeminiRules {
    thinking: GeminiThinking::Levels(&["MINIMAL", "LOW", "MEDIUM", "HIGH"]),
    ..PRO_3
};

const MODELS: &[(&str, GeminiRules)] = &[
    ("gemini-2.5-pro", PRO_2_5),
    ("gemini-2.5-flash-lite", FLASH_LITE_2_5),
    ("gemini-2.5-flash", FLASH_2_5),
    ("gemini-3-pro", PRO_3),
    ("gemini-3.1-pro", PRO_3_1),
    ("gemini-3.7-flash", PRO_3_1),
    ("gemini-3.8-flash", PRO_3_1),
    ("gemini-3", FLASH_3),
];

pub fn gemini_rules(model: &str) -> GeminiRules {
    let name = model.strip_prefix("models/").unwrap_or(model);
    first_match(MODELS, name).unwrap_or(UNKNOWN)
}
