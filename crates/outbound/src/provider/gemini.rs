//! Gemini's batches: lines in a file, a job named by its model, results in a file or with the job.

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::Kind;
use serde_json::json;
use tokio_rustls::rustls::RootCertStore;

use super::Item;
use super::Job;
use super::call::{
    Answer, CallFailure, Caller, Effect, Options, Payload, Proof, SetupFailure, escaped,
};
use super::ending::ItemEnd;
use super::jobs::{
    Candidate, JobLimits, Jobs, Label, Order, ResultFile, Sight, Sought, Unreadable, Upload,
};
use super::key::ItemKey;
use super::media::{Form, MediaSource, Unfit};
use super::pages;
use super::spool::Spool;

mod answer;
mod operation;
mod question;
mod upload;

#[cfg(test)]
mod tests;

use operation::{List, Operation};

const LIMITS: JobLimits = JobLimits {
    // Not published. This is the largest number that others promise.
    most_items: 100_000,
    most_bytes: 2_000_000_000,
    most_inputs: 100_000,
};

#[derive(Debug)]
pub struct Gemini {
    caller: Caller,
}

impl Gemini {
    /// The base is the host alone: `https://generativelanguage.googleapis.com`.
    pub fn new(options: Options, roots: RootCertStore) -> Result<Self, SetupFailure> {
        let caller = Caller::new(options, Proof::Header("x-goog-api-key"), &[], roots)?;
        Ok(Self { caller })
    }

    async fn operation(&self, job: &Job) -> Result<(Operation, Answer), CallFailure> {
        let path = format!("/v1beta/{}", escaped(&job.0));
        self.caller.read(self.caller.get(path)).await
    }
}

#[async_trait]
impl Jobs for Gemini {
    fn limits(&self, _: Kind) -> JobLimits {
        LIMITS
    }

    fn labelled(&self) -> bool {
        true
    }

    fn form(&self, media_type: MediaType) -> Form {
        Form::Bytes.or_text(media_type)
    }

    fn encode(&self, item: &Item, _: &str, media: &dyn MediaSource) -> Result<Vec<u8>, Unfit> {
        question::encode(item, media)
    }

    async fn upload(&self, label: &Label, spool: &Spool) -> Result<Option<Upload>, CallFailure> {
        upload::upload(&self.caller, label, spool).await.map(Some)
    }

    async fn create(&self, order: &Order, _: &Spool) -> Result<Job, CallFailure> {
        let verb = match order.kind {
            Kind::Chat => "batchGenerateContent",
            Kind::Embedding => "asyncBatchEmbedContent",
        };
        let path = format!("/v1beta/models/{}:{verb}", escaped(&order.upstream));
        let body = json!({"batch": {
            "displayName": order.label.0,
            "inputConfig": {"fileName": order.upload.as_ref().map(|upload| &upload.0)},
        }});
        let call = self
            .caller
            .post(path, Payload::json(&body), Effect::Creates);
        let (operation, _) = self.caller.read::<Operation>(call).await?;
        operation.job()
    }

    async fn find(&self, sought: &Sought) -> Result<Vec<Candidate>, CallFailure> {
        let found = pages::until_older(sought.since, |after| async move {
            let after = after.map(|token: String| format!("&pageToken={}", escaped(&token)));
            // A job may carry its answers even in a list: few at a time.
            let path = format!("/v1beta/batches?pageSize=50{}", after.unwrap_or_default());
            let (list, _) = self.caller.read::<List>(self.caller.get(path)).await?;
            Ok(list.into_page(sought))
        });
        let found = found.await?;
        Ok(found.into_iter().filter(|it| it.exact).collect())
    }

    async fn look(&self, job: &Job) -> Result<Sight, CallFailure> {
        match self.operation(job).await {
            Ok((operation, answer)) => operation.sight(answer.hint()),
            Err(CallFailure::NotFound) => Ok(Sight::Gone),
            Err(failure) => Err(failure),
        }
    }

    async fn results(
        &self,
        job: &Job,
        file: &ResultFile,
        into: &mut Spool,
    ) -> Result<(), CallFailure> {
        match file {
            ResultFile::Named(name) => {
                let path = format!("/download/v1beta/{}:download?alt=media", escaped(name));
                self.caller.download(self.caller.get(path), into).await
            }
            ResultFile::OfJob => {
                let (operation, _) = self.operation(job).await?;
                let mark = into.mark();
                for line in operation.inline_lines() {
                    if let Err(error) = into.write(line.as_bytes()).await {
                        into.rewind(mark);
                        return Err(error.into());
                    }
                }
                Ok(())
            }
        }
    }

    fn decode(&self, line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
        answer::decode(line, model)
    }

    async fn cancel(&self, job: &Job) -> Result<(), CallFailure> {
        let path = format!("/v1beta/{}:cancel", escaped(&job.0));
        let call = self.caller.post(path, Payload::empty(), Effect::None);
        self.caller.stop(call).await
    }
}
