//! One shard, one `serve` process, some `work` processes, and organizations with a callback
//! sink.

use std::net::Ipv4Addr;

use sqlx::PgPool;

use crate::chaos::neighbours::steady_load::LoadingOrganization;
use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::environment::base_environment::{BaseEnvironment, SHARD};
use crate::harness::environment::org_factory;
use crate::harness::failure::{Result, TrialFailure};
use crate::harness::longshored::longshored_process::LongshoredProcess;
use crate::harness::longshored::org_setup;
use crate::harness::organization::TrialOrganization;
use crate::harness::progress::report_progress;

#[derive(Debug, Clone, Copy)]
pub struct NeighboursEnvironmentOptions<'a> {
    /// The prefix of log names.
    pub part: &'a str,
    pub organizations: usize,
    /// Number of `work` processes.
    pub workers: usize,
    pub settings: &'a [(&'a str, &'a str)],
    /// The limit of open files of the `serve` process; without it, the limit of the trial.
    pub open_files: Option<u32>,
}

/// Fields drop in this order: users first, then what they use.
#[derive(Debug)]
pub struct NeighboursEnvironment {
    pub workers: Vec<LongshoredProcess>,
    pub server: LongshoredProcess,
    pub pool: PgPool,
    pub organizations: Vec<TrialOrganization>,
    pub callback_sink: CallbackSink,
    pub base: BaseEnvironment,
}

impl NeighboursEnvironment {
    /// All processes run when this returns.
    pub async fn start(
        mut base: BaseEnvironment,
        plan: NeighboursEnvironmentOptions<'_>,
    ) -> Result<Self> {
        base.longshored.set("REDIS_BUDGET_MILLISECONDS", "2000");
        for (name, value) in plan.settings {
            base.longshored.set(name, value);
        }
        report_progress(format!("creating {} organizations", plan.organizations));
        let first = org_setup::create_organizations(&base.longshored, &[SHARD], 1).await?;
        let first = first.into_iter().next();
        let first = first.ok_or_else(|| TrialFailure::new("no organization was created"))?;
        let copies = plan.organizations.saturating_sub(1);
        let organizations = org_factory::copy_organization(&base, first, copies).await?;
        let options = SinkOptions {
            address: Ipv4Addr::UNSPECIFIED,
            ..SinkOptions::default()
        };
        let receiver = CallbackSink::start(options).await?;
        let process = |verb, name: &str| {
            let name = format!("{}-{name}", plan.part);
            base.longshored.new_process(verb, &name)
        };
        let mut serving = process("serve", "serve")?;
        serving.limit_open_files(plan.open_files);
        serving.start()?;
        serving.wait_until_ready().await?;
        let mut working = Vec::new();
        for number in 1..=plan.workers {
            let mut worker = process("work", &format!("work-{number}"))?;
            worker.start()?;
            working.push(worker);
        }
        Ok(Self {
            workers: working,
            server: serving,
            pool: base.postgres.pool(SHARD),
            organizations,
            callback_sink: receiver,
            base,
        })
    }

    /// Every organization, with callbacks to the sink.
    pub fn members(&self) -> Vec<LoadingOrganization> {
        let organizations = self.organizations.iter();
        organizations
            .map(|organization| LoadingOrganization {
                organization: organization.clone(),
                callback_url: self.callback_sink.url(),
            })
            .collect()
    }

    /// Stops every worker gracefully, one after the other.
    pub async fn stop_workers(&mut self) -> Result<()> {
        for worker in &mut self.workers {
            worker.terminate().await?;
        }
        Ok(())
    }

    pub fn start_workers(&mut self) -> Result<()> {
        for worker in &mut self.workers {
            worker.start()?;
        }
        Ok(())
    }
}
