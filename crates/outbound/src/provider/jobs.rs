//! Providers that take a whole batch as one job: what is said to them, and what they say.
//!
//! No call here is made twice by itself when it could be billed twice. Whoever calls has
//! written down the intent, and looks for the job before sending it again.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::Kind;
use domain::time::Timestamp;

use super::Item;
use super::Job;
use super::call::CallFailure;
use super::ending::ItemEnd;
use super::key::ItemKey;
use super::media::Unfit;
use super::media::{Form, MediaSource};
use super::spool::Spool;

/// Raised whenever the same item becomes other bytes: what was submitted under another number
/// cannot be built again.
pub const ENCODER: u16 = 1;

/// Our name for a submission, written where the provider lets us.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label(pub String);

/// The provider's name for a file that we uploaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Upload(pub String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    pub most_items: u64,
    /// Of the spool; what stands around it is allowed for.
    pub most_bytes: u64,
    /// Of all items together: a chat is one, an embedding one for each of its texts.
    pub most_inputs: u64,
}

/// One job, to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub label: Label,
    /// What the provider calls the model.
    pub upstream: String,
    pub kind: Kind,
    pub items: u64,
    pub upload: Option<Upload>,
}

/// A submission of which nobody knows whether it became a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    pub label: Label,
    pub upload: Option<Upload>,
    pub items: u64,
    /// Nothing older is meant. Allow for clocks that differ.
    pub since: Timestamp,
}

/// A job that may be the one sought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub job: Job,
    pub created_at: Timestamp,
    /// None while the provider has not counted.
    pub items: Option<u64>,
    /// It carries our label or our upload. Otherwise only its moment and its size speak for it.
    pub exact: bool,
}

/// What can be seen of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    Running {
        /// When the provider wishes to be asked again.
        hint: Option<Duration>,
        /// As far as the provider tells; some tell nothing before the end.
        done: u64,
        total: u64,
    },
    /// Nothing more will come. An item without a line in the results was not run.
    Ended {
        results: Vec<ResultFile>,
        why: Ending,
    },
    /// Refused as a whole: nothing was run.
    Failed { reason: JobFault },
    /// The provider does not know it, or no longer has what came of it.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Expired,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobFault {
    /// More waits at the provider than it lets us have there; later there is room.
    TokenLimit,
    /// These lines, counted from 1, are wrong, and for them nothing was run.
    Lines(Vec<(u64, String)>),
    Other(String),
}

/// Where results lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultFile {
    /// In a file of the provider's.
    Named(String),
    /// With the job itself.
    OfJob,
}

/// A line of results that names no item of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a result that names no item of ours")]
pub struct Unreadable;

#[async_trait]
pub trait Jobs: Send + Sync + fmt::Debug {
    fn limits(&self, kind: Kind) -> JobLimits;

    /// Whether a job carries our label. One that does not is told by its moment and size alone,
    /// so at most one may be on its way at a time.
    fn labelled(&self) -> bool;

    /// How it wants a file of this type.
    fn form(&self, media_type: MediaType) -> Form;

    /// One item as a line, its end included: the same item, the same bytes.
    fn encode(
        &self,
        item: &Item,
        upstream: &str,
        media: &dyn MediaSource,
    ) -> Result<Vec<u8>, Unfit>;

    /// Hands the lines over beforehand, where the provider wants them so. Done twice, it leaves
    /// a file that expires.
    async fn upload(&self, label: &Label, spool: &Spool) -> Result<Option<Upload>, CallFailure>;

    async fn create(&self, order: &Order, spool: &Spool) -> Result<Job, CallFailure>;

    /// Jobs that a submission may have become. What is younger than a minute may not show yet.
    async fn find(&self, sought: &Sought) -> Result<Vec<Candidate>, CallFailure>;

    async fn look(&self, job: &Job) -> Result<Sight, CallFailure>;

    /// Adds the lines of a result to the spool; after a failure it is as it was before.
    async fn results(
        &self,
        job: &Job,
        file: &ResultFile,
        into: &mut Spool,
    ) -> Result<(), CallFailure>;

    /// Whose a line of results is, and how it ended. `model` is what our callers call it.
    fn decode(&self, line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable>;

    /// Asks the provider to stop. A job that has ended stays as it is.
    async fn cancel(&self, job: &Job) -> Result<(), CallFailure>;
}
