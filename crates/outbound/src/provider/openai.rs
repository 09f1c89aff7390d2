//! The batch API of `OpenAI`: upload a JSONL file, then create a job that reads it.

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::ModelKind;
use domain::route::Route;
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;
use tokio_rustls::rustls::RootCertStore;

use super::BatchItem;
use super::ProviderJobId;
use super::batch_provider::{
    BatchProvider, JobCandidate, JobLimits, JobSearch, JobStatus, ListedJob, ProviderFileId,
    ProviderJobRequest, ResultLocation, SubmissionLabel, UnknownResultLine,
};
use super::client::{
    ProviderCallFailure, ProviderClient, ProviderOptions, ProviderRequestBody,
    ProviderSetupFailure, RetrySafety,
};
use super::item_key::ItemKey;
use super::item_result::ItemResult;
use super::job_listing;
use super::media::{MediaForm, MediaSource, UnsupportedItem};
use super::openai_compatible;
use super::spool::Spool;
use crate::percent_encoding::percent_encode_path;

mod batch;
mod line;
mod service;

#[cfg(test)]
mod tests;

use batch::{OpenAiBatch, OpenAiBatchList};
pub use service::OpenAiService;

/// How often an uploaded file is checked that the provider still reads.
const MAX_FILE_POLLS: u32 = 60;
/// A new file may not be visible to the batch endpoint at once.
const MAX_CREATE_ATTEMPTS: u32 = 5;
/// Cannot occur in the input: it follows a carriage return, which JSON escapes.
const MULTIPART_BOUNDARY: &str = "longshore-3f1c8e0b5d7a4962";

#[derive(Debug)]
pub struct OpenAi {
    client: ProviderClient,
    service: OpenAiService,
}

#[derive(Debug, Deserialize)]
struct UploadedFile {
    id: String,
    #[serde(default)]
    status: Option<String>,
}

impl OpenAi {
    /// The base URL ends in the version: `https://api.openai.com/v1`.
    pub fn new(
        options: ProviderOptions,
        roots: RootCertStore,
    ) -> Result<Self, ProviderSetupFailure> {
        Self::for_service(options, roots, OpenAiService::OPENAI)
    }

    /// Another service with this batch API.
    pub fn for_service(
        options: ProviderOptions,
        roots: RootCertStore,
        service: OpenAiService,
    ) -> Result<Self, ProviderSetupFailure> {
        let client = ProviderClient::new(options, service.auth_scheme(), &[], roots)?;
        Ok(Self { client, service })
    }

    /// Azure answers an upload before it has read the file, and refuses jobs with such a file.
    async fn wait_for_file(&self, mut file: UploadedFile) -> Result<String, ProviderCallFailure> {
        let mut polls = 0;
        while file.status.as_deref() == Some("pending") && polls < MAX_FILE_POLLS {
            polls += 1;
            sleep(self.client.timeouts.file_poll_interval).await;
            let path = format!("/files/{}", percent_encode_path(&file.id));
            (file, _) = self.client.send_and_parse(self.client.get(path)).await?;
        }
        Ok(file.id)
    }

    async fn fetch_batch(
        &self,
        job: &ProviderJobId,
    ) -> Result<(OpenAiBatch, super::client::ProviderResponse), ProviderCallFailure> {
        let path = format!("/batches/{}", percent_encode_path(&job.0));
        self.client.send_and_parse(self.client.get(path)).await
    }
}

#[async_trait]
impl BatchProvider for OpenAi {
    fn limits(&self, _: ModelKind) -> JobLimits {
        self.service.job_limits
    }

    fn supports_labels(&self) -> bool {
        true
    }

    fn media_form(&self, media_type: MediaType) -> MediaForm {
        openai_compatible::media_form(media_type, self.service.dialect)
    }

    fn encode(
        &self,
        item: &BatchItem,
        route: &Route,
        media: &dyn MediaSource,
    ) -> Result<Vec<u8>, UnsupportedItem> {
        line::encode(item, route, media, &self.service)
    }

