//! After the storm: has everything that was acknowledged come to its end?

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use rand::seq::IteratorRandom as _;
use sqlx::PgPool;
use uuid::Uuid;

use crate::chaos::audit::{self, Books};
use crate::chaos::scene::{Callers, Scene};
use crate::failure::{During as _, Result};
use crate::figures;
use crate::ledger::Loaded;
use crate::progress::say;
use crate::request;
use crate::verdict::Verdict;

const LOOK: Duration = Duration::from_millis(200);
/// So many are asked about over HTTP; all are counted by SQL.
const SAMPLE: usize = 100;
const LOOKUPS_AT_ONCE: usize = 8;
/// A verdict shows so many of what tracking gets wrong.
const MAX_SHOWN: usize = 20;

/// What was found.
#[derive(Debug)]
pub struct Settled {
    pub loaded: usize,
    pub received: usize,
    /// `callback_delivered` by the rows.
    pub delivered: usize,
    /// Of the sample, how many tracking did not call `callback_delivered`.
    pub mistracked: Vec<String>,
    /// Where those stand that are not delivered, by shard.
    pub stuck: Vec<String>,
    /// Seconds from acknowledgement to callback; the greatest is the worst gap.
    pub gaps: Vec<f64>,
    pub books: Books,
}

/// Waits until every acknowledged cargo has come to the receiver, then asks the service.
pub async fn settle(scene: &Scene, within: Duration) -> Result<Settled> {
    settle_tracking(scene, within, SAMPLE).await
}

/// The same, with so many looked up by tracking.
pub async fn settle_tracking(scene: &Scene, within: Duration, sample: usize) -> Result<Settled> {
    let callers = &scene.callers;
    let loaded = callers.ledger.loaded();
    let begun = Instant::now();
    let mut received = received_of(callers, &loaded);
    while received < loaded.len() && begun.elapsed() < within {
        tokio::time::sleep(LOOK).await;
        received = received_of(callers, &loaded);
    }
    say(format!("{received} of {} received", loaded.len()));
    // A receipt is a moment older than the row that says so.
    let mut delivered = delivered_of(scene, &loaded).await?;
    while delivered < received && begun.elapsed() < within + Duration::from_secs(30) {
        tokio::time::sleep(LOOK).await;
        delivered = delivered_of(scene, &loaded).await?;
    }
    let mistracked = mistracked_of(callers, &loaded, sample).await;
    let stuck = stuck_of(scene, &loaded).await?;
    let gaps = gaps_of(callers, &loaded);
    let books = audit::audit(scene).await?;
    Ok(Settled {
        loaded: loaded.len(),
        received,
        delivered,
        mistracked,
        stuck,
        gaps,
        books,
    })
}

impl Settled {
    /// The promises of every chaos.
    pub fn judge(&self, callers: &Callers, verdict: &mut Verdict) {
        let receipts = &callers.receipts;
        let mut gaps = self.gaps.clone();
        let worst = figures::percentile(&mut gaps, 1000);
        let lost = self
            .loaded
            .saturating_sub(self.received.min(self.delivered));
        verdict
            .note("loaded", self.loaded)
            .note("delivered", self.delivered)
            .note("duplicates", receipts.duplicates())
            .note("lost", lost)
            .note(
                "worst_gap_seconds",
                worst.map(|worst| figures::rounded(worst, 2)),
            )
            .note("gap_seconds", figures::spread(&mut gaps))
            .note("unsuccessful", receipts.unsuccessful())
            .note("not_acknowledged", callers.ledger.failures());
        if !self.mistracked.is_empty() {
            let shown: Vec<String> = self.mistracked.iter().take(MAX_SHOWN).cloned().collect();
            verdict
                .note("mistracked", self.mistracked.len())
                .note("some_mistracked", shown);
        }
        if !self.stuck.is_empty() {
            verdict.note("stuck", self.stuck.clone());
        }
        verdict
            .promise("something was loaded", self.loaded > 0)
            .promise("every acknowledged cargo is delivered", lost == 0)
            .promise(
                "tracking says callback_delivered",
                self.mistracked.is_empty(),
            )
            .promise(
                "no outcome failed for our troubles",
                receipts.unsuccessful() == 0,
            )
            .promise(
                "every callback has the contract's form",
                receipts.illegible() == 0,
            );
        self.books.judge(verdict);
    }
}

fn received_of(callers: &Callers, loaded: &HashMap<u128, Loaded>) -> usize {
    loaded
        .keys()
        .filter(|cargo| callers.receipts.find(**cargo).is_some())
        .count()
}

