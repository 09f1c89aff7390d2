//! A token that was taken. It goes with its load, and back unless that is stored.

use std::sync::Arc;

use domain::bucket::Level;
use domain::id::OrganizationId;
use domain::limit::Rate;

use crate::limits::returns::{Origin, Returns};
use crate::limits::standing::Standing;

#[derive(Debug)]
pub(crate) struct Pass {
    organization: OrganizationId,
    standing: Standing,
    /// Where it goes back to; nothing once it is spent.
    home: Option<(Origin, Arc<Returns>)>,
}

impl Pass {
    pub(super) const fn new(
        organization: OrganizationId,
        standing: Standing,
        origin: Origin,
        returns: Arc<Returns>,
    ) -> Self {
        Self {
            organization,
            standing,
            home: Some((origin, returns)),
        }
    }

    /// A pass that was taken from no bucket.
    pub(super) const fn of_nobody(organization: OrganizationId, rate: Rate) -> Self {
        let standing = Standing {
            rate,
            level: Level::full(rate),
            weight: 1,
        };
        Self {
            organization,
            standing,
            home: None,
        }
    }

    /// How the bucket stood once this was taken.
    pub(crate) const fn standing(&self) -> Standing {
        self.standing
    }

    /// The load is stored: the token stays taken.
    pub(crate) fn spend(mut self) {
        self.home = None;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some((origin, returns)) = self.home.take() {
            returns.put(self.organization, origin, self.standing.rate);
        }
    }
}