    async fn upload(
        &self,
        label: &SubmissionLabel,
        spool: &Spool,
    ) -> Result<Option<ProviderFileId>, ProviderCallFailure> {
        let form = form(label, spool, self.service.file_purpose);
        let call = self.client.post("/files", form, RetrySafety::Safe);
        let mut call = call.with_caller_input();
        call.timeout = self.client.timeouts.transfer;
        let kind = format!("multipart/form-data; boundary={MULTIPART_BOUNDARY}");
        let call = call.header("content-type", kind);
        let (file, _) = self.client.send_and_parse::<UploadedFile>(call).await?;
        Ok(Some(ProviderFileId(self.wait_for_file(file).await?)))
    }

    async fn create_job(
        &self,
        request: &ProviderJobRequest,
        _: &Spool,
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let path = openai_compatible::endpoint_path(request.kind, request.api);
        let body = json!({
            "input_file_id": request.upload.as_ref().map(|upload| &upload.0),
            "endpoint": format!("{}{path}", self.service.url_prefix),
            "completion_window": self.service.completion_window,
            "metadata": {
                "submission_id": request.label.0,
                "submitted_by": request.owner.0.to_string(),
            },
        });
        let mut attempts = 1;
        loop {
            let call = self.client.post(
                "/batches",
                ProviderRequestBody::json(&body),
                RetrySafety::MayBillTwice,
            );
            match self.client.send_and_parse::<OpenAiBatch>(call).await {
                Err(ProviderCallFailure::NotFound) if attempts < MAX_CREATE_ATTEMPTS => {
                    attempts += 1;
                    sleep(self.client.timeouts.file_poll_interval).await;
                }
                created => return created?.0.into_job_id(),
            }
        }
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
            let after = after.map(|id: String| format!("&after={}", percent_encode_path(&id)));
            let path = format!("/batches?limit=100{}", after.unwrap_or_default());
            let (list, _) = self
                .client
                .send_and_parse::<OpenAiBatchList>(self.client.get(path))
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
        _: &ProviderJobId,
        file: &ResultLocation,
        into: &mut Spool,
    ) -> Result<(), ProviderCallFailure> {
        let ResultLocation::File(file) = file else {
            return Err(ProviderCallFailure::NotFound);
        };
        let path = format!("/files/{}/content", percent_encode_path(file));
        self.client.download(self.client.get(path), into).await
    }

    fn decode_result(&self, line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
        line::decode(line)
    }

    async fn cancel(&self, job: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        let path = format!("/batches/{}/cancel", percent_encode_path(&job.0));
        let call = self
            .client
            .post(path, ProviderRequestBody::empty(), RetrySafety::Safe);
        self.client.send_cancel(call).await
    }

    async fn delete_file(&self, file: &ProviderFileId) -> Result<(), ProviderCallFailure> {
        let path = format!("/files/{}", percent_encode_path(&file.0));
        self.client.send_delete(path).await
    }

    /// A batch cannot be deleted. Without its files it holds no request and no answer.
    async fn delete_job(&self, _: &ProviderJobId) -> Result<(), ProviderCallFailure> {
        Ok(())
    }
}

fn form(label: &SubmissionLabel, spool: &Spool, purpose: &str) -> ProviderRequestBody {
    let before = format!(
        "--{MULTIPART_BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\n{purpose}\r\n\
         --{MULTIPART_BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{}.jsonl\"\r\n\
         content-type: application/jsonl\r\n\r\n",
        percent_encode_path(&label.0).replace('/', "_"),
    );
    let after = format!("\r\n--{MULTIPART_BOUNDARY}--\r\n");
    ProviderRequestBody::bytes(before)
        .chain(ProviderRequestBody::from_spool(spool.chunks()))
        .chain(ProviderRequestBody::bytes(after))
}
