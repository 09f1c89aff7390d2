//! What the answer to a request may contain. It is stored with the cargo, because a result arrives
//! without its request.

use crate::features::Features;
use crate::params::Params;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResponseShape {
    /// The request goes beyond the contract, so its answer may, too.
    pub is_extended: bool,
    /// The answer keeps thoughts: the caller needs them for the next turn.
    pub with_thinking: bool,
    /// The provider does not apply all stop sequences, so Longshore does.
    pub cuts_at_stop_sequences: bool,
}

const EXTENDED: i16 = 1;
const WITH_THINKING: i16 = 2;
const CUTS_AT_STOP_SEQUENCES: i16 = 4;

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
        }
    }

    pub const fn from_code(code: i16) -> Self {
        Self {
            is_extended: code & EXTENDED != 0,
            with_thinking: code & WITH_THINKING != 0,
            cuts_at_stop_sequences: code & CUTS_AT_STOP_SEQUENCES != 0,
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
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_comes_back_from_its_code() {
        for code in 0..8 {
            assert_eq!(ResponseShape::from_code(code).code(), code);
        }
        assert_eq!(ResponseShape::default().code(), 0);
    }
}
