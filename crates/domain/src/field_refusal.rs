//! Refusals of single fields of a load, with the exact place of each.

use std::fmt;

/// More refusals do not help the caller, and a hostile request could have millions.
const MAX_REFUSALS: usize = 100;

/// One thing in a load that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRefusal {
    /// Where it is, below the body: `params`, then the field.
    pub location: Vec<LocationPart>,
    pub message: String,
    /// What the model would have to be able to do; None if no model takes the request.
    pub capability: Option<&'static str>,
}

/// A step into a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocationPart {
    Key(String),
    Index(usize),
}

impl fmt::Display for LocationPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

/// A place in a load while it is being checked. It allocates only when something is refused there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldPath<'a> {
    Root,
    Key(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl FieldPath<'static> {
    pub(crate) const PARAMS: Self = Self::Key(&Self::Root, "params");
}

impl FieldPath<'_> {
    pub(crate) const fn key<'b>(&'b self, key: &'b str) -> FieldPath<'b> {
        FieldPath::Key(self, key)
    }

    pub(crate) const fn index(&self, index: usize) -> FieldPath<'_> {
        FieldPath::Index(self, index)
    }

    pub(crate) fn location(self) -> Vec<LocationPart> {
        let mut parts = Vec::new();
        let mut place = self;
        loop {
            place = match place {
                Self::Root => break,
                Self::Key(parent, key) => {
                    parts.push(LocationPart::Key(key.to_owned()));
                    *parent
                }
                Self::Index(parent, index) => {
                    parts.push(LocationPart::Index(index));
                    *parent
                }
            };
        }
        parts.reverse();
        parts
    }
}

/// The refusals of a load, as many as are worth reporting.
#[derive(Debug, Default)]
pub(crate) struct RefusalList {
    refusals: Vec<FieldRefusal>,
}

impl RefusalList {
    /// Refuses what no model takes.
    pub(crate) fn add(&mut self, place: FieldPath<'_>, message: impl Into<String>) {
        self.push(place.location(), message.into(), None);
    }

    /// Refuses what this model cannot do.
    pub(crate) fn add_missing(
        &mut self,
        capability: &'static str,
        place: FieldPath<'_>,
        message: impl Into<String>,
    ) {
        self.push(place.location(), message.into(), Some(capability));
    }

    /// Refuses something below a place, unless the same refusal is listed.
    pub(crate) fn add_below(
        &mut self,
        place: FieldPath<'_>,
        below: Vec<LocationPart>,
        message: String,
    ) {
        let mut location = place.location();
        location.extend(below);
        let is_listed = self
            .refusals
            .iter()
            .any(|it| it.location == location && it.message == message);
        if !is_listed {
            self.push(location, message, None);
        }
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.refusals.len() >= MAX_REFUSALS
    }

    pub(crate) fn into_refusals(self) -> Vec<FieldRefusal> {
        self.refusals
    }

    fn push(
        &mut self,
        location: Vec<LocationPart>,
        message: String,
        capability: Option<&'static str>,
    ) {
        if !self.is_full() {
            self.refusals.push(FieldRefusal {
                location,
                message,
                capability,
            });
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One refusal per line: place, capability and message.
    pub(crate) fn text_of(refusals: &[FieldRefusal]) -> String {
        let lines = refusals.iter().map(|refusal| {
            let place: Vec<String> = refusal.location.iter().map(ToString::to_string).collect();
            let capability = refusal.capability.map(|name| format!(" [{name}]"));
            format!(
                "{}{}: {}",
                place.join("."),
                capability.unwrap_or_default(),
                refusal.message
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_refusal_has_its_exact_place() {
        let mut refusals = RefusalList::default();
        let messages = FieldPath::PARAMS.key("messages");
        refusals.add(messages.index(2).key("role"), "no");
        refusals.add_missing("seed", FieldPath::PARAMS.key("seed"), "not here");
        assert_eq!(
            text_of(&refusals.into_refusals()),
            "params.messages.2.role: no\nparams.seed [seed]: not here"
        );
    }

    #[test]
    fn the_list_of_refusals_is_bounded() {
        let mut refusals = RefusalList::default();
        for _ in 0..10 * MAX_REFUSALS {
            refusals.add(FieldPath::Root, "no");
        }
        assert_eq!(refusals.into_refusals().len(), MAX_REFUSALS);
    }
}
