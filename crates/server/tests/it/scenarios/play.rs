//! How a scene is played, and what is told of it.

use std::fmt::Write as _;
use std::time::Duration;

use domain::route::{Route, Routes};
use simulator::{Fault, FaultName, Pace, Provider, rule};
use store::shard::audit;

use crate::support::jobs::{ACCOUNT, Port, SPARE, model, route};
use crate::support::receiver::Receiver;

pub(super) const SHORT: Duration = Duration::from_secs(30);
pub(super) const LONG: Duration = Duration::from_hours(1);
const MOMENT: Duration = Duration::from_millis(10);
/// Loaded unless a scene has texts of its own.
pub(super) const TEXTS: [&str; 3] = ["one crate", "two crates", "three crates"];
pub(super) const BATCHES: [Provider; 3] = [Provider::OpenAi, Provider::Anthropic, Provider::Gemini];

/// What somebody does in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Nothing,
    /// What was wrong is mended after so many steps.
    Mended(u32),
    /// The account's owner cancels its jobs after so many steps.
    Cancelled(u32),
}

#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) faults: Vec<Fault>,
    pub(super) texts: Vec<&'static str>,
    pub(super) pace: Pace,
    pub(super) step: Duration,
    pub(super) steps: u32,
    pub(super) turn: Turn,
    /// What comes after the provider's own batches.
    pub(super) others: fn(Provider) -> Vec<Route>,
    /// Whether the reasons for waiting are told too.
    pub(super) reasons: bool,
}

impl Scene {
    pub(super) fn of(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            faults: faults.into_iter().collect(),
            texts: TEXTS.to_vec(),
            pace: Pace::default(),
            step: SHORT,
            steps: 60,
            turn: Turn::Nothing,
            others: |_| Vec::new(),
            reasons: false,
        }
    }

    pub(super) fn once(name: FaultName) -> Self {
        Self::of([Fault::once(name)])
    }

    pub(super) fn saying(texts: &[&'static str]) -> Self {
        Self {
            texts: texts.to_vec(),
            ..Self::of([])
        }
    }

    /// More than a day in long steps.
    #[must_use]
    pub(super) fn for_long(self) -> Self {
        Self {
            step: LONG,
            steps: 30,
            ..self
        }
    }

    /// With every provider of batches.
    pub(super) async fn everywhere(&self) -> String {
        self.with(&BATCHES).await
    }

    pub(super) async fn with(&self, providers: &[Provider]) -> String {
        let mut told: Vec<(Vec<&str>, String)> = Vec::new();
        for provider in providers {
            let one = self.play(*provider).await;
            match told.iter_mut().find(|(_, same)| *same == one) {
                Some((names, _)) => names.push(provider.name()),
                None => told.push((vec![provider.name()], one)),
            }
        }
        let told = told
            .iter()
            .map(|(names, one)| format!("{}:\n{one}", names.join(", ")));
        told.collect::<Vec<_>>().join("\n")
    }

    async fn play(&self, provider: Provider) -> String {
        let mut port = Port::open().await;
        let receiver = Receiver::new().await;
        let others = (self.others)(provider);
        if !others.is_empty() {
            let mut sold = model(provider.name(), route(provider.name(), via(provider)));
            sold.routes = Routes::new(sold.routes.preferred("north").clone(), others);
            port.service.sell(sold);
        }
        port.simulator
            .set_faults(provider, ACCOUNT, self.faults.clone());
        port.simulator
            .set_pace(provider, ACCOUNT, self.pace.clone());
        let mut watched = Vec::new();
        for text in &self.texts {
            let cargo = port.load(provider, text, receiver.url()).await;
            watched.push(Watched::new(cargo, text));
            // So that their order is the same in every run.
            port.service.clock.advance(MOMENT);
            port.simulator.advance(MOMENT);
        }
        for step in 0..self.steps {
            match self.turn {
                Turn::Mended(at) if at == step => port.simulator.clear_faults(provider, ACCOUNT),
                Turn::Cancelled(at) if at == step => port.cancel_jobs(provider).await,
                Turn::Nothing | Turn::Mended(_) | Turn::Cancelled(_) => {}
            }
            for one in &mut watched {
                one.look(&port).await;
            }
            if watched.iter().all(Watched::has_ended) {
                break;
            }
            port.advance(self.step).await;
        }
        self.tell(provider, &port, &watched, receiver.received().len())
            .await
    }

    async fn tell(
        &self,
        provider: Provider,
        port: &Port,
        watched: &[Watched],
        callbacks: usize,
    ) -> String {
        let mut told = String::new();
        for one in watched {
            writeln!(told, "{}", one.tell(port).await).unwrap();
        }
        if let Some(one) = watched.first().filter(|_| self.reasons) {
            for reason in &one.reasons {
                writeln!(told, "waiting: {reason}").unwrap();
            }
        }
        let jobs = port.simulator.jobs(provider, ACCOUNT).len();
        let spare = port.simulator.jobs(provider, SPARE).len();
        let calls = port.simulator.calls(Provider::Server, ACCOUNT).len();
        let held = port.service.account(&port.customer).await.held;
        write!(told, "{callbacks} callbacks, {jobs} jobs").unwrap();
        for (count, what) in [(spare, "at the spare account"), (calls, "calls")] {
            if count > 0 {
                write!(told, ", {count} {what}").unwrap();
            }
        }
        writeln!(told, ", {held} held").unwrap();
        let report = audit::whole(&port.service.north).await.unwrap();
        assert_eq!(report.faults, []);
        told
    }
}

