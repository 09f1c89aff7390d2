//! Reads the single values of `params`: texts, numbers, choices, and arrays of texts.

use domain::params::InputText;
use serde::de::SeqAccess;
use wire::error_body::LocationStep;

use super::reader::{self, FieldValue, NOT_A_STRING, NOT_AN_ARRAY, ValueMismatch, ValueReader};
use crate::validation_errors::ValidationErrors;

const NOT_AN_INTEGER: ValueMismatch = ValueMismatch("int_type", "Input should be an integer");
const NOT_A_NUMBER: ValueMismatch = ValueMismatch("float_type", "Input should be a number");
const NOT_POSITIVE: ValueMismatch = ValueMismatch("greater_than", "Input should be greater than 0");
const TOO_LARGE: ValueMismatch =
    ValueMismatch("less_than_equal", "Input should be at most 4294967295");
const NOT_A_RATIO: ValueMismatch = ValueMismatch("value_error", "Input should be between 0 and 1");
const MAX_SEED: u32 = i32::MAX.cast_unsigned();
const NOT_A_SEED: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be an integer between 0 and 2147483647",
);
const NOT_A_BOOL: ValueMismatch = ValueMismatch("bool_type", "Input should be true or false");
const EMPTY_STRING: ValueMismatch = ValueMismatch("string_too_short", "Input should not be empty");
const NOT_INPUT_TEXT: ValueMismatch = ValueMismatch(
    "value_error",
    "Input should be a string or an array of strings",
);

/// Any text.
#[derive(Debug)]
pub(super) struct TextReader;

impl ValueReader<'_> for TextReader {
    type Value = String;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<String> {
        FieldValue::Valid(text.to_owned())
    }
}

#[derive(Debug)]
pub(super) struct PositiveIntegerReader;

impl ValueReader<'_> for PositiveIntegerReader {
    type Value = u32;
    const MISMATCH: ValueMismatch = NOT_AN_INTEGER;

    fn read_integer(self, integer: i128) -> FieldValue<u32> {
        match u32::try_from(integer) {
            Ok(0) => FieldValue::Invalid(NOT_POSITIVE),
            Ok(count) => FieldValue::Valid(count),
            Err(_) if integer < 0 => FieldValue::Invalid(NOT_POSITIVE),
            Err(_) => FieldValue::Invalid(TOO_LARGE),
        }
    }
}

#[derive(Debug)]
pub(super) struct IntegerReader;

impl ValueReader<'_> for IntegerReader {
    type Value = i64;
    const MISMATCH: ValueMismatch = NOT_AN_INTEGER;

    fn read_integer(self, integer: i128) -> FieldValue<i64> {
        i64::try_from(integer).map_or(FieldValue::Invalid(NOT_AN_INTEGER), FieldValue::Valid)
    }
}

/// 0 to 2^31 - 1: what every provider that takes a seed accepts.
#[derive(Debug)]
pub(super) struct SeedReader;

impl ValueReader<'_> for SeedReader {
    type Value = u32;
    const MISMATCH: ValueMismatch = NOT_AN_INTEGER;

    fn read_integer(self, integer: i128) -> FieldValue<u32> {
        match u32::try_from(integer) {
            Ok(seed) if seed <= MAX_SEED => FieldValue::Valid(seed),
            Ok(_) | Err(_) => FieldValue::Invalid(NOT_A_SEED),
        }
    }
}

#[derive(Debug)]
pub(super) struct BoolReader;

impl ValueReader<'_> for BoolReader {
    type Value = bool;
    const MISMATCH: ValueMismatch = NOT_A_BOOL;

    fn read_bool(self, value: bool) -> FieldValue<bool> {
        FieldValue::Valid(value)
    }
}

/// One of some texts, each with its value.
#[derive(Debug)]
pub(super) struct ChoiceReader<T: 'static> {
    pub choices: &'static [(&'static str, T)],
    /// The error for any other text.
    pub mismatch: ValueMismatch,
}

