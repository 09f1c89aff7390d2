//! Controls the simulator: moves its clock, sets faults and pace, reads its records.

use std::sync::Arc;
use std::time::Duration;

use crate::bill::SimulatedBillLine;
use crate::clock::SimulatorTime;
use crate::fault::SimulatedFault;
use crate::pace::SimulatedPace;
use crate::provider::SimulatedProvider;
use crate::record::{JobView, RealtimeCall, SimulatedSubmission};
use crate::state::SimulatorState;

/// The admin API offers the same over HTTP. A credential names an account.
#[derive(Debug, Clone)]
pub struct SimulatorControl {
    world: Arc<SimulatorState>,
}

impl SimulatorControl {
    pub(crate) fn new(world: &Arc<SimulatorState>) -> Self {
        let world = Arc::clone(world);
        Self { world }
    }

    pub fn now(&self) -> SimulatorTime {
        self.world.clock.now()
    }

    /// Moves the clock. Every job changes state accordingly.
    pub fn advance(&self, by: Duration) -> SimulatorTime {
        self.world.clock.advance(by);
        self.now()
    }

    /// Replaces the faults.
    pub fn set_faults(
        &self,
        provider: SimulatedProvider,
        account: &str,
        faults: Vec<SimulatedFault>,
    ) {
        let account = self.world.account(provider, account);
        account.lock().faults.set(faults);
    }

    /// Adds to the faults.
    pub fn add_faults(
        &self,
        provider: SimulatedProvider,
        account: &str,
        faults: Vec<SimulatedFault>,
    ) {
        let account = self.world.account(provider, account);
        account.lock().faults.add(faults);
    }

    pub fn clear_faults(&self, provider: SimulatedProvider, account: &str) {
        self.set_faults(provider, account, Vec::new());
    }

    /// The faults that may still fire.
    pub fn faults(&self, provider: SimulatedProvider, account: &str) -> Vec<SimulatedFault> {
        let account = self.world.account(provider, account);
        account.lock().faults.all().to_vec()
    }

    /// Applies to new jobs and to realtime calls.
    pub fn set_pace(&self, provider: SimulatedProvider, account: &str, pace: SimulatedPace) {
        let account = self.world.account(provider, account);
        account.lock().set_pace(pace);
    }

    pub fn pace(&self, provider: SimulatedProvider, account: &str) -> SimulatedPace {
        let account = self.world.account(provider, account);
        account.lock().pace.clone()
    }

    /// Deletes all data of an account, to free memory in long runs.
    pub fn forget(&self, provider: SimulatedProvider, account: &str) {
        self.world.forget(provider, account);
    }

    /// Every attempt to create a job, oldest first.
    pub fn submissions(
        &self,
        provider: SimulatedProvider,
        account: &str,
    ) -> Vec<SimulatedSubmission> {
        let account = self.world.account(provider, account);
        account.lock().submissions.clone()
    }

    /// Every created job, even if the caller got no answer.
    pub fn jobs(&self, provider: SimulatedProvider, account: &str) -> Vec<JobView> {
        let account = self.world.account(provider, account);
        account.lock().job_views(self.now())
    }

    /// What the provider would bill, by model and tier.
    pub fn bill(&self, provider: SimulatedProvider, account: &str) -> Vec<SimulatedBillLine> {
        let account = self.world.account(provider, account);
        account.lock().bill(self.now())
    }

    pub fn calls(&self, provider: SimulatedProvider, account: &str) -> Vec<RealtimeCall> {
        let account = self.world.account(provider, account);
        account.lock().calls.clone()
    }
}