pub(super) const fn via(provider: Provider) -> domain::route::Via {
    match provider {
        Provider::Server => domain::route::Via::Realtime,
        Provider::OpenAi | Provider::Anthropic | Provider::Gemini => domain::route::Via::Batch,
    }
}

/// A cargo on its way.
struct Watched {
    cargo: String,
    text: &'static str,
    seen: Vec<String>,
    reasons: Vec<String>,
}

impl Watched {
    const fn new(cargo: String, text: &'static str) -> Self {
        Self {
            cargo,
            text,
            seen: Vec::new(),
            reasons: Vec::new(),
        }
    }

    async fn look(&mut self, port: &Port) {
        let record = port.service.track(&port.customer, &self.cargo).await;
        let status = record["status"].as_str().unwrap();
        let status = format!("{status}{}", record["attempt"]);
        if self.seen.last() != Some(&status) {
            self.seen.push(status);
        }
        if let Some(reason) = record["waiting"]["reason"].as_str()
            && !self.reasons.iter().any(|it| it == reason)
        {
            self.reasons.push(reason.to_owned());
        }
    }

    fn has_ended(&self) -> bool {
        let last = self.seen.last();
        last.is_some_and(|last| last.starts_with("callback_"))
    }

    async fn tell(&self, port: &Port) -> String {
        let record = port.service.track(&port.customer, &self.cargo).await;
        let own = rule::chat_text(self.text);
        let end = match record["success"].as_bool() {
            Some(true) if record["response"]["content"][0]["text"] == own.as_str() => {
                "its own answer".to_owned()
            }
            Some(true) => format!("says {}", record["response"]["content"][0]["text"]),
            Some(false) => record["error"].as_str().unwrap().to_owned(),
            None => "no end".to_owned(),
        };
        let charged = &record["cost"]["charged"];
        format!("{} | {end} | charged {charged}", shortened(&self.seen))
    }
}

/// The first and the last of many statuses.
fn shortened(seen: &[String]) -> String {
    match seen {
        [first, second, third, .., last_but_one, last] if seen.len() > 9 => {
            format!("{first} {second} {third} ... {last_but_one} {last}")
        }
        seen => seen.join(" "),
    }
}
