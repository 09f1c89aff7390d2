//! Runs a scenario and reports what happened.

use std::fmt::Write as _;
use std::time::Duration;

use domain::route::{InferenceMode, Route, Routes};
use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider, rule};
use store::shard::ledger_audit;
use test_support::callback_receiver::CallbackReceiver;

use crate::support::provider_bills::BillException;
use crate::support::simulated_providers::{
    PRIMARY_ACCOUNT, ProviderFixture, SPARE_ACCOUNT, inference_mode, provider_chat_request, route,
    routed_model,
};

pub(super) const SHORT_STEP: Duration = Duration::from_secs(30);
pub(super) const LONG_STEP: Duration = Duration::from_hours(1);
const LOAD_SPACING: Duration = Duration::from_millis(10);
/// The texts that are loaded if a scenario sets no others.
pub(super) const DEFAULT_TEXTS: [&str; 3] = ["one crate", "two crates", "three crates"];
pub(super) const BATCH_PROVIDERS: [SimulatedProvider; 3] = [
    SimulatedProvider::OpenAi,
    SimulatedProvider::Anthropic,
    SimulatedProvider::Gemini,
];

/// What an operator does in the middle of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScenarioIntervention {
    None,
    /// The faults are cleared after this many steps.
    ClearFaults(u32),
    /// The account's owner cancels its jobs after this many steps.
    CancelJobs(u32),
}

#[derive(Debug, Clone)]
pub(super) struct ProviderScenario {
    pub(super) faults: Vec<SimulatedFault>,
    pub(super) texts: Vec<&'static str>,
    pub(super) pace: SimulatedPace,
    pub(super) step: Duration,
    pub(super) steps: u32,
    pub(super) intervention: ScenarioIntervention,
    /// The routes after the provider's batches.
    pub(super) fallback_routes: fn(SimulatedProvider) -> Vec<Route>,
    /// Whether the report has the reasons for waiting too.
    pub(super) shows_waiting_reasons: bool,
    /// The deadline of every load.
    pub(super) deadline_seconds: Option<u32>,
    /// Why the providers bill something else than our books say, if they do.
    pub(super) bill_exceptions: &'static [BillException],
}

impl ProviderScenario {
    pub(super) fn with_faults(faults: impl IntoIterator<Item = SimulatedFault>) -> Self {
        Self {
            faults: faults.into_iter().collect(),
            texts: DEFAULT_TEXTS.to_vec(),
            pace: SimulatedPace::default(),
            step: SHORT_STEP,
            steps: 60,
            intervention: ScenarioIntervention::None,
            fallback_routes: |_| Vec::new(),
            shows_waiting_reasons: false,
            deadline_seconds: None,
            bill_exceptions: &[],
        }
    }

    pub(super) fn with_fault_once(name: FaultName) -> Self {
        Self::with_faults([SimulatedFault::once(name)])
    }

