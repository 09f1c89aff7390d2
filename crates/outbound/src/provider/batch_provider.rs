//! Providers with a batch API: they take a whole batch as one job.
//!
//! No method retries a call that could be billed twice. The caller stores its intent first and
//! reconciles with `find_jobs` before it submits again.
//!
//! A submission keeps its label when it is sent again, so an adapter can use the label as an
//! idempotency token. A `ProviderFileId` and a `ResultLocation::File` are any text, so an adapter
//! whose provider reads from an object store can return the URL of an object.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::ModelKind;
use domain::route::{ChatApi, Route};
use domain::time::Timestamp;
use uuid::Uuid;

use super::BatchItem;
use super::ProviderJobId;
use super::client::ProviderCallFailure;
use super::item_key::ItemKey;
use super::item_result::ItemResult;
use super::media::UnsupportedItem;
use super::media::{MediaForm, MediaSource};
use super::spool::Spool;

/// Raise this whenever the same item encodes to different bytes. A job submitted under another
/// version cannot be rebuilt. `tests/it/provider/encoder_version.rs` has digests of its bytes.
pub const ENCODER_VERSION: u16 = 2;

/// Our id for a submission, stored with the provider's job where the provider allows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubmissionLabel(pub String);

/// The identity of the shard that submits, stored beside the label where the provider allows it.
/// Two installations that share an account tell their jobs apart by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobOwner(pub Uuid);

/// The provider's id for an uploaded input file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderFileId(pub String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    pub max_items: u64,
    /// Of the spool. The limit already allows for the surrounding request.
    pub max_bytes: u64,
    /// Of all items together: a chat counts once, an embedding once per text.
    pub max_inputs: u64,
}

/// A job to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderJobRequest {
    pub label: SubmissionLabel,
    pub owner: JobOwner,
    /// The provider's name for the model.
    pub upstream: String,
    pub kind: ModelKind,
    /// The API of the lines, if the provider has several for chats.
    pub api: ChatApi,
    pub items: u64,
    pub upload: Option<ProviderFileId>,
}

/// Search criteria for a submission whose result is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSearch {
    pub label: SubmissionLabel,
    pub upload: Option<ProviderFileId>,
    pub items: u64,
    /// Older jobs do not match. Allow for clock skew.
    pub since: Timestamp,
}

/// A job that may match a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCandidate {
    pub job: ProviderJobId,
    pub created_at: Timestamp,
    /// None until the provider has counted.
    pub items: Option<u64>,
    /// The label or the uploaded file matches. Otherwise only creation time and size match.
    pub is_exact: bool,
}

/// A job in the provider's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedJob {
    pub job: ProviderJobId,
    /// None: the provider does not say.
    pub created_at: Option<Timestamp>,
    /// None until the provider has counted.
    pub items: Option<u64>,
    /// None: the provider keeps no labels, or the job is not one of ours.
    pub label: Option<SubmissionLabel>,
    /// None: the provider keeps only the label, or an earlier version submitted the job.
    pub owner: Option<JobOwner>,
    pub upload: Option<ProviderFileId>,
}

impl ListedJob {
    /// Whether its label or its uploaded file is that of the search.
    fn matches(&self, search: &JobSearch) -> bool {
        self.label.as_ref() == Some(&search.label)
            || (self.upload.is_some() && self.upload == search.upload)
    }

    pub(super) fn into_candidate(self, search: &JobSearch) -> JobCandidate {
        JobCandidate {
            is_exact: self.matches(search),
            // Without a creation time the job may be of any age, so it is kept.
            created_at: self.created_at.unwrap_or(search.since),
            items: self.items,
            job: self.job,
        }
    }
}

/// The state of a job at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobStatus {
    Running {
        /// When the provider asks to be polled again.
        retry_after: Option<Duration>,
        /// Some providers report 0 until the job ends.
        done: u64,
        total: u64,
    },
    /// The job is final. Items without a result line were not run.
    Ended {
        results: Vec<ResultLocation>,
        end_reason: JobEndReason,
    },
    /// The provider refused the whole job and ran nothing.
    Failed { reason: JobFailureReason },
    /// The provider does not know the job, or has deleted its results.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEndReason {
    Completed,
    Expired,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobFailureReason {
    /// The account's limit of enqueued tokens is reached. A later submission can succeed.
    TokenLimit,
    /// These lines, counted from 1, are invalid, so the provider ran nothing.
    InvalidLines(Vec<(u64, String)>),
    Other(String),
}

impl JobFailureReason {
    /// The reason for a log: never the provider's messages, which may repeat a prompt.
    pub fn diagnosis(&self) -> String {
        match self {
            Self::TokenLimit => "the limit of enqueued tokens is reached".to_owned(),
            Self::InvalidLines(lines) => format!("invalid lines: {}", lines.len()),
            Self::Other(_) => "the provider gave another reason".to_owned(),
        }
    }
}

/// Where the results of a job are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultLocation {
    /// In a file at the provider.
    File(String),
    /// In the job itself.
    Job,
}

/// A result line without a valid item key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the result line has no valid item key")]
pub struct UnknownResultLine;

#[async_trait]
pub trait BatchProvider: Send + Sync + fmt::Debug {
    fn limits(&self, kind: ModelKind) -> JobLimits;

    /// Whether jobs carry our label. Without labels, a search matches creation time and size only,
    /// so at most one submission may be in flight at a time.
    fn supports_labels(&self) -> bool;

    /// How the provider accepts a file of this type.
    fn media_form(&self, media_type: MediaType) -> MediaForm;

    /// Encodes one item as a line with its line ending. The same item gives the same bytes.
    fn encode(
        &self,
        item: &BatchItem,
        route: &Route,
        media: &dyn MediaSource,
    ) -> Result<Vec<u8>, UnsupportedItem>;

    /// Uploads the input file, if the provider needs one. An upload whose answer is lost leaves a
    /// file that expires at the provider.
    async fn upload(
        &self,
        label: &SubmissionLabel,
        spool: &Spool,
    ) -> Result<Option<ProviderFileId>, ProviderCallFailure>;

    async fn create_job(
        &self,
        request: &ProviderJobRequest,
        spool: &Spool,
    ) -> Result<ProviderJobId, ProviderCallFailure>;

    /// Finds jobs that match a submission. Jobs younger than a minute may be missing.
    async fn find_jobs(&self, search: &JobSearch)
    -> Result<Vec<JobCandidate>, ProviderCallFailure>;

    /// All jobs of the account that were created at or after `since`, also those that others
    /// submitted. Jobs younger than a minute may be missing.
    async fn list_jobs(&self, since: Timestamp) -> Result<Vec<ListedJob>, ProviderCallFailure>;

    async fn fetch_status(&self, job: &ProviderJobId) -> Result<JobStatus, ProviderCallFailure>;

    /// Appends the result lines to the spool. A failure leaves the spool unchanged.
    async fn download_results(
        &self,
        job: &ProviderJobId,
        file: &ResultLocation,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure>;

    /// Decodes a result line into its item key and result.
    fn decode_result(&self, line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine>;

    /// Asks the provider to cancel the job. A job that has ended is unchanged.
    async fn cancel(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure>;

    /// Deletes an uploaded input or a result file. A file that is gone counts as deleted.
    async fn delete_file(&self, file: &ProviderFileId) -> Result<(), ProviderCallFailure>;

    /// Deletes a job that has ended, with the results inside it, where the provider can. A job that
    /// is gone counts as deleted.
    async fn delete_job(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure>;
}
