//! `OpenAI`'s models.

use super::first_match;

#[derive(Debug, Clone, Copy)]
pub struct OpenAiRules {
    /// The accepted efforts. None: any. Empty: the model does not reason.
    pub efforts: Option<&'static [&'static str]>,
    /// Without an effort in the request.
    pub default_effort: &'static str,
    pub chat_tools: ChatToolRule,
    /// The fields `prompt_cache_*`, and implicit writes to the cache.
    pub has_cache_marks: bool,
    pub has_stop: bool,
}

/// Function tools on `/v1/chat/completions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatToolRule {
    Accepted,
    /// Refused together with an effort.
    RefusedWithEffort,
    /// Refused unless the request says that the effort is `none`.
    RefusedUnlessNone,
}

impl OpenAiRules {
    pub fn is_known(&self) -> bool {
        self.efforts.is_some()
    }

    pub fn reasons(&self) -> bool {
        self.efforts.is_some_and(|efforts| !efforts.is_empty())
    }
}

const UNKNOWN: OpenAiRules = OpenAiRules {
    efforts: None,
    default_effort: "none",
    chat_tools: ChatToolRule::Accepted,
    has_cache_marks: true,
    has_stop: true,
};

const PLAIN: OpenAiRules = OpenAiRules {
    efforts: Some(&[]),
    has_cache_marks: false,
    ..UNKNOWN
};

const O_SERIES: OpenAiRules = OpenAiRules {
    efforts: Some(&["low", "medium", "high"]),
    default_effort: "medium",
    has_stop: false,
    ..PLAIN
};

const GPT_5: OpenAiRules = OpenAiRules {
    efforts: Some(&["minimal", "low", "medium", "high"]),
    default_effort: "medium",
    ..PLAIN
};

const GPT_5_1: OpenAiRules = OpenAiRules {
    efforts: Some(&["none", "low", "medium", "high"]),
    default_effort: "none",
    ..PLAIN
};

const GPT_5_2: OpenAiRules = OpenAiRules {
    efforts: Some(&["none", "low", "medium", "high", "xhigh"]),
    ..GPT_5_1
};

const GPT_5_4: OpenAiRules = OpenAiRules {
    chat_tools: ChatToolRule::RefusedWithEffort,
    ..GPT_5_2
};

const GPT_5_5: OpenAiRules = OpenAiRules {
    default_effort: "medium",
    ..GPT_5_4
};

const GPT_5_6: OpenAiRules = OpenAiRules {
    efforts: Some(&["none", "low", "medium", "high", "xhigh", "max"]),
    chat_tools: ChatToolRule::RefusedUnlessNone,
    has_cache_marks: true,
    ..GPT_5_5
};

/// Models that always reason.
const GPT_6_ASTRA: OpenAiRules = OpenAiRules {
    efforts: Some(&["low", "medium", "high", "xhigh", "max"]),
    ..GPT_5_6
};

const MODELS: &[(&str, OpenAiRules)] = &[
    ("gpt-6-astra", GPT_6_ASTRA),
    ("gpt-6.1-sol", GPT_6_ASTRA),
    ("gpt-6", GPT_5_6),
    ("gpt-5.6", GPT_5_6),
    ("gpt-5.5", GPT_5_5),
    ("gpt-5.4", GPT_5_4),
    ("gpt-5.3", GPT_5_2),
    ("gpt-5.2", GPT_5_2),
    ("gpt-5.1", GPT_5_1),
    ("gpt-5", GPT_5),
    ("gpt-4", PLAIN),
    ("o1", O_SERIES),
    ("o3", O_SERIES),
    ("o4-mini", O_SERIES),
];

pub fn openai_rules(model: &str) -> OpenAiRules {
    first_match(MODELS, model).unwrap_or(UNKNOWN)
}
