//! A provider of batch jobs inside the test: each call waits at the gate, before and after it.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::file::MediaType;
use domain::model::Kind;
use domain::outcome::{ChatCompletion, Completion, Outcome, StopReason, Text, Usage};
use domain::time::{Clock as _, Timestamp};
use outbound::provider::call::CallFailure;
use outbound::provider::ending::ItemEnd;
use outbound::provider::jobs::{
    Candidate, Ending, JobLimits, Jobs, Label, Order, ResultFile, Sight, Sought, Unreadable, Upload,
};
use outbound::provider::key::ItemKey;
use outbound::provider::media::{Form, MediaSource, Unfit};
use outbound::provider::spool::Spool;
use outbound::provider::{Item, Job};

use super::gate::{Decision, Gate, Point};
use crate::database::HandMoved;

/// How long a job takes.
const RUN_TIME: TimeDelta = TimeDelta::seconds(20);

/// The account at the provider, which all nodes share.
#[derive(Debug)]
pub(super) struct Account {
    /// The ids of its jobs begin with it.
    pub(super) name: String,
    pub(super) clock: Arc<HandMoved>,
    pub(super) gate: Arc<Gate>,
    /// A call that creates a job has no effect after this.
    pub(super) create_timeout: TimeDelta,
    /// A new job is not listed for so long.
    pub(super) hidden_for: TimeDelta,
    pub(super) is_labelled: bool,
    pub(super) jobs: Mutex<Vec<CreatedJob>>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "what happened to a job, each by itself"
)]
#[derive(Debug, Clone)]
pub(super) struct CreatedJob {
    pub(super) id: String,
    label: String,
    lines: Vec<Vec<u8>>,
    created_at: Timestamp,
    /// Whether the node that created it was told its id.
    pub(super) was_answered: bool,
    /// Whether a node looked for it while it was not listed yet.
    pub(super) was_hidden: bool,
    /// Whether a node asked to stop it; one that has ended stays as it is.
    pub(super) was_stopped: bool,
    is_cancelled: bool,
}

/// The account as one node calls it.
#[derive(Debug)]
pub(super) struct NodeAccount {
    pub(super) node: usize,
    pub(super) account: Arc<Account>,
}

impl Account {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<CreatedJob>> {
        self.jobs.lock().unwrap()
    }

    fn is_ended(&self, job: &CreatedJob) -> bool {
        job.is_cancelled || self.clock.now() >= job.created_at + RUN_TIME
    }
}

impl NodeAccount {
    async fn call(&self, what: &'static str) -> Result<Decision, CallFailure> {
        let decision = self.account.gate.pass(self.node, Point::Call(what)).await;
        if decision == Decision::Fail {
            return Err(CallFailure::Unavailable {
                why: "a test failed the call".to_owned(),
                retry_after: None,
            });
        }
        Ok(decision)
    }

    /// After the effect of a call: its answer is late, lost, or there at once.
    async fn reply(&self, what: &'static str, decision: Decision) -> Result<(), CallFailure> {
        match decision {
            Decision::LoseAnswer => Err(CallFailure::Unknown("a test lost the answer".to_owned())),
            Decision::HoldAnswer => {
                self.account.gate.pass(self.node, Point::Reply(what)).await;
                Ok(())
            }
            Decision::Continue | Decision::Burst(_) | Decision::Fail => Ok(()),
        }
    }
}

#[async_trait]
impl Jobs for NodeAccount {
    fn limits(&self, _: Kind) -> JobLimits {
        JobLimits {
            most_items: 100,
            most_bytes: 1 << 20,
            most_inputs: 100,
        }
    }

    fn labelled(&self) -> bool {
        self.account.is_labelled
    }

    fn form(&self, _: MediaType) -> Form {
        Form::Bytes
    }

    fn encode(&self, item: &Item, _: &str, _: &dyn MediaSource) -> Result<Vec<u8>, Unfit> {
        Ok(format!("{}\n", item.key()).into_bytes())
    }

    async fn upload(&self, _: &Label, _: &Spool) -> Result<Option<Upload>, CallFailure> {
        Ok(None)
    }

