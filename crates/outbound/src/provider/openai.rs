//! Batches of `OpenAI`: a file of lines is uploaded, and a job created that reads it.

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::Kind;
use serde_json::json;
use tokio::time::sleep;
use tokio_rustls::rustls::RootCertStore;

use super::Item;
use super::Job;
use super::call::{CallFailure, Caller, Effect, Options, Payload, Proof, SetupFailure, escaped};
use super::completions;
use super::ending::ItemEnd;
use super::jobs::{
    Candidate, JobLimits, Jobs, Label, Order, ResultFile, Sight, Sought, Unreadable, Upload,
};
use super::key::ItemKey;
use super::media::{Form, MediaSource, Unfit};
use super::pages;
use super::spool::Spool;

mod batch;
mod line;

#[cfg(test)]
mod tests;

use batch::{Batch, List};

const LIMITS: JobLimits = JobLimits {
    most_items: 50_000,
    most_bytes: 200_000_000,
    most_inputs: 50_000,
};
/// A file that was just uploaded may not be seen at once.
const LOOKS_FOR_THE_FILE: u32 = 5;
/// Stands behind a carriage return, which no line of ours holds.
const BOUNDARY: &str = "longshore-3f1c8e0b5d7a4962";

#[derive(Debug)]
pub struct OpenAi {
    caller: Caller,
}

impl OpenAi {
    /// The base ends in the version: `https://api.openai.com/v1`.
    pub fn new(options: Options, roots: RootCertStore) -> Result<Self, SetupFailure> {
        let caller = Caller::new(options, Proof::Bearer, &[], roots)?;
        Ok(Self { caller })
    }

    async fn batch(&self, job: &Job) -> Result<(Batch, super::call::Answer), CallFailure> {
        let path = format!("/batches/{}", escaped(&job.0));
        self.caller.read(self.caller.get(path)).await
    }
}

#[async_trait]
impl Jobs for OpenAi {
    fn limits(&self, _: Kind) -> JobLimits {
        LIMITS
    }

    fn labelled(&self) -> bool {
        true
    }

    fn form(&self, media_type: MediaType) -> Form {
        if media_type == MediaType::Pdf {
            Form::Bytes
        } else {
            Form::Address.or_text(media_type)
        }
    }

    fn encode(
        &self,
        item: &Item,
        upstream: &str,
        media: &dyn MediaSource,
    ) -> Result<Vec<u8>, Unfit> {
        line::encode(item, upstream, media)
    }

    async fn upload(&self, label: &Label, spool: &Spool) -> Result<Option<Upload>, CallFailure> {
        #[derive(serde::Deserialize)]
        struct File {
            id: String,
        }
        let form = form(label, spool);
        let mut call = self.caller.post("/files", form, Effect::None);
        call.within = self.caller.patience.transfer;
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let (file, _) = self
            .caller
            .read::<File>(call.header("content-type", kind))
            .await?;
        Ok(Some(Upload(file.id)))
    }

    async fn create(&self, order: &Order, _: &Spool) -> Result<Job, CallFailure> {
        let body = json!({
            "input_file_id": order.upload.as_ref().map(|upload| &upload.0),
            "endpoint": format!("/v1{}", completions::path(order.kind)),
            "completion_window": "24h",
            "metadata": {"submission_id": order.label.0},
        });
        let mut looks = 1;
        loop {
            let call = self
                .caller
                .post("/batches", Payload::json(&body), Effect::Creates);
            match self.caller.read::<Batch>(call).await {
                Err(CallFailure::NotFound) if looks < LOOKS_FOR_THE_FILE => {
                    looks += 1;
                    sleep(self.caller.patience.moment).await;
                }
                created => return created?.0.job(),
            }
        }
    }

    async fn find(&self, sought: &Sought) -> Result<Vec<Candidate>, CallFailure> {
        let found = pages::until_older(sought.since, |after| async move {
            let after = after.map(|id: String| format!("&after={}", escaped(&id)));
            let path = format!("/batches?limit=100{}", after.unwrap_or_default());
            let (list, _) = self.caller.read::<List>(self.caller.get(path)).await?;
            Ok(list.into_page(sought))
        });
        let found = found.await?;
        Ok(found.into_iter().filter(|it| it.exact).collect())
    }

    async fn look(&self, job: &Job) -> Result<Sight, CallFailure> {
        match self.batch(job).await {
            Ok((batch, answer)) => batch.sight(answer.hint()),
            Err(CallFailure::NotFound) => Ok(Sight::Gone),
            Err(failure) => Err(failure),
        }
    }

    async fn results(
        &self,
        _: &Job,
        file: &ResultFile,
        into: &mut Spool,
    ) -> Result<(), CallFailure> {
        let ResultFile::Named(file) = file else {
            return Err(CallFailure::NotFound);
        };
        let path = format!("/files/{}/content", escaped(file));
        self.caller.download(self.caller.get(path), into).await
    }

    fn decode(&self, line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
        line::decode(line, model)
    }

    async fn cancel(&self, job: &Job) -> Result<(), CallFailure> {
        let path = format!("/batches/{}/cancel", escaped(&job.0));
        let call = self.caller.post(path, Payload::empty(), Effect::None);
        self.caller.stop(call).await
    }
}

fn form(label: &Label, spool: &Spool) -> Payload {
    let before = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{}.jsonl\"\r\n\
         content-type: application/jsonl\r\n\r\n",
        escaped(&label.0).replace('/', "_"),
    );
    let after = format!("\r\n--{BOUNDARY}--\r\n");
    Payload::bytes(before)
        .then(Payload::chunks(spool.chunks()))
        .then(Payload::bytes(after))
}
