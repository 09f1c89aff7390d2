//! After the faults: checks the ledger, the holds and the charges.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::harness::environment::databases;
use crate::harness::{PollLimits, Result, TrialEnvironment, TrialVerdict, judge, report_progress};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The service also stores cargo whose load got no response; it ends like any other cargo.
const OPEN_CARGO_TIMEOUT: Duration = Duration::from_mins(1);

/// What the ledger, the rows and the callback sink say about money.
#[derive(Debug)]
pub struct TrialLedgerAudit {
    is_clean: bool,
    /// The output of `admin ledger check`.
    report: Value,
    /// Different priced cargo whose callback reported success.
    received: i64,
    rows: LedgerSums,
}

/// Sums over all shards.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
struct LedgerSums {
    /// Cargo that is not completed or whose callback is open.
    open: i64,
    /// Outcomes with a charge.
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

/// Waits until no cargo is open, then reads the ledger.
pub async fn audit_environment(environment: &TrialEnvironment) -> Result<TrialLedgerAudit> {
    audit_charges(environment, || environment.callers.receipts.count_billed()).await
}

/// The same with another count of the different priced successes.
pub async fn audit_charges(
    environment: &TrialEnvironment,
    received: impl Fn() -> u64,
) -> Result<TrialLedgerAudit> {
    let limits = PollLimits::new(OPEN_CARGO_TIMEOUT, POLL_INTERVAL);
    let read = async || read_sums(&environment.shards).await;
    let rows = limits.read_until(|rows| rows.open == 0, read).await?;
    report_progress(format!(
        "{} outcomes charged; checking the ledger",
        rows.settled
    ));
    let verb = ["admin", "ledger", "check", "--json"];
    let checked = environment.longshored.run_to_end(&verb).await?;
    let report = serde_json::from_str(&checked.stdout)
        .unwrap_or_else(|_| json!(format!("{}{}", checked.stdout, checked.stderr)));
    Ok(TrialLedgerAudit {
        is_clean: checked.status.success(),
        report,
        received: i64::try_from(received()).unwrap_or(i64::MAX),
        rows,
    })
}

impl TrialLedgerAudit {
    pub fn judge(&self, verdict: &mut TrialVerdict) {
        let rows = self.rows;
        judge! { verdict;
            record "settled" => rows.settled,
            record "priced_received" => self.received,
            record "charged_nanodollars" => rows.charged,
            record "held_nanodollars" => rows.held,
            record "ledger" => self.report.clone(),
            check "no cargo is left open" => rows.open == 0,
            check "some cargo was charged for" => rows.settled > 0,
            check "the ledger is clean" => self.is_clean,
            check "exactly the priced cargo with a successful callback was charged" =>
                rows.settled == self.received,
            check "free cargo is not charged" => rows.free_charged == 0,
            check "no hold is left" => (rows.held, rows.holding) == (0, 0),
        }
    }
}

impl TrialLedgerAudit {
    /// The same without the callbacks, whose outcomes may be lost with a primary.
    pub fn judge_ledger(&self, verdict: &mut TrialVerdict) {
        judge! { verdict;
            record "settled" => self.rows.settled,
            record "ledger" => self.report.clone(),
            check "no cargo is left open" => self.rows.open == 0,
            check "the ledger is clean" => self.is_clean,
            check "free cargo is not charged" => self.rows.free_charged == 0,
            check "no hold is left" => (self.rows.held, self.rows.holding) == (0, 0),
        }
    }
}

async fn read_sums(shards: &[(String, PgPool)]) -> Result<LedgerSums> {
    let query = "
        select open, settled, charged, free_charged, account.held, holding
        from (select
                count(*) filter (where completed_at is null
                    or callback_state = 'open' and callback_url is not null) as open,
                count(*) filter (where charged > 0) as settled,
                coalesce(sum(charged), 0)::bigint as charged,
                count(*) filter (where cargo.held is null and charged is not null) as free_charged
            from shard.cargo left join shard.outcome on outcome.cargo = cargo.id) cargo,
            (select coalesce(sum(held), 0)::bigint as held,
                count(*) filter (where held > 0 or tokens_reserved > 0) as holding
            from shard.account) account";
    let mut sum = LedgerSums::default();
    for row in databases::fetch_rows::<LedgerSums>(shards, query).await? {
        sum.open += row.open;
        sum.settled += row.settled;
        sum.charged += row.charged;
        sum.free_charged += row.free_charged;
        sum.held += row.held;
        sum.holding += row.holding;
    }
    Ok(sum)
}
