//! An organization's account on its shard: what a load is asked against.
//!
//! The row is locked for every group of loads. It holds nothing to spend yet:
//! credit and quota come to stand here, and [`Account::admit`] is where they say no.

use crate::id::OrganizationId;

/// The locked row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub organization: OrganizationId,
}

/// Why an account cannot take a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccountRefusal {}

impl Account {
    /// Asked load by load, in the order in which the loads came.
    pub const fn admit(&mut self) -> Result<(), AccountRefusal> {
        Ok(())
    }
}
