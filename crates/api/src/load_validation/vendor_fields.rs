//! Fields of the vendors' APIs that Longshore does not have, and what to write instead.
//!
//! A caller who sends one of them expects another answer than the one that Longshore would buy. So
//! the load is refused.

use std::collections::BTreeMap;

use domain::field_spelling::plain_spelling;

/// Fields that are explained together.
#[derive(Debug)]
pub(super) struct FieldAdvice {
    pub(super) names: &'static [&'static str],
    pub(super) advice: &'static str,
}

/// What becomes of a load with the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldEffect {
    /// It changes the answer, so the load is refused.
    Refused,
    /// It does not change the answer, and the caller may wonder why it has no effect.
    Ignored,
}

/// A field that a vendor has and Longshore does not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VendorField {
    pub(super) effect: FieldEffect,
    pub(super) advice: &'static str,
}

/// The vendors' fields at one place of the body. A name stands for each spelling of it, because
/// vendors take several.
#[derive(Debug)]
pub(super) struct VendorFields {
    /// A hostile body has a million unknown fields, so a name is looked up and not searched.
    by_spelling: BTreeMap<String, VendorField>,
}

impl VendorFields {
    pub(super) fn new(refused: &[FieldAdvice], ignored: &[FieldAdvice]) -> Self {
        let mut by_spelling = BTreeMap::new();
        let lists = [
            (FieldEffect::Refused, refused),
            (FieldEffect::Ignored, ignored),
        ];
        for (effect, list) in lists {
            for entry in list {
                for name in entry.names {
                    let advice = entry.advice;
                    let field = VendorField { effect, advice };
                    let earlier = by_spelling.insert(plain_spelling(name), field);
                    debug_assert!(earlier.is_none(), "{name} is explained twice");
                }
            }
        }
        Self { by_spelling }
    }

    pub(super) fn find(&self, name: &str) -> Option<&VendorField> {
        self.by_spelling.get(&plain_spelling(name))
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &VendorField> {
        self.by_spelling.values()
    }
}

pub(super) const fn advise(names: &'static [&'static str], advice: &'static str) -> FieldAdvice {
    FieldAdvice { names, advice }
}

pub(super) const OPTION_ADVICE: &str =
    "Leave it out. The operator can allow it in provider_options, if the provider takes it.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_in_each_spelling() {
        let fields = VendorFields::new(
            &[advise(&["top_logprobs"], "Leave it out.")],
            &[advise(&["user"], "It is ignored.")],
        );
        for spelling in ["top_logprobs", "topLogprobs", "TOPLOGPROBS"] {
            let found = fields.find(spelling).unwrap();
            assert_eq!(found.effect, FieldEffect::Refused, "{spelling}");
        }
        assert_eq!(fields.find("user").unwrap().effect, FieldEffect::Ignored);
        assert!(fields.find("logprobs").is_none());
    }
}
