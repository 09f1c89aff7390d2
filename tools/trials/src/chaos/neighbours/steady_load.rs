//! Organizations that load at a steady rate, and how a neighbour slows them down.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::http::load_request;
use crate::harness::load::open_loop;
use crate::harness::longshored::config_files;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, CallbackReceipts, Deployment, FREE_MODEL, FailureContext as _, HttpRequest,
    LoadLog, LoadSource, PollLimits, Result, ServiceClient, TrialEnvironment, TrialFailure,
    TrialOrganization, TrialProviderAccount, TrialProviderModel, TrialVerdict, judge, percentile,
    round_to,
};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How much a machine that is busy with a neighbour may add to the p99.
const MAX_P99_FACTOR: f64 = 2.0;
const MAX_P99_EXTRA_SECONDS: f64 = 2.0;

/// An organization, and where its callbacks go.
#[derive(Debug, Clone)]
pub struct LoadingOrganization {
    pub organization: TrialOrganization,
    pub callback_url: String,
}

#[derive(Debug, Clone, Copy)]
pub struct LoadWindow {
    pub from: Instant,
    pub before: Instant,
}

/// One `serve` and some `work` processes, with a callback address for each organization.
pub fn deploy(part: &str, organizations: usize, workers: usize) -> Deployment {
    let mut deployment = Deployment::one_serve(&format!("{part}-"), workers);
    deployment.sink.address = Ipv4Addr::UNSPECIFIED;
    deployment
        .with("MOCK_DELAY_SECONDS", "0")
        .with_organizations(organizations)
}

/// Writes files for accounts that each serve a model of their own name, and for the mock's free
/// model.
pub fn set_accounts(base: &mut BaseEnvironment, accounts: &[TrialProviderAccount]) -> Result<()> {
    let model = |id, provider| TrialProviderModel {
        id,
        providers: vec![provider],
        upstream: id,
        is_priced: false,
        features: "",
    };
    let models = accounts.iter().map(|it| model(it.name, it.name));
    let models: Vec<TrialProviderModel> = models.chain([model(FREE_MODEL, "mock")]).collect();
    let folder = base.scratch.path();
    for (name, value) in config_files::write_config_files(folder, accounts, &models)? {
        base.longshored.set(name, &value);
    }
    Ok(())
}

/// Every organization of a trial, with callbacks to its sink.
pub fn members(environment: &TrialEnvironment) -> Vec<LoadingOrganization> {
    let callers = &environment.callers;
    let organizations = callers.organizations.iter();
    organizations
        .map(|organization| LoadingOrganization {
            organization: organization.clone(),
            callback_url: callers.callback_url.clone(),
        })
        .collect()
}

#[derive(Debug)]
pub struct SteadyLoad {
    client: ServiceClient,
    organizations: Vec<LoadingOrganization>,
    models: Vec<&'static str>,
    pub receipts: Arc<CallbackReceipts>,
    log: LoadLog,
}

