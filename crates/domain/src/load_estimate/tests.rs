//! Estimates stay within the bounds, and approach what cargo really uses.

use proptest::prelude::*;

use super::*;
use crate::price::CacheWriting;

const PRICE: Price = Price::flat(Money(100_000_000), Money(400_000_000));
const REALTIME: Price = Price::flat(Money(200_000_000), Money(800_000_000));

const fn bounds(input: u64, output: u64) -> TokenBounds {
    TokenBounds {
        input,
        output,
        writing: CacheWriting::None,
    }
}

fn hold(bounds: TokenBounds) -> Hold {
    Hold {
        amount: bounds.max_cost(&PRICE),
        price: Some(PRICE),
        tokens: bounds.tokens().total(),
    }
}

fn load(input: u64, output: u64) -> EstimatedLoad {
    let bounds = bounds(input, output);
    EstimatedLoad {
        bounds,
        hold: hold(bounds),
        realtime: Some(REALTIME),
    }
}

fn settled(bounds: TokenBounds, fresh: u64, output: u64) -> SettledCargo {
    let usage = TokenBuckets {
        fresh,
        output,
        ..TokenBuckets::default()
    };
    SettledCargo {
        loaded_at: Timestamp::UNIX_EPOCH,
        hold: hold(bounds),
        usage,
    }
}

/// Cargo that used these tokens of 100 and 1,000.
fn profile_of(uses: impl IntoIterator<Item = (u64, u64)>) -> UsageProfile {
    let mut profile = UsageProfile::default();
    for (fresh, output) in uses {
        profile.add(&settled(bounds(100, 1000), fresh, output));
    }
    profile
}

fn estimate_of(profile: UsageProfile, loads: Vec<EstimatedLoad>) -> LoadEstimate {
    estimate(&[ModelLoads { profile, loads }])
}

#[test]
fn cargo_that_always_uses_the_same_share_leaves_no_doubt() {
    let profile = profile_of([(25, 100); 20]);
    let estimate = estimate_of(profile, vec![load(200, 500); 10]);
    // A quarter of the input and a tenth of the output: 50 and 50 tokens each.
    let cost = Money(10 * (50 * 100 + 50 * 400));
    assert_eq!(estimate.hold, Money(10 * (200 * 100 + 500 * 400)));
    let CostRange { low, likely, high } = estimate.cost.unwrap();
    for amount in [low, likely, high] {
        assert!((amount - cost).nanos().abs() <= 1, "{amount}");
    }
    assert_eq!(estimate.realtime, Some(likely + likely));
    let tokens = TokenRange {
        likely_input: 500,
        output_p10: 500,
        output_p50: 500,
        output_p90: 500,
    };
    assert_eq!(estimate.tokens, Some(tokens));
    assert_eq!(estimate.samples, 20);
    assert_eq!(estimate.since, Some(Timestamp::UNIX_EPOCH));
}

#[test]
fn many_loads_are_more_certain_than_one() {
    let profile = profile_of((0..1000).map(|number| (50, number)));
    let width = |count: usize| {
        let estimate = estimate_of(profile, vec![load(100, 1000); count]);
        let CostRange { low, likely, high } = estimate.cost.unwrap();
        let part = |money: Money| to_float(u64::try_from(money.nanos()).unwrap());
        (part(high) - part(low)) / part(likely)
    };
    assert!(width(100) < width(10));
    assert!(width(10) < width(1));
    // The uncertainty of the mean stays.
    assert!(width(10_000) > 0.01);
}

#[test]
fn with_few_samples_only_the_bounds_are_known() {
    let estimate = estimate_of(profile_of([(25, 100); 19]), vec![load(200, 500)]);
    assert_eq!((estimate.cost, estimate.realtime), (None, None));
    assert_eq!((estimate.tokens, estimate.samples), (None, 19));
    assert_eq!(estimate.hold, load(200, 500).hold.amount);
}

#[test]
fn one_model_without_samples_makes_the_sum_unknown() {
    let known = ModelLoads {
        profile: profile_of([(25, 100); 20]),
        loads: vec![load(200, 500)],
    };
    let unknown = ModelLoads {
        profile: UsageProfile::default(),
        ..known.clone()
    };
    let estimate = estimate(&[known, unknown]);
    assert_eq!((estimate.cost, estimate.samples), (None, 0));
}

