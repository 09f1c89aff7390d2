//! Two shards that share accounts at simulated providers; one `serve` and several `work`
//! processes.

use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::DatabaseLayout;
use crate::harness::environment::deployment::Deployment;
use crate::harness::environment::trial_environment::TrialEnvironment;
use crate::harness::{Result, SimulatorProcess, TrialAccounts};
use crate::options::CommonOptions;

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct ProviderEnvironment {
    /// Its workers are not started yet.
    pub service: TrialEnvironment,
    pub simulator: SimulatorProcess,
}

impl ProviderEnvironment {
    pub async fn build(
        common: &CommonOptions,
        accounts: TrialAccounts<'_>,
        mut deployment: Deployment,
        memory: &str,
    ) -> Result<Self> {
        let layout = DatabaseLayout::SharedServer;
        let mut base = BaseEnvironment::build(common, layout, memory).await?;
        let simulator = SimulatorProcess::start(&common.simulator, &base.scratch, 1).await?;
        for (name, value) in accounts.write_files(base.scratch.path(), simulator.address)? {
            base.longshored.set(name, &value);
        }
        deployment.sink.keeps_bodies = true;
        let deployment = deployment.with_stopped_workers();
        Ok(Self {
            service: TrialEnvironment::start(base, deployment).await?,
            simulator,
        })
    }
}
