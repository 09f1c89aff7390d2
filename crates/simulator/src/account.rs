//! All that one credential has at one provider: files, jobs, faults, pace, counters and records.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::Semaphore;

use crate::clock::Moment;
use crate::fault::{Fault, Faults, Name};
use crate::job::{End, Job, Phase};
use crate::pace::Pace;
use crate::provider::Provider;
use crate::record::{JobView, RealtimeCall, Submission};
use crate::refusal::{No, Refusal};
use crate::render::digits;

mod create;
mod limits;

pub use create::{Draft, Telling};
pub use limits::Quota;

#[derive(Debug)]
pub struct Account {
    pub provider: Provider,
    pub name: String,
    pub files: Vec<StoredFile>,
    pub uploads: HashMap<String, Upload>,
    pub jobs: Vec<Job>,
    pub faults: Faults,
    pub pace: Pace,
    pub submissions: Vec<Submission>,
    pub calls: Vec<RealtimeCall>,
    /// Realtime answers that may be worked on at once.
    pub slots: Arc<Semaphore>,
    seed: u64,
    made: u64,
    called: VecDeque<Moment>,
    created: VecDeque<Moment>,
}

#[derive(Debug, Clone)]
pub struct StoredFile {
    pub id: String,
    pub filename: String,
    pub purpose: String,
    pub mime_type: String,
    pub bytes: Bytes,
    pub created_at: Moment,
    pub visible_at: Moment,
    /// When it can be used; until then Gemini is processing it.
    pub ready_at: Moment,
    pub is_failed: bool,
    pub expires_at: Moment,
}

/// A resumable upload that has not come to its end.
#[derive(Debug, Default)]
pub struct Upload {
    pub display_name: String,
    pub mime_type: String,
    pub received: BytesMut,
}

impl Account {
    pub fn new(provider: Provider, name: &str, seed: u64) -> Self {
        let pace = Pace::default();
        Self {
            provider,
            name: name.to_owned(),
            files: Vec::new(),
            uploads: HashMap::new(),
            jobs: Vec::new(),
            faults: Faults::default(),
            slots: Arc::new(Semaphore::new(pace.slots)),
            pace,
            submissions: Vec::new(),
            calls: Vec::new(),
            seed,
            made: 0,
            called: VecDeque::new(),
            created: VecDeque::new(),
        }
    }

    /// Calls that wait keep waiting for the slots that were there when they came.
    pub fn set_pace(&mut self, pace: Pace) {
        self.slots = Arc::new(Semaphore::new(pace.slots.min(Semaphore::MAX_PERMITS)));
        self.pace = pace;
    }

    /// So many hex digits that nothing else of this simulator has.
    pub fn fresh(&mut self, count: usize) -> String {
        self.made += 1;
        let words = [
            self.seed.to_string(),
            self.provider.to_string(),
            self.name.clone(),
            self.made.to_string(),
        ];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        digits(&words, count)
    }

    pub fn refuse_if(
        &mut self,
        name: Name,
        refusal: impl FnOnce(&Fault) -> Refusal,
    ) -> Result<(), No> {
        match self.faults.fire(name) {
            Some(fault) => Err(refusal(&fault).into()),
            None => Ok(()),
        }
    }

    /// The job, as who asks about its state sees it.
    pub fn poll(&mut self, id: &str, now: Moment) -> Result<&mut Job, No> {
        self.refuse_if(Name::Poll500, |_| Refusal::new(500, "simulated failure"))?;
        self.refuse_if(Name::Poll429, |fault| {
            Refusal::new(429, "too many requests").retry_after(fault.seconds.unwrap_or(1))
        })?;
        self.refuse_if(Name::Vanish, |_| Refusal::not_found("batch", id))?;
        self.job(id, now)
    }

    /// The job, as any other call sees it.
    pub fn job(&mut self, id: &str, now: Moment) -> Result<&mut Job, No> {
        self.jobs
            .iter_mut()
            .find(|job| job.id == id && job.is_visible(now))
            .ok_or_else(|| Refusal::not_found("batch", id).into())
    }

    /// Jobs that a listing shows, the newest first.
    pub fn listed(&mut self, now: Moment) -> Result<Vec<Job>, No> {
        self.refuse_if(Name::List500, |_| Refusal::new(500, "simulated failure"))?;
        let seen = self.jobs.iter().rev().filter(|job| job.is_visible(now));
        Ok(seen.cloned().collect())
    }

    pub fn file(&self, id: &str, now: Moment) -> Result<&StoredFile, No> {
        self.files
            .iter()
            .find(|file| file.id == id && file.visible_at <= now && now < file.expires_at)
            .ok_or_else(|| Refusal::not_found("File object", id).param("id").into())
    }

    /// Jobs as the administration sees them, whether visible or not.
    pub fn job_views(&self, now: Moment) -> Vec<JobView> {
        let view = |job: &Job| {
            let counts = job.counts(now);
            JobView {
                id: job.id.clone(),
                label: job.order.label.clone(),
                model: job.order.model.clone(),
                created_at: job.created_at,
                ended_at: job.is_ended(now).then(|| job.timeline().ended_at),
                state: state(job.phase(now)).to_owned(),
                items: job.total(),
                ids_sha256: job.order.manifest.ids_sha256.clone(),
                answered: counts.answered,
                failed: counts.failed,
                is_deleted: job.is_deleted,
            }
        };
        self.jobs.iter().map(view).collect()
    }
}

/// The states in the words of `OpenAI`.
const fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Validating => "validating",
        Phase::Running => "running",
        Phase::Finalizing => "finalizing",
        Phase::Cancelling => "cancelling",
        Phase::Ended(End::Completed) => "completed",
        Phase::Ended(End::Failed) => "failed",
        Phase::Ended(End::Expired) => "expired",
        Phase::Ended(End::Cancelled) => "cancelled",
    }
}
