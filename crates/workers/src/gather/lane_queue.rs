//! The fair queue of one lane: its waiting organizations, and how far each has been gathered.

use std::collections::{HashMap, HashSet};

use domain::fair_queueing::FairQueue;
use domain::id::{CargoId, OrganizationId};
use domain::lane::LaneId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::waiting::{GatherQuota, WaitingOrganization};
use uuid::Uuid;

use crate::gather::lane_discovery::{DiscoveredOrganizations, LaneDiscovery};

/// The organizations in one round. Those left out come first in the next round.
const MAX_ORGANIZATIONS_PER_ROUND: usize = 1000;

#[derive(Debug)]
pub(super) struct LaneQueue {
    fair_queue: FairQueue<OrganizationId>,
    /// Each organization's cargo up to this id has been gathered.
    positions: HashMap<OrganizationId, Uuid>,
    discovery: LaneDiscovery,
    pub(super) linger_until: Timestamp,
}

impl Default for LaneQueue {
    fn default() -> Self {
        Self {
            fair_queue: FairQueue::default(),
            positions: HashMap::new(),
            discovery: LaneDiscovery::default(),
            linger_until: Timestamp::UNIX_EPOCH,
        }
    }
}

impl LaneQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.fair_queue.is_empty()
    }

    /// Reads the whole lane when that is due.
    pub(super) async fn discover(
        &mut self,
        shard: &Shard,
        lane: LaneId,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        match self.discovery.discover_next(shard, lane, now).await? {
            DiscoveredOrganizations::All(everyone) => self.set_organizations(everyone),
            DiscoveredOrganizations::Part(some) => {
                for waiting in some {
                    self.add(waiting);
                }
            }
        }
        Ok(())
    }

    /// Sets all waiting organizations. Forgets the positions of all others.
    fn set_organizations(&mut self, everyone: Vec<WaitingOrganization>) {
        let known: HashSet<_> = everyone
            .iter()
            .map(|waiting| waiting.organization)
            .collect();
        self.positions
            .retain(|organization, _| known.contains(organization));
        for waiting in everyone {
            self.add(waiting);
        }
    }

    /// Adds an organization. Cargo before its position was committed late, and moves it back.
    pub(super) fn add(&mut self, waiting: WaitingOrganization) {
        let before = Uuid::from_u128(waiting.first.uuid().as_u128().saturating_sub(1));
        let position = self.positions.entry(waiting.organization).or_insert(before);
        *position = (*position).min(before);
        self.fair_queue.insert(waiting.organization);
    }

    pub(super) fn next_quotas(&mut self, room: usize) -> Vec<GatherQuota> {
        let turns = self
            .fair_queue
            .next_round(room, MAX_ORGANIZATIONS_PER_ROUND)
            .into_iter()
            .map(|turn| GatherQuota {
                organization: turn.key,
                after: self.positions.get(&turn.key).copied().unwrap_or_default(),
                max: turn.max_items,
            });
        turns.collect()
    }

    /// Moves the positions forward. An organization that had less than its quota leaves.
    pub(super) fn record_taken(
        &mut self,
        turns: &[GatherQuota],
        found: &[(OrganizationId, CargoId)],
    ) {
        let mut counts: HashMap<OrganizationId, usize> = HashMap::new();
        for (organization, cargo) in found {
            *counts.entry(*organization).or_default() += 1;
            let position = self.positions.entry(*organization).or_default();
            *position = (*position).max(cargo.uuid());
        }
        let took = |organization| counts.get(organization).copied().unwrap_or_default();
        let gone = turns
            .iter()
            .filter(|turn| took(&turn.organization) < turn.max);
        self.fair_queue
            .remove_all(&gone.map(|turn| turn.organization).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(organization: u128, first: u128) -> WaitingOrganization {
        WaitingOrganization {
            organization: Uuid::from_u128(organization).into(),
            first: Uuid::from_u128(first).into(),
        }
    }

    #[test]
    fn a_position_moves_on_with_what_was_taken() {
        let mut queue = LaneQueue::default();
        queue.add(waiting(1, 10));
        let turns = queue.next_quotas(2);
        assert_eq!(turns[0].after, Uuid::from_u128(9));
        let of = |cargo| {
            (
                Uuid::from_u128(1).into(),
                CargoId::from_uuid(Uuid::from_u128(cargo)),
            )
        };
        queue.record_taken(&turns, &[of(10), of(12)]);
        assert_eq!(queue.next_quotas(2)[0].after, Uuid::from_u128(12));
    }

    #[test]
    fn a_late_commit_moves_the_position_back() {
        let mut queue = LaneQueue::default();
        queue.add(waiting(1, 10));
        queue.add(waiting(1, 20));
        queue.add(waiting(1, 5));
        assert_eq!(queue.next_quotas(1)[0].after, Uuid::from_u128(4));
    }

    #[test]
    fn who_had_less_than_allowed_leaves() {
        let mut queue = LaneQueue::default();
        queue.add(waiting(1, 10));
        let turns = queue.next_quotas(5);
        queue.record_taken(&turns, &[]);
        assert!(queue.is_empty());
    }
}
