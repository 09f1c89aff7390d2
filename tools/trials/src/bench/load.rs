//! Loads accepted per second, with and without limits and holds, beside bare inserts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::account::Parties;
use crate::bench::closed::{self, Loader};
use crate::bench::pgbench::Bare;
use crate::bench::variant::Variant;
use crate::catalogue::{FREE, PRICED};
use crate::crowd;
use crate::failure::{During as _, Failure, Result};
use crate::figures::{median, rounded};
use crate::options::{Common, LoadOptions};
use crate::process::{Longshored, Process};
use crate::progress::say;
use crate::receiver::Receiver;
use crate::request::{BODY, Loads};
use crate::setup;
use crate::stand::{BENCH_MEMORY, SHARD, Stand};
use crate::verdict::Verdict;

/// The bare load path against bare inserts.
const LEAST_RATIO: f64 = 0.5;
/// What limits leave of the rate without them, and holds of the rate with limits.
const LEAST_WITH_LIMITS: f64 = 0.6;
const LEAST_WITH_HOLDS: f64 = 0.8;
/// One organization alone against many.
const LEAST_ALONE: f64 = 0.6;
const CLIENTS: [u32; 2] = [16, 64];
const WARMING: Duration = Duration::from_secs(3);
const LEDGER_CHECK: [&str; 4] = ["admin", "ledger", "check", "--json"];

/// Bare inserts of all rounds.
#[derive(Debug, Default)]
struct Beside {
    rates: Vec<f64>,
    shares: Vec<Value>,
}

/// In this order; `judged` names them.
type Variants = [Variant; 4];

pub async fn run(common: &Common, options: &LoadOptions) -> Result<Verdict> {
    let stand = Stand::build(common, BENCH_MEMORY).await?;
    let mut without_redis = stand.longshored.clone();
    without_redis.set("REDIS_URL", "");
    let without_redis = started(&without_redis, "without-redis").await?;
    let with_redis = started(&stand.longshored, "with-redis").await?;
    // Nothing is delivered here, but the load must name a receiver that could be.
    let receiver = Receiver::start(Duration::ZERO).await?;
    let mut variants = variants(&stand, options, (&without_redis, &with_redis), &receiver).await?;
    say("warming up");
    for variant in &variants {
        closed::run(&variant.loader, options.connections, WARMING).await?;
    }
    let body = stored_body(&stand).await?;
    let mut bare = Bare::create(&stand.postgres, &stand.scratch).await?;
    let mut beside = Beside::default();
    for number in 1..=options.rounds {
        say(format!("round {number} of {}", options.rounds));
        round(&stand, options, &mut variants, number).await?;
        inserts(&stand, &mut bare, (options, body), &mut beside).await?;
    }
    let mut verdict = judged(&stand, options, body, (&variants, &beside));
    say("checking the ledger");
    let began = Instant::now();
    let checked = stand.longshored.finish(&LEDGER_CHECK).await?;
    verdict
        .note(
            "ledger_check_seconds",
            rounded(began.elapsed().as_secs_f64(), 1),
        )
        .promise("the ledger is clean", checked.status.success());
    Ok(verdict)
}

async fn started(longshored: &Longshored, name: &str) -> Result<Process> {
    let mut process = longshored.process("serve", name)?;
    process.start()?;
    process.ready().await?;
    Ok(process)
}

async fn variants(
    stand: &Stand,
    options: &LoadOptions,
    (without_redis, with_redis): (&Process, &Process),
    receiver: &Receiver,
) -> Result<Variants> {
    let longshored = &stand.longshored;
    let alone = setup::organization(longshored, "Alone", "enterprise", SHARD).await?;
    let first = setup::organization(longshored, "First", "enterprise", SHARD).await?;
    for organization in [&alone, &first] {
        setup::credit(longshored, organization).await?;
    }
    let many = crowd::around(stand, first, options.organizations.saturating_sub(1)).await?;
    say(format!("{} organizations", many.len()));
    let variant = |name, process: &Process, organizations, model| {
        let loads = Loads::new(&receiver.url(), &[model]);
        let loader = Loader::new(process.address(), organizations, loads);
        Variant::new(name, loader, process.pid())
    };
    Ok([
        variant("svc-mock without Redis", without_redis, many.clone(), FREE),
        variant("svc-mock with Redis limits", with_redis, many.clone(), FREE),
        variant("priced with Redis limits", with_redis, many, PRICED),
        variant(
            "priced with Redis limits, alone",
            with_redis,
            vec![alone],
            PRICED,
        ),
    ])
}

