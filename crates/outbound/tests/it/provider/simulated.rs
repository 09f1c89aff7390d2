//! Each batch provider against the simulator, whose clock the tests move by hand.

use std::fmt;
use std::time::Duration;

use domain::model_answer::ModelAnswer;
use domain::outcome::{Completion, Outcome};
use domain::response_shape::ResponseShape;
use domain::time::Timestamp;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{
    BatchProvider, JobSearch, JobStatus, ProviderFileId, ProviderJobRequest, ResultLocation,
};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_result::ItemResult;
use outbound::provider::openai::{OpenAi, OpenAiService};
use outbound::provider::spool::Spool;
use simulator::{FaultName, Options, SimulatedFault, SimulatedProvider, Simulator};
use tokio_rustls::rustls::RootCertStore;

use super::{
    SECRET, TIMEOUTS, anthropic, gemini, item, job_request, label, options, read_lines, spool,
    spool_items,
};

/// A service with batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchService {
    OpenAi,
    Azure,
    Groq,
    Anthropic,
    Gemini,
}

pub(super) const BATCH_SERVICES: [BatchService; 5] = [
    BatchService::OpenAi,
    BatchService::Azure,
    BatchService::Groq,
    BatchService::Anthropic,
    BatchService::Gemini,
];

/// Those with the API of `OpenAI`.
pub(super) const OPENAI_SERVICES: [(BatchService, OpenAiService); 3] = [
    (BatchService::OpenAi, OpenAiService::OPENAI),
    (BatchService::Azure, OpenAiService::AZURE),
    (BatchService::Groq, OpenAiService::GROQ),
];

impl BatchService {
    /// The simulated provider that has the accounts.
    pub(super) const fn provider(self) -> SimulatedProvider {
        match self {
            Self::OpenAi | Self::Azure | Self::Groq => SimulatedProvider::OpenAi,
            Self::Anthropic => SimulatedProvider::Anthropic,
            Self::Gemini => SimulatedProvider::Gemini,
        }
    }

    /// Where the simulator speaks the dialect of this service.
    pub(super) fn base_url(self, simulator: &Simulator) -> String {
        let path = match self {
            Self::OpenAi => "openai/v1",
            Self::Azure => "azure/openai/v1",
            Self::Groq => "groq/openai/v1",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        };
        format!("http://{}/{path}", simulator.address())
    }

    fn batch_provider(self, base: &str) -> Box<dyn BatchProvider> {
        let service = match self {
            Self::OpenAi => OpenAiService::OPENAI,
            Self::Azure => OpenAiService::AZURE,
            Self::Groq => OpenAiService::GROQ,
            Self::Anthropic => return Box::new(anthropic(base, TIMEOUTS)),
            Self::Gemini => return Box::new(gemini(base, TIMEOUTS)),
        };
        let roots = RootCertStore::empty();
        Box::new(OpenAi::for_service(options(base, TIMEOUTS), roots, service).unwrap())
    }
}

impl fmt::Display for BatchService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Groq => "groq",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        })
    }
}

pub(super) struct SimulatedBatchProvider {
    pub(super) simulator: Simulator,
    pub(super) service: BatchService,
    pub(super) jobs: Box<dyn BatchProvider>,
}

impl SimulatedBatchProvider {
    pub(super) async fn start(service: BatchService) -> Self {
        let simulator = Simulator::start(Options::manual()).await.unwrap();
        let jobs = service.batch_provider(&service.base_url(&simulator));
        Self {
            simulator,
            service,
            jobs,
        }
    }

    pub(super) async fn with_faults(service: BatchService, faults: &[FaultName]) -> Self {
        let stage = Self::start(service).await;
        stage.set_faults(
            faults
                .iter()
                .map(|name| SimulatedFault::new(*name))
                .collect(),
        );
        stage
    }

    pub(super) async fn with_fault_once(service: BatchService, fault: FaultName) -> Self {
        let stage = Self::start(service).await;
        stage.set_faults(vec![SimulatedFault::once(fault)]);
        stage
    }

    pub(super) fn set_faults(&self, faults: Vec<SimulatedFault>) {
        let provider = self.service.provider();
        self.simulator.set_faults(provider, SECRET, faults);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.simulator.now()
    }

    pub(super) fn created_jobs(&self) -> usize {
        self.simulator.jobs(self.service.provider(), SECRET).len()
    }

    pub(super) async fn submit(
        &self,
        texts: &[&str],
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let spool = spool_items(&*self.jobs, texts).await;
        self.submit_lines(job_request(texts.len() as u64), &spool)
            .await
    }

    /// Submits lines that the test has encoded.
    pub(super) async fn submit_lines(
        &self,
        order: ProviderJobRequest,
        lines: &Spool,
    ) -> Result<ProviderJobId, ProviderCallFailure> {
        let upload = self.jobs.upload(&label(), lines).await?;
        let order = ProviderJobRequest { upload, ..order };
        self.jobs.create_job(&order, lines).await
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
        self.finish(&job).await
    }

    /// Waits until a job has ended and returns its results.
    pub(super) async fn finish(&self, job: &ProviderJobId) -> Vec<(usize, String)> {
        let seen = self.final_status(job).await;
        assert!(matches!(seen, JobStatus::Ended { .. }), "{seen:?}");
        let results = match seen {
            JobStatus::Ended { results, .. } => results,
            JobStatus::Running { .. } | JobStatus::Failed { .. } | JobStatus::Gone => Vec::new(),
        };
        self.results(job, &results).await
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