/// Seconds from acknowledgement to first receipt.
fn gaps_of(callers: &Callers, loaded: &HashMap<u128, Loaded>) -> Vec<f64> {
    let gaps = loaded.iter().filter_map(|(cargo, loaded)| {
        let receipt = callers.receipts.find(*cargo)?;
        Some(
            receipt
                .first
                .saturating_duration_since(loaded.at)
                .as_secs_f64(),
        )
    });
    gaps.collect()
}

/// The acknowledged cargo of one shard.
fn here<'a>(
    scene: &Scene,
    name: &str,
    loaded: impl IntoIterator<Item = (&'a u128, &'a Loaded)>,
) -> Vec<Uuid> {
    let here = loaded.into_iter().filter(|(_, loaded)| {
        let organization = scene.callers.organizations.get(loaded.organization);
        organization.is_some_and(|organization| organization.shard == name)
    });
    here.map(|(cargo, _)| Uuid::from_u128(*cargo)).collect()
}

async fn delivered_of(scene: &Scene, loaded: &HashMap<u128, Loaded>) -> Result<usize> {
    let mut delivered = 0;
    for (name, pool) in &scene.shards {
        for some in here(scene, name, loaded).chunks(10_000) {
            delivered += delivered_among(pool, some).await?;
        }
    }
    Ok(delivered)
}

async fn delivered_among(pool: &PgPool, cargo: &[Uuid]) -> Result<usize> {
    let query = "select count(*) from shard.cargo
        where id = any($1) and completed_at is not null and callback_state = 'delivered'";
    let counted: i64 = sqlx::query_scalar(query)
        .bind(cargo)
        .fetch_one(pool)
        .await
        .during("counting delivered")?;
    Ok(usize::try_from(counted).unwrap_or_default())
}

/// Says of what is not delivered how far it has come and who holds it.
async fn stuck_of(scene: &Scene, loaded: &HashMap<u128, Loaded>) -> Result<Vec<String>> {
    let query = "
        select format('%s: %s', count(*), how) from (
            select concat_ws(', ',
                case when cargo.id is null then 'not stored'
                    when cargo.completed_at is null then 'open' else 'completed' end,
                case when waiting.cargo is not null then 'waiting' end,
                'batch ' || batch.state
                    || case when batch.node is null then ' free' else ' claimed' end,
                case when delivery.cargo is not null then 'delivery '
                    || case when delivery.node is null then 'free' else 'claimed' end end,
                case when node.dead_at is null then 'by the living' else 'by the dead' end) as how
            from unnest($1) asked
            left join shard.cargo on cargo.id = asked
            left join shard.waiting on waiting.cargo = asked
            left join shard.batch on batch.id = cargo.batch
            left join shard.delivery on delivery.cargo = asked
            left join shard.node on node.node = coalesce(delivery.node, batch.node)
            where cargo.callback_state is distinct from 'delivered') stuck
        group by how order by count(*) desc";
    let mut stuck = Vec::new();
    for (name, pool) in &scene.shards {
        for some in here(scene, name, loaded).chunks(10_000) {
            let asked = sqlx::query_scalar::<_, String>(query).bind(some);
            let rows = asked
                .fetch_all(pool)
                .await
                .during("looking at what is stuck")?;
            stuck.extend(rows.into_iter().map(|row| format!("{name}: {row}")));
        }
    }
    Ok(stuck)
}

async fn mistracked_of(
    callers: &Callers,
    loaded: &HashMap<u128, Loaded>,
    sample: usize,
) -> Vec<String> {
    let sample = loaded.iter().sample(&mut rand::rng(), sample);
    let asking = sample.into_iter().map(|(cargo, loaded)| async move {
        let said = tracked(callers, *cargo, *loaded).await;
        (said != "\"callback_delivered\"").then(|| format!("crg_{cargo:032x}: {said}"))
    });
    let asking = stream::iter(asking).buffer_unordered(LOOKUPS_AT_ONCE);
    asking.filter_map(std::future::ready).collect().await
}

/// What tracking says of one cargo.
async fn tracked(callers: &Callers, cargo: u128, loaded: Loaded) -> String {
    let organization = callers.organizations.get(loaded.organization);
    let place = usize::try_from(cargo & 0xff).unwrap_or_default() % callers.targets.len().max(1);
    let Some((organization, target)) = organization.zip(callers.targets.get(place)) else {
        return "not asked".to_owned();
    };
    let asked = request::get(&request::tracking(cargo), organization);
    match target.send(asked.as_bytes()).await {
        Ok(answer) => match answer.json().get("status") {
            Some(status) if answer.is_success() => status.to_string(),
            _ => answer.status.to_string(),
        },
        Err(error) => error.to_string(),
    }
}
