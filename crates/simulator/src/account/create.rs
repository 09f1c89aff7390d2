//! Creates a job: refusals, the job's faults, and the reply to the caller.

use std::sync::Arc;

use chrono::TimeDelta;

use super::SimulatedAccount;
use crate::clock::SimulatorTime;
use crate::fault::FaultName;
use crate::job::{JobRequest, SimulatedJob, SimulatedValidationError};
use crate::pace::milliseconds;
use crate::provider::SimulatedProvider;
use crate::record::SimulatedSubmission;
use crate::refusal::{CallRejection, SimulatedRefusal};

/// A parsed create call.
#[derive(Debug)]
pub struct JobDraft {
    pub request: JobRequest,
    /// Errors that the provider reports when it validates the job.
    pub validation_errors: Vec<SimulatedValidationError>,
    /// A refusal of the create call itself.
    pub refusal: Option<SimulatedRefusal>,
    pub window: TimeDelta,
}

#[derive(Debug)]
pub struct JobCreation {
    pub job: SimulatedJob,
    pub reply: CreateReply,
}

/// How much of the reply the caller receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateReply {
    Complete,
    /// The connection is closed in the middle of the body.
    Truncated,
    /// No reply, and the connection stays open.
    Never,
}

impl SimulatedAccount {
    pub fn create(
        &mut self,
        mut draft: JobDraft,
        now: SimulatorTime,
    ) -> Result<JobCreation, CallRejection> {
        if let Err(no) = self.admit_creation(&mut draft, now) {
            self.record_submission(&draft.request, now, None, &Err(&no));
            return Err(no);
        }
        let job = self.make_job(draft, now);
        let reply = self.choose_reply();
        self.record_submission(&job.request, now, Some(&job.id), &reply.as_ref().copied());
        self.jobs.push(job.clone());
        Ok(JobCreation { job, reply: reply? })
    }

    /// Everything that can refuse the creation.
    fn admit_creation(
        &mut self,
        draft: &mut JobDraft,
        now: SimulatorTime,
    ) -> Result<(), CallRejection> {
        if self.faults.fire(FaultName::CreateDropBefore).is_some() {
            return Err(CallRejection::Dropped);
        }
        self.refuse_if(FaultName::Create500Before, |_| {
            SimulatedRefusal::new(500, "simulated failure before the job was created")
        })?;
        self.refuse_if(FaultName::Create503, |_| {
            SimulatedRefusal::new(503, "service unavailable")
        })?;
        self.refuse_if(FaultName::Create529, |_| {
            SimulatedRefusal::new(529, "Overloaded")
        })?;
        self.refuse_if(FaultName::Create413Html, |_| {
            let mut refusal = SimulatedRefusal::new(413, "");
            refusal.is_html = true;
            refusal
        })?;
        let seconds = |fault: &crate::fault::SimulatedFault| fault.seconds.unwrap_or(1);
        self.refuse_if(FaultName::Create429, |fault| {
            SimulatedRefusal::new(429, "rate limit reached").retry_after(seconds(fault))
        })?;
        self.require_funds()?;
        self.count_creation(now)?;
        if let Some(refusal) = draft.refusal.take() {
            return Err(refusal.into());
        }
        self.limit_enqueued(draft, now)
    }

