//! Loads accepted per second, with and without limits and holds, compared with bare inserts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::load_variant::LoadVariant;
use crate::bench::pgbench::PgbenchInserts;
use crate::harness::environment::org_factory;
use crate::harness::load::closed_loop;
use crate::harness::longshored::org_setup;
use crate::harness::{
    BENCH_MEMORY, BODY_BYTES, BaseEnvironment, CallbackSink, ClosedLoopLoader, DatabaseLayout,
    FREE_MODEL, FailureContext as _, LoadRequests, LongshoredProcess, LongshoredProgram,
    MeasuredProcesses, PRICED_MODEL, Result, SHARD, SinkOptions, TrialVerdict, judge, median,
    report_progress, round_to,
};
use crate::options::{BenchLoadOptions, CommonOptions};

/// Loads without limits and holds, compared with bare inserts.
const MIN_RATIO_TO_BARE_INSERTS: f64 = 0.5;
/// Loads with limits, compared with loads without; and with holds, compared with limits only.
const MIN_SHARE_WITH_LIMITS: f64 = 0.6;
const MIN_SHARE_WITH_HOLDS: f64 = 0.8;
/// One organization, compared with many.
const MIN_SHARE_OF_ONE_ORGANIZATION: f64 = 0.6;
const PGBENCH_CLIENTS: [u32; 2] = [16, 64];
const WARM_UP: Duration = Duration::from_secs(3);
const LEDGER_CHECK_COMMAND: [&str; 4] = ["admin", "ledger", "check", "--json"];

#[derive(Debug, Default)]
struct BareInsertRounds {
    rates: Vec<f64>,
    shares: Vec<Value>,
}

/// In this order; `build_verdict` names them.
type Variants = [LoadVariant; 4];

pub async fn run(common: &CommonOptions, options: &BenchLoadOptions) -> Result<TrialVerdict> {
    let environment =
        BaseEnvironment::build(common, DatabaseLayout::SingleShard, BENCH_MEMORY).await?;
    let mut without_redis = environment.longshored.clone();
    without_redis.set("REDIS_URL", "");
    let without_redis = start_server(&without_redis, "without-redis").await?;
    let with_redis = start_server(&environment.longshored, "with-redis").await?;
    // This bench delivers nothing, but a load must name a valid callback URL.
    let receiver = CallbackSink::start(SinkOptions::default()).await?;
    let mut variants = create_variants(
        &environment,
        options,
        &without_redis,
        &with_redis,
        &receiver,
    )
    .await?;
    report_progress("warming up");
    for variant in &variants {
        let warm_up = WARM_UP.min(Duration::from_secs(options.seconds));
        closed_loop::run(&variant.loader, options.connections, warm_up).await?;
    }
    let body = read_stored_body_bytes(&environment).await?;
    let mut bare =
        PgbenchInserts::create(environment.database_server()?, &environment.scratch).await?;
    let mut bare_rounds = BareInsertRounds::default();
    for number in 1..=options.rounds {
        report_progress(format!("round {number} of {}", options.rounds));
        run_round(&environment, options, &mut variants, number).await?;
        measure_bare_inserts(&environment, &mut bare, options, body, &mut bare_rounds).await?;
    }
    let settings = environment.database_server()?.settings_to_json();
    let mut verdict = build_verdict(settings, options, body, &variants, &bare_rounds);
    report_progress("checking the ledger");
    let began = Instant::now();
    let checked = environment
        .longshored
        .run_to_end(&LEDGER_CHECK_COMMAND)
        .await?;
    judge! { verdict;
        record "ledger_check_seconds" => round_to(began.elapsed().as_secs_f64(), 1),
        check "the ledger is clean" => checked.status.success(),
    }
    Ok(verdict)
}

async fn start_server(longshored: &LongshoredProgram, name: &str) -> Result<LongshoredProcess> {
    let mut process = longshored.new_process("serve", name)?;
    process.start_and_wait().await?;
    Ok(process)
}

async fn create_variants(
    environment: &BaseEnvironment,
    options: &BenchLoadOptions,
    without_redis: &LongshoredProcess,
    with_redis: &LongshoredProcess,
    receiver: &CallbackSink,
) -> Result<Variants> {
    let longshored = &environment.longshored;
    let alone = org_setup::create_organization(longshored, "Alone", "enterprise", SHARD).await?;
    let first = org_setup::create_organization(longshored, "First", "enterprise", SHARD).await?;
    for organization in [&alone, &first] {
        org_setup::add_credit(longshored, organization).await?;
    }
    let copies = options.organizations.saturating_sub(1);
    let server = environment.database_server()?;
    let many = org_factory::copy_organization(server, first, copies).await?;
    report_progress(format!("{} organizations", many.len()));
    let variant = |name, process: &LongshoredProcess, organizations, model| {
        let loads = LoadRequests::new(&receiver.url(), &[model]);
        let loader = ClosedLoopLoader::new(process.address(), organizations, loads);
        LoadVariant::new(name, loader, process.child.pid())
    };
    Ok([
        variant(
            "svc-mock without Redis",
            without_redis,
            many.clone(),
            FREE_MODEL,
        ),
        variant(
            "svc-mock with Redis limits",
            with_redis,
            many.clone(),
            FREE_MODEL,
        ),
        variant("priced with Redis limits", with_redis, many, PRICED_MODEL),
        variant(
            "priced with Redis limits, alone",
            with_redis,
            vec![alone],
            PRICED_MODEL,
        ),
    ])
}