impl SteadyLoad {
    /// Loads for each model in turn, on keep-alive connections to the first server.
    pub fn new(
        environment: &TrialEnvironment,
        members: Vec<LoadingOrganization>,
        models: &[&'static str],
    ) -> Result<Arc<Self>> {
        let client = ServiceClient::new(environment.server()?.address());
        Ok(Self::with_client(client, environment, members, models))
    }

    pub fn with_client(
        client: ServiceClient,
        environment: &TrialEnvironment,
        members: Vec<LoadingOrganization>,
        models: &[&'static str],
    ) -> Arc<Self> {
        Arc::new(Self {
            client,
            organizations: members,
            models: models.to_vec(),
            receipts: Arc::clone(&environment.callback_sink.receipts),
            log: LoadLog::default(),
        })
    }

    /// One load, never retried.
    pub async fn send_load(&self, number: u64) {
        if let Some((request, source)) = self.build_load(number) {
            self.log.send(&self.client, request, source).await;
        }
    }

    /// The same, repeated while it is answered with 503.
    pub async fn send_repeatedly(&self, number: u64) {
        if let Some((request, source)) = self.build_load(number) {
            let log = &self.log;
            log.send_repeatedly(&self.client, request, source).await;
        }
    }

    fn build_load(&self, number: u64) -> Option<(HttpRequest, LoadSource)> {
        let turn = usize::try_from(number).unwrap_or_default();
        let model = self.models.get(turn % self.models.len().max(1));
        let turn = turn / self.models.len().max(1);
        let member = self
            .organizations
            .get(turn % self.organizations.len().max(1));
        let (model, member) = model.zip(member)?;
        let text = format!("cargo {number}: what lies in the example?");
        let request = build_load(member, model, &text, 64);
        Some((request, LoadSource::labelled(model)))
    }

    /// Loads at this rate until `event` ends; returns its result and the window.
    pub fn load_during<T>(
        self: &Arc<Self>,
        rate: u32,
        event: impl Future<Output = T>,
    ) -> impl Future<Output = (T, LoadWindow)> {
        let from = Instant::now();
        let load = move |number| {
            let victims = Arc::clone(self);
            async move { victims.send_load(number).await }
        };
        let event = async { (event.await, Instant::now()) };
        let loading = open_loop::offer_loads_during(rate, load, event);
        async move {
            let (_, (ended, before)) = loading.await;
            (ended, LoadWindow { from, before })
        }
    }

    /// Loads at this rate for this long; returns the window.
    pub async fn load_for(self: &Arc<Self>, rate: u32, length: Duration) -> LoadWindow {
        let ((), window) = self.load_during(rate, tokio::time::sleep(length)).await;
        window
    }

    /// Waits until every acknowledged cargo has its callback.
    pub async fn wait_for_callbacks(&self, within: Duration) {
        let limits = PollLimits::new(within, POLL_INTERVAL);
        limits.wait_until(|| self.is_complete()).await;
    }

    fn is_complete(&self) -> bool {
        let is_missing = |cargo| self.receipts.find(cargo).is_none();
        self.log.count(|it| it.cargo.is_some_and(is_missing)) == 0
    }

    /// The cargo that was loaded in the window.
    pub fn cargo_between(&self, window: LoadWindow) -> Vec<u128> {
        let loads = self.log.between(window.from, window.before);
        loads.iter().filter_map(|load| load.cargo).collect()
    }

    /// The results of the loads that began in the window, for one model or for all.
    pub fn observe(&self, window: LoadWindow, model: Option<&str>) -> LoadObservation {
        let now = Instant::now();
        let mut seen = LoadObservation::default();
        let mut times = vec![window.from];
        for load in self.log.between(window.from, window.before) {
            let Some(cargo) = load.cargo else {
                *seen.refused.entry(load.answer).or_default() += 1;
                continue;
            };
            if model.is_some_and(|model| model != load.source.label) {
                continue;
            }
            let receipt = self.receipts.find(cargo);
            let until = receipt.map_or(now, |receipt| receipt.first_at);
            let waited = until.saturating_duration_since(load.began_at);
            seen.callback_seconds.push(waited.as_secs_f64());
            seen.load_milliseconds
                .push(statistics::to_milliseconds(load.duration));
            seen.without_callback += usize::from(receipt.is_none());
            times.extend(receipt.map(|receipt| receipt.first_at));
        }
        // The last gap ends with the window, even if nothing arrived by then.
        times.push(
            times
                .iter()
                .copied()
                .max()
                .unwrap_or(now)
                .max(window.before),
        );
        times.sort_unstable();
        let gaps = times.windows(2).filter_map(|pair| match pair {
            [first, second] => Some(second.saturating_duration_since(*first).as_secs_f64()),
            _ => None,
        });
        seen.longest_silence = gaps.fold(0.0, f64::max);
        seen
    }
}

pub fn build_load(
    member: &LoadingOrganization,
    model: &str,
    text: &str,
    max_tokens: u32,
) -> HttpRequest {
    let message = json!({"role": "user", "content": text});
    let params = json!({"model": model, "max_tokens": max_tokens, "messages": [message]});
    let body = json!({"params": params, "callback_url": member.callback_url}).to_string();
    load_request::load(&member.organization, body)
}

/// Sends one load that must be accepted; returns its cargo.
pub async fn load_accepted(
    client: &ServiceClient,
    request: HttpRequest,
    what: &str,
) -> Result<u128> {
    let answer = client.send_load(request).await;
    let answer = answer.context(format!("loading {what}"))?;
    let refused = || TrialFailure::new(format!("{what} got {} {}", answer.status, answer.json()));
    answer.cargo_id().ok_or_else(refused)
}

/// The results of a window. Cargo without a callback counts with its age.
#[derive(Debug, Default)]
pub struct LoadObservation {
    /// From the load to its callback.
    pub callback_seconds: Vec<f64>,
    pub load_milliseconds: Vec<f64>,
    /// Cargo without a callback.
    pub without_callback: usize,
    /// The longest time without any callback, in seconds.
    pub longest_silence: f64,
    pub refused: BTreeMap<String, u64>,
}

impl LoadObservation {
    pub fn callback_p99(&mut self) -> Option<f64> {
        percentile(&mut self.callback_seconds, 990)
    }

    pub fn load_p99(&mut self) -> Option<f64> {
        percentile(&mut self.load_milliseconds, 990)
    }

    pub fn to_json(&mut self) -> Value {
        json!({
            "loaded": self.callback_seconds.len(),
            "seconds_to_callback": statistics::summarize(&mut self.callback_seconds),
            "load_milliseconds": statistics::summarize(&mut self.load_milliseconds),
            "longest_silence_seconds": round_to(self.longest_silence, 2),
            "without_callback": self.without_callback,
            "refused": self.refused,
        })
    }
}

/// Compares the figures without the neighbour with those with it; they may be a little worse.
pub fn judge_slowdown(
    verdict: &mut TrialVerdict,
    name: &str,
    calm: &mut LoadObservation,
    disturbed: &mut LoadObservation,
) {
    judge! { verdict;
        record name => json!({"without": calm.to_json(), "with": disturbed.to_json()}),
    }
    let (without, with) = (calm.callback_p99(), disturbed.callback_p99());
    let is_alike = without.zip(with).is_some_and(|(without, with)| {
        with <= without.mul_add(MAX_P99_FACTOR, MAX_P99_EXTRA_SECONDS)
    });
    judge! { verdict;
        check_figure format!("{name}: load to callback p99 stays within twice the usual and 2 s") =>
            is_alike,
    }
    judge_acceptance(verdict, name, disturbed);
}

/// Every load is accepted and called back. How many are refused with 503 depends on the speed of
/// the machine.
pub fn judge_acceptance(verdict: &mut TrialVerdict, name: &str, seen: &LoadObservation) {
    let has_failed = seen.refused.keys().any(|answer| answer != "503");
    judge! { verdict;
        check format!("{name}: every accepted load is called back") => seen.without_callback == 0,
        check format!("{name}: no load fails") => !has_failed,
        check_figure format!("{name}: every load is accepted") => seen.refused.is_empty(),
    }
}
