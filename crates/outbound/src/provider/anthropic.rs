//! Anthropic's message batches: one call with every request in it, and no label.

use async_trait::async_trait;
use domain::file::MediaType;
use domain::model::Kind;
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
mod batch;
mod question;

#[cfg(test)]
mod tests;

use batch::{Batch, List};

const ROOT: &str = "/v1/messages/batches";
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
const LIMITS: JobLimits = JobLimits {
    most_items: 100_000,
    // 256 MB, less what stands around the lines.
    most_bytes: 256_000_000 - 1_000,
    most_inputs: 100_000,
};

#[derive(Debug)]
pub struct Anthropic {
    caller: Caller,
}

impl Anthropic {
    /// The base is the host alone: `https://api.anthropic.com`.
    pub fn new(options: Options, roots: RootCertStore) -> Result<Self, SetupFailure> {
        let caller = Caller::new(options, Proof::Header("x-api-key"), &[VERSION], roots)?;
        Ok(Self { caller })
    }

    async fn batch(&self, job: &Job) -> Result<(Batch, Answer), CallFailure> {
        let path = format!("{ROOT}/{}", escaped(&job.0));
        self.caller.read(self.caller.get(path)).await
    }
}

#[async_trait]
impl Jobs for Anthropic {
    fn limits(&self, _: Kind) -> JobLimits {
        LIMITS
    }

    fn labelled(&self) -> bool {
        false
    }

    fn form(&self, media_type: MediaType) -> Form {
        Form::Address.or_text(media_type)
    }

    fn encode(
        &self,
        item: &Item,
        upstream: &str,
        media: &dyn MediaSource,
    ) -> Result<Vec<u8>, Unfit> {
        question::encode(item, upstream, media)
    }

    async fn upload(&self, _: &Label, _: &Spool) -> Result<Option<Upload>, CallFailure> {
        Ok(None)
    }

    async fn create(&self, _: &Order, spool: &Spool) -> Result<Job, CallFailure> {
        let mut call = self.caller.post(ROOT, envelope(spool), Effect::Creates);
        call.within = self.caller.patience.transfer;
        let (batch, _) = self.caller.read::<Batch>(call).await?;
        Ok(batch.job())
    }

    async fn find(&self, sought: &Sought) -> Result<Vec<Candidate>, CallFailure> {
        let found = pages::until_older(sought.since, |after| async move {
            let after = after.map(|id: String| format!("&after_id={}", escaped(&id)));
            let path = format!("{ROOT}?limit=1000{}", after.unwrap_or_default());
            let (list, _) = self.caller.read::<List>(self.caller.get(path)).await?;
            Ok(list.into_page())
        });
        let found = found.await?;
        let as_many = |job: &Candidate| job.items == Some(sought.items);
        Ok(found.into_iter().filter(as_many).collect())
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
        job: &Job,
        _: &ResultFile,
        into: &mut Spool,
    ) -> Result<(), CallFailure> {
        let path = format!("{ROOT}/{}/results", escaped(&job.0));
        self.caller.download(self.caller.get(path), into).await
    }

    fn decode(&self, line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
        answer::decode(line, model)
    }

    async fn cancel(&self, job: &Job) -> Result<(), CallFailure> {
        let path = format!("{ROOT}/{}/cancel", escaped(&job.0));
        let call = self.caller.post(path, Payload::empty(), Effect::None);
        self.caller.stop(call).await
    }
}

/// The lines become a list: each end of a line but the last is a comma. Nothing inside a line
/// is a line's end, because JSON escapes it.
fn envelope(spool: &Spool) -> Payload {
    let lines = spool.part(0, spool.length().saturating_sub(1));
    Payload::bytes(&b"{\"requests\":["[..])
        .then(Payload::chunks(lines).replacing(b'\n', b','))
        .then(Payload::bytes(&b"]}"[..]))
}
