//! Statements fail, hang, or run with their answer lost, while loads with an idempotency key
//! are retried until they are answered.

use std::sync::Arc;
use std::time::Duration;

use crate::chaos::idempotent_loads::IdempotentLoads;
use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::{
    BaseEnvironment, DatabaseLayout, Deployment, ProcessSpec, Result, StatementKind,
    StatementRelay, TrialEnvironment, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosStatementsOptions, CommonOptions};

/// How long everything may take to complete after the last fault.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How many keys are sent again at the end.
const REPLAYED_KEYS: usize = 200;
/// With fewer statements it depends on chance which kinds are hit.
const MIN_STATEMENTS_TO_HIT_ALL: u64 = 20_000;

pub async fn run(common: &CommonOptions, options: &ChaosStatementsOptions) -> Result<TrialVerdict> {
    let seed = options.seed.unwrap_or_else(rand::random);
    let base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SharedServer).await?;
    let server = base.database_server()?.address();
    let relay = StatementRelay::start(server, options.percent, seed).await?;
    let roles = [
        ProcessSpec::new("serve", "serve-1"),
        ProcessSpec::new("serve", "serve-2"),
        ProcessSpec::new("work", "work-1"),
        ProcessSpec::new("work", "work-2"),
    ];
    let deployment = Deployment::new(roles.map(|role| role.through_relay(relay.address)));
    let environment = TrialEnvironment::start(base, deployment).await?;

    report_progress(format!(
        "faults in {} % of statements for {} s, seed {seed}",
        options.percent, options.seconds
    ));
    let keys = Arc::new(IdempotentLoads::default());
    let length = Duration::from_secs(options.seconds);
    let faulty = async {
        relay.set_faulty(true);
        tokio::time::sleep(length).await;
        relay.set_faulty(false);
    };
    let loading = open_loop::offer_loads(options.rate, tokio::time::sleep(length), |number| {
        let (callers, keys) = (Arc::clone(&environment.callers), Arc::clone(&keys));
        async move { keys.load(&callers, number).await }
    });
    let (offered, ()) = tokio::join!(loading, faulty);
    report_progress(format!(
        "{} faults; waiting for completion",
        relay.counts().faults()
    ));
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;
    let wrong_replays = keys
        .count_wrong_replays(&environment.callers, REPLAYED_KEYS)
        .await;

    let mut verdict = TrialVerdict::new("chaos statements");
    verdict.record("seed", seed);
    settled.judge(&environment.callers, &mut verdict);
    keys.judge(&environment, offered, &mut verdict).await?;
    verdict.record("wrong_replays", wrong_replays).check(
        "a key that is sent again returns the same cargo",
        wrong_replays == 0,
    );
    judge_faults(&relay, &mut verdict);
    Ok(verdict)
}

/// Checks that the trial injected enough faults.
fn judge_faults(relay: &StatementRelay, verdict: &mut TrialVerdict) {
    let counts = relay.counts();
    let is_long = counts.statements() >= MIN_STATEMENTS_TO_HIT_ALL;
    let kinds = [
        StatementKind::Begin,
        StatementKind::Commit,
        StatementKind::Other,
    ];
    let all_hit = kinds.into_iter().all(|kind| counts.was_hit_with_all(kind));
    judge! { verdict;
        record "statements" => counts.statements(),
        record "faults" => counts.faults(),
        record "by_kind" => counts.figures(),
        check "some statements had a fault" => counts.faults() > 0,
        check "begin, commit and other statements had every fault" => all_hit || !is_long,
    }
}