    async fn create(&self, order: &Order, spool: &Spool) -> Result<Job, CallFailure> {
        let (mut lines, mut read) = (Vec::new(), spool.lines());
        while let Some(line) = read.next().await? {
            lines.push(line.to_vec());
        }
        let account = &self.account;
        let began = account.clock.now();
        let decision = self.call("create").await?;
        let now = account.clock.now();
        if now - began >= account.create_timeout {
            return Err(CallFailure::Unknown("no answer in time".to_owned()));
        }
        let (place, id) = {
            let mut jobs = account.lock();
            let id = format!("{}-{}", account.name, jobs.len());
            jobs.push(CreatedJob {
                id: id.clone(),
                label: order.label.0.clone(),
                lines,
                created_at: now,
                was_answered: false,
                was_hidden: false,
                was_stopped: false,
                is_cancelled: false,
            });
            (jobs.len() - 1, id)
        };
        self.reply("create", decision).await?;
        account.lock()[place].was_answered = true;
        Ok(Job(id))
    }

    async fn find(&self, sought: &Sought) -> Result<Vec<Candidate>, CallFailure> {
        self.call("find").await?;
        let now = self.account.clock.now();
        let mut found = Vec::new();
        for job in self.account.lock().iter_mut() {
            let is_sought = job.label == sought.label.0;
            if !is_sought && self.account.is_labelled {
                continue;
            }
            if now < job.created_at + self.account.hidden_for {
                job.was_hidden |= is_sought;
                continue;
            }
            found.push(Candidate {
                job: Job(job.id.clone()),
                created_at: job.created_at,
                items: Some(job.lines.len() as u64),
                exact: self.account.is_labelled,
            });
        }
        found.retain(|it| it.created_at >= sought.since);
        Ok(found)
    }

    async fn look(&self, job: &Job) -> Result<Sight, CallFailure> {
        self.call("look").await?;
        let jobs = self.account.lock();
        let Some(job) = jobs.iter().find(|it| it.id == job.0) else {
            return Ok(Sight::Gone);
        };
        if !self.account.is_ended(job) {
            return Ok(Sight::Running {
                hint: None,
                done: 0,
                total: job.lines.len() as u64,
            });
        }
        Ok(Sight::Ended {
            results: vec![ResultFile::OfJob],
            why: if job.is_cancelled {
                Ending::Cancelled
            } else {
                Ending::Completed
            },
        })
    }

    async fn results(
        &self,
        job: &Job,
        _: &ResultFile,
        into: &mut Spool,
    ) -> Result<(), CallFailure> {
        self.call("results").await?;
        let lines = {
            let jobs = self.account.lock();
            let job = jobs.iter().find(|it| it.id == job.0);
            let job = job.filter(|it| !it.is_cancelled);
            job.map_or_else(Vec::new, |job| job.lines.clone())
        };
        for line in lines {
            into.write(&line).await?;
            into.write(b"\n").await?;
        }
        Ok(())
    }

    fn decode(&self, line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
        let text = std::str::from_utf8(line).map_err(|_| Unreadable)?;
        let key: ItemKey = text.parse().map_err(|_| Unreadable)?;
        let outcome = Outcome::Success(Completion::Chat(ChatCompletion {
            id: text.to_owned(),
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            content: vec![Text {
                kind: "text".to_owned(),
                text: text.to_owned(),
            }],
            model: model.to_owned(),
            stop_reason: StopReason::EndTurn,
            usage: Usage {
                input_tokens: 5,
                output_tokens: 7,
            },
        }));
        Ok((
            key,
            ItemEnd::Outcome {
                outcome,
                usage_known: true,
            },
        ))
    }

    async fn cancel(&self, job: &Job) -> Result<(), CallFailure> {
        let stop = |is_cancelled: bool| {
            let mut jobs = self.account.lock();
            if let Some(job) = jobs.iter_mut().find(|it| it.id == job.0) {
                job.was_stopped = true;
                job.is_cancelled |= is_cancelled && !self.account.is_ended(job);
            }
        };
        // Asked for is enough: a call that fails is logged and counted.
        stop(false);
        let decision = self.call("cancel").await?;
        stop(true);
        self.reply("cancel", decision).await
    }
}
