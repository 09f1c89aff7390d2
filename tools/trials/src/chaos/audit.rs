//! After the storm: is every nano-dollar where it belongs?

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::chaos::scene::Scene;
use crate::failure::{During as _, Failure, Result};
use crate::process::Longshored;
use crate::progress::say;
use crate::verdict::Verdict;

const LOOK: Duration = Duration::from_millis(200);
/// Cargo whose load was never answered is stored all the same, and ends like any other.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the ledger, the rows and the receiver say about money.
#[derive(Debug)]
pub struct Books {
    is_clean: bool,
    /// What `admin ledger check` printed.
    report: Value,
    /// Different cargo that cost money and came to the receiver as a success.
    received: i64,
    rows: Rows,
}

/// Sums over all shards.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Rows {
    /// Cargo that has not come to its end.
    open: i64,
    /// Outcomes that were charged for.
    settled: i64,
    /// Nano-dollars charged.
    charged: i64,
    /// Outcomes of free cargo with a charge.
    free_charged: i64,
    /// Nano-dollars that accounts still hold.
    held: i64,
    /// Accounts that hold something, or reserve tokens.
    holding: i64,
}

/// Waits until nothing is under way any more, then reads the books.
pub async fn audit(scene: &Scene) -> Result<Books> {
    let billed = || i64::try_from(scene.callers.receipts.billed()).unwrap_or(i64::MAX);
    audit_of(&scene.longshored, &scene.shards, billed).await
}

/// The same for any service; `received` are the different successes that cost money.
pub async fn audit_of(
    longshored: &Longshored,
    shards: &[(String, PgPool)],
    received: impl Fn() -> i64,
) -> Result<Books> {
    let begun = Instant::now();
    let mut rows = rows(shards).await?;
    while rows.open > 0 && begun.elapsed() < PATIENCE {
        tokio::time::sleep(LOOK).await;
        rows = self::rows(shards).await?;
    }
    say(format!("{} settled; checking the ledger", rows.settled));
    let verb = ["admin", "ledger", "check", "--json"];
    let checked = longshored.finish(&verb).await?;
    let report = serde_json::from_str(&checked.output)
        .unwrap_or_else(|_| json!(format!("{}{}", checked.output, checked.complaint)));
    Ok(Books {
        is_clean: checked.status.success(),
        report,
        received: received(),
        rows,
    })
}

impl Books {
    pub fn judge(&self, verdict: &mut Verdict) {
        let rows = self.rows;
        verdict
            .note("settled", rows.settled)
            .note("priced_received", self.received)
            .note("charged_nanodollars", rows.charged)
            .note("held_nanodollars", rows.held)
            .note("ledger", self.report.clone())
            .promise("nothing is left open", rows.open == 0)
            .promise("some cargo was charged for", rows.settled > 0)
            .promise("the ledger is clean", self.is_clean)
            .promise(
                "every priced cargo that was received was charged, and no other",
                rows.settled == self.received,
            )
            .promise("free cargo is not charged", rows.free_charged == 0)
            .promise(
                "nothing is held in the end",
                (rows.held, rows.holding) == (0, 0),
            );
    }
}

async fn rows(shards: &[(String, PgPool)]) -> Result<Rows> {
    let query = "
        select array[open, settled, charged, free_charged, held, holding]
        from (select
                count(*) filter (where completed_at is null or callback_state = 'open') as open,
                count(*) filter (where charged > 0) as settled,
                coalesce(sum(charged), 0)::bigint as charged,
                count(*) filter (where cargo.held is null and charged is not null) as free_charged
            from shard.cargo left join shard.outcome on outcome.cargo = cargo.id) cargo,
            (select coalesce(sum(held), 0)::bigint as held,
                count(*) filter (where held > 0 or tokens_reserved > 0) as holding
            from shard.account) account";
    let mut sum = Rows::default();
    for (_, pool) in shards {
        let row = sqlx::query_scalar::<_, Vec<i64>>(query).fetch_one(pool);
        let row = row.await.during("reading the books")?;
        let [open, settled, charged, free_charged, held, holding] = row.as_slice() else {
            return Err(Failure::new("the books have other columns"));
        };
        sum.open += open;
        sum.settled += settled;
        sum.charged += charged;
        sum.free_charged += free_charged;
        sum.held += held;
        sum.holding += holding;
    }
    Ok(sum)
}
