//! Each batch provider against the simulator, whose clock the tests move by hand.

use std::time::Duration;

use domain::model_answer::ModelAnswer;
use domain::outcome::{Completion, Outcome};
use domain::response_shape::ResponseShape;
use domain::time::Timestamp;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{
    BatchProvider, JobSearch, JobStatus, ProviderFileId, ResultLocation,
};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_result::ItemResult;
use simulator::{FaultName, Options, SimulatedFault, SimulatedProvider, Simulator};

use super::{
    SECRET, TIMEOUTS, anthropic, gemini, item, job_request, label, openai, read_lines, spool,
    spool_items,
};

pub(super) const BATCH_PROVIDERS: [SimulatedProvider; 3] = [
    SimulatedProvider::OpenAi,
    SimulatedProvider::Anthropic,
    SimulatedProvider::Gemini,
];

pub(super) struct SimulatedBatchProvider {
    pub(super) simulator: Simulator,
    pub(super) provider: SimulatedProvider,
    pub(super) jobs: Box<dyn BatchProvider>,
}

impl SimulatedBatchProvider {
    pub(super) async fn start(provider: SimulatedProvider) -> Self {
        let simulator = Simulator::start(Options::manual()).await.unwrap();
        let base = simulator.base_url(provider);
        let jobs: Box<dyn BatchProvider> = match provider {
            SimulatedProvider::OpenAi | SimulatedProvider::Server => {
                Box::new(openai(&format!("{base}/v1"), TIMEOUTS))
            }
            SimulatedProvider::Anthropic => Box::new(anthropic(&base, TIMEOUTS)),
            SimulatedProvider::Gemini => Box::new(gemini(&base, TIMEOUTS)),
        };
        Self {
            simulator,
            provider,
            jobs,
        }
    }

    pub(super) async fn with_faults(provider: SimulatedProvider, faults: &[FaultName]) -> Self {
        let stage = Self::start(provider).await;
        stage.set_faults(
            faults
                .iter()
                .map(|name| SimulatedFault::new(*name))
                .collect(),
        );
        stage
    }

    pub(super) async fn with_fault_once(provider: SimulatedProvider, fault: FaultName) -> Self {
        let stage = Self::start(provider).await;
        stage.set_faults(vec![SimulatedFault::once(fault)]);
        stage
    }

    pub(super) fn set_faults(&self, faults: Vec<SimulatedFault>) {
        self.simulator.set_faults(self.provider, SECRET, faults);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.simulator.now()
    }

    pub(super) fn created_jobs(&self) -> usize {
        self.simulator.jobs(self.provider, SECRET).len()
    }

    pub(super) async fn submit(
        &self,
        texts: &[&str],
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let spool = spool_items(&*self.jobs, texts).await;
        let mut order = job_request(texts.len() as u64);
        order.upload = self.jobs.upload(&label(), &spool).await?;
        self.jobs.create_job(&order, &spool).await
    }

    /// The status after every job has ended.
    pub(super) async fn final_status(&self, job: &ProviderJobId) -> JobStatus {
        self.simulator.advance(Duration::from_hours(49));
        self.jobs.fetch_status(job).await.unwrap()
    }

    pub(super) fn job_search(&self, items: u64) -> JobSearch {
        JobSearch {
            label: label(),
            upload: Some(ProviderFileId("file-1".to_owned())),
            items,
            since: self.now() - Duration::from_mins(5),
        }
    }

    /// All results, ordered by the number of their item.
    pub(super) async fn results(
        &self,
        job: &ProviderJobId,
        files: &[ResultLocation],
    ) -> Vec<(usize, String)> {
        let mut spool = spool().await;
        for file in files {
            self.jobs
                .download_results(job, file, &mut spool)
                .await
                .unwrap();
        }
        let mut found = Vec::new();
        for line in read_lines(&spool).await {
            let Ok((key, end)) = self.jobs.decode_result(&line) else {
                found.push((usize::MAX, "unknown item".to_owned()));
                continue;
            };
            let number = (0..100).find(|number| item(*number, "").key() == key);
            found.push((usize::try_from(number.unwrap()).unwrap(), describe(&end)));
        }
        found.sort();
        found
    }

    /// Runs a job to its end and returns its results.
    pub(super) async fn run(&self, texts: &[&str]) -> Vec<(usize, String)> {
        let job = self.submit(texts).await.unwrap();
        let seen = self.final_status(&job).await;
        assert!(matches!(seen, JobStatus::Ended { .. }), "{seen:?}");
        let results = match seen {
            JobStatus::Ended { results, .. } => results,
            JobStatus::Running { .. } | JobStatus::Failed { .. } | JobStatus::Gone => Vec::new(),
        };
        self.results(&job, &results).await
    }
}

/// The result of a plain request in one line.
pub(super) fn describe(end: &ItemResult) -> String {
    match end {
        ItemResult::Retry { why, .. } => format!("retry: {why}"),
        ItemResult::AccountFault(why) => format!("account: {why}"),
        ItemResult::Failure { failure, .. } => format!("failed: {}", failure.message),
        ItemResult::Embeddings { vectors, .. } => format!("{vectors:?}"),
        ItemResult::Answer(answer) => describe_answer(answer.clone()),
    }
}

fn describe_answer(answer: ModelAnswer) -> String {
    let cargo = item(0, "").cargo;
    let judged = answer.into_outcome(cargo, "ours", ResponseShape::default(), &[]);
    match judged.outcome {
        Outcome::Failure(failure) => format!("failed: {}", failure.message),
        Outcome::Success(Completion::Embedding(it)) => format!("{:?}", it.embeddings),
        Outcome::Success(Completion::Chat(chat)) => {
            let usage = if judged.charged.is_some() {
                ""
            } else {
                ", usage unknown"
            };
            let text = chat.content[0].text().unwrap();
            let usage = format!(
                "{usage}, {}+{}",
                chat.usage.input_tokens, chat.usage.output_tokens
            );
            format!("{text:?} {:?}{usage}", chat.stop_reason)
        }
    }
}
