//! A simulator of every provider, with a clock that is moved by hand.

use std::time::Duration;

use domain::outcome::{Completion, Outcome};
use domain::time::Timestamp;
use outbound::provider::Job;
use outbound::provider::call::CallFailure;
use outbound::provider::ending::ItemEnd;
use outbound::provider::jobs::{Jobs, ResultFile, Sight, Sought, Upload};
use simulator::{Fault, FaultName, Options, Provider, Simulator};

use super::{
    PATIENCE, SECRET, anthropic, gemini, item, label, openai, order, read_lines, spool, spooled,
};

pub(super) const EVERY: [Provider; 3] = [Provider::OpenAi, Provider::Anthropic, Provider::Gemini];

pub(super) struct Stage {
    pub(super) simulator: Simulator,
    pub(super) provider: Provider,
    pub(super) jobs: Box<dyn Jobs>,
}

impl Stage {
    pub(super) async fn of(provider: Provider) -> Self {
        let simulator = Simulator::start(Options::manual()).await.unwrap();
        let base = simulator.base_url(provider);
        let jobs: Box<dyn Jobs> = match provider {
            Provider::OpenAi | Provider::Server => {
                Box::new(openai(&format!("{base}/v1"), PATIENCE))
            }
            Provider::Anthropic => Box::new(anthropic(&base, PATIENCE)),
            Provider::Gemini => Box::new(gemini(&base, PATIENCE)),
        };
        Self {
            simulator,
            provider,
            jobs,
        }
    }

    pub(super) async fn with(provider: Provider, faults: &[FaultName]) -> Self {
        let stage = Self::of(provider).await;
        stage.set(faults.iter().map(|name| Fault::of(*name)).collect());
        stage
    }

    pub(super) async fn once(provider: Provider, fault: FaultName) -> Self {
        let stage = Self::of(provider).await;
        stage.set(vec![Fault::once(fault)]);
        stage
    }

    pub(super) fn set(&self, faults: Vec<Fault>) {
        self.simulator.set_faults(self.provider, SECRET, faults);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.simulator.now()
    }

    pub(super) fn created(&self) -> usize {
        self.simulator.jobs(self.provider, SECRET).len()
    }

    pub(super) async fn submit(&self, texts: &[&str]) -> Result<Job, CallFailure> {
        let spool = spooled(&*self.jobs, texts).await;
        let mut order = order(texts.len() as u64);
        order.upload = self.jobs.upload(&label(), &spool).await?;
        self.jobs.create(&order, &spool).await
    }

    /// Long after everything has ended.
    pub(super) async fn end_of(&self, job: &Job) -> Sight {
        self.simulator.advance(Duration::from_hours(49));
        self.jobs.look(job).await.unwrap()
    }

    pub(super) fn sought(&self, items: u64) -> Sought {
        Sought {
            label: label(),
            upload: Some(Upload("file-1".to_owned())),
            items,
            since: self.now() - Duration::from_mins(5),
        }
    }

    /// Every result, by the number of its item.
    pub(super) async fn results(&self, job: &Job, files: &[ResultFile]) -> Vec<(usize, String)> {
        let mut spool = spool().await;
        for file in files {
            self.jobs.results(job, file, &mut spool).await.unwrap();
        }
        let mut found = Vec::new();
        for line in read_lines(&spool).await {
            let Ok((key, end)) = self.jobs.decode(&line, "ours") else {
                found.push((usize::MAX, "not ours".to_owned()));
                continue;
            };
            let number = (0..100).find(|number| item(*number, "").key() == key);
            found.push((usize::try_from(number.unwrap()).unwrap(), told(&end)));
        }
        found.sort();
        found
    }

    /// The results of a job that is run to its end.
    pub(super) async fn run(&self, texts: &[&str]) -> Vec<(usize, String)> {
        let job = self.submit(texts).await.unwrap();
        let seen = self.end_of(&job).await;
        assert!(matches!(seen, Sight::Ended { .. }), "{seen:?}");
        let results = match seen {
            Sight::Ended { results, .. } => results,
            Sight::Running { .. } | Sight::Failed { .. } | Sight::Gone => Vec::new(),
        };
        self.results(&job, &results).await
    }
}

pub(super) fn told(end: &ItemEnd) -> String {
    let (outcome, usage_known) = match end {
        ItemEnd::Again(why) => return format!("again: {why}"),
        ItemEnd::AccountFault(why) => return format!("account: {why}"),
        ItemEnd::Outcome {
            outcome,
            usage_known,
        } => (outcome, usage_known),
    };
    match outcome {
        Outcome::Failure(why) => format!("failed: {why}"),
        Outcome::Success(Completion::Embedding(it)) => format!("{:?}", it.embeddings),
        Outcome::Success(Completion::Chat(chat)) => {
            let usage = if *usage_known { "" } else { ", usage unknown" };
            let text = &chat.content[0].text;
            let usage = format!(
                "{usage}, {}+{}",
                chat.usage.input_tokens, chat.usage.output_tokens
            );
            format!("{text:?} {:?}{usage}", chat.stop_reason)
        }
    }
}
