//! Anthropic's message batches: one call contains all requests, and a job has no label.

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::ModelKind;
use domain::route::Route;
use domain::time::Timestamp;
use tokio_rustls::rustls::RootCertStore;

use super::BatchItem;
use super::ProviderJobId;
use super::batch_provider::{
    BatchProvider, JobCandidate, JobLimits, JobSearch, JobStatus, ListedJob, ProviderFileId,
    ProviderJobRequest, ResultLocation, SubmissionLabel, UnknownResultLine,
};
use super::client::{
    AuthScheme, ProviderCallFailure, ProviderClient, ProviderOptions, ProviderRequestBody,
    ProviderResponse, ProviderSetupFailure, RetrySafety,
};
use super::item_key::ItemKey;
use super::item_result::ItemResult;
use super::job_listing;
use super::media::{MediaForm, MediaSource, UnsupportedItem};
use super::spool::Spool;
use crate::percent_encoding::percent_encode_path;

mod batch;
mod messages;
mod request_line;
mod result_line;

#[cfg(test)]
mod tests;

use batch::{AnthropicBatch, AnthropicBatchList};

const BATCHES_PATH: &str = "/v1/messages/batches";
const VERSION_HEADER: (&str, &str) = ("anthropic-version", "2023-06-01");
const JOB_LIMITS: JobLimits = JobLimits {
    max_items: 100_000,
    // 256 MB, minus the JSON around the lines.
    max_bytes: 256_000_000 - 1_000,
    max_inputs: 100_000,
};

#[derive(Debug)]
pub struct Anthropic {
    client: ProviderClient,
}

impl Anthropic {
    /// The base URL has no path: `https://api.anthropic.com`.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
    ) -> Result<Self, ProviderSetupFailure> {
        let caller = ProviderClient::new(
            options,
            AuthScheme::Header("x-api-key"),
            &[VERSION_HEADER],
            roots,
        )?;
        Ok(Self { client: caller })
    }

    async fn fetch_batch(
        &self,
        job: &ProviderJobId,
    ) -> Result<(AnthropicBatch, ProviderResponse), ProviderCallFailure> {
        let path = format!("{BATCHES_PATH}/{}", percent_encode_path(&job.0));
        self.client.send_and_parse(self.client.get(path)).await
    }
}

#[async_trait]
impl BatchProvider for Anthropic {
    fn limits(&self, _: ModelKind) -> JobLimits {
        JOB_LIMITS
    }

    fn supports_labels(&self) -> bool {
        false
    }

    fn media_form(&self, media_type: MediaType) -> MediaForm {
        MediaForm::Url.or_text(media_type)
    }

    fn encode(
        &self,
        item: &BatchItem,
        route: &Route,
        media: &dyn MediaSource,
    ) -> Result<Vec<u8>, UnsupportedItem> {
        request_line::encode(item, route, media)
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
        _: &ProviderJobRequest,
        spool: &Spool,
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let body = request_body(spool);
        let call = self
            .client
            .post(BATCHES_PATH, body, RetrySafety::MayBillTwice);
        let mut call = call.with_caller_input();
        call.timeout = self.client.timeouts.transfer;
        let (batch, _) = self.client.send_and_parse::<AnthropicBatch>(call).await?;
        Ok(batch.into_job_id())
    }

    async fn find_jobs(
        &self,
        search: &JobSearch,
    ) -> Result<Vec<JobCandidate>, ProviderCallFailure> {
        let found = self.list_jobs(search.since).await?;
        let found = found.into_iter().map(|job| job.into_candidate(search));
        let as_many = |job: &JobCandidate| job.items == Some(search.items);
        Ok(found.filter(as_many).collect())
    }

    async fn list_jobs(&self, since: Timestamp) -> Result<Vec<ListedJob>, ProviderCallFailure> {
        let found = job_listing::list_jobs_since(since, |after| async move {
            let after = after.map(|id: String| format!("&after_id={}", percent_encode_path(&id)));
            let path = format!("{BATCHES_PATH}?limit=1000{}", after.unwrap_or_default());
            let (list, _) = self
                .client
                .send_and_parse::<AnthropicBatchList>(self.client.get(path))
                .await?;
            Ok(list.into_page())
        });
        found.await
    }

    async fn fetch_status(&self, job: &ProviderJobId) -> Result<JobStatus, ProviderCallFailure> {
        match self.fetch_batch(job).await {
            Ok((batch, answer)) => batch.into_status(answer.retry_after()),
            Err(ProviderCallFailure::NotFound) => Ok(JobStatus::Gone),
            Err(failure) => Err(failure),
        }
    }

    async fn download_results(
        &self,
        job: &ProviderJobId,
        _: &ResultLocation,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure> {
        let path = format!("{BATCHES_PATH}/{}/results", percent_encode_path(&job.0));
        self.client.download(self.client.get(path), into).await
    }

    fn decode_result(&self, line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
        result_line::decode(line)
    }

    async fn cancel(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        let path = format!("{BATCHES_PATH}/{}/cancel", percent_encode_path(&job.0));
        let call = self
            .client
            .post(path, ProviderRequestBody::empty(), RetrySafety::Safe);
        self.client.send_cancel(call).await
    }

    /// Requests and results are in the job.
    async fn delete_file(&self, _: &ProviderFileId) -> Result<(), ProviderCallFailure> {
        Ok(())
    }

    async fn delete_job(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        let path = format!("{BATCHES_PATH}/{}", percent_encode_path(&job.0));
        self.client.send_delete(path).await
    }
}

/// Joins the lines to a JSON array: every newline but the last becomes a comma. JSON escapes
/// newlines inside a line.
fn request_body(spool: &Spool) -> ProviderRequestBody {
    let lines = spool.range(0, spool.length().saturating_sub(1));
    ProviderRequestBody::bytes(&b"{\"requests\":["[..])
        .chain(ProviderRequestBody::from_spool(lines).replace_byte(b'\n', b','))
        .chain(ProviderRequestBody::bytes(&b"]}"[..]))
}
