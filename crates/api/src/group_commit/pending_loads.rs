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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use domain::hold::Hold;
    use domain::id::{ApiKeyId, Berth, ProjectId};
    use domain::lane::LaneId;
    use domain::organization::Plan;
    use domain::plan_limits::RateLimit;
    use domain::response_shape::ResponseShape;
    use domain::time::Timestamp;
    use store::body;
    use tokio::sync::oneshot;

    use super::*;
    use crate::caller::Caller;
    use crate::group_commit::PreparedLoad;
    use crate::group_commit::admission_control::AdmissionControl;
    use crate::rate_limit::RateLimitToken;

    const RATE: RateLimit = RateLimit {
        burst: 1,
        per_minute: 1,
    };

    /// The model says which load it is.
    fn load(organization: u64, model: &str) -> QueuedLoad {
        let (berth, at) = (Berth::new(0).unwrap(), Timestamp::default());
        let organization = OrganizationId::new(at, berth, organization);
        let (project, key) = (ProjectId::new(at, berth, 1), ApiKeyId::new(at, berth, 1));
        let caller = Caller::on_behalf_of(organization, project, key, Plan::Pro, berth);
        let admission = Arc::new(AdmissionControl::default());
        QueuedLoad {
            load: PreparedLoad {
                caller,
                lane: LaneId(1),
                model: model.to_owned(),
                callback: None,
                request: body::pack(b"{}"),
                unpacked_bytes: 2,
                metadata: None,
                idempotency_key: None,
                hold: Hold::default(),
                files: Vec::new(),
                monthly_tokens: None,
                response_shape: ResponseShape::default(),
                warnings: None,
                deadline_at: None,
                route_reason: None,
                trace: None,
                membership: None,
            },
            token: RateLimitToken::without_bucket(organization, RATE),
            ticket: admission.admit(organization, 2, Instant::now()).unwrap(),
            reply: oneshot::channel().0,
        }
    }

    fn pending(loads: &[(u64, &str)]) -> PendingLoads {
        let mut pending = PendingLoads::default();
        for (organization, model) in loads {
            pending.push(load(*organization, model));
        }
        pending
    }

    #[test]
    fn loads_of_a_busy_organization_wait_in_their_order() {
        let mut pending = pending(&[(1, "a"), (2, "b")]);
        let (group, claim) = pending.take_group(1);
        assert_eq!((group.models(), pending.has_free_load()), (vec!["a"], true));
        pending.push(load(1, "c"));
        pending.push(load(3, "d"));
        pending.push(load(1, "e"));
        let (group, _other) = pending.take_group(10);
        assert_eq!(group.models(), ["b", "d"]);
        assert!(!pending.has_free_load());
        pending.push(load(1, "f"));
        assert!(!pending.has_free_load());
        drop(claim);
        pending.find_free_load();
        assert!(pending.has_free_load());
        let (group, _claim) = pending.take_group(10);
        assert_eq!(group.models(), ["c", "e", "f"]);
        assert!(pending.is_empty() && !pending.has_free_load());
    }
}
