//! What the answer to a request may contain. It is stored with the cargo, because a result arrives
//! without its request.

use crate::features::Features;
use crate::params::Params;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the code")]
pub struct ResponseShape {
    /// The request goes beyond the contract, so its answer may, too.
    pub is_extended: bool,
    /// The answer keeps thoughts: the caller needs them for the next turn.
    pub with_thinking: bool,
    /// The provider does not apply all stop sequences, so Longshore does.
    pub cuts_at_stop_sequences: bool,
    /// The request marks what to cache, so its caller wants to see what was cached.
    pub marks_cache: bool,
}

const EXTENDED: i16 = 1;
const WITH_THINKING: i16 = 2;
const CUTS_AT_STOP_SEQUENCES: i16 = 4;
const MARKS_CACHE: i16 = 8;

impl ResponseShape {
    pub fn of(params: &Params, features: &Features) -> Self {
        let Params::Chat(chat) = params else {
            return Self::default();
        };
        Self {
            is_extended: chat.is_extended(),
            with_thinking: !chat.tools.is_empty() || chat.thinking.is_some(),
            cuts_at_stop_sequences: u32::try_from(chat.stop_sequences.len())
                .is_ok_and(|count| count > features.max_stop_sequences),
            marks_cache: chat.cache_marks().next().is_some(),
        }
    }

    /// Whether the usage of the answer has details. Otherwise it has the contract's two counts.
    pub const fn details_usage(self) -> bool {
        self.is_extended || self.marks_cache
    }

    pub const fn from_code(code: i16) -> Self {
        Self {
            is_extended: code & EXTENDED != 0,
            with_thinking: code & WITH_THINKING != 0,
            cuts_at_stop_sequences: code & CUTS_AT_STOP_SEQUENCES != 0,
            marks_cache: code & MARKS_CACHE != 0,
        }
    }

    pub const fn code(self) -> i16 {
        let mut code = 0;
        if self.is_extended {
            code |= EXTENDED;
        }
        if self.with_thinking {
            code |= WITH_THINKING;
        }
        if self.cuts_at_stop_sequences {
            code |= CUTS_AT_STOP_SEQUENCES;
        }
        if self.marks_cache {
            code |= MARKS_CACHE;
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_comes_back_from_its_code() {
        for code in 0..16 {
            assert_eq!(ResponseShape::from_code(code).code(), code);
        }
        assert_eq!(ResponseShape::default().code(), 0);
    }

    fn shape(changes: &serde_json::Value) -> ResponseShape {
        let mut params = serde_json::json!({
            "model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a"}],
        });
        let fields = params.as_object_mut().unwrap();
        fields.extend(changes.as_object().unwrap().clone());
        let params = serde_json::from_value(params).unwrap();
        ResponseShape::of(&params, &Features::plain())
    }

    #[test]
    fn a_mark_of_the_cache_details_the_usage_and_changes_nothing_else() {
        let mark = serde_json::json!({"type": "ephemeral"});
        let text = serde_json::json!({"type": "text", "text": "a", "cache_control": mark});
        let marked = ResponseShape {
            marks_cache: true,
            ..ResponseShape::default()
        };
        assert!(marked.details_usage());
        for changes in [
            serde_json::json!({"cache_control": mark}),
            serde_json::json!({"system": [text]}),
            serde_json::json!({"messages": [{"role": "user", "content": [text]}]}),
        ] {
            assert_eq!(shape(&changes), marked, "{changes}");
        }
        for plain in [
            serde_json::json!({"seed": 7}),
            serde_json::json!({"provider_options": {"openai": {"verbosity": "low"}}}),
        ] {
            assert_eq!(shape(&plain), ResponseShape::default(), "{plain}");
        }
    }
}
