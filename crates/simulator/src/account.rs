//! An account: the files, jobs, faults, pace, counters and records of one credential.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::Semaphore;

use crate::bill::{SimulatedBill, SimulatedBillLine, SimulatedTier};
use crate::cache::PromptCaches;
use crate::clock::SimulatorTime;
use crate::fault::{AccountFaults, FaultName, SimulatedFault};
use crate::job::{JobEnd, JobPhase, SimulatedJob, SimulatedOutcome};
use crate::pace::SimulatedPace;
use crate::provider::SimulatedProvider;
use crate::record::{JobView, RealtimeCall, SimulatedSubmission};
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::render::hex_digits;

mod create;
mod limits;

pub use create::{CreateReply, JobDraft};
pub use limits::CallQuota;

#[derive(Debug)]
pub struct SimulatedAccount {
    pub provider: SimulatedProvider,
    pub name: String,
    pub files: Vec<SimulatedFile>,
    pub uploads: HashMap<String, ResumableUpload>,
    pub jobs: Vec<SimulatedJob>,
    /// Result files that the caller deleted.
    pub deleted_outputs: HashSet<String>,
    pub faults: AccountFaults,
    pub pace: SimulatedPace,
    pub submissions: Vec<SimulatedSubmission>,
    pub calls: Vec<RealtimeCall>,
    pub caches: PromptCaches,
    /// What realtime calls cost. Jobs are added when the bill is read.
    pub realtime_bill: SimulatedBill,
    /// Limits concurrent realtime answers.
    pub slots: Arc<Semaphore>,
    seed: u64,
    ids_made: u64,
    call_times: VecDeque<SimulatorTime>,
    creation_times: VecDeque<SimulatorTime>,
}

#[derive(Debug, Clone)]
pub struct SimulatedFile {
    pub id: String,
    pub filename: String,
    pub purpose: String,
    pub mime_type: String,
    pub bytes: Bytes,
    pub created_at: SimulatorTime,
    pub visible_at: SimulatorTime,
    /// When it can be used. Until then Gemini reports that it is processing.
    pub ready_at: SimulatorTime,
    pub is_failed: bool,
    pub expires_at: SimulatorTime,
}

/// An unfinished resumable upload.
#[derive(Debug, Default)]
pub struct ResumableUpload {
    pub display_name: String,
    pub mime_type: String,
    pub received: BytesMut,
}

impl SimulatedAccount {
    pub fn new(provider: SimulatedProvider, name: &str, seed: u64) -> Self {
        let pace = SimulatedPace::default();
        Self {
            provider,
            name: name.to_owned(),
            files: Vec::new(),
            uploads: HashMap::new(),
            jobs: Vec::new(),
            deleted_outputs: HashSet::new(),
            faults: AccountFaults::default(),
            slots: Arc::new(Semaphore::new(pace.slots)),
            pace,
            submissions: Vec::new(),
            calls: Vec::new(),
            caches: PromptCaches::default(),
            realtime_bill: SimulatedBill::default(),
            seed,
            ids_made: 0,
            call_times: VecDeque::new(),
            creation_times: VecDeque::new(),
        }
    }

    /// Calls that already wait keep waiting for the old slots.
    pub fn set_pace(&mut self, pace: SimulatedPace) {
        self.slots = Arc::new(Semaphore::new(pace.slots.min(Semaphore::MAX_PERMITS)));
        self.pace = pace;
    }

    /// `count` hex digits that are unique in this simulator.
    pub fn unique_hex(&mut self, count: usize) -> String {
        self.ids_made += 1;
        let words = [
            self.seed.to_string(),
            self.provider.to_string(),
            self.name.clone(),
            self.ids_made.to_string(),
        ];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        hex_digits(&words, count)
    }

    pub fn refuse_if(
        &mut self,
        name: FaultName,
        refusal: impl FnOnce(&SimulatedFault) -> SimulatedRefusal,
    ) -> Result<(), CallRejection> {
        match self.faults.fire(name) {
            Some(fault) => Err(refusal(&fault).into()),
            None => Ok(()),
        }
    }

