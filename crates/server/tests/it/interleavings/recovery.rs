//! The end of a seed: no more faults, and all open work is completed.

use std::time::Duration;

use domain::id::CargoId;

use super::gate::{GateDecision, GatePoint};
use super::scheduler::Scheduler;

/// The stages in the order of the path. Some are twice: the second step records what was sent.
const STAGE_ORDER: [&str; 7] = [
    "gather", "dispatch", "gather", "dispatch", "collect", "deliver", "deliver",
];
/// Stages that do not run in every round, because their work is rarely needed here.
const UPKEEP_STAGES: [&str; 3] = ["renew", "claim-takeover", "resend"];
const ROUNDS_PER_UPKEEP: usize = 4;
/// How far the clock advances after each round.
const CLOCK_ADVANCE_SECONDS: [u64; 20] = [
    25, 35, 5, 65, 5, 5, 65, 5, 65, 5, 300, 5, 65, 300, 5, 65, 700, 65, 700, 65,
];

impl Scheduler<'_> {
    /// Runs the seed: steps without faults, then with faults, then the recovery.
    pub(super) async fn run(&mut self) -> Result<(), String> {
        self.wait_until_idle().await?;
        for stage in STAGE_ORDER.into_iter().take(self.plan.undisturbed_steps) {
            self.step_stage(stage).await?;
            self.fixture.clock().advance(Duration::from_secs(10));
        }
        self.inject_faults().await?;
        self.recover().await
    }

    /// Completes all open work, and fails if some is still open after a long time.
    async fn recover(&self) -> Result<(), String> {
        self.log.record("no more faults from here on");
        self.gate.set_open(true);
        for ticket in self.gate.waiting_tickets() {
            if ticket.point != GatePoint::Step {
                self.gate.release(ticket, GateDecision::Continue);
            }
        }
        self.wait_until_idle().await?;
        for (round, wait) in CLOCK_ADVANCE_SECONDS.into_iter().enumerate() {
            self.log.next_turn();
            if round.is_multiple_of(ROUNDS_PER_UPKEEP) {
                for stage in UPKEEP_STAGES {
                    self.step_stage(stage).await?;
                }
            }
            for stage in STAGE_ORDER {
                self.step_stage(stage).await?;
            }
            for cargo in self.list_failed_callbacks().await {
                self.resend(cargo);
                self.wait_until_idle().await?;
            }
            if self.list_open_rows().await.is_empty() {
                return Ok(());
            }
            self.fixture.clock().advance(Duration::from_secs(wait));
        }
        Err(format!(
            "work is still open: {:?}",
            self.list_open_rows().await
        ))
    }

    /// Runs one step of a stage on every node.
    async fn step_stage(&self, stage: &str) -> Result<(), String> {
        let waiting = self.gate.waiting_tickets().into_iter();
        for ticket in waiting.filter(|it| it.stage == stage && it.point == GatePoint::Step) {
            self.gate.release(ticket, GateDecision::Continue);
        }
        self.wait_until_idle().await
    }

    async fn list_failed_callbacks(&self) -> Vec<CargoId> {
        let failed = format!(
            "select id from shard.cargo c where organization = any({}) and callback_state = 'failed'
                 and not exists (select from shard.delivery d where d.cargo = c.id)",
            self.organizations_sql()
        );
        let failed = self.fixture.query_column(&failed).await.into_iter();
        failed.map(CargoId::from_uuid).collect()
    }

    /// Lists the rows of unfinished work.
    async fn list_open_rows(&self) -> Vec<String> {
        let open = format!(
            "select concat_ws(' ', 'cargo', id, 'batch', batch, completed_at, callback_state)
                 from shard.cargo where organization = any({})
                     and (completed_at is null or callback_state <> 'delivered')
             union all select concat_ws(' ', 'delivery', cargo, number, due_at, node, epoch)
                 from shard.delivery
             union all select concat_ws(' ', 'waiting', cargo, due_at) from shard.waiting
             union all select concat_ws(' ', 'batch', id, state, next_poll_at, node, epoch)
                 from shard.batch where state <> 'ended'",
            self.organizations_sql()
        );
        self.fixture.query_column(&open).await
    }

    /// The organizations of this seed as an SQL array.
    pub(super) fn organizations_sql(&self) -> String {
        let ids = self.customers.iter().map(|it| it.organization.uuid());
        let ids: Vec<String> = ids.map(|id| format!("'{id}'")).collect();
        format!("array[{}]::uuid[]", ids.join(", "))
    }
}
