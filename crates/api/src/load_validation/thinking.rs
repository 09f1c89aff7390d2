//! Reads `thinking`.

use domain::params::thinking::{Thinking, ThinkingDisplay};
use serde::de::MapAccess;

use super::nested_vendor_fields::THINKING_FIELDS;
use super::reader::{
    FieldKey, FieldValue, KeySeed, NOT_AN_OBJECT, ReaderSeed, ValueMismatch, ValueReader,
};
use super::unknown_fields::skip_unknown;
use super::values::{ChoiceReader, PositiveIntegerReader};
use crate::validation_errors::ValidationErrors;

const KEYS: &[&str] = &["type", "budget_tokens", "display"];
const TYPES: &[(&str, ThinkingKind)] = &[
    ("disabled", ThinkingKind::Disabled),
    ("adaptive", ThinkingKind::Adaptive),
    ("enabled", ThinkingKind::Enabled),
];
const INVALID_TYPE: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be adaptive, enabled or disabled",
);
const DISPLAYS: &[(&str, ThinkingDisplay)] = &[
    ("summarized", ThinkingDisplay::Summarized),
    ("omitted", ThinkingDisplay::Omitted),
];
const INVALID_DISPLAY: ValueMismatch =
    ValueMismatch("value_error", "Input should be summarized or omitted");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingKind {
    Disabled,
    Adaptive,
    Enabled,
}

#[derive(Debug)]
pub(super) struct ThinkingReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for ThinkingReader<'_> {
    type Value = Thinking;
    const MISMATCH: ValueMismatch = NOT_AN_OBJECT;

    fn read_object<A: MapAccess<'de>>(
        self,
        mut object: A,
    ) -> Result<FieldValue<Thinking>, A::Error> {
        let Self { faults } = self;
        let mut kind = FieldValue::Absent;
        let mut budget_tokens = FieldValue::Absent;
        let mut display = FieldValue::Absent;
        while let Some(key) = object.next_key_seed(KeySeed(KEYS))? {
            match key {
                FieldKey::Known("type") => {
                    let (choices, mismatch) = (TYPES, INVALID_TYPE);
                    let reader = ChoiceReader { choices, mismatch };
                    kind = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Known("budget_tokens") => {
                    budget_tokens = object.next_value_seed(ReaderSeed(PositiveIntegerReader))?;
                }
                FieldKey::Known(_) => {
                    let (choices, mismatch) = (DISPLAYS, INVALID_DISPLAY);
                    let reader = ChoiceReader { choices, mismatch };
                    display = object.next_value_seed(ReaderSeed(reader))?;
                }
                FieldKey::Unknown(key) => {
                    skip_unknown(&mut object, key, faults, &THINKING_FIELDS)?;
                }
            }
        }
        Ok(build_thinking(kind, budget_tokens, display, faults).into())
    }
}

fn build_thinking(
    kind: FieldValue<ThinkingKind>,
    budget_tokens: FieldValue<u32>,
    display: FieldValue<ThinkingDisplay>,
    faults: &mut ValidationErrors,
) -> Option<Thinking> {
    let kind = kind.required(faults, "type")?;
    if kind != ThinkingKind::Enabled && !budget_tokens.is_absent() {
        let msg = "Only thinking of the type enabled has budget_tokens";
        faults.add_at("budget_tokens", "value_error", msg);
    }
    if kind == ThinkingKind::Disabled && !display.is_absent() {
        let msg = "Thinking of the type disabled has nothing to display";
        faults.add_at("display", "value_error", msg);
    }
    match kind {
        ThinkingKind::Disabled => Some(Thinking::Disabled),
        ThinkingKind::Adaptive => Some(Thinking::Adaptive {
            display: display.optional(faults, "display"),
        }),
        ThinkingKind::Enabled => {
            let budget_tokens = budget_tokens.required(faults, "budget_tokens");
            let display = display.optional(faults, "display");
            Some(Thinking::Enabled {
                budget_tokens: budget_tokens?,
                display,
            })
        }
    }
}