    /// The job for a status request.
    pub fn poll(
        &mut self,
        id: &str,
        now: SimulatorTime,
    ) -> Result<&mut SimulatedJob, CallRejection> {
        self.refuse_if(FaultName::Poll500, |_| {
            SimulatedRefusal::new(500, "simulated failure")
        })?;
        self.refuse_if(FaultName::Poll429, |fault| {
            SimulatedRefusal::new(429, "too many requests").retry_after(fault.seconds.unwrap_or(1))
        })?;
        self.refuse_if(FaultName::Vanish, |_| {
            SimulatedRefusal::not_found("batch", id)
        })?;
        self.job(id, now)
    }

    /// The job for any other call.
    pub fn job(
        &mut self,
        id: &str,
        now: SimulatorTime,
    ) -> Result<&mut SimulatedJob, CallRejection> {
        self.jobs
            .iter_mut()
            .find(|job| job.id == id && job.is_visible(now))
            .ok_or_else(|| SimulatedRefusal::not_found("batch", id).into())
    }

    /// Visible jobs, newest first.
    pub fn list_jobs(&mut self, now: SimulatorTime) -> Result<Vec<SimulatedJob>, CallRejection> {
        self.refuse_if(FaultName::List500, |_| {
            SimulatedRefusal::new(500, "simulated failure")
        })?;
        let seen = self.jobs.iter().rev().filter(|job| job.is_visible(now));
        Ok(seen.cloned().collect())
    }

    pub fn file(&self, id: &str, now: SimulatorTime) -> Result<&SimulatedFile, CallRejection> {
        self.files
            .iter()
            .find(|file| file.id == id && file.visible_at <= now && now < file.expires_at)
            .ok_or_else(|| {
                SimulatedRefusal::not_found("File object", id)
                    .param("id")
                    .into()
            })
    }

    /// What the account owes: its realtime calls, and the items of jobs that have run.
    pub fn bill(&self, now: SimulatorTime) -> Vec<SimulatedBillLine> {
        let mut bill = self.realtime_bill.clone();
        for job in &self.jobs {
            let timeline = job.timeline();
            // A job that ended bills what its results say.
            let is_ended = now >= timeline.ended_at;
            let done = job.done_at(now).min(timeline.done);
            let is_blocked = job.has(FaultName::SafetyBlock);
            let items = job.request.manifest.items.iter();
            for (index, item) in items.enumerate() {
                let outcome = if is_ended {
                    job.outcome(&timeline, index)
                } else if index < done {
                    job.outcome_if_run(index)
                } else {
                    break;
                };
                if outcome == SimulatedOutcome::Answered {
                    let usage = item.billed(is_blocked);
                    bill.add(&job.request.model, SimulatedTier::Batch, usage);
                }
            }
        }
        bill.lines()
    }

    /// All jobs for the admin API, visible or not.
    pub fn job_views(&self, now: SimulatorTime) -> Vec<JobView> {
        let view = |job: &SimulatedJob| {
            let counts = job.counts(now);
            JobView {
                id: job.id.clone(),
                label: job.request.label.clone(),
                model: job.request.model.clone(),
                created_at: job.created_at,
                ended_at: job.is_ended(now).then(|| job.timeline().ended_at),
                state: state_name(job.phase(now)).to_owned(),
                items: job.total(),
                ids_sha256: job.request.manifest.ids_sha256.clone(),
                answered: counts.answered,
                failed: counts.failed,
                is_deleted: job.is_deleted,
            }
        };
        self.jobs.iter().map(view).collect()
    }
}

/// The states as `OpenAI` names them.
const fn state_name(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Validating => "validating",
        JobPhase::Running => "running",
        JobPhase::Finalizing => "finalizing",
        JobPhase::Cancelling => "cancelling",
        JobPhase::Ended(JobEnd::Completed) => "completed",
        JobPhase::Ended(JobEnd::Failed) => "failed",
        JobPhase::Ended(JobEnd::Expired) => "expired",
        JobPhase::Ended(JobEnd::Cancelled) => "cancelled",
    }
}
