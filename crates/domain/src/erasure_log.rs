//! What was erased, by its id only. The bucket keeps these ids, so that a database restored from a
//! backup can be erased again.

use std::fmt;
use std::str::FromStr;

use crate::id::{OrganizationId, PersonId, ProjectId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErasureSubject {
    Organization(OrganizationId),
    Project(ProjectId),
    Person(PersonId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the id of an organization, a project or a person")]
pub struct InvalidErasureSubject;

impl fmt::Display for ErasureSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Organization(id) => id.fmt(f),
            Self::Project(id) => id.fmt(f),
            Self::Person(id) => id.fmt(f),
        }
    }
}

/// Ids of different kinds have different prefixes.
impl FromStr for ErasureSubject {
    type Err = InvalidErasureSubject;

    fn from_str(text: &str) -> Result<Self, InvalidErasureSubject> {
        let organization = text.parse().map(Self::Organization);
        organization
            .or_else(|_| text.parse().map(Self::Project))
            .or_else(|_| text.parse().map(Self::Person))
            .map_err(|_| InvalidErasureSubject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_written_as_its_id() {
        let digits = "019b76daa87b774b805000000000002a";
        for kind in ["org", "prj", "usr"] {
            let text = format!("{kind}_{digits}");
            let subject: ErasureSubject = text.parse().unwrap();
            assert_eq!(subject.to_string(), text);
        }
        for other in ["", "prj_", &format!("crg_{digits}"), digits] {
            assert_eq!(other.parse::<ErasureSubject>(), Err(InvalidErasureSubject));
        }
    }
}