/// Each variant once, every round beginning with another.
async fn round(
    stand: &Stand,
    options: &LoadOptions,
    variants: &mut Variants,
    number: u32,
) -> Result<()> {
    let length = Duration::from_secs(options.seconds);
    let parties = Parties {
        postgres: stand.postgres.pid(),
        redis: stand.redis.pid(),
        ..Parties::default()
    };
    let first = usize::try_from(number).unwrap_or_default();
    for turn in 0..variants.len() {
        let place = (first + turn) % variants.len();
        let Some(variant) = variants.get_mut(place) else {
            continue;
        };
        stand.postgres.checkpoint().await?;
        variant
            .measure(parties, options.connections, length)
            .await?;
    }
    Ok(())
}

/// What the database does without us, with as many clients as suit it best.
async fn inserts(
    stand: &Stand,
    bare: &mut Bare,
    (options, body): (&LoadOptions, usize),
    beside: &mut Beside,
) -> Result<()> {
    let parties = Parties {
        postgres: stand.postgres.pid(),
        ..Parties::default()
    };
    let mut best = (0.0, Value::Null);
    for clients in CLIENTS {
        stand.postgres.checkpoint().await?;
        let before = parties.read()?;
        let rate = bare
            .run(&stand.postgres, clients, options.seconds, body)
            .await?;
        if rate > best.0 {
            let shares = before.until(parties.read()?).shares();
            best = (rate, json!({"clients": clients, "shares": shares}));
        }
    }
    let (rate, shares) = best;
    say(format!("  {rate:>8.0} a second: bare inserts"));
    beside.rates.push(rate);
    beside.shares.push(shares);
    Ok(())
}

/// How large a body is once stored: the bare row gets one of the same size.
async fn stored_body(stand: &Stand) -> Result<usize> {
    let mut connection = stand.postgres.connect(SHARD).await?;
    let query = "select avg(length(body))::bigint from shard.request";
    let size: Option<i64> = sqlx::query_scalar(query)
        .fetch_one(&mut connection)
        .await
        .during("sizing bodies")?;
    let size = size.and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| Failure::new("nothing was loaded while warming up"))
}

fn judged(
    stand: &Stand,
    options: &LoadOptions,
    body: usize,
    (variants, beside): (&Variants, &Beside),
) -> Verdict {
    let bare = &beside.rates;
    let [plain, limited, priced, alone] = variants;
    say(format!(
        "{:<40} loads/s  ratio   p50 ms   p99 ms",
        "variant"
    ));
    for variant in variants {
        say(variant.line(bare));
    }
    let mut verdict = Verdict::new("bench load");
    let share = |of: &Variant, against: &Variant| rounded(of.share_of(&against.rates), 3);
    let bare_by_round: Vec<f64> = bare.iter().map(|rate| rounded(*rate, 0)).collect();
    verdict
        .note("ratio", rounded(priced.share_of(bare), 3))
        .note("limits_leave", share(limited, plain))
        .note("holds_leave", share(priced, limited))
        .note("alone_reaches", share(alone, priced))
        .note(
            "bare_inserts_per_second",
            median(&mut bare.clone()).map(|rate| rounded(rate, 0)),
        )
        .note(
            "variants",
            variants
                .each_ref()
                .map(|variant| variant.figures(bare))
                .to_vec(),
        )
        .note("bare_by_round", bare_by_round)
        .note("bare_shares_by_round", beside.shares.clone())
        .note("connections", options.connections)
        .note("organizations", options.organizations)
        .note("seconds", options.seconds)
        .note("request_bytes", BODY)
        .note("stored_bytes", body)
        .note("settings", stand.postgres.settings());
    let failed: u64 = variants.iter().map(Variant::failed).sum();
    verdict.promise("no failed load", failed == 0);
    verdict
        .promise(
            "without limits and holds at least half of what bare inserts do",
            plain.share_of(bare) >= LEAST_RATIO,
        )
        .promise(
            "limits leave at least 60 % of it",
            limited.share_of(&plain.rates) >= LEAST_WITH_LIMITS,
        )
        .promise(
            "holds leave at least 80 % of that",
            priced.share_of(&limited.rates) >= LEAST_WITH_HOLDS,
        );
    verdict.promise(
        "one organization alone reaches 60 % of what many do",
        alone.share_of(&priced.rates) >= LEAST_ALONE,
    );
    verdict
}
