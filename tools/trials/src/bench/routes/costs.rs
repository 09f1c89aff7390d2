//! What the cargo cost: by our rows, and by the bill of the simulated account.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ACCOUNT;
use crate::harness::environment::databases;
use crate::harness::{
    FailureContext as _, ProviderEnvironment, Result, TrialEnvironment, TrialVerdict, judge,
    round_to, to_f64,
};

/// Nano-dollars for a token of input and of output. Flex costs what a batch costs.
const BATCH_PRICE: (i64, i64) = (100, 400);
const REALTIME_PRICE: (i64, i64) = (200, 800);
/// The ways, each with the tier by which the account bills it and the price of that tier.
const WAYS: [(&str, &str, (i64, i64)); 3] = [
    ("batch", "batch", BATCH_PRICE),
    ("flex", "flex", BATCH_PRICE),
    ("realtime", "standard", REALTIME_PRICE),
];
/// What the deadlines allow may be exceeded by this part.
const MAX_EXTRA_COST: f64 = 0.02;

/// What the service booked for one way: the way, cargo, nano-dollars, tokens of input and output.
type ServedWay = (String, i64, i64, i64, i64);

/// Nano-dollars by way.
type CostByWay = BTreeMap<String, i64>;

/// Every deadline allows flex, which costs what a batch costs. The bill counts every request that
/// the account answered, so an answer that was paid twice or at another tier is in it.
pub(super) async fn judge(
    verdict: &mut TrialVerdict,
    environment: &ProviderEnvironment,
) -> Result<()> {
    let served = read_served(&environment.service).await?;
    let billed = read_bill(environment).await?;
    let ways = ["batch", "flex", "realtime"].map(|way| (way.to_owned(), json!(0)));
    let (mut booked, mut cheapest, mut ways) = (CostByWay::new(), 0, Map::from_iter(ways));
    for (way, count, cost, input, output) in served {
        cheapest += cost_of((input, output), BATCH_PRICE);
        ways.insert(way.clone(), json!(count));
        if cost != 0 {
            booked.insert(way, cost);
        }
    }
    let cost: i64 = billed.values().sum();
    let count = |nanos: i64| to_f64(usize::try_from(nanos).unwrap_or_default());
    let extra = count(cost) / count(cheapest).max(1.0) - 1.0;
    judge! { verdict;
        record "cargo_by_way" => Value::Object(ways),
        record "booked_nanodollars" => json!(booked),
        record "billed_nanodollars" => json!(billed),
        record "cost_nanodollars" => cost,
        record "cheapest_nanodollars" => cheapest,
        record "extra_cost_percent" => round_to(extra * 100.0, 2),
        check "the provider bills something" => cost > 0,
        check "we book no more than the provider bills" => booked.values().sum::<i64>() <= cost,
        check_figure "our booked cost is what the provider bills, by each way" => booked == billed,
        check_figure format!("cost is at most {} % above the cheapest", MAX_EXTRA_COST * 100.0) =>
            extra <= MAX_EXTRA_COST,
    }
    Ok(())
}

const fn cost_of((input, output): (i64, i64), price: (i64, i64)) -> i64 {
    input * price.0 + output * price.1
}

async fn read_served(service: &TrialEnvironment) -> Result<Vec<ServedWay>> {
    databases::fetch_rows(
        &service.shards,
        "select coalesce(served, 'unknown'), count(*), coalesce(sum(cost), 0)::bigint,
             coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint
         from shard.outcome group by 1 order by 1",
    )
    .await
}

/// The bill of the account at our prices. A tier that is none of our ways keeps its name.
async fn read_bill(environment: &ProviderEnvironment) -> Result<CostByWay> {
    let path = format!("openai/{ACCOUNT}/bill");
    let bill = environment.simulator.call_admin("GET", &path, None).await?;
    let lines = bill.as_array().context("the bill is not a list")?;
    let mut billed = CostByWay::new();
    for line in lines {
        let tier = line.get("tier").and_then(Value::as_str);
        let tier = tier.context("a line of the bill has no tier")?;
        let way = WAYS.into_iter().find(|(_, its_tier, _)| *its_tier == tier);
        let (way, _, price) = way.unwrap_or((tier, tier, REALTIME_PRICE));
        let tokens = |name: &str| line.get(name).and_then(Value::as_i64).unwrap_or_default();
        // All prices are flat: cached input costs what other input costs.
        let input = ["fresh", "cached", "cache_write", "cache_write_1h"].map(tokens);
        let cost = cost_of((input.iter().sum(), tokens("output")), price);
        *billed.entry(way.to_owned()).or_default() += cost;
    }
    Ok(billed)
}