    pub(super) fn with_texts(texts: &[&'static str]) -> Self {
        Self {
            texts: texts.to_vec(),
            ..Self::with_faults([])
        }
    }

    /// At least one provider bills something else than our books say, for these reasons.
    #[must_use]
    pub(super) fn billed_otherwise(self, bill_exceptions: &'static [BillException]) -> Self {
        Self {
            bill_exceptions,
            ..self
        }
    }

    /// Runs for more than a day, in long steps.
    #[must_use]
    pub(super) fn over_a_day(self) -> Self {
        Self {
            step: LONG_STEP,
            steps: 30,
            ..self
        }
    }

    /// Every load has this deadline, and the scenario runs in steps of ten minutes until after it.
    #[must_use]
    pub(super) fn with_deadline(self, hours: u32) -> Self {
        Self {
            step: Duration::from_mins(10),
            steps: hours * 6 + 6,
            deadline_seconds: Some(hours * 3600),
            ..self
        }
    }

    /// Runs with every batch provider.
    pub(super) async fn run_on_batch_providers(&self) -> String {
        self.run_on(&BATCH_PROVIDERS).await
    }

    pub(super) async fn run_on(&self, providers: &[SimulatedProvider]) -> String {
        let mut sections: Vec<(Vec<&str>, String)> = Vec::new();
        for provider in providers {
            let report = self.run(*provider).await;
            match sections.iter_mut().find(|(_, same)| *same == report) {
                Some((names, _)) => names.push(provider.name()),
                None => sections.push((vec![provider.name()], report)),
            }
        }
        let is_explained = |(_, report): &(_, String)| report.contains("\nbilled ");
        let is_needed = sections.iter().any(is_explained);
        assert_eq!(is_needed, !self.bill_exceptions.is_empty());
        let sections = sections
            .iter()
            .map(|(names, report)| format!("{}:\n{report}", names.join(", ")));
        sections.collect::<Vec<_>>().join("\n")
    }

    async fn run(&self, provider: SimulatedProvider) -> String {
        let mut fixture = ProviderFixture::start().await;
        let receiver = CallbackReceiver::new().await;
        let fallback_routes = (self.fallback_routes)(provider);
        if !fallback_routes.is_empty() {
            let mut routed = routed_model(
                provider.name(),
                route(provider.name(), inference_mode(provider)),
            );
            routed.routes = Routes::new(routed.routes.preferred("north").clone(), fallback_routes);
            fixture.service.add_model(routed);
        }
        fixture
            .simulator
            .set_faults(provider, PRIMARY_ACCOUNT, self.faults.clone());
        fixture
            .simulator
            .set_pace(provider, PRIMARY_ACCOUNT, self.pace.clone());
        let mut watched = Vec::new();
        for text in &self.texts {
            let mut body = provider_chat_request(provider.name(), text, receiver.url());
            if let Some(seconds) = self.deadline_seconds {
                body["deadline_seconds"] = seconds.into();
            }
            let cargo = fixture.service.load(&fixture.customer, &body).await;
            watched.push(WatchedCargo::new(cargo, text));
            // The cargo have the same order in every run.
            fixture.service.clock.advance(LOAD_SPACING);
            fixture.simulator.advance(LOAD_SPACING);
        }
        for step in 0..self.steps {
            match self.intervention {
                ScenarioIntervention::ClearFaults(at) if at == step => {
                    fixture.simulator.clear_faults(provider, PRIMARY_ACCOUNT);
                }
                ScenarioIntervention::CancelJobs(at) if at == step => {
                    fixture.cancel_jobs(provider).await;
                }
                ScenarioIntervention::None
                | ScenarioIntervention::ClearFaults(_)
                | ScenarioIntervention::CancelJobs(_) => {}
            }
            for cargo in &mut watched {
                cargo.poll(&fixture).await;
            }
            if watched.iter().all(WatchedCargo::has_ended) {
                break;
            }
            fixture.advance(self.step).await;
        }
        self.report(provider, &fixture, &watched, receiver.callbacks().len())
            .await
    }

    async fn report(
        &self,
        provider: SimulatedProvider,
        fixture: &ProviderFixture,
        watched: &[WatchedCargo],
        callbacks: usize,
    ) -> String {
        let mut report = String::new();
        for cargo in watched {
            writeln!(report, "{}", cargo.describe(fixture).await).unwrap();
        }
        if let Some(cargo) = watched.first().filter(|_| self.shows_waiting_reasons) {
            for reason in &cargo.waiting_reasons {
                writeln!(report, "waiting: {reason}").unwrap();
            }
        }
        let jobs = fixture.simulator.jobs(provider, PRIMARY_ACCOUNT).len();
        let spare = fixture.simulator.jobs(provider, SPARE_ACCOUNT).len();
        let calls = fixture
            .simulator
            .calls(SimulatedProvider::Server, PRIMARY_ACCOUNT)
            .len();
        let held = fixture.service.read_account(&fixture.customer).await.held;
        write!(report, "{callbacks} callbacks, {jobs} jobs").unwrap();
        for (count, what) in [(spare, "at the spare account"), (calls, "calls")] {
            if count > 0 {
                write!(report, ", {count} {what}").unwrap();
            }
        }
        writeln!(report, ", {held} held").unwrap();
        let comparison = fixture.compare_bill().await;
        if let Some(difference) = comparison.explain(self.bill_exceptions) {
            writeln!(report, "{difference}").unwrap();
        }
        let audit_report = ledger_audit::check_all(&fixture.service.north)
            .await
            .unwrap();
        assert_eq!(audit_report.faults, []);
        report
    }
}

/// A job takes ten minutes.
pub(super) fn slow_pace() -> SimulatedPace {
    SimulatedPace {
        running_ms: 600_000,
        ..SimulatedPace::default()
    }
}

/// The provider's second account.
pub(super) fn spare_routes(provider: SimulatedProvider) -> Vec<Route> {
    let account = format!("{provider}-{SPARE_ACCOUNT}");
    vec![route(&account, InferenceMode::Batch)]
}

/// A cargo whose statuses the scenario records.
struct WatchedCargo {
    cargo: String,
    text: &'static str,
    statuses: Vec<String>,
    waiting_reasons: Vec<String>,
}

impl WatchedCargo {
    const fn new(cargo: String, text: &'static str) -> Self {
        Self {
            cargo,
            text,
            statuses: Vec::new(),
            waiting_reasons: Vec::new(),
        }
    }

    async fn poll(&mut self, fixture: &ProviderFixture) {
        let record = fixture.service.track(&fixture.customer, &self.cargo).await;
        let status = record["status"].as_str().unwrap();
        let status = format!("{status}{}", record["attempt"]);
        if self.statuses.last() != Some(&status) {
            self.statuses.push(status);
        }
        if let Some(reason) = record["waiting"]["reason"].as_str()
            && !self.waiting_reasons.iter().any(|it| it == reason)
        {
            self.waiting_reasons.push(reason.to_owned());
        }
    }

    fn has_ended(&self) -> bool {
        let last = self.statuses.last();
        last.is_some_and(|last| last.starts_with("callback_"))
    }

    async fn describe(&self, fixture: &ProviderFixture) -> String {
        let record = fixture.service.track(&fixture.customer, &self.cargo).await;
        let own = rule::chat_text(self.text);
        let end = match record["success"].as_bool() {
            Some(true) if record["response"]["content"][0]["text"] == own.as_str() => {
                "its own answer".to_owned()
            }
            Some(true) => format!("says {}", record["response"]["content"][0]["text"]),
            Some(false) => {
                let text = |name: &str| record[name].as_str().unwrap().to_owned();
                format!("{}: {}", text("error_code"), text("error"))
            }
            None => "no end".to_owned(),
        };
        let charged = &record["cost"]["charged"];
        format!("{} | {end} | charged {charged}", abbreviate(&self.statuses))
    }
}

/// Joins the statuses. If there are many, only the first three and the last two remain.
fn abbreviate(statuses: &[String]) -> String {
    match statuses {
        [first, second, third, .., last_but_one, last] if statuses.len() > 9 => {
            format!("{first} {second} {third} ... {last_but_one} {last}")
        }
        statuses => statuses.join(" "),
    }
}
