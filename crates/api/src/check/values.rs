//! The single values of `params`: texts, numbers, and lists of texts.

use domain::params::InputText;
use serde::de::SeqAccess;
use wire::detail::Step;

use super::shape::{self, Bad, Given, LIST, Shape, TEXT};
use crate::faults::Faults;

const INTEGER: Bad = Bad("int_type", "Input should be an integer");
const NUMBER: Bad = Bad("float_type", "Input should be a number");
const POSITIVE: Bad = Bad("greater_than", "Input should be greater than 0");
const COUNTABLE: Bad = Bad("less_than_equal", "Input should be at most 4294967295");
const RATIO: Bad = Bad("value_error", "Input should be between 0 and 1");
const EMPTY: Bad = Bad("string_too_short", "Input should not be empty");
const TEXT_OR_TEXTS: Bad = Bad(
    "value_error",
    "Input should be a string or an array of strings",
);

/// Any text.
#[derive(Debug)]
pub(super) struct Text;

impl Shape<'_> for Text {
    type Value = String;
    const WANTED: Bad = TEXT;

    fn text(self, text: &str) -> Given<String> {
        Given::Good(text.to_owned())
    }
}

#[derive(Debug)]
pub(super) struct Count;

impl Shape<'_> for Count {
    type Value = u32;
    const WANTED: Bad = INTEGER;

    fn integer(self, integer: i128) -> Given<u32> {
        match u32::try_from(integer) {
            Ok(0) => Given::Bad(POSITIVE),
            Ok(count) => Given::Good(count),
            Err(_) if integer < 0 => Given::Bad(POSITIVE),
            Err(_) => Given::Bad(COUNTABLE),
        }
    }
}

#[derive(Debug)]
pub(super) struct Whole;

impl Shape<'_> for Whole {
    type Value = i64;
    const WANTED: Bad = INTEGER;

    fn integer(self, integer: i128) -> Given<i64> {
        i64::try_from(integer).map_or(Given::Bad(INTEGER), Given::Good)
    }
}

#[derive(Debug)]
pub(super) struct Ratio;

impl Shape<'_> for Ratio {
    type Value = f64;
    const WANTED: Bad = NUMBER;

    fn integer(self, integer: i128) -> Given<f64> {
        match integer {
            0 => Given::Good(0.0),
            1 => Given::Good(1.0),
            _ => Given::Bad(RATIO),
        }
    }

    fn fraction(self, fraction: f64) -> Given<f64> {
        if (0.0..=1.0).contains(&fraction) {
            Given::Good(fraction)
        } else {
            Given::Bad(RATIO)
        }
    }
}

/// One text, or an array of at least one.
#[derive(Debug)]
pub(super) struct Texts<'f> {
    pub faults: &'f mut Faults,
}

impl<'de> Shape<'de> for Texts<'_> {
    type Value = InputText;
    const WANTED: Bad = TEXT_OR_TEXTS;

    fn text(self, text: &str) -> Given<InputText> {
        Given::Good(InputText::One(text.to_owned()))
    }

    fn list<A: SeqAccess<'de>>(self, list: A) -> Result<Given<InputText>, A::Error> {
        let texts = all_of(list, self.faults, || Text)?;
        if texts.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Given::Bad(Bad(
                "too_short",
                "Input should have at least one text",
            )));
        }
        Ok(texts.map(InputText::Many).into())
    }
}

#[derive(Debug)]
pub(super) struct StopSequences<'f> {
    pub faults: &'f mut Faults,
    pub most: usize,
}

#[derive(Debug)]
struct StopSequence;

impl Shape<'_> for StopSequence {
    type Value = String;
    const WANTED: Bad = TEXT;

    fn text(self, text: &str) -> Given<String> {
        if text.is_empty() {
            Given::Bad(EMPTY)
        } else {
            Given::Good(text.to_owned())
        }
    }
}

impl<'de> Shape<'de> for StopSequences<'_> {
    type Value = Vec<String>;
    const WANTED: Bad = LIST;

    fn list<A: SeqAccess<'de>>(self, list: A) -> Result<Given<Vec<String>>, A::Error> {
        let Self { faults, most } = self;
        let stops = all_of(list, faults, || StopSequence)?;
        if stops.as_ref().is_some_and(|stops| stops.len() > most) {
            faults.note(
                "too_long",
                format!("Input should have at most {most} stop sequences"),
            );
        }
        Ok(stops.into())
    }
}

/// Every element, or None when the fault of one is noted.
fn all_of<'de, A: SeqAccess<'de>, S: Shape<'de, Value = String>>(
    mut list: A,
    faults: &mut Faults,
    shape: impl Fn() -> S,
) -> Result<Option<Vec<String>>, A::Error> {
    let mut texts = Some(Vec::new());
    let mut index = 0;
    while let Some(given) = shape::element(&mut list, shape())? {
        let text = faults.within(Step::Index(index), |faults| {
            given.required_here(faults, S::WANTED)
        });
        match (text, &mut texts) {
            (Some(text), Some(texts)) => texts.push(text),
            _ => texts = None,
        }
        index += 1;
    }
    Ok(texts)
}
