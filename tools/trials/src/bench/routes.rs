//! Cargo with deadlines of a day, two hours and ten minutes: by which way it goes, when it is
//! answered, and what that costs.
//!
//! The service's clock runs sixty times as fast. At the simulated account a batch takes an hour and a
//! flex request a minute, and every fifth flex request is refused for lack of capacity.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::harness::checks::ledger_audit;
use crate::harness::http::load_request;
use crate::harness::load::callback_log;
use crate::harness::servers::postgres;
use crate::harness::{
    BaseEnvironment, CHAOS_MEMORY, CallbackLog, DatabaseLayout, Deployment, FailureContext as _,
    LoadRecord, LoadSource, PollLimits, ProviderEnvironment, Result, ServiceClient,
    SimulatorProcess, TrialEnvironment, TrialVerdict, report_progress, summarize,
};
use crate::options::{BenchRoutesOptions, CommonOptions};

mod costs;

const MODEL: &str = "trial-routes";
const ACCOUNT: &str = "openai-main";
/// How many times faster the service's clock runs.
const CLOCK_RATE: u32 = 60;
/// The name of the simulator's fault that refuses flex requests for lack of capacity.
const CAPACITY_FAULT: &str = "flex_unavailable";
/// Flex and realtime requests at once.
const CONCURRENCY: u32 = 16;
const CALLBACK_LIMITS: PollLimits =
    PollLimits::new(Duration::from_mins(5), Duration::from_millis(200));

/// Cargo with one deadline. Each class has its own organization.
#[derive(Debug, Clone, Copy)]
struct DeadlineClass {
    name: &'static str,
    seconds: u32,
}

const CLASSES: [DeadlineClass; 3] = [
    DeadlineClass {
        name: "day",
        seconds: 86_400,
    },
    DeadlineClass {
        name: "two_hours",
        seconds: 7_200,
    },
    DeadlineClass {
        name: "ten_minutes",
        seconds: 600,
    },
];

pub async fn run(common: &CommonOptions, options: &BenchRoutesOptions) -> Result<TrialVerdict> {
    let environment = build_environment(common).await?;
    let service = &environment.service;
    let loader = DeadlineLoader {
        environment: service,
        client: ServiceClient::new(service.server()?.address()),
        callback_log: CallbackLog::new(&service.callback_sink.receipts),
    };
    loader.load_all(options).await;
    report_progress("waiting for callbacks");
    CALLBACK_LIMITS
        .wait_until(|| loader.callback_log.is_complete())
        .await;

    let mut verdict = TrialVerdict::new("bench routes").judging_figures(!options.small);
    let mut sum = loader.callback_log.summarize(|cargo, expected, body| {
        let code = body.get("error_code").and_then(Value::as_str);
        // It counts as a missed deadline.
        if code == Some("deadline_exceeded") {
            return None;
        }
        callback_log::find_wrong_answer(cargo, expected, body)
    });
    sum.judge(&mut verdict);
    verdict.check(
        "every load was acknowledged",
        sum.loaded == options.cargo_per_class() * CLASSES.len(),
    );
    loader.judge_deadlines(&mut verdict);
    costs::judge(&mut verdict, &environment).await?;
    let successes = || loader.callback_log.count_successes();
    let ledger = ledger_audit::audit_charges(service, successes).await?;
    ledger.judge(&mut verdict);
    Ok(verdict)
}

async fn build_environment(common: &CommonOptions) -> Result<ProviderEnvironment> {
    let layout = DatabaseLayout::SingleShard;
    let mut base = BaseEnvironment::build(common, layout, CHAOS_MEMORY).await?;
    let simulator = SimulatorProcess::start(&common.simulator, &base.scratch, 1).await?;
    write_config_files(&mut base, &simulator)?;
    let (_, shard) = base.shards.first().context("there is no shard")?;
    let since = postgres::read_clock(shard).await?.timestamp_micros();
    let mut deployment = Deployment::one_serve("", 1)
        .with_organizations(CLASSES.len())
        .with("CLOCK_SPEED", &format!("{CLOCK_RATE}@{since}"));
    deployment.sink.keeps_bodies = true;
    // An hour is a minute, and a minute a second.
    let pace = json!({
        "validating_ms": 1000, "running_ms": 57_000, "finalizing_ms": 2000,
        "answer_ms": 1000, "slots": 2 * CONCURRENCY,
    });
    let faults = json!([{"name": CAPACITY_FAULT, "every": 5}]);
    for (what, value) in [("pace", pace), ("faults", faults)] {
        let path = format!("openai/{ACCOUNT}/{what}");
        simulator.call_admin("PUT", &path, Some(&value)).await?;
    }
    let service = TrialEnvironment::start(base, deployment).await?;
    Ok(ProviderEnvironment { service, simulator })
}

