//! Shares: how many callbacks this node may have under way, in all and for each
//! organization and destination.
//!
//! One slow or dead receiver takes only its own share; the rest of a flood waits
//! in its rows.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use domain::id::{CargoId, OrganizationId};
use store::shard::delivery::Destination;

use crate::stage::Bell;

/// A callback that is ours to make.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) cargo: CargoId,
    pub(crate) destination: Destination,
    pub(crate) url: String,
    pub(crate) number: u32,
    /// Somebody asked for it again: one attempt, whatever becomes of it.
    pub(crate) is_resend: bool,
    pub(crate) payload: Bytes,
}

/// The caps. One organization takes at most an eighth of the whole.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    pub slots: usize,
    pub per_destination: usize,
}

impl Shares {
    fn per_organization(self) -> usize {
        (self.slots / 8).max(self.per_destination).min(self.slots)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Desk {
    shares: Shares,
    taken: Arc<Mutex<Taken>>,
    handed_over: Bell,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    organizations: HashMap<OrganizationId, usize>,
    destinations: HashMap<Destination, usize>,
    parcels: Vec<Parcel>,
    /// Cargo whose callback is ours to make and not yet recorded.
    held: HashSet<CargoId>,
}

impl Desk {
    pub(crate) fn new(shares: Shares, handed_over: Bell) -> Self {
        Self {
            shares,
            taken: Arc::default(),
            handed_over,
        }
    }

    /// How many more this destination may have under way.
    pub(crate) fn room(&self, destination: &Destination) -> usize {
        self.lock().room(self.shares, destination)
    }

    pub(crate) fn total_room(&self) -> usize {
        self.shares.slots.saturating_sub(self.lock().total)
    }

    /// Takes a place, if there is one.
    pub(crate) fn reserve(&self, destination: &Destination) -> bool {
        let mut taken = self.lock();
        let free = taken.room(self.shares, destination) > 0;
        if free {
            taken.take(destination);
        }
        free
    }

    /// Takes a place for what is claimed already.
    pub(crate) fn take(&self, cargo: CargoId, destination: &Destination) {
        let mut taken = self.lock();
        taken.held.insert(cargo);
        taken.take(destination);
    }

    /// Those of some cargo that nobody here knows of.
    pub(crate) fn unknown(&self, cargo: Vec<CargoId>) -> HashSet<CargoId> {
        let taken = self.lock();
        cargo
            .into_iter()
            .filter(|id| !taken.held.contains(id))
            .collect()
    }

    /// What was recorded is no longer ours.
    pub(crate) fn let_go(&self, cargo: impl Iterator<Item = CargoId>) {
        let mut taken = self.lock();
        for id in cargo {
            taken.held.remove(&id);
        }
    }

    pub(crate) fn release(&self, destination: &Destination) {
        self.lock().release(destination);
    }

    /// Lays down parcels whose rows were written; the others give their places back.
    pub(crate) fn hand_over(&self, parcels: Vec<Parcel>, written: &HashSet<CargoId>) {
        let mut taken = self.lock();
        for parcel in parcels {
            if written.contains(&parcel.cargo) {
                taken.held.insert(parcel.cargo);
                taken.parcels.push(parcel);
            } else {
                taken.release(&parcel.destination);
            }
        }
        drop(taken);
        self.handed_over.ring();
    }

    pub(crate) fn collect(&self) -> Vec<Parcel> {
        std::mem::take(&mut self.lock().parcels)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn room(&self, shares: Shares, destination: &Destination) -> usize {
        let organization = self.organizations.get(&destination.organization).copied();
        let own = self
            .destinations
            .get(destination)
            .copied()
            .unwrap_or_default();
        let total = shares.slots.saturating_sub(self.total);
        let organization = shares
            .per_organization()
            .saturating_sub(organization.unwrap_or_default());
        total
            .min(organization)
            .min(shares.per_destination.saturating_sub(own))
    }

    fn take(&mut self, destination: &Destination) {
        self.total += 1;
        *self
            .organizations
            .entry(destination.organization)
            .or_default() += 1;
        *self.destinations.entry(destination.clone()).or_default() += 1;
    }

    fn release(&mut self, destination: &Destination) {
        self.total = self.total.saturating_sub(1);
        if let Some(count) = self.organizations.get_mut(&destination.organization) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.organizations.remove(&destination.organization);
            }
        }
        if let Some(count) = self.destinations.get_mut(destination) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.destinations.remove(destination);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(organization: u128, host: &str) -> Destination {
        let organization = uuid::Uuid::from_u128(organization).into();
        Destination {
            organization,
            host: host.to_owned(),
        }
    }

    #[test]
    fn a_destination_takes_only_its_share() {
        let desk = Desk::new(
            Shares {
                slots: 100,
                per_destination: 3,
            },
            Bell::default(),
        );
        let slow = to(1, "slow");
        assert_eq!((0..10).filter(|_| desk.reserve(&slow)).count(), 3);
        assert!(desk.reserve(&to(1, "other")));
        desk.release(&slow);
        assert_eq!(desk.room(&slow), 1);
    }

    #[test]
    fn an_organization_with_many_hosts_takes_an_eighth() {
        let desk = Desk::new(
            Shares {
                slots: 80,
                per_destination: 3,
            },
            Bell::default(),
        );
        let taken = (0..100)
            .filter(|host| desk.reserve(&to(1, &host.to_string())))
            .count();
        assert_eq!(taken, 10);
        assert!(desk.reserve(&to(2, "0")));
    }
}
