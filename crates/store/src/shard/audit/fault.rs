//! What does not hold, and where.

use std::fmt;

use domain::id::{CargoId, OrganizationId};
use sqlx::types::Uuid;

use crate::Error;

/// What must always be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identity {
    Entries,
    Chain,
    Account,
    Overdraft,
    Held,
    Reserved,
    Used,
    Outcome,
    Charge,
    Posted,
    Settlement,
    Charges,
}

impl Identity {
    pub const ALL: [Self; 12] = [
        Self::Entries,
        Self::Chain,
        Self::Account,
        Self::Overdraft,
        Self::Held,
        Self::Reserved,
        Self::Used,
        Self::Outcome,
        Self::Charge,
        Self::Posted,
        Self::Settlement,
        Self::Charges,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Chain => "chain",
            Self::Account => "account",
            Self::Overdraft => "overdraft",
            Self::Held => "held",
            Self::Reserved => "reserved",
            Self::Used => "used",
            Self::Outcome => "outcome",
            Self::Charge => "charge",
            Self::Posted => "posted",
            Self::Settlement => "settlement",
            Self::Charges => "charges",
        }
    }

    /// What is not so where it is broken.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Entries => "the entries of a posting sum to zero",
            Self::Chain => {
                "postings are numbered without a gap, and each balance follows from the one before"
            }
            Self::Account => "an account says what its postings say",
            Self::Overdraft => "an account has at least what it holds, and holds at least nothing",
            Self::Held => "an account holds what its cargo under way hold",
            Self::Reserved => "the month's reserved tokens are those of cargo under way",
            Self::Used => "the month's used tokens are those of its outcomes",
            Self::Outcome => "a finished cargo has its outcome, and one under way has none",
            Self::Charge => {
                "a charge is what was used at the prices of the hold, at most the hold, \
                 and nothing where cargo failed"
            }
            Self::Posted => {
                "a charged cargo stands in one posting, of its organization and of the moment \
                 of its outcome"
            }
            Self::Settlement => "a settlement comes to what its cargo were charged and worth",
            Self::Charges => "all settlements of an organization come to all its charges",
        }
    }
}

/// One thing that is wrong: ids and amounts, never what was asked or answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub identity: Identity,
    /// Nothing where the row that would say it is not there.
    pub organization: Option<OrganizationId>,
    pub posting: Option<i64>,
    pub cargo: Option<CargoId>,
    pub expected: String,
    pub found: String,
}

/// One line: `held: org_… expected 5 and found 7; an account holds …`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.identity.as_str())?;
        if let Some(organization) = self.organization {
            write!(f, " {organization}")?;
        }
        if let Some(posting) = self.posting {
            write!(f, " posting {posting}")?;
        }
        if let Some(cargo) = self.cargo {
            write!(f, " {cargo}")?;
        }
        let (expected, found) = (&self.expected, &self.found);
        let sentence = self.identity.sentence();
        write!(f, " expected {expected}, found {found}; {sentence}")
    }
}

/// As every question answers.
pub(super) struct Row {
    pub(super) identity: String,
    pub(super) organization: Option<Uuid>,
    pub(super) posting: Option<i64>,
    pub(super) cargo: Option<Uuid>,
    pub(super) expected: Option<String>,
    pub(super) found: Option<String>,
}

pub(super) fn faults(rows: Vec<Row>) -> Result<Vec<Fault>, Error> {
    let faults = rows.into_iter().map(|row| {
        let identity = Identity::ALL
            .into_iter()
            .find(|identity| identity.as_str() == row.identity);
        Ok(Fault {
            identity: identity.ok_or(Error::Corrupt {
                table: "audit",
                column: "identity",
            })?,
            organization: row.organization.map(Into::into),
            posting: row.posting,
            cargo: row.cargo.map(Into::into),
            expected: row.expected.unwrap_or_else(|| "nothing".to_owned()),
            found: row.found.unwrap_or_else(|| "nothing".to_owned()),
        })
    });
    faults.collect()
}
