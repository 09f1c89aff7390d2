//! The loads that wait for their group, in order of arrival.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use domain::id::OrganizationId;
use parking_lot::Mutex;

use crate::group_commit::QueuedLoad;
use crate::group_commit::group::LoadGroup;

/// The organizations whose loads are being written. Their further loads wait, because a second
/// transaction would only wait for the lock of the account.
#[derive(Debug, Clone, Default)]
struct BusyOrganizations(Arc<Mutex<HashSet<OrganizationId>>>);

impl BusyOrganizations {
    fn contains(&self, queued: &QueuedLoad) -> bool {
        let organization = &queued.load.caller.organization;
        self.0.lock().contains(organization)
    }

    fn claim(&self, organizations: HashSet<OrganizationId>) -> OrganizationClaim {
        self.0.lock().extend(&organizations);
        OrganizationClaim {
            busy: self.clone(),
            organizations,
        }
    }
}

/// The organizations of one group. They are free again when it is dropped.
#[derive(Debug)]
pub(super) struct OrganizationClaim {
    busy: BusyOrganizations,
    organizations: HashSet<OrganizationId>,
}

impl Drop for OrganizationClaim {
    fn drop(&mut self) {
        let mut busy = self.busy.0.lock();
        for organization in &self.organizations {
            busy.remove(organization);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct PendingLoads {
    loads: VecDeque<QueuedLoad>,
    busy: BusyOrganizations,
    /// Whether a load of a free organization waits.
    has_free_load: bool,
}

impl PendingLoads {
    pub(super) fn push(&mut self, queued: QueuedLoad) {
        self.has_free_load |= !self.busy.contains(&queued);
        self.loads.push_back(queued);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// Whether a group can be formed now.
    pub(super) const fn has_free_load(&self) -> bool {
        self.has_free_load
    }

    /// Call when a group has ended: its organizations are free.
    pub(super) fn find_free_load(&mut self) {
        self.has_free_load = self.loads.iter().any(|it| !self.busy.contains(it));
    }

    /// Takes the oldest loads of organizations that are not being written.
    pub(super) fn take_group(&mut self, max_loads: usize) -> (LoadGroup, OrganizationClaim) {
        let mut group = LoadGroup::with_limit(max_loads);
        let mut skipped = Vec::new();
        while !group.is_full()
            && let Some(queued) = self.loads.pop_front()
        {
            if self.busy.contains(&queued) {
                skipped.push(queued);
            } else {
                group.push(queued);
            }
        }
        for queued in skipped.into_iter().rev() {
            self.loads.push_front(queued);
        }
        let claim = self.busy.claim(group.organizations());
        self.find_free_load();
        (group, claim)
    }
}
