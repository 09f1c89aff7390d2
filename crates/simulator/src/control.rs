//! What a test does to the simulator: moves its clock, sets faults and pace, reads what was seen.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::fault::Fault;
use crate::pace::Pace;
use crate::provider::Provider;
use crate::record::{JobView, RealtimeCall, Submission};
use crate::world::World;

/// The same over HTTP and in the process. An account is named by its credential.
#[derive(Debug, Clone)]
pub struct Control {
    world: Arc<World>,
}

impl Control {
    pub(crate) fn of(world: &Arc<World>) -> Self {
        let world = Arc::clone(world);
        Self { world }
    }

    pub fn now(&self) -> Moment {
        self.world.clock.now()
    }

    /// Moves the clock, and with it every job.
    pub fn advance(&self, by: Duration) -> Moment {
        self.world.clock.advance(by);
        self.now()
    }

    /// These faults and no others.
    pub fn set_faults(&self, provider: Provider, account: &str, faults: Vec<Fault>) {
        let account = self.world.account(provider, account);
        account.lock().faults.set(faults);
    }

    /// These faults as well.
    pub fn add_faults(&self, provider: Provider, account: &str, faults: Vec<Fault>) {
        let account = self.world.account(provider, account);
        account.lock().faults.add(faults);
    }

    pub fn clear_faults(&self, provider: Provider, account: &str) {
        self.set_faults(provider, account, Vec::new());
    }

    /// Those that have not yet fired as often as they were told.
    pub fn faults(&self, provider: Provider, account: &str) -> Vec<Fault> {
        let account = self.world.account(provider, account);
        account.lock().faults.all().to_vec()
    }

    /// For jobs that are created from now on, and realtime calls.
    pub fn set_pace(&self, provider: Provider, account: &str, pace: Pace) {
        let account = self.world.account(provider, account);
        account.lock().set_pace(pace);
    }

    pub fn pace(&self, provider: Provider, account: &str) -> Pace {
        let account = self.world.account(provider, account);
        account.lock().pace.clone()
    }

    /// Lets go of all that an account has, for runs that would fill the memory.
    pub fn forget(&self, provider: Provider, account: &str) {
        self.world.forget(provider, account);
    }

    /// Every attempt to create a job, the oldest first.
    pub fn submissions(&self, provider: Provider, account: &str) -> Vec<Submission> {
        let account = self.world.account(provider, account);
        account.lock().submissions.clone()
    }

    /// Every job that was created, whether its creator was told or not.
    pub fn jobs(&self, provider: Provider, account: &str) -> Vec<JobView> {
        let account = self.world.account(provider, account);
        account.lock().job_views(self.now())
    }

    /// Every realtime call.
    pub fn calls(&self, provider: Provider, account: &str) -> Vec<RealtimeCall> {
        let account = self.world.account(provider, account);
        account.lock().calls.clone()
    }
}
