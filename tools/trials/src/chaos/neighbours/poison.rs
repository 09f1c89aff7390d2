//! One free cargo full of text that looks like the mock's directives: it must not block the
//! others.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::chaos::neighbours::steady_load::{self, SteadyLoad};
use crate::harness::{
    DatabaseLayout, FREE_MODEL, FailureContext as _, PollLimits, Result, ServiceClient,
    TrialEnvironment, TrialFailure, TrialVerdict, judge, round_to,
};
use crate::options::{ChaosNeighboursOptions, CommonOptions};

const DIRECTIVE: &str = "[mock:";
const ORGANIZATIONS: usize = 6;
/// Loads of the healthy organizations.
const LOADS_PER_SECOND: u32 = 10;
/// The longest time without a callback for the others, in seconds.
const MAX_SILENCE: f64 = 3.0;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The others continue for this long after the poison has its callback.
const AFTER_CALLBACK: Duration = Duration::from_secs(3);

pub async fn run(
    common: &CommonOptions,
    options: &ChaosNeighboursOptions,
    verdict: &mut TrialVerdict,
) -> Result<()> {
    let deployment = steady_load::deploy("poison", ORGANIZATIONS, 1);
    let environment =
        TrialEnvironment::build(common, DatabaseLayout::SingleShard, deployment).await?;
    let mut members = steady_load::members(&environment);
    let poisoner = members.pop();
    let poisoner = poisoner.context("there is no organization that can load")?;
    let receipts = &environment.callback_sink.receipts;
    let serving = environment.server()?.address();
    let others = SteadyLoad::new(&environment, members, &[FREE_MODEL])?;
    let length = Duration::from_secs(options.choose_size(15, 6));
    let calm = others.load_for(LOADS_PER_SECOND, length).await;

    let bytes = options.choose_size(9_000_000, 3_000_000);
    let text = DIRECTIVE.repeat(bytes / DIRECTIVE.len());
    let request = steady_load::build_load(&poisoner, FREE_MODEL, &text, 64);
    let within = Duration::from_secs(options.choose_size(60, 20));
    let poisoning = async {
        let client = ServiceClient::new(serving);
        let cargo = steady_load::load_accepted(&client, request, "the poison").await?;
        let begun = Instant::now();
        let limits = PollLimits::new(within, POLL_INTERVAL);
        let called_back = limits.wait_until(|| receipts.find(cargo).is_some()).await;
        let seconds = begun.elapsed().as_secs_f64();
        tokio::time::sleep(AFTER_CALLBACK).await;
        Ok::<_, TrialFailure>((called_back, seconds))
    };
    let (ended, disturbed) = others.load_during(LOADS_PER_SECOND, poisoning).await;
    let (called_back, seconds) = ended?;
    others.wait_for_callbacks(SETTLE_TIMEOUT).await;

    let mut with = others.observe(disturbed, None);
    let silence = with.longest_silence;
    steady_load::judge_slowdown(
        verdict,
        "poison",
        &mut others.observe(calm, None),
        &mut with,
    );
    judge! { verdict;
        record "poison_cargo" =>
            json!({"bytes": bytes, "called_back": called_back, "seconds": round_to(seconds, 2)}),
        check_figure
            format!("poison: the others never wait more than {MAX_SILENCE} s for a callback") =>
            silence <= MAX_SILENCE,
        check "poison: the poison cargo has its callback" => called_back,
    }
    Ok(())
}
