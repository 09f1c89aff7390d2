//! A broken invariant, and where it is broken.

use std::fmt;

use domain::id::{CargoId, OrganizationId};
use sqlx::types::Uuid;

use crate::Error;

/// What must always be true of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LedgerInvariant {
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
    KeyHeld,
    KeySpent,
}

impl LedgerInvariant {
    pub const ALL: [Self; 14] = [
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
        Self::KeyHeld,
        Self::KeySpent,
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
            Self::KeyHeld => "key_held",
            Self::KeySpent => "key_spent",
        }
    }

    /// The invariant as a sentence, for the report of a fault.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Entries => "the entries of a posting sum to zero",
            Self::Chain => {
                "postings are numbered without a gap, and each balance follows from the one before"
            }
            Self::Account => "an account's balance and number of postings match its postings",
            Self::Overdraft => "an account's held amount is between zero and its balance",
            Self::Held => "an account's held amount is the sum of the holds of its open cargo",
            Self::Reserved => "the month's reserved tokens are the sum over open cargo",
            Self::Used => "the month's used tokens are the sum over its outcomes",
            Self::Outcome => "completed cargo has an outcome, and open cargo has none",
            Self::Charge => {
                "a charge is what was used at the prices of the hold, at most the hold, \
                 and nothing where cargo failed"
            }
            Self::Posted => {
                "charged cargo is named in exactly one posting, of its organization and of the \
                 time of its outcome"
            }
            Self::Settlement => "a settlement equals the charges and the worth of its cargo",
            Self::Charges => "the settlements of an organization sum to its charges",
            Self::KeyHeld => {
                "a capped key's held amount of a month is the sum of the holds of its open cargo"
            }
            Self::KeySpent => "a capped key's spent amount of a month is the sum of its charges",
        }
    }
}

/// One broken invariant: ids and amounts, never the contents of requests or outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerFault {
    pub invariant: LedgerInvariant,
    /// None if the row that names it is missing.
    pub organization: Option<OrganizationId>,
    pub posting: Option<i64>,
    pub cargo: Option<CargoId>,
    pub expected: String,
    pub found: String,
}

/// One line: `held: org_… expected 5 and found 7; an account holds …`.
impl fmt::Display for LedgerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.invariant.as_str())?;
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
        let sentence = self.invariant.sentence();
        write!(f, " expected {expected}, found {found}; {sentence}")
    }
}

/// The columns that every check returns.
pub(super) struct Row {
    pub(super) identity: String,
    pub(super) organization: Option<Uuid>,
    pub(super) posting: Option<i64>,
    pub(super) cargo: Option<Uuid>,
    pub(super) expected: Option<String>,
    pub(super) found: Option<String>,
}

pub(super) fn faults_from_rows(rows: Vec<Row>) -> Result<Vec<LedgerFault>, Error> {
    let faults = rows.into_iter().map(|row| {
        let identity = LedgerInvariant::ALL
            .into_iter()
            .find(|identity| identity.as_str() == row.identity);
        Ok(LedgerFault {
            invariant: identity.ok_or(Error::Corrupt {
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