/// Runs each variant once; every round starts with another one.
async fn run_round(
    environment: &BaseEnvironment,
    options: &BenchLoadOptions,
    variants: &mut Variants,
    number: u32,
) -> Result<()> {
    let length = Duration::from_secs(options.seconds);
    let postgres = environment.database_server()?;
    let processes = MeasuredProcesses {
        postgres: postgres.child.pid(),
        redis: environment.redis.child.pid(),
        ..MeasuredProcesses::default()
    };
    let first = usize::try_from(number).unwrap_or_default();
    for turn in 0..variants.len() {
        let place = (first + turn) % variants.len();
        let Some(variant) = variants.get_mut(place) else {
            continue;
        };
        postgres.checkpoint().await?;
        variant
            .measure(processes, options.connections, length)
            .await?;
    }
    Ok(())
}

/// Bare PostgreSQL, with the number of clients that is fastest.
async fn measure_bare_inserts(
    environment: &BaseEnvironment,
    bare: &mut PgbenchInserts,
    options: &BenchLoadOptions,
    body: usize,
    bare_rounds: &mut BareInsertRounds,
) -> Result<()> {
    let postgres = environment.database_server()?;
    let processes = MeasuredProcesses {
        postgres: postgres.child.pid(),
        ..MeasuredProcesses::default()
    };
    let mut best = (0.0, Value::Null);
    for clients in PGBENCH_CLIENTS {
        postgres.checkpoint().await?;
        let before = processes.read_cpu()?;
        let rate = bare.run(postgres, clients, options.seconds, body).await?;
        if rate > best.0 {
            let shares = before.usage_until(processes.read_cpu()?).machine_shares();
            best = (rate, json!({"clients": clients, "shares": shares}));
        }
    }
    let (rate, shares) = best;
    report_progress(format!("  {rate:>8.0} a second: bare inserts"));
    bare_rounds.rates.push(rate);
    bare_rounds.shares.push(shares);
    Ok(())
}

/// The average size of a stored body: bare rows get bodies of the same size.
async fn read_stored_body_bytes(environment: &BaseEnvironment) -> Result<usize> {
    let mut connection = environment.database_server()?.connect(SHARD).await?;
    let query = "select avg(length(body))::bigint from shard.request";
    let size: Option<i64> = sqlx::query_scalar(query)
        .fetch_one(&mut connection)
        .await
        .context("reading the size of stored bodies")?;
    let size = size.and_then(|size| usize::try_from(size).ok());
    size.context("nothing was loaded while warming up")
}

fn build_verdict(
    settings: Value,
    options: &BenchLoadOptions,
    body: usize,
    variants: &Variants,
    bare_rounds: &BareInsertRounds,
) -> TrialVerdict {
    let bare = &bare_rounds.rates;
    let [plain, limited, priced, alone] = variants;
    let mut verdict = TrialVerdict::new("bench load").judging_figures(!options.small);
    let share =
        |of: &LoadVariant, against: &LoadVariant| round_to(of.median_share_of(&against.rates), 3);
    let bare_by_round: Vec<f64> = bare.iter().map(|rate| round_to(*rate, 0)).collect();
    judge! { verdict;
        record "ratio" => round_to(priced.median_share_of(bare), 3),
        record "limits_leave" => share(limited, plain),
        record "holds_leave" => share(priced, limited),
        record "alone_reaches" => share(alone, priced),
        record "bare_inserts_per_second" => median(&mut bare.clone()).map(|rate| round_to(rate, 0)),
        record "variants" => variants.each_ref().map(|variant| variant.to_json(bare)).to_vec(),
        record "bare_by_round" => bare_by_round,
        record "bare_shares_by_round" => bare_rounds.shares.clone(),
        record "connections" => options.connections,
        record "organizations" => options.organizations,
        record "seconds" => options.seconds,
        record "request_bytes" => BODY_BYTES,
        record "stored_bytes" => body,
        record "settings" => settings,
    }
    for variant in variants {
        closed_loop::judge_failures(&mut verdict, variant.failures());
    }
    judge! { verdict;
        check_figure "without limits and holds at least half the rate of bare inserts" =>
            plain.median_share_of(bare) >= MIN_RATIO_TO_BARE_INSERTS,
        check_figure "with limits at least 60 % of the rate without" =>
            limited.median_share_of(&plain.rates) >= MIN_SHARE_WITH_LIMITS,
        check_figure "with holds at least 80 % of the rate with limits" =>
            priced.median_share_of(&limited.rates) >= MIN_SHARE_WITH_HOLDS,
    }
    verdict.check_figure(
        "one organization reaches 60 % of the rate of many",
        alone.median_share_of(&priced.rates) >= MIN_SHARE_OF_ONE_ORGANIZATION,
    );
    verdict
}
