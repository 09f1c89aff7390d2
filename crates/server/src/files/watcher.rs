//! The watcher of files: everything at first and after every absence, then a ping again and again.
//!
//! A store that was away may have come back as another, so that it has to pass every probe anew.

use std::time::Duration;

use metrics::gauge;
use outbound::health::{Condition, FilesHealth};
use store::Control;
use store::control::installation;
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use crate::failure;
use crate::files::Harbour;

/// Between one look and the next.
const EVERY: Duration = Duration::from_secs(2);
/// What a probe found wrong is not mended in seconds.
const RARELY: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Watcher {
    harbour: Harbour,
    control: Control,
    sender: watch::Sender<FilesHealth>,
}

impl Watcher {
    pub(super) const fn new(
        harbour: Harbour,
        control: Control,
        sender: watch::Sender<FilesHealth>,
    ) -> Self {
        Self {
            harbour,
            control,
            sender,
        }
    }

    /// For ever: neither waits for the other.
    pub(super) async fn run(&self) {
        tokio::join!(self.watch_store(), self.watch_scanner());
    }

    async fn watch_store(&self) {
        let mut ourselves = None;
        loop {
            let condition = if self.sender.borrow().store.is_well() {
                let pinged = self.harbour.objects.ping().await;
                pinged.map_or_else(
                    |away| Condition::Away(away.to_string()),
                    |()| Condition::Well,
                )
            } else {
                self.probe_store(&mut ourselves).await
            };
            let rest = rest(&condition);
            self.tell("object store", &condition, |health| &mut health.store);
            sleep(rest).await;
        }
    }

    async fn probe_store(&self, ourselves: &mut Option<Uuid>) -> Condition {
        let installation = match *ourselves {
            Some(known) => known,
            None => match installation::id(&self.control).await {
                Ok(id) => *ourselves.insert(id),
                Err(error) => {
                    let why = failure::chain(&error);
                    return Condition::Away(format!("control does not say who we are: {why}"));
                }
            },
        };
        match self.harbour.objects.probe(installation).await {
            Ok(()) => Condition::Well,
            Err(failure) if failure.away => Condition::Away(failure.why),
            Err(failure) => Condition::Failed(failure.to_string()),
        }
    }

    async fn watch_scanner(&self) {
        loop {
            let scanner = &self.harbour.scanner;
            let condition = if self.sender.borrow().scanner.is_well() {
                let pinged = scanner.ping().await;
                pinged.map_or_else(
                    |away| Condition::Away(away.to_string()),
                    |()| Condition::Well,
                )
            } else {
                match scanner.probe().await {
                    Ok(()) => Condition::Well,
                    Err(failure) if failure.away => Condition::Away(failure.why),
                    Err(failure) => Condition::Failed(failure.to_string()),
                }
            };
            let rest = rest(&condition);
            self.tell("scanner", &condition, |health| &mut health.scanner);
            sleep(rest).await;
        }
    }

    fn tell(
        &self,
        dependency: &'static str,
        condition: &Condition,
        part: impl FnOnce(&mut FilesHealth) -> &mut Condition,
    ) {
        let well = if condition.is_well() { 1.0 } else { 0.0 };
        gauge!("files_dependency_well", "dependency" => dependency).set(well);
        let changed = self.sender.send_if_modified(|health| {
            let last = part(health);
            let differs = last != condition;
            *last = condition.clone();
            differs
        });
        if changed {
            log(dependency, condition);
        }
    }
}

const fn rest(condition: &Condition) -> Duration {
    match condition {
        Condition::Failed(_) => RARELY,
        Condition::Unknown | Condition::Well | Condition::Away(_) | Condition::Absent => EVERY,
    }
}

fn log(dependency: &'static str, condition: &Condition) {
    match condition {
        Condition::Well => tracing::info!(dependency, "well: every probe has passed"),
        Condition::Away(reason) => tracing::warn!(dependency, reason, "away"),
        Condition::Failed(reason) => {
            tracing::error!(dependency, reason, "cannot be used; see: longshored doctor");
        }
        Condition::Unknown | Condition::Absent => {}
    }
}
