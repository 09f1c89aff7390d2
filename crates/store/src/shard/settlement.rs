//! Settlement of the holds of a group of outcomes. The accounts are locked last, for two
//! statements, and two more where a key has a spending cap.

use std::collections::{BTreeMap, HashMap};

use domain::account::{Account, first_day_of_month};
use domain::hold::{Hold, Settlement};
use domain::id::{ApiKeyId, CargoId, OrganizationId};
use domain::ledger::{DoubleEntry, PostingKind};
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::account;
use crate::shard::key_spending::{KeyMonth, KeySpendings};
use crate::shard::posting::{self, Posting};

/// A hold that ends with an outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedHold {
    pub(crate) cargo: CargoId,
    pub(crate) hold: Hold,
    pub(crate) settlement: Settlement,
    pub(crate) placed_at: Timestamp,
    /// The capped key in whose row the hold is counted.
    pub(crate) spending_key: Option<ApiKeyId>,
}

impl EndedHold {
    /// The row that counts it: of the month in which it was placed.
    fn key_month(&self) -> Option<KeyMonth> {
        let key = self.spending_key?;
        Some((key, first_day_of_month(self.placed_at)))
    }
}

/// The ended holds of a group, by organization.
#[derive(Debug, Default)]
pub(crate) struct SettlementGroup {
    ended: BTreeMap<Uuid, Vec<EndedHold>>,
}

impl SettlementGroup {
    pub(crate) fn add(&mut self, organization: Uuid, ended: EndedHold) {
        self.ended.entry(organization).or_default().push(ended);
    }

    /// The rows of capped keys that change.
    fn key_months(&self) -> HashMap<KeyMonth, OrganizationId> {
        let of_organization = |(&organization, ended): (&Uuid, &Vec<EndedHold>)| {
            let keys: Vec<_> = ended.iter().filter_map(EndedHold::key_month).collect();
            keys.into_iter().map(move |key| (key, organization.into()))
        };
        self.ended.iter().flat_map(of_organization).collect()
    }

    /// Locks the accounts, settles every hold and writes one posting per charged organization.
    /// Called last before the commit, apart from releasing references.
    pub(crate) async fn post(self, tx: &mut Transaction, now: Timestamp) -> Result<(), Error> {
        if self.ended.is_empty() {
            return Ok(());
        }
        let organizations: Vec<OrganizationId> =
            self.ended.keys().copied().map(Into::into).collect();
        let locked = account::lock_all(tx, &organizations).await?;
        if locked.accounts.len() != organizations.len() {
            return Err(Error::Corrupt {
                table: "account",
                column: "organization",
            });
        }
        let mut spendings = KeySpendings::read(tx, &self.key_months()).await?;
        for ended in self.ended.values().flatten() {
            if let Some((key, month)) = ended.key_month()
                && let Some(spending) = spendings.get_mut(key, month)
            {
                spending.end_hold(ended.hold.amount, ended.settlement.charged);
            }
        }
        let mut accounts = locked.accounts;
        let mut postings = Vec::with_capacity(accounts.len());
        for account in &mut accounts {
            let ended = self.ended.get(&account.organization.uuid());
            postings.extend(settle_account(
                account,
                ended.map_or(&[][..], Vec::as_slice),
                now,
            ));
        }
        account::write(tx, &accounts).await?;
        spendings.write(tx).await?;
        posting::append(tx, &postings).await
    }
}

/// Ends the holds of one account, and returns the posting for them.
fn settle_account(account: &mut Account, ended: &[EndedHold], now: Timestamp) -> Option<Posting> {
    let (mut charged, mut lost, mut cargo) = (Money::ZERO, Money::ZERO, Vec::new());
    for one in ended {
        account.end_hold(&one.hold, &one.settlement, one.placed_at);
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
        kind: PostingKind::Settlement,
        at: now,
        entries: DoubleEntry::settlement(charged, lost),
        balance: account.posted,
        cargo: Some(cargo),
        reference: None,
        note: None,
    })
}
