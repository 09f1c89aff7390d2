//! Health checks of the object store and the scanner: all probes at first, then pings. A process
//! that parses files also checks that its sandbox works. Credentials of a role are refreshed here.
//!
//! A backend that was unreachable may return with another configuration, so it must pass all probes
//! again.

use std::time::Duration;

use domain::error_chain;
use metrics::gauge;
use outbound::health::{DependencyHealth, FilesHealth};
use outbound::probe::Prober;
use store::Control;
use store::control::installation;
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use crate::files::FileBackends;

/// Time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Time to the next check after a failed probe, which an operator has to fix.
const FAILED_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Time between two checks of the sandbox, which start a child process.
const SANDBOX_CHECK_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct FileHealthChecker {
    backends: FileBackends,
    prober: Option<Prober>,
    control: Control,
    sender: watch::Sender<FilesHealth>,
}

impl FileHealthChecker {
    pub(super) const fn new(
        backends: FileBackends,
        prober: Option<Prober>,
        control: Control,
        sender: watch::Sender<FilesHealth>,
    ) -> Self {
        Self {
            backends,
            prober,
            control,
            sender,
        }
    }

    /// Runs for ever; the checks are independent.
    pub(super) async fn run(&self) {
        tokio::join!(
            self.watch_store(),
            self.refresh_credentials(),
            self.watch_scanner(),
            self.watch_sandbox()
        );
    }

    async fn watch_store(&self) {
        let mut installation_id = None;
        loop {
            let condition = if self.sender.borrow().store.is_healthy() {
                let pinged = self.backends.objects.ping().await;
                pinged.map_or_else(
                    |error| DependencyHealth::Unreachable(error.to_string()),
                    |()| DependencyHealth::Healthy,
                )
            } else {
                self.probe_store(&mut installation_id).await
            };
            let pause = next_interval(&condition);
            self.publish("object_store", &condition, |health| &mut health.store);
            sleep(pause).await;
        }
    }

    async fn probe_store(&self, installation_id: &mut Option<Uuid>) -> DependencyHealth {
        let installation = match *installation_id {
            Some(known) => known,
            None => match installation::read_id(&self.control).await {
                Ok(id) => *installation_id.insert(id),
                Err(error) => {
                    let why = error_chain::chain(&error);
                    return DependencyHealth::Unreachable(format!(
                        "the id of this installation cannot be read from control: {why}"
                    ));
                }
            },
        };
        match self.backends.objects.probe(installation).await {
            Ok(()) => DependencyHealth::Healthy,
            Err(failure) if failure.is_unreachable => DependencyHealth::Unreachable(failure.why),
            Err(failure) => DependencyHealth::ProbeFailed(failure.to_string()),
        }
    }

    /// The only task that refreshes the credentials of a role before they expire.
    async fn refresh_credentials(&self) {
        while let Some(refreshed) = self.backends.objects.refresh_credentials().await {
            let condition = match refreshed {
                Ok(_) => DependencyHealth::Healthy,
                Err(failure) => DependencyHealth::Unreachable(failure.to_string()),
            };
            self.publish("object_store_credentials", &condition, |health| {
                &mut health.credentials
            });
            sleep(CHECK_INTERVAL).await;
        }
    }

    async fn watch_scanner(&self) {
        loop {
            let scanner = &self.backends.scanner;
            let condition = if self.sender.borrow().scanner.is_healthy() {
                let pinged = scanner.ping().await;
                pinged.map_or_else(
                    |error| DependencyHealth::Unreachable(error.to_string()),
                    |()| DependencyHealth::Healthy,
                )
            } else {
                match scanner.probe().await {
                    Ok(()) => DependencyHealth::Healthy,
                    Err(failure) if failure.is_unreachable => {
                        DependencyHealth::Unreachable(failure.why)
                    }
                    Err(failure) => DependencyHealth::ProbeFailed(failure.to_string()),
                }
            };
            let pause = next_interval(&condition);
            self.publish("scanner", &condition, |health| &mut health.scanner);
            sleep(pause).await;
        }
    }

    /// The host or a container policy may keep the child process from confining itself.
    async fn watch_sandbox(&self) {
        let Some(prober) = &self.prober else {
            return;
        };
        loop {
            let condition = match prober.check_sandbox().await {
                Ok(()) => DependencyHealth::Healthy,
                Err(failure) => DependencyHealth::ProbeFailed(error_chain::chain(&failure)),
            };
            let pause = if condition.is_healthy() {
                SANDBOX_CHECK_INTERVAL
            } else {
                FAILED_CHECK_INTERVAL
            };
            self.publish("file_probe", &condition, |health| &mut health.probe);
            sleep(pause).await;
        }
    }

    fn publish(
        &self,
        dependency: &'static str,
        condition: &DependencyHealth,
        part: impl FnOnce(&mut FilesHealth) -> &mut DependencyHealth,
    ) {
        let well = if condition.is_healthy() { 1.0 } else { 0.0 };
        gauge!("longshore_files_dependency_healthy", "dependency" => dependency).set(well);
        let changed = self.sender.send_if_modified(|health| {
            let last = part(health);
            let differs = last != condition;
            *last = condition.clone();
            differs
        });
        if changed {
            log_health(dependency, condition);
        }
    }
}

const fn next_interval(condition: &DependencyHealth) -> Duration {
    match condition {
        DependencyHealth::ProbeFailed(_) => FAILED_CHECK_INTERVAL,
        DependencyHealth::Unknown
        | DependencyHealth::Healthy
        | DependencyHealth::Unreachable(_)
        | DependencyHealth::NotConfigured => CHECK_INTERVAL,
    }
}

fn log_health(dependency: &'static str, condition: &DependencyHealth) {
    match condition {
        DependencyHealth::Healthy => {
            tracing::info!(dependency, "dependency is healthy: all probes passed");
        }
        DependencyHealth::Unreachable(reason) => {
            tracing::warn!(dependency, reason, "dependency is unreachable");
        }
        DependencyHealth::ProbeFailed(reason) => {
            tracing::error!(
                dependency,
                reason,
                "dependency failed a probe and is not used; see `longshored doctor`"
            );
        }
        DependencyHealth::Unknown | DependencyHealth::NotConfigured => {}
    }
}
