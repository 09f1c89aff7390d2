//! What is remembered of a lane: who waits, and how far each has been gathered.

use std::collections::{HashMap, HashSet};

use domain::id::{CargoId, OrganizationId};
use domain::lane::LaneId;
use domain::time::Timestamp;
use domain::turns::Ring;
use store::Shard;
use store::shard::waiting::{Taking, Waiting};
use uuid::Uuid;

use crate::gather::look::{Found, Look};

/// The most organizations in one round; who is left out comes first in the next.
const WIDEST: usize = 1000;

#[derive(Debug)]
pub(super) struct Queue {
    ring: Ring<OrganizationId>,
    /// Everything up to here has been gathered.
    positions: HashMap<OrganizationId, Uuid>,
    look: Look,
    pub(super) rest_until: Timestamp,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            ring: Ring::default(),
            positions: HashMap::new(),
            look: Look::default(),
            rest_until: Timestamp::UNIX_EPOCH,
        }
    }
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Looks at the whole lane when that is due.
    pub(super) async fn look(
        &mut self,
        shard: &Shard,
        lane: LaneId,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        match self.look.next(shard, lane, now).await? {
            Found::Everyone(everyone) => self.look_at(everyone),
            Found::Some(some) => some.into_iter().for_each(|waiting| self.enter(waiting)),
        }
        Ok(())
    }

    /// Everyone who waits. Positions of those who do not are forgotten.
    fn look_at(&mut self, everyone: Vec<Waiting>) {
        let known: HashSet<_> = everyone
            .iter()
            .map(|waiting| waiting.organization)
            .collect();
        self.positions
            .retain(|organization, _| known.contains(organization));
        for waiting in everyone {
            self.enter(waiting);
        }
    }

    /// Someone waits. A cargo from before the position was committed late.
    pub(super) fn enter(&mut self, waiting: Waiting) {
        let before = Uuid::from_u128(waiting.first.uuid().as_u128().saturating_sub(1));
        let position = self.positions.entry(waiting.organization).or_insert(before);
        *position = (*position).min(before);
        self.ring.enter(waiting.organization);
    }

    pub(super) fn turns(&mut self, room: usize) -> Vec<Taking> {
        let turns = self
            .ring
            .round(room, WIDEST)
            .into_iter()
            .map(|turn| Taking {
                organization: turn.key,
                after: self.positions.get(&turn.key).copied().unwrap_or_default(),
                most: turn.most,
            });
        turns.collect()
    }

    /// Moves the positions on; who had less than its turn allowed has nothing left.
    pub(super) fn took(&mut self, turns: &[Taking], found: &[(OrganizationId, CargoId)]) {
        let mut counts: HashMap<OrganizationId, usize> = HashMap::new();
        for (organization, cargo) in found {
            *counts.entry(*organization).or_default() += 1;
            let position = self.positions.entry(*organization).or_default();
            *position = (*position).max(cargo.uuid());
        }
        let took = |organization| counts.get(organization).copied().unwrap_or_default();
        let gone = turns
            .iter()
            .filter(|turn| took(&turn.organization) < turn.most);
        self.ring
            .leave_all(&gone.map(|turn| turn.organization).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(organization: u128, first: u128) -> Waiting {
        Waiting {
            organization: Uuid::from_u128(organization).into(),
            first: Uuid::from_u128(first).into(),
        }
    }

    #[test]
    fn a_position_moves_on_with_what_was_taken() {
        let mut queue = Queue::default();
        queue.enter(waiting(1, 10));
        let turns = queue.turns(2);
        assert_eq!(turns[0].after, Uuid::from_u128(9));
        let of = |cargo| {
            (
                Uuid::from_u128(1).into(),
                CargoId::from_uuid(Uuid::from_u128(cargo)),
            )
        };
        queue.took(&turns, &[of(10), of(12)]);
        assert_eq!(queue.turns(2)[0].after, Uuid::from_u128(12));
    }

    #[test]
    fn a_late_commit_moves_the_position_back() {
        let mut queue = Queue::default();
        queue.enter(waiting(1, 10));
        queue.enter(waiting(1, 20));
        queue.enter(waiting(1, 5));
        assert_eq!(queue.turns(1)[0].after, Uuid::from_u128(4));
    }

    #[test]
    fn who_had_less_than_allowed_leaves() {
        let mut queue = Queue::default();
        queue.enter(waiting(1, 10));
        let turns = queue.turns(5);
        queue.took(&turns, &[]);
        assert!(queue.is_empty());
    }
}
