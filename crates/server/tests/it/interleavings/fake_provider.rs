//! A batch provider inside the test. Each call waits at the gate before and after its effect.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::file::MediaType;
use domain::id::CargoId;
use domain::model::ModelKind;
use domain::model_answer::{ModelAnswer, ModelStop};
use domain::outcome::{CompletionBlock, TokenUsage};
use domain::route::Route;
use domain::time::{Clock as _, Timestamp};
use domain::token_buckets::TokenBuckets;
use outbound::provider::batch_provider::{
    BatchProvider, JobCandidate, JobEndReason, JobLimits, JobSearch, JobStatus, ListedJob,
    ProviderFileId, ProviderJobRequest, ResultLocation, SubmissionLabel, UnknownResultLine,
};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_key::ItemKey;
use outbound::provider::item_result::ItemResult;
use outbound::provider::media::{MediaForm, MediaSource, UnsupportedItem};
use outbound::provider::spool::Spool;
use outbound::provider::{BatchItem, ProviderJobId};
use test_support::clock::ManualClock;

use super::gate::{GateDecision, GatePoint, TaskGate};

/// How long a job runs.
const JOB_DURATION: TimeDelta = TimeDelta::seconds(20);

/// The provider account that all nodes share.
#[derive(Debug)]
pub(super) struct FakeProviderAccount {
    /// The prefix of the ids of its jobs.
    pub(super) job_prefix: String,
    pub(super) clock: Arc<ManualClock>,
    pub(super) gate: Arc<TaskGate>,
    /// A call that takes longer than this creates no job.
    pub(super) create_timeout: TimeDelta,
    /// How long a new job is not listed.
    pub(super) listing_delay: TimeDelta,
    pub(super) supports_labels: bool,
    pub(super) jobs: Mutex<Vec<FakeProviderJob>>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a job"
)]
#[derive(Debug, Clone)]
pub(super) struct FakeProviderJob {
    pub(super) id: String,
    label: String,
    lines: Vec<Vec<u8>>,
    pub(super) created_at: Timestamp,
    /// Whether the node that created it received its id.
    pub(super) was_answered: bool,
    /// Whether a node searched for it while it was not listed yet.
    pub(super) was_hidden: bool,
    /// Whether a node asked to cancel it. A job that has ended stays as it is.
    pub(super) was_cancel_requested: bool,
    is_cancelled: bool,
}

impl FakeProviderJob {
    /// Whether one of its requests is this cargo's.
    pub(super) fn contains(&self, cargo: CargoId) -> bool {
        let key = cargo.to_string();
        let mut lines = self.lines.iter();
        lines.any(|line| line.starts_with(key.as_bytes()))
    }
}

/// The account as one node calls it.
#[derive(Debug)]
pub(super) struct NodeBatchProvider {
    pub(super) node: usize,
    pub(super) account: Arc<FakeProviderAccount>,
}

impl FakeProviderAccount {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<FakeProviderJob>> {
        self.jobs.lock().unwrap()
    }

    fn is_ended(&self, job: &FakeProviderJob) -> bool {
        job.is_cancelled || self.clock.now() >= job.created_at + JOB_DURATION
    }
}

impl NodeBatchProvider {
    async fn call(&self, what: &'static str) -> Result<GateDecision, ProviderCallFailure> {
        let decision = self
            .account
            .gate
            .pass(self.node, GatePoint::Call(what))
            .await;
        if decision == GateDecision::Fail {
            return Err(ProviderCallFailure::Unavailable {
                why: "a test failed the call".to_owned(),
                retry_after: None,
            });
        }
        Ok(decision)
    }

    /// Follows the effect of a call: the answer is late, lost, or immediate.
    async fn reply(
        &self,
        what: &'static str,
        decision: GateDecision,
    ) -> Result<(), ProviderCallFailure> {
        match decision {
            GateDecision::LoseAnswer => Err(ProviderCallFailure::Indeterminate(
                "a test lost the answer".to_owned(),
            )),
            GateDecision::HoldAnswer => {
                self.account
                    .gate
                    .pass(self.node, GatePoint::Reply(what))
                    .await;
                Ok(())
            }
            GateDecision::Continue | GateDecision::Burst(_) | GateDecision::Fail => Ok(()),
        }
    }
}

#[async_trait]
impl BatchProvider for NodeBatchProvider {
    fn limits(&self, _: ModelKind) -> JobLimits {
        JobLimits {
            max_items: 100,
            max_bytes: 1 << 20,
            max_inputs: 100,
        }
    }

    fn supports_labels(&self) -> bool {
        self.account.supports_labels
    }

    fn media_form(&self, _: MediaType) -> MediaForm {
        MediaForm::Bytes
    }

