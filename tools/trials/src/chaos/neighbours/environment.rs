//! One shard, one process that serves, some that work, and organizations with receivers.

use std::time::Duration;

use sqlx::PgPool;

use crate::chaos::neighbours::victims::Member;
use crate::crowd;
use crate::failure::{Failure, Result};
use crate::organization::Organization;
use crate::process::Process;
use crate::progress::say;
use crate::receiver::Receiver;
use crate::setup;
use crate::stand::{SHARD, Stand};

/// How large it is.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// What the logs are named after.
    pub part: &'a str,
    pub organizations: usize,
    /// Processes that work.
    pub workers: usize,
    pub settings: &'a [(&'a str, &'a str)],
    /// How many files the process that serves may have open; all that we may, unless told.
    pub open_files: Option<u32>,
}

/// Fields are dropped in this order: nothing is taken from under what uses it.
#[derive(Debug)]
pub struct Environment {
    pub working: Vec<Process>,
    pub serving: Process,
    pub pool: PgPool,
    pub organizations: Vec<Organization>,
    pub receiver: Receiver,
    pub stand: Stand,
}

impl Environment {
    /// All processes run when this returns.
    pub async fn start(mut stand: Stand, plan: Plan<'_>) -> Result<Self> {
        stand.longshored.set("REDIS_BUDGET_MILLISECONDS", "2000");
        for (name, value) in plan.settings {
            stand.longshored.set(name, value);
        }
        say(format!("making {} organizations", plan.organizations));
        let first = setup::organizations(&stand.longshored, &[SHARD], 1).await?;
        let first = first.into_iter().next();
        let first = first.ok_or_else(|| Failure::new("no organization was made"))?;
        let copies = plan.organizations.saturating_sub(1);
        let organizations = crowd::around(&stand, first, copies).await?;
        let receiver = Receiver::everywhere(Duration::ZERO).await?;
        let process = |verb, name: &str| {
            let name = format!("{}-{name}", plan.part);
            stand.longshored.process(verb, &name)
        };
        let mut serving = process("serve", "serve")?;
        serving.limit_open_files(plan.open_files);
        serving.start()?;
        serving.ready().await?;
        let mut working = Vec::new();
        for number in 1..=plan.workers {
            let mut worker = process("work", &format!("work-{number}"))?;
            worker.start()?;
            working.push(worker);
        }
        Ok(Self {
            working,
            serving,
            pool: stand.postgres.pool(SHARD),
            organizations,
            receiver,
            stand,
        })
    }

    /// Every organization, with callbacks to the receiver.
    pub fn members(&self) -> Vec<Member> {
        let organizations = self.organizations.iter();
        organizations
            .map(|organization| Member {
                organization: organization.clone(),
                callback_url: self.receiver.url(),
            })
            .collect()
    }

    /// Stops every worker in order.
    pub async fn stop_working(&mut self) -> Result<()> {
        for worker in &mut self.working {
            worker.terminate().await?;
        }
        Ok(())
    }

    pub fn start_working(&mut self) -> Result<()> {
        for worker in &mut self.working {
            worker.start()?;
        }
        Ok(())
    }
}
