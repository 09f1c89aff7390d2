//! Gemini's batch API: an input file, a job per model, results in a file or in the job.

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::ModelKind;
use domain::route::Route;
use domain::time::Timestamp;
use serde_json::json;
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

mod contents;
mod generation_config;
mod operation;
pub mod realtime;
mod request_body;
mod request_line;
mod response;
mod result_line;
mod upload;

#[cfg(test)]
mod tests;

use operation::{GeminiOperation, GeminiOperationList};

/// The header with the credential.
const KEY_HEADER: &str = "x-goog-api-key";

const JOB_LIMITS: JobLimits = JobLimits {
    // Not published. This is the largest limit of the other providers.
    max_items: 100_000,
    max_bytes: 2_000_000_000,
    max_inputs: 100_000,
};

#[derive(Debug)]
pub struct Gemini {
    client: ProviderClient,
}

impl Gemini {
    /// The base URL has no path: `https://generativelanguage.googleapis.com`.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
    ) -> Result<Self, ProviderSetupFailure> {
        let caller = ProviderClient::new(options, AuthScheme::Header(KEY_HEADER), &[], roots)?;
        Ok(Self { client: caller })
    }

    async fn fetch_operation(
        &self,
        job: &ProviderJobId,
    ) -> Result<(GeminiOperation, ProviderResponse), ProviderCallFailure> {
        let path = format!("/v1beta/{}", percent_encode_path(&job.0));
        self.client.send_and_parse(self.client.get(path)).await
    }
}

#[async_trait]
impl BatchProvider for Gemini {
    fn limits(&self, _: ModelKind) -> JobLimits {
        JOB_LIMITS
    }

    fn supports_labels(&self) -> bool {
        true
    }

    fn media_form(&self, media_type: MediaType) -> MediaForm {
        MediaForm::Bytes.or_text(media_type)
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
        label: &SubmissionLabel,
        spool: &Spool,
    ) -> Result<Option<ProviderFileId>, ProviderCallFailure> {
        upload::upload(&self.client, label, spool).await.map(Some)
    }

    async fn create_job(
        &self,
        request: &ProviderJobRequest,
        _: &Spool,
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let verb = match request.kind {
            ModelKind::Chat => "batchGenerateContent",
            ModelKind::Embedding => "asyncBatchEmbedContent",
        };
        let path = format!(
            "/v1beta/models/{}:{verb}",
            percent_encode_path(&request.upstream)
        );
        let body = json!({"batch": {
            "displayName": request.label.0,
            "inputConfig": {"fileName": request.upload.as_ref().map(|upload| &upload.0)},
        }});
        let call = self.client.post(
            path,
            ProviderRequestBody::json(&body),
            RetrySafety::MayBillTwice,
        );
        let (operation, _) = self.client.send_and_parse::<GeminiOperation>(call).await?;
        operation.into_job_id()
    }

    async fn find_jobs(
        &self,
        search: &JobSearch,
    ) -> Result<Vec<JobCandidate>, ProviderCallFailure> {
        let found = self.list_jobs(search.since).await?;
        let found = found.into_iter().map(|job| job.into_candidate(search));
        Ok(found.filter(|it| it.is_exact).collect())
    }

    async fn list_jobs(&self, since: Timestamp) -> Result<Vec<ListedJob>, ProviderCallFailure> {
        let found = job_listing::list_jobs_since(since, |after| async move {
            let after =
                after.map(|token: String| format!("&pageToken={}", percent_encode_path(&token)));
            // A listed job may contain its results, so request small pages.
            let path = format!("/v1beta/batches?pageSize=50{}", after.unwrap_or_default());
            let (list, _) = self
                .client
                .send_and_parse::<GeminiOperationList>(self.client.get(path))
                .await?;
            Ok(list.into_page())
        });
        found.await
    }

    async fn fetch_status(&self, job: &ProviderJobId) -> Result<JobStatus, ProviderCallFailure> {
        match self.fetch_operation(job).await {
            Ok((operation, answer)) => operation.into_status(answer.retry_after()),
            Err(ProviderCallFailure::NotFound) => Ok(JobStatus::Gone),
            Err(failure) => Err(failure),
        }
    }

    async fn download_results(
        &self,
        job: &ProviderJobId,
        file: &ResultLocation,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure> {
        match file {
            ResultLocation::File(name) => {
                let path = format!(
                    "/download/v1beta/{}:download?alt=media",
                    percent_encode_path(name)
                );
                self.client.download(self.client.get(path), into).await
            }
            ResultLocation::Job => {
                let (operation, _) = self.fetch_operation(job).await?;
                let position = into.position();
                for line in operation.inline_result_lines() {
                    if let Err(error) = into.write(line.as_bytes()).await {
                        into.truncate_to(position);
                        return Err(error.into());
                    }
                }
                Ok(())
            }
        }
    }

    fn decode_result(&self, line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
        result_line::decode(line)
    }

    async fn cancel(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        let path = format!("/v1beta/{}:cancel", percent_encode_path(&job.0));
        let call = self
            .client
            .post(path, ProviderRequestBody::empty(), RetrySafety::Safe);
        self.client.send_cancel(call).await
    }

    async fn delete_file(&self, file: &ProviderFileId) -> Result<(), ProviderCallFailure> {
        let path = format!("/v1beta/{}", percent_encode_path(&file.0));
        self.client.send_delete(path).await
    }

    async fn delete_job(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        let path = format!("/v1beta/{}", percent_encode_path(&job.0));
        self.client.send_delete(path).await
    }
}