impl<T: Copy + 'static> ValueReader<'_> for ChoiceReader<T> {
    type Value = T;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<T> {
        let choice = self.choices.iter().find(|(name, _)| *name == text);
        choice.map_or(FieldValue::Invalid(self.mismatch), |(_, value)| {
            FieldValue::Valid(*value)
        })
    }
}

#[derive(Debug)]
pub(super) struct RatioReader;

impl ValueReader<'_> for RatioReader {
    type Value = f64;
    const MISMATCH: ValueMismatch = NOT_A_NUMBER;

    fn read_integer(self, integer: i128) -> FieldValue<f64> {
        match integer {
            0 => FieldValue::Valid(0.0),
            1 => FieldValue::Valid(1.0),
            _ => FieldValue::Invalid(NOT_A_RATIO),
        }
    }

    fn read_fraction(self, fraction: f64) -> FieldValue<f64> {
        if (0.0..=1.0).contains(&fraction) {
            FieldValue::Valid(fraction)
        } else {
            FieldValue::Invalid(NOT_A_RATIO)
        }
    }
}

/// One text, or an array of at least one.
#[derive(Debug)]
pub(super) struct InputTextReader<'f> {
    pub faults: &'f mut ValidationErrors,
}

impl<'de> ValueReader<'de> for InputTextReader<'_> {
    type Value = InputText;
    const MISMATCH: ValueMismatch = NOT_INPUT_TEXT;

    fn read_text(self, text: &str) -> FieldValue<InputText> {
        FieldValue::Valid(InputText::One(text.to_owned()))
    }

    fn read_list<A: SeqAccess<'de>>(self, list: A) -> Result<FieldValue<InputText>, A::Error> {
        let texts = read_texts(list, self.faults, || TextReader)?;
        if texts.as_ref().is_some_and(Vec::is_empty) {
            return Ok(FieldValue::Invalid(ValueMismatch(
                "too_short",
                "Input should have at least one text",
            )));
        }
        Ok(texts.map(InputText::Many).into())
    }
}

#[derive(Debug)]
pub(super) struct StopSequencesReader<'f> {
    pub faults: &'f mut ValidationErrors,
    pub max: usize,
}

#[derive(Debug)]
struct StopSequenceReader;

impl ValueReader<'_> for StopSequenceReader {
    type Value = String;
    const MISMATCH: ValueMismatch = NOT_A_STRING;

    fn read_text(self, text: &str) -> FieldValue<String> {
        if text.is_empty() {
            FieldValue::Invalid(EMPTY_STRING)
        } else {
            FieldValue::Valid(text.to_owned())
        }
    }
}

impl<'de> ValueReader<'de> for StopSequencesReader<'_> {
    type Value = Vec<String>;
    const MISMATCH: ValueMismatch = NOT_AN_ARRAY;

    fn read_list<A: SeqAccess<'de>>(self, list: A) -> Result<FieldValue<Vec<String>>, A::Error> {
        let Self { faults, max: most } = self;
        let stops = read_texts(list, faults, || StopSequenceReader)?;
        if stops.as_ref().is_some_and(|stops| stops.len() > most) {
            faults.add(
                "too_long",
                format!("Input should have at most {most} stop sequences"),
            );
        }
        Ok(stops.into())
    }
}

/// All elements, or `None` if one is invalid and its error is reported.
fn read_texts<'de, A: SeqAccess<'de>, S: ValueReader<'de, Value = String>>(
    mut list: A,
    faults: &mut ValidationErrors,
    new_reader: impl Fn() -> S,
) -> Result<Option<Vec<String>>, A::Error> {
    let mut texts = Some(Vec::new());
    let mut index = 0;
    while let Some(value) = reader::next_element(&mut list, new_reader())? {
        let text = faults.within(LocationStep::Index(index), |faults| {
            value.required_here(faults, S::MISMATCH)
        });
        match (text, &mut texts) {
            (Some(text), Some(texts)) => texts.push(text),
            _ => texts = None,
        }
        index += 1;
    }
    Ok(texts)
}
