//! What the Files routes ask before they touch the store: may this plan, and is the store well?
//!
//! Beside it, whom they make wait, and how they say no.

pub(crate) mod refuse;

pub(crate) mod verdicts;

use std::time::Duration;

use domain::organization::Plan;
use outbound::health::{Condition, FilesHealth};
use outbound::objects::Objects;
use tokio::sync::watch;

use crate::problem::FileProblem;

/// What is set for files.
#[derive(Debug, Clone, Copy)]
pub struct FilesOptions {
    /// Whether the free plan has files: not on cloud.
    pub free_plan: bool,
    /// How long a complete waits for the verdict.
    pub complete_wait: Duration,
}

/// The store, if there is one, and how it is.
#[derive(Debug)]
pub struct Desk {
    objects: Option<Objects>,
    health: watch::Receiver<FilesHealth>,
    options: FilesOptions,
}

impl Desk {
    pub fn new(
        objects: Option<Objects>,
        health: watch::Receiver<FilesHealth>,
        options: FilesOptions,
    ) -> Self {
        Self {
            objects,
            health,
            options,
        }
    }

    /// A service without files.
    pub fn closed(options: FilesOptions) -> Self {
        let (_, health) = watch::channel(FilesHealth::ABSENT);
        Self::new(None, health, options)
    }

    pub(crate) fn admit(&self, plan: Plan) -> Result<(), FileProblem> {
        if plan == Plan::Free && !self.options.free_plan {
            return Err(refuse::plan());
        }
        Ok(())
    }

    /// The store, when it is well.
    pub(crate) fn store(&self) -> Result<&Objects, FileProblem> {
        let health = self.health.borrow();
        match &self.objects {
            Some(objects) if health.store.is_well() => Ok(objects),
            Some(_) => Err(refuse::store(&health.store)),
            None => Err(refuse::store(&Condition::Absent)),
        }
    }

    /// A scanner that is merely away is waited for; one that finds nothing is not relied on.
    pub(crate) fn scanner(&self) -> Result<(), FileProblem> {
        match &self.health.borrow().scanner {
            Condition::Failed(reason) => Err(refuse::scanner(reason)),
            Condition::Unknown | Condition::Well | Condition::Away(_) | Condition::Absent => Ok(()),
        }
    }

    pub(crate) fn health(&self) -> FilesHealth {
        self.health.borrow().clone()
    }

    pub(crate) const fn complete_wait(&self) -> Duration {
        self.options.complete_wait
    }
}