    fn encode(
        &self,
        item: &BatchItem,
        _: &Route,
        _: &dyn MediaSource,
    ) -> Result<Vec<u8>, UnsupportedItem> {
        Ok(format!("{}\n", item.key()).into_bytes())
    }

    async fn upload(
        &self,
        _: &SubmissionLabel,
        _: &Spool,
    ) -> Result<Option<ProviderFileId>, ProviderCallFailure> {
        Ok(None)
    }

    async fn create_job(
        &self,
        request: &ProviderJobRequest,
        spool: &Spool,
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let (mut lines, mut read) = (Vec::new(), spool.lines());
        while let Some(line) = read.next().await? {
            lines.push(line.to_vec());
        }
        let account = &self.account;
        let started_at = account.clock.now();
        let decision = self.call("create").await?;
        let now = account.clock.now();
        if now - started_at >= account.create_timeout {
            return Err(ProviderCallFailure::Indeterminate(
                "no answer in time".to_owned(),
            ));
        }
        let (index, id) = {
            let mut jobs = account.lock();
            let id = format!("{}-{}", account.job_prefix, jobs.len());
            jobs.push(FakeProviderJob {
                id: id.clone(),
                label: request.label.0.clone(),
                lines,
                created_at: now,
                was_answered: false,
                was_hidden: false,
                was_cancel_requested: false,
                is_cancelled: false,
            });
            (jobs.len() - 1, id)
        };
        self.reply("create", decision).await?;
        account.lock()[index].was_answered = true;
        Ok(ProviderJobId(id))
    }

    async fn find_jobs(
        &self,
        search: &JobSearch,
    ) -> Result<Vec<JobCandidate>, ProviderCallFailure> {
        self.call("find").await?;
        let now = self.account.clock.now();
        let mut found = Vec::new();
        for job in self.account.lock().iter_mut() {
            let is_match = job.label == search.label.0;
            if !is_match && self.account.supports_labels {
                continue;
            }
            if now < job.created_at + self.account.listing_delay {
                job.was_hidden |= is_match;
                continue;
            }
            found.push(JobCandidate {
                job: ProviderJobId(job.id.clone()),
                created_at: job.created_at,
                items: Some(job.lines.len() as u64),
                is_exact: self.account.supports_labels,
            });
        }
        found.retain(|it| it.created_at >= search.since);
        Ok(found)
    }

    /// Interleavings never search for unknown jobs.
    async fn list_jobs(&self, _: Timestamp) -> Result<Vec<ListedJob>, ProviderCallFailure> {
        Ok(Vec::new())
    }

    async fn fetch_status(&self, job: &ProviderJobId) -> Result<JobStatus, ProviderCallFailure> {
        self.call("fetch status").await?;
        let jobs = self.account.lock();
        let Some(job) = jobs.iter().find(|it| it.id == job.0) else {
            return Ok(JobStatus::Gone);
        };
        if !self.account.is_ended(job) {
            return Ok(JobStatus::Running {
                retry_after: None,
                done: 0,
                total: job.lines.len() as u64,
            });
        }
        Ok(JobStatus::Ended {
            results: vec![ResultLocation::Job],
            end_reason: if job.is_cancelled {
                JobEndReason::Cancelled
            } else {
                JobEndReason::Completed
            },
        })
    }

    async fn download_results(
        &self,
        job: &ProviderJobId,
        _: &ResultLocation,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure> {
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

    fn decode_result(&self, line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
        let text = std::str::from_utf8(line).map_err(|_| UnknownResultLine)?;
        let key: ItemKey = text.parse().map_err(|_| UnknownResultLine)?;
        let blocks = vec![CompletionBlock::plain_text(text.to_owned())];
        let usage = TokenBuckets::plain(TokenUsage {
            input_tokens: 5,
            output_tokens: 7,
        });
        let answer = ModelAnswer::new(blocks, ModelStop::EndTurn, Some(usage));
        Ok((key, ItemResult::Answer(answer)))
    }

    async fn cancel(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        let mark = |is_cancelled: bool| {
            let mut jobs = self.account.lock();
            if let Some(job) = jobs.iter_mut().find(|it| it.id == job.0) {
                job.was_cancel_requested = true;
                job.is_cancelled |= is_cancelled && !self.account.is_ended(job);
            }
        };
        // The request counts even if the call fails: the node logs and counts the failure.
        mark(false);
        let decision = self.call("cancel").await?;
        mark(true);
        self.reply("cancel", decision).await
    }

    async fn delete_file(&self, _: &ProviderFileId) -> Result<(), ProviderCallFailure> {
        Ok(())
    }

    async fn delete_job(&self, _: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        Ok(())
    }
}
