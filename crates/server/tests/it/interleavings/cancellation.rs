//! Callers cancel cargo in the middle of a seed. Nothing of it is sent after the acknowledgement.

use std::sync::{Arc, Mutex};

use domain::id::{CargoId, ProjectId};
use domain::time::{Clock as _, Timestamp};
use rand::seq::IndexedRandom as _;
use store::shard::cancel::{self, CancelResult};

use super::fake_provider::FakeProviderAccount;
use super::fixture::OPERATOR;
use super::gate::STAGE;
use super::scheduler::Scheduler;

/// The cargo that was cancelled, and when the caller had the answer.
pub(super) type AcknowledgedCancellations = Arc<Mutex<Vec<(CargoId, Timestamp)>>>;

impl Scheduler<'_> {
    /// A caller cancels one of its cargo, wherever it is.
    pub(super) fn cancel_any(&mut self) {
        let mut all: Vec<(ProjectId, CargoId)> = Vec::new();
        for customer in &self.customers {
            all.extend(
                customer
                    .cargo
                    .iter()
                    .map(|cargo| (customer.project, *cargo)),
            );
        }
        let Some((project, cargo)) = all.choose(&mut self.random).copied() else {
            return;
        };
        let (log, clock) = (self.log.clone(), self.fixture.clock());
        let shard = self.fixture.shard(OPERATOR, &self.plan);
        let acknowledged = self.cancellations.clone();
        log.record(&format!("the caller cancels {cargo}"));
        tokio::spawn(STAGE.scope("cancel", async move {
            let answer = cancel::cancel_one(&shard, project, cargo, clock.now()).await;
            log.record_step(OPERATOR, "cancel", &answer);
            let is_cancelled = matches!(
                answer,
                Ok(Some(answer)) if answer.result == CancelResult::Cancelled
            );
            if is_cancelled {
                let mut acknowledged = acknowledged.lock().unwrap();
                acknowledged.push((cargo, clock.now()));
            }
        }));
    }

    /// Lists cancelled cargo in jobs that were created after the acknowledgement.
    pub(super) fn find_sent_after_cancel(&self, account: &FakeProviderAccount) -> Vec<String> {
        let jobs = account.lock();
        let mut violations = Vec::new();
        for (cargo, at) in self.cancellations.lock().unwrap().iter() {
            let later = jobs.iter().filter(|job| job.created_at > *at);
            let sent = later.filter(|job| job.contains(*cargo));
            violations.extend(sent.map(|job| {
                format!(
                    "{cargo} is in {}, which was created after it was cancelled",
                    job.id
                )
            }));
        }
        violations
    }
}
