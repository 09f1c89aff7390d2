//! The end of a seed: nothing goes wrong any more, and everything that is open is brought to an end.

use std::time::Duration;

use domain::id::CargoId;

use super::gate::{Decision, Point};
use super::scheduler::Scheduler;

/// In the order of the path. What was sent is recorded by the step that follows.
const PATH: [&str; 7] = [
    "gather", "dispatch", "gather", "dispatch", "collect", "deliver", "deliver",
];
/// Not in every round: what they do is rarely needed then.
const UPKEEP: [&str; 3] = ["renew", "bury", "resend"];
const UPKEEP_ROUNDS: usize = 4;
/// How far the clock is moved after each round, in seconds.
const WAITS: [u64; 20] = [
    25, 35, 5, 65, 5, 5, 65, 5, 65, 5, 300, 5, 65, 300, 5, 65, 700, 65, 700, 65,
];

impl Scheduler<'_> {
    /// The whole seed: a beginning without trouble, the trouble, and the end of everything.
    pub(super) async fn go_through(&mut self) -> Result<(), String> {
        self.settle().await?;
        for stage in PATH.into_iter().take(self.plan.stages_done) {
            self.step(stage).await?;
            self.world.clock().advance(Duration::from_secs(10));
        }
        self.disturb().await?;
        self.recover().await
    }

    /// Fails when something is still open after a long time.
    async fn recover(&self) -> Result<(), String> {
        self.log.tell("from here on nothing goes wrong");
        self.gate.set_open(true);
        for ticket in self.gate.waiting() {
            if ticket.point != Point::Step {
                self.gate.let_go(ticket, Decision::Continue);
            }
        }
        self.settle().await?;
        for (round, wait) in WAITS.into_iter().enumerate() {
            self.log.next_turn();
            if round.is_multiple_of(UPKEEP_ROUNDS) {
                for stage in UPKEEP {
                    self.step(stage).await?;
                }
            }
            for stage in PATH {
                self.step(stage).await?;
            }
            for cargo in self.given_up().await {
                self.resend(cargo);
                self.settle().await?;
            }
            if self.open().await.is_empty() {
                return Ok(());
            }
            self.world.clock().advance(Duration::from_secs(wait));
        }
        Err(format!("never came to an end: {:?}", self.open().await))
    }

    /// One step of a stage on every node.
    async fn step(&self, stage: &str) -> Result<(), String> {
        let waiting = self.gate.waiting().into_iter();
        for ticket in waiting.filter(|it| it.stage == stage && it.point == Point::Step) {
            self.gate.let_go(ticket, Decision::Continue);
        }
        self.settle().await
    }

    async fn given_up(&self) -> Vec<CargoId> {
        let failed = format!(
            "select id from shard.cargo c where organization = any({}) and callback_state = 'failed'
                 and not exists (select from shard.delivery d where d.cargo = c.id)",
            self.organizations()
        );
        let failed = self.world.ask(&failed).await.into_iter();
        failed.map(CargoId::from_uuid).collect()
    }

    /// What is not at its end.
    async fn open(&self) -> Vec<String> {
        let open = format!(
            "select concat_ws(' ', 'cargo', id, 'batch', batch, completed_at, callback_state)
                 from shard.cargo where organization = any({})
                     and (completed_at is null or callback_state <> 'delivered')
             union all select concat_ws(' ', 'delivery', cargo, number, due_at, node, epoch)
                 from shard.delivery
             union all select concat_ws(' ', 'waiting', cargo, due_at) from shard.waiting
             union all select concat_ws(' ', 'batch', id, state, next_poll_at, node, epoch)
                 from shard.batch where state <> 'ended'",
            self.organizations()
        );
        self.world.ask(&open).await
    }

    /// Those of this seed, as an array in SQL.
    pub(super) fn organizations(&self) -> String {
        let ids = self.customers.iter().map(|it| it.organization.uuid());
        let ids: Vec<String> = ids.map(|id| format!("'{id}'")).collect();
        format!("array[{}]::uuid[]", ids.join(", "))
    }
}