#[test]
fn free_loads_cost_nothing_without_any_samples() {
    let free = EstimatedLoad {
        hold: Hold::default(),
        realtime: None,
        ..load(200, 500)
    };
    let estimate = estimate_of(UsageProfile::default(), vec![free]);
    assert_eq!(estimate.cost, Some(CostRange::default()));
    assert_eq!((estimate.realtime, estimate.tokens), (None, None));
    assert_eq!(super::estimate(&[]).cost, Some(CostRange::default()));
}

#[test]
fn cached_input_is_estimated_at_its_rate() {
    let price = Price {
        base: Rates {
            cached_input: Money(10_000_000),
            ..PRICE.base
        },
        ..PRICE
    };
    let mut profile = UsageProfile::default();
    let mut sample = settled(bounds(100, 1000), 0, 0);
    sample.hold.price = Some(price);
    sample.usage.cached = 50;
    for _ in 0..20 {
        profile.add(&sample);
    }
    let mut priced = load(100, 1000);
    priced.hold.price = Some(price);
    let cost = estimate_of(profile, vec![priced]).cost.unwrap();
    assert_eq!(cost.likely, Money(50 * 10));
}

#[test]
fn a_load_without_a_realtime_price_has_no_comparison() {
    let without = EstimatedLoad {
        realtime: None,
        ..load(200, 500)
    };
    let loads = vec![load(200, 500), without];
    let estimate = estimate_of(profile_of([(25, 100); 20]), loads);
    assert!(estimate.cost.is_some());
    assert_eq!(estimate.realtime, None);
}

fn any_uses() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Some use more than their bounds.
    prop::collection::vec((0..150_u64, 0..1200_u64), 0..60)
}

fn any_loads() -> impl Strategy<Value = Vec<EstimatedLoad>> {
    let load = (0..5_000_000_u64, 0..1_000_000_u64).prop_map(|(input, output)| load(input, output));
    prop::collection::vec(load, 0..20)
}

proptest! {
    #[test]
    fn figures_are_ordered_and_never_beyond_the_bounds(
        models in prop::collection::vec((any_uses(), any_loads()), 0..4),
    ) {
        let models: Vec<ModelLoads> = models
            .into_iter()
            .map(|(uses, loads)| ModelLoads { profile: profile_of(uses), loads })
            .collect();
        let estimate = estimate(&models);
        let holds = models.iter().flat_map(|model| &model.loads).map(|load| load.hold.amount);
        prop_assert_eq!(estimate.hold, holds.sum::<Money>());
        let is_known = models.iter().all(|model| model.profile.is_sufficient());
        prop_assert_eq!(estimate.cost.is_some(), is_known || estimate.hold.is_zero());
        prop_assert_eq!(estimate.tokens.is_some(), is_known && !models.is_empty());
        if let Some(CostRange { low, likely, high }) = estimate.cost {
            prop_assert!(Money::ZERO <= low && low <= likely);
            prop_assert!(likely <= high && high <= estimate.hold);
        }
        if let Some(tokens) = estimate.tokens {
            prop_assert!(tokens.output_p10 <= tokens.output_p50);
            prop_assert!(tokens.output_p50 <= tokens.output_p90);
            prop_assert!(tokens.output_p90 <= estimate.bounds.output_tokens);
            prop_assert!(tokens.likely_input <= estimate.bounds.input_tokens);
        }
    }

    #[test]
    fn the_likely_cost_of_a_sum_is_the_sum_of_the_likely_costs(
        uses in prop::collection::vec((0..100_u64, 0..1000_u64), 20..60), loads in any_loads(),
    ) {
        let profile = profile_of(uses);
        let likely = |loads| estimate_of(profile, loads).cost.unwrap().likely;
        let parts: Money = loads.iter().map(|load| likely(vec![*load])).sum();
        let difference = (likely(loads.clone()) - parts).nanos().abs();
        // Each part is rounded.
        let tolerance = i64::try_from(loads.len()).unwrap() + 1;
        prop_assert!(difference <= tolerance, "{}", difference);
    }
}
