//! When the results of a batch may pause its provider account.
//!
//! An organization chooses what its items say, and so can make a provider refuse them with any
//! error. Its items alone never pause an account that others use too: items of a second
//! organization must meet an account fault as well, or one of our control calls (create, poll,
//! list) must fail for the account.

use crate::id::OrganizationId;

/// The account faults that the items of one batch met.
#[derive(Debug, Default)]
pub struct AccountFaultReports {
    first: Option<(OrganizationId, String)>,
    is_confirmed: bool,
}

impl AccountFaultReports {
    /// Notes that an item of `organization` was refused with an error code of the account.
    pub fn add(&mut self, organization: OrganizationId, reason: &str) {
        match &self.first {
            None => self.first = Some((organization, reason.to_owned())),
            Some((other, _)) => self.is_confirmed |= *other != organization,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The reason to pause the account, once items of two organizations met a fault.
    pub fn confirmed(&self) -> Option<&str> {
        let (_, reason) = self.first.as_ref()?;
        self.is_confirmed.then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Berth;
    use chrono::DateTime;

    fn organization(number: u64) -> OrganizationId {
        let now = DateTime::from_timestamp_millis(1_767_225_600_000).unwrap();
        OrganizationId::new(now, Berth::new(7).unwrap(), number)
    }

    #[test]
    fn the_items_of_one_organization_pause_nothing() {
        let mut reports = AccountFaultReports::default();
        assert!(reports.is_empty());
        for _ in 0..1000 {
            reports.add(organization(1), "insufficient_quota");
        }
        assert!(!reports.is_empty());
        assert_eq!(reports.confirmed(), None);
    }

    #[test]
    fn the_items_of_two_organizations_pause_the_account() {
        let mut reports = AccountFaultReports::default();
        reports.add(organization(1), "insufficient_quota");
        reports.add(organization(2), "invalid_api_key");
        reports.add(organization(1), "insufficient_quota");
        assert_eq!(reports.confirmed(), Some("insufficient_quota"));
    }
}