    /// Refuses an account without funds, also for realtime calls.
    pub fn require_funds(&mut self) -> Result<(), CallRejection> {
        let provider = self.provider;
        self.refuse_if(FaultName::OutOfFunds, |_| match provider {
            SimulatedProvider::Anthropic => {
                SimulatedRefusal::new(402, "Your credit balance is too low")
            }
            SimulatedProvider::Gemini => SimulatedRefusal::new(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            SimulatedProvider::OpenAi | SimulatedProvider::Server => SimulatedRefusal::new(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
            )
            .openai_code("insufficient_quota"),
        })
    }

    /// Makes the job with its faults.
    fn make_job(&mut self, draft: JobDraft, now: SimulatorTime) -> SimulatedJob {
        let lag = self.faults.fire(FaultName::ListLag);
        let lag = lag.map_or(0, |fault| fault.seconds.unwrap_or(10));
        let faults: Vec<_> = FaultName::JOB_FAULTS
            .into_iter()
            .filter_map(|name| self.faults.fire(name))
            .collect();
        let mut objections = draft.validation_errors;
        let find = |name| faults.iter().find(|fault| fault.name == name);
        if let Some(fault) = find(FaultName::ValidationFailed) {
            let code = fault.code.clone();
            let message = fault.message.clone();
            objections.push(SimulatedValidationError {
                code: code.unwrap_or_else(|| "invalid_request".to_owned()),
                line: Some(fault.line.unwrap_or(1)),
                message: message.unwrap_or_else(|| "This line is not valid.".to_owned()),
                param: None,
            });
        }
        if let Some(fault) = find(FaultName::TokenLimit) {
            let limit = fault.limit.unwrap_or(2_000_000);
            objections = vec![token_limit_error(&draft.request.model, limit)];
        }
        let window = self.pace.window_ms.map_or(draft.window, milliseconds);
        let mut request = draft.request;
        request.manifest.use_caches(&mut self.caches, now);
        SimulatedJob {
            id: self.job_id(),
            request: Arc::new(request),
            created_at: now,
            visible_at: now + TimeDelta::seconds(i64::from(lag)),
            window,
            pace: self.pace.clone(),
            faults,
            validation_errors: objections,
            cancel_at: None,
            is_deleted: false,
        }
    }

    fn job_id(&mut self) -> String {
        match self.provider {
            SimulatedProvider::OpenAi | SimulatedProvider::Server => {
                format!("batch_{}", self.unique_hex(32))
            }
            SimulatedProvider::Anthropic => format!("msgbatch_{}", self.unique_hex(24)),
            SimulatedProvider::Gemini => self.unique_hex(32),
        }
    }

    /// The job exists. Decides whether the caller receives the reply.
    fn choose_reply(&mut self) -> Result<CreateReply, CallRejection> {
        if self.faults.fire(FaultName::CreateDropAfter).is_some() {
            return Err(CallRejection::Dropped);
        }
        self.refuse_if(FaultName::Create500After, |_| {
            SimulatedRefusal::new(500, "simulated failure after the job was created")
        })?;
        if self.faults.fire(FaultName::CreateDropBody).is_some() {
            return Ok(CreateReply::Truncated);
        }
        if self.faults.fire(FaultName::CreateHangAfter).is_some() {
            return Ok(CreateReply::Never);
        }
        Ok(CreateReply::Complete)
    }

    fn record_submission(
        &mut self,
        order: &JobRequest,
        at: SimulatorTime,
        job: Option<&str>,
        reply: &Result<CreateReply, &CallRejection>,
    ) {
        let status = match reply {
            Ok(CreateReply::Complete | CreateReply::Truncated) => Some(200),
            Err(CallRejection::Refused(refusal)) => Some(refusal.status),
            Ok(CreateReply::Never) | Err(CallRejection::Dropped) => None,
        };
        self.submissions.push(SimulatedSubmission {
            at,
            provider: self.provider,
            account: self.name.clone(),
            label: order.label.clone(),
            job: job.map(str::to_owned),
            items: order.manifest.items.len(),
            ids_sha256: order.manifest.ids_sha256.clone(),
            status,
            answered: matches!(reply, Ok(CreateReply::Complete)),
        });
    }
}

pub(super) fn token_limit_error(model: &str, limit: u64) -> SimulatedValidationError {
    SimulatedValidationError {
        code: "token_limit_exceeded".to_owned(),
        line: None,
        message: format!(
            "Enqueued token limit reached for {model} in organization org-simulated. Limit: {limit} enqueued tokens. Please try again once some in_progress batches have been completed."
        ),
        param: None,
    }
}