fn write_config_files(base: &mut BaseEnvironment, simulator: &SimulatorProcess) -> Result<()> {
    let key = base.scratch.join("openai.key");
    fs::write(&key, ACCOUNT).context("writing a credential")?;
    let providers = format!(
        "[[provider]]\nname = \"{ACCOUNT}\"\nkind = \"openai\"\n\
         base_url = \"http://{}/openai/v1\"\ncredential_file = \"{}\"\n\
         limits = {{ questions = {CONCURRENCY}, linger_seconds = 60, grace_seconds = 60 }}\n",
        simulator.address,
        key.display()
    );
    let mut models = format!("[[model]]\nid = \"{MODEL}\"\nkind = \"chat\"\nroutes = [\n");
    for via in ["batch", "flex", "realtime"] {
        // Writing to a string cannot fail.
        let _ = writeln!(
            models,
            "    {{ provider = \"{ACCOUNT}\", upstream = \"{MODEL}\", via = \"{via}\" }},"
        );
    }
    // Routes without a cost of their own cost what callers pay by the same way: see `costs`.
    models.push_str(
        "]\nprice = { batch = { input = \"0.10\", output = \"0.40\" }, \
         realtime = { input = \"0.20\", output = \"0.80\" } }\n",
    );
    for (setting, name, text) in [
        ("PROVIDERS_FILE", "providers.toml", providers),
        ("MODELS_FILE", "route-models.toml", models),
    ] {
        let file = base.scratch.join(name);
        fs::write(&file, text).context(format!("writing {name}"))?;
        base.longshored.set(setting, &file.display().to_string());
    }
    Ok(())
}

struct DeadlineLoader<'a> {
    environment: &'a TrialEnvironment,
    client: ServiceClient,
    callback_log: CallbackLog,
}

impl DeadlineLoader<'_> {
    /// A burst with a day of time makes the queue of flex long, so that some of it takes a batch.
    /// When flex answers steadily, all classes load in turn.
    async fn load_all(&self, options: &BenchRoutesOptions) {
        let per_class = options.cargo_per_class();
        let burst = per_class / 2;
        report_progress(format!("loading {burst} cargo with a day of time at once"));
        for number in 0..burst {
            self.load(0, number).await;
        }
        let few = burst.min(16);
        CALLBACK_LIMITS
            .wait_until(|| self.callback_log.count_received() >= few)
            .await;
        report_progress(format!(
            "loading {} more with all deadlines, {} a second",
            per_class * CLASSES.len() - burst,
            options.rate
        ));
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / options.rate.max(1));
        for number in 0..per_class {
            for class in 0..CLASSES.len() {
                if class == 0 && number < burst {
                    continue;
                }
                ticks.tick().await;
                self.load(class, number).await;
            }
        }
    }

    /// Sends one load, and repeats it while it is answered with 503.
    async fn load(&self, class: usize, number: usize) {
        let organization = self.environment.callers.organizations.get(class);
        let (Some(organization), Some(deadline)) = (organization, CLASSES.get(class)) else {
            return;
        };
        let text = format!("cargo {number} of {}", deadline.name);
        let body = json!({
            "params": {
                "model": MODEL, "max_tokens": 64,
                "messages": [{"role": "user", "content": text}],
            },
            "callback_url": self.environment.callback_sink.url(),
            "deadline_seconds": deadline.seconds,
        });
        let source = LoadSource {
            organization: class,
            client: None,
            label: MODEL,
        };
        let began_at = Instant::now();
        let request = load_request::load(organization, body.to_string());
        let sent = self.client.send_load(request).await;
        let record = LoadRecord::new(source, began_at, sent.as_ref());
        self.callback_log.record_load(record, &text);
    }

    /// Compares the time to each callback with the deadline, both by the service's clock.
    fn judge_deadlines(&self, verdict: &mut TrialVerdict) {
        let mut missed = Vec::new();
        let mut figures = Map::new();
        for (class, deadline) in CLASSES.iter().enumerate() {
            let waited = self.callback_log.callback_seconds_of(class).into_iter();
            let mut minutes: Vec<f64> =
                waited.map(|it| it * f64::from(CLOCK_RATE) / 60.0).collect();
            let late = minutes
                .iter()
                .filter(|it| **it * 60.0 > f64::from(deadline.seconds));
            missed.extend(late.copied());
            figures.insert(deadline.name.to_owned(), summarize(&mut minutes));
        }
        verdict
            .record("minutes_to_callback", Value::Object(figures))
            .record("missed", missed.len())
            .check_figure("no cargo misses its deadline", missed.is_empty());
    }
}
