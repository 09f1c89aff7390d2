//! What a group of outcomes does to the accounts: taken last, and held for two statements.

use std::collections::BTreeMap;

use domain::account::Account;
use domain::hold::{Hold, Settlement};
use domain::id::{CargoId, OrganizationId};
use domain::ledger::{Entries, Kind};
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::account;
use crate::shard::posting::{self, Posting};

/// A hold that has come to its end.
#[derive(Debug, Clone, Copy)]
struct Ended {
    cargo: CargoId,
    hold: Hold,
    settlement: Settlement,
    placed_at: Timestamp,
}

/// The ended holds of a group, by organization.
#[derive(Debug, Default)]
pub(crate) struct Books {
    ended: BTreeMap<Uuid, Vec<Ended>>,
}

impl Books {
    pub(crate) fn end(
        &mut self,
        organization: Uuid,
        cargo: CargoId,
        (hold, placed_at): (Hold, Timestamp),
        settlement: Settlement,
    ) {
        self.ended.entry(organization).or_default().push(Ended {
            cargo,
            hold,
            settlement,
            placed_at,
        });
    }

    /// Locks the accounts, ends every hold and writes one posting for each organization
    /// that is charged. The last thing before the commit.
    pub(crate) async fn post(self, tx: &mut Transaction, now: Timestamp) -> Result<(), Error> {
        if self.ended.is_empty() {
            return Ok(());
        }
        let organizations: Vec<OrganizationId> =
            self.ended.keys().copied().map(Into::into).collect();
        let locked = account::lock_waiting(tx, &organizations).await?;
        if locked.accounts.len() != organizations.len() {
            return Err(Error::Corrupt {
                table: "account",
                column: "organization",
            });
        }
        let mut accounts = locked.accounts;
        let mut postings = Vec::with_capacity(accounts.len());
        for account in &mut accounts {
            let ended = self.ended.get(&account.organization.uuid());
            postings.extend(settled(account, ended.map_or(&[][..], Vec::as_slice), now));
        }
        account::write(tx, &accounts).await?;
        posting::append(tx, &postings).await
    }
}

/// Ends holds, and says what is to be posted for them.
fn settled(account: &mut Account, ended: &[Ended], now: Timestamp) -> Option<Posting> {
    let (mut charged, mut lost, mut cargo) = (Money::ZERO, Money::ZERO, Vec::new());
    for one in ended {
        account.end(&one.hold, &one.settlement, one.placed_at);
        charged = charged + one.settlement.charged;
        lost = lost + one.settlement.lost;
        if !one.settlement.charged.is_zero() || !one.settlement.lost.is_zero() {
            cargo.push(one.cargo);
        }
    }
    if cargo.is_empty() {
        return None;
    }
    account.postings += 1;
    Some(Posting {
        organization: account.organization,
        number: account.postings,
        kind: Kind::Settlement,
        at: now,
        entries: Entries::settlement(charged, lost),
        balance: account.posted,
        cargo: Some(cargo),
        reference: None,
        note: None,
    })
}
