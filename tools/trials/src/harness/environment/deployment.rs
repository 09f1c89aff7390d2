//! Which processes of the service run, with which settings, and what they are loaded with.

use std::net::SocketAddr;
use std::time::Duration;

use crate::harness::build_profile;
use crate::harness::longshored::catalogue;
use crate::harness::relays::silent_relay::SilentRelay;
use crate::harness::{FREE_MODEL, PRICED_MODEL, Result, SinkOptions};

const DEFAULT_ORGANIZATIONS: usize = 20;
/// Most cargo is priced; some is free, so that batches contain both.
const DEFAULT_MODELS: [&str; 4] = [PRICED_MODEL, PRICED_MODEL, PRICED_MODEL, FREE_MODEL];
/// Long enough that callbacks are in flight when something breaks.
const CALLBACK_RESPONSE_DELAY: Duration = Duration::from_millis(25);

/// One process of the service.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    pub verb: &'static str,
    pub name: String,
    /// A relay between it and the database server.
    pub relay: Option<SocketAddr>,
    /// Environment variables in addition to its settings.
    pub env_vars: Vec<(String, String)>,
    /// The limit of open files; without it, the limit of the trial.
    pub open_files: Option<u32>,
    pub is_started: bool,
}

impl ProcessSpec {
    pub fn new(verb: &'static str, name: impl Into<String>) -> Self {
        Self {
            verb,
            name: name.into(),
            relay: None,
            env_vars: Vec::new(),
            open_files: None,
            is_started: true,
        }
    }

    /// The same, with a relay between it and the database server.
    #[must_use]
    pub const fn through_relay(mut self, relay: SocketAddr) -> Self {
        self.relay = Some(relay);
        self
    }
}

#[derive(Debug)]
pub struct Deployment {
    /// Those that serve callers come first.
    pub processes: Vec<ProcessSpec>,
    pub organizations: usize,
    /// Models to load for, in turn.
    pub models: Vec<String>,
    pub sink: SinkOptions,
    /// Settings that differ from the default; a later value replaces an earlier one.
    pub settings: Vec<(String, String)>,
}

impl Deployment {
    /// These processes, with the default load. The mock provider takes a second.
    pub fn new(processes: impl Into<Vec<ProcessSpec>>) -> Self {
        let deployment = Self {
            processes: processes.into(),
            organizations: DEFAULT_ORGANIZATIONS,
            models: DEFAULT_MODELS.map(str::to_owned).into(),
            sink: SinkOptions {
                delay: CALLBACK_RESPONSE_DELAY,
                ..SinkOptions::default()
            },
            settings: Vec::new(),
        };
        deployment.with("MOCK_DELAY_SECONDS", "1")
    }

    /// Two processes that run `all`.
    pub fn two_all() -> Self {
        Self::new(["first", "second"].map(|name| ProcessSpec::new("all", name)))
    }

    /// Two `serve` and three `work` processes, with a lane for each of many models.
    pub fn two_serve_three_work() -> Self {
        let serving = (1..=2).map(|number| ProcessSpec::new("serve", format!("serve-{number}")));
        let working = (1..=3).map(|number| ProcessSpec::new("work", format!("work-{number}")));
        let deployment = Self {
            models: catalogue::all_models(),
            ..Self::new(serving.chain(working).collect::<Vec<_>>())
        };
        deployment
            .with("MOCK_DELAY_SECONDS", "0")
            .with_long_redis_budget()
    }

    /// One `serve` and some `work` processes, with a sink that answers at once. Names of logs
    /// begin with the prefix.
    pub fn one_serve(prefix: &str, workers: usize) -> Self {
        let mut processes = vec![ProcessSpec::new("serve", format!("{prefix}serve"))];
        let names = (1..=workers).map(|number| format!("{prefix}work-{number}"));
        processes.extend(names.map(|name| ProcessSpec::new("work", name)));
        let deployment = Self {
            sink: SinkOptions::default(),
            ..Self::new(processes)
        };
        deployment.with_long_redis_budget()
    }

    /// On a busy machine, calls to Redis must not time out.
    #[must_use]
    pub fn with_long_redis_budget(self) -> Self {
        self.with("REDIS_BUDGET_MILLISECONDS", "2000")
    }

    /// A debug build on a busy machine answers `/ready` late: processes that stop must accept
    /// connections until the load balancer has noticed.
    #[must_use]
    pub fn with_long_drain_grace(self) -> Self {
        let grace = build_profile::choose("5000", "1000");
        self.with("DRAIN_GRACE_MILLISECONDS", grace)
    }

    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.settings.push((setting.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn with_settings(self, settings: &[(&str, &str)]) -> Self {
        let settings = settings.iter();
        settings.fold(self, |it, (name, value)| it.with(name, value))
    }

    #[must_use]
    pub const fn with_organizations(mut self, count: usize) -> Self {
        self.organizations = count;
        self
    }

    /// Puts a relay between each process and the database server; returns them in the order of
    /// the processes.
    pub async fn add_silent_relays(&mut self, server: SocketAddr) -> Result<Vec<SilentRelay>> {
        let mut relays = Vec::new();
        for process in &mut self.processes {
            let relay = SilentRelay::start(server).await?;
            process.relay = Some(relay.address);
            relays.push(relay);
        }
        Ok(relays)
    }

    /// The workers are created and not started.
    #[must_use]
    pub fn with_stopped_workers(mut self) -> Self {
        for process in self.processes.iter_mut().filter(|it| it.verb == "work") {
            process.is_started = false;
        }
        self
    }
}
