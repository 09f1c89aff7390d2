//! Creating a job: what refuses it, what the job takes along, and what the caller is told.

use std::sync::Arc;

use chrono::TimeDelta;

use super::Account;
use crate::clock::Moment;
use crate::fault::Name;
use crate::job::{Job, Objection, Order};
use crate::pace::milliseconds;
use crate::provider::Provider;
use crate::record::Submission;
use crate::refusal::{No, Refusal};

/// A create call that was read.
#[derive(Debug)]
pub struct Draft {
    pub order: Order,
    /// What the provider will find when it validates.
    pub objections: Vec<Objection>,
    /// What it finds at once.
    pub refusal: Option<Refusal>,
    pub window: TimeDelta,
}

#[derive(Debug)]
pub struct Created {
    pub job: Job,
    pub telling: Telling,
}

/// How much of the answer reaches the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    Whole,
    /// The connection is closed in the middle of the body.
    Cut,
    /// Nothing comes, and the connection stays.
    Never,
}

impl Account {
    pub fn create(&mut self, mut draft: Draft, now: Moment) -> Result<Created, No> {
        if let Err(no) = self.admit_creation(&mut draft, now) {
            self.note(&draft.order, now, None, &Err(&no));
            return Err(no);
        }
        let job = self.enter(draft, now);
        let told = self.tell();
        self.note(&job.order, now, Some(&job.id), &told.as_ref().copied());
        self.jobs.push(job.clone());
        Ok(Created {
            job,
            telling: told?,
        })
    }

    /// Whatever keeps the job from coming to be.
    fn admit_creation(&mut self, draft: &mut Draft, now: Moment) -> Result<(), No> {
        if self.faults.fire(Name::CreateDropBefore).is_some() {
            return Err(No::Dropped);
        }
        self.refuse_if(Name::Create500Before, |_| {
            Refusal::new(500, "simulated failure before the job was created")
        })?;
        self.refuse_if(Name::Create503, |_| {
            Refusal::new(503, "service unavailable")
        })?;
        self.refuse_if(Name::Create529, |_| Refusal::new(529, "Overloaded"))?;
        self.refuse_if(Name::Create413Html, |_| {
            let mut refusal = Refusal::new(413, "");
            refusal.is_html = true;
            refusal
        })?;
        let seconds = |fault: &crate::fault::Fault| fault.seconds.unwrap_or(1);
        self.refuse_if(Name::Create429, |fault| {
            Refusal::new(429, "rate limit reached").retry_after(seconds(fault))
        })?;
        self.pay()?;
        self.count_creation(now)?;
        if let Some(refusal) = draft.refusal.take() {
            return Err(refusal.into());
        }
        self.limit_enqueued(draft, now)
    }

    /// Refuses who has no funds, here and in realtime.
    pub fn pay(&mut self) -> Result<(), No> {
        let provider = self.provider;
        self.refuse_if(Name::OutOfFunds, |_| match provider {
            Provider::Anthropic => Refusal::new(402, "Your credit balance is too low"),
            Provider::Gemini => Refusal::new(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            Provider::OpenAi | Provider::Server => Refusal::new(
                429,
                "You exceeded your current quota, please check your plan and billing details.",
            )
            .openai_code("insufficient_quota"),
        })
    }

    /// Makes the job, with the faults that it takes along.
    fn enter(&mut self, draft: Draft, now: Moment) -> Job {
        let lag = self.faults.fire(Name::ListLag);
        let lag = lag.map_or(0, |fault| fault.seconds.unwrap_or(10));
        let faults: Vec<_> = Name::OF_JOBS
            .into_iter()
            .filter_map(|name| self.faults.fire(name))
            .collect();
        let mut objections = draft.objections;
        let find = |name| faults.iter().find(|fault| fault.name == name);
        if let Some(fault) = find(Name::ValidationFailed) {
            let code = fault.code.clone();
            let message = fault.message.clone();
            objections.push(Objection {
                code: code.unwrap_or_else(|| "invalid_request".to_owned()),
                line: Some(fault.line.unwrap_or(1)),
                message: message.unwrap_or_else(|| "This line is not valid.".to_owned()),
                param: None,
            });
        }
        if let Some(fault) = find(Name::TokenLimit) {
            let limit = fault.limit.unwrap_or(2_000_000);
            objections = vec![token_limit(&draft.order.model, limit)];
        }
        let window = self.pace.window_ms.map_or(draft.window, milliseconds);
        Job {
            id: self.job_id(),
            order: Arc::new(draft.order),
            created_at: now,
            visible_at: now + TimeDelta::seconds(i64::from(lag)),
            window,
            pace: self.pace.clone(),
            faults,
            objections,
            cancel_at: None,
            is_deleted: false,
        }
    }

    fn job_id(&mut self) -> String {
        match self.provider {
            Provider::OpenAi | Provider::Server => format!("batch_{}", self.fresh(32)),
            Provider::Anthropic => format!("msgbatch_{}", self.fresh(24)),
            Provider::Gemini => self.fresh(32),
        }
    }

    /// The job is there; whether the caller hears of it is another matter.
    fn tell(&mut self) -> Result<Telling, No> {
        if self.faults.fire(Name::CreateDropAfter).is_some() {
            return Err(No::Dropped);
        }
        self.refuse_if(Name::Create500After, |_| {
            Refusal::new(500, "simulated failure after the job was created")
        })?;
        if self.faults.fire(Name::CreateDropBody).is_some() {
            return Ok(Telling::Cut);
        }
        if self.faults.fire(Name::CreateHangAfter).is_some() {
            return Ok(Telling::Never);
        }
        Ok(Telling::Whole)
    }

    fn note(&mut self, order: &Order, at: Moment, job: Option<&str>, told: &Result<Telling, &No>) {
        let status = match told {
            Ok(Telling::Whole | Telling::Cut) => Some(200),
            Err(No::Refused(refusal)) => Some(refusal.status),
            Ok(Telling::Never) | Err(No::Dropped) => None,
        };
        self.submissions.push(Submission {
            at,
            provider: self.provider,
            account: self.name.clone(),
            label: order.label.clone(),
            job: job.map(str::to_owned),
            items: order.manifest.items.len(),
            ids_sha256: order.manifest.ids_sha256.clone(),
            status,
            answered: matches!(told, Ok(Telling::Whole)),
        });
    }
}

pub(super) fn token_limit(model: &str, limit: u64) -> Objection {
    Objection {
        code: "token_limit_exceeded".to_owned(),
        line: None,
        message: format!(
            "Enqueued token limit reached for {model} in organization org-simulated. Limit: {limit} enqueued tokens. Please try again once some in_progress batches have been completed."
        ),
        param: None,
    }
}
