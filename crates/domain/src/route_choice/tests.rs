//! Which way a load takes, as a table and as properties.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::model::{ModelKind, Prices};
use crate::money::Money;

const ALL_WAYS: [InferenceMode; 3] = InferenceMode::ALL;

fn model(ways: &[InferenceMode]) -> Model {
    let mut routes = ways
        .iter()
        .map(|via| Route::plain(via.as_str(), "theirs", *via));
    let first = routes.next().unwrap();
    let price = Price::flat(Money(100), Money(400));
    Model {
        routes: Routes::new(first, routes.collect()),
        prices: Some(Prices {
            batch: price,
            realtime: None,
        }),
        ..Model::plain("m", "unused", ModelKind::Chat)
    }
}

fn due_in(left: TimeDelta) -> LoadSituation {
    LoadSituation::unmeasured(true, left)
}

fn describe(model: &Model, situation: &LoadSituation) -> String {
    let choice = choose(model, "north", situation);
    format!("{} {}", choice.route.via.as_str(), choice.reason.as_str())
}

#[test]
fn a_short_queue_takes_flex_and_a_long_one_takes_what_its_deadline_allows() {
    let model = model(&ALL_WAYS);
    let mut table = String::new();
    for minutes in [1440, 481, 480, 120, 7, 6] {
        let short = due_in(TimeDelta::minutes(minutes));
        let long = LoadSituation {
            queue_items: DEFAULT_FLEX_CAPACITY,
            ..short
        };
        let closed = LoadSituation {
            is_flex_open: false,
            ..short
        };
        let [short, long, closed] = [short, long, closed].map(|it| describe(&model, &it));
        writeln!(table, "{minutes:4} min: {short} | {long} | {closed}").unwrap();
    }
    insta::assert_snapshot!(table, @"
    1440 min: flex flex_queue_short | batch batch_in_time | batch flex_without_capacity
     481 min: flex flex_queue_short | batch batch_in_time | batch flex_without_capacity
     480 min: flex flex_queue_short | flex flex_for_deadline | realtime realtime_for_deadline
     120 min: flex flex_queue_short | flex flex_for_deadline | realtime realtime_for_deadline
       7 min: flex flex_queue_short | flex flex_for_deadline | realtime realtime_for_deadline
       6 min: realtime realtime_for_deadline | realtime realtime_for_deadline | realtime realtime_for_deadline
    ");
}

#[test]
fn urgent_cargo_waits_only_for_urgent_cargo() {
    let model = model(&ALL_WAYS);
    let crowded = LoadSituation {
        queue_items: 10 * DEFAULT_FLEX_CAPACITY,
        ..due_in(TimeDelta::minutes(10))
    };
    assert_eq!(describe(&model, &crowded), "flex flex_for_deadline");
    let urgent = LoadSituation {
        urgent_items: DEFAULT_FLEX_CAPACITY,
        ..crowded
    };
    assert_eq!(describe(&model, &urgent), "realtime realtime_for_deadline");
    // Two hours are not urgent: ten windows of the queue take longer.
    let later = LoadSituation {
        left: TimeDelta::hours(2),
        ..crowded
    };
    assert_eq!(describe(&model, &later), "realtime realtime_for_deadline");
}

#[test]
fn flex_that_costs_more_than_a_batch_is_for_deadlines_only() {
    let mut model = model(&[InferenceMode::Batch]);
    let flex = Route {
        cost: Some(Price::flat(Money(200), Money(800))),
        ..Route::plain("groq", "theirs", InferenceMode::Flex)
    };
    model.routes = Routes::new(model.routes.preferred("north").clone(), vec![flex]);
    let day = due_in(TimeDelta::hours(24));
    assert_eq!(describe(&model, &day), "batch batch_in_time");
    let hour = due_in(TimeDelta::hours(1));
    assert_eq!(describe(&model, &hour), "flex flex_for_deadline");
}

#[test]
fn a_model_with_one_way_has_no_choice() {
    for via in ALL_WAYS {
        let model = model(&[via]);
        assert!(!has_choice(&model, "north", true));
        let expected = format!("{} only_way", via.as_str());
        assert_eq!(describe(&model, &due_in(TimeDelta::minutes(1))), expected);
    }
    let old = model(&[InferenceMode::Batch, InferenceMode::Realtime]);
    assert!(!has_choice(&old, "north", false));
    assert!(has_choice(&old, "north", true));
}

#[test]
fn waiting_cargo_moves_on_when_its_way_no_longer_fits() {
    let times = WayTimes::default();
    let refused = WayTimes {
        flex_refused_for: Some(TimeDelta::minutes(20)),
        is_flex_usable: false,
        ..times
    };
    let queued = |hours| WayTimes {
        flex_wait: TimeDelta::hours(hours),
        ..times
    };
    let mut table = String::new();
    for ways in [
        &ALL_WAYS[..],
        &[InferenceMode::Batch, InferenceMode::Realtime],
        &[InferenceMode::Batch, InferenceMode::Flex],
        &[InferenceMode::Flex, InferenceMode::Realtime],
        &[InferenceMode::Batch],
    ] {
        let model = model(ways);
        let names: Vec<&str> = ways.iter().map(|via| via.as_str()).collect();
        for (state, times) in [
            ("open", times),
            ("refused for 20 min", refused),
            ("queue of 2 h", queued(2)),
            ("queue of 6 h", queued(6)),
        ] {
            let ways = ModelWays::of(&model.routes, "north");
            let steps = ways.steps(&times).into_iter().map(|step| {
                let (via, left) = (step.choice.route.via, step.left_below.num_minutes());
                format!("{} below {left} min", via.as_str())
            });
            let steps: Vec<String> = steps.chain(["keeps its way".to_owned()]).collect();
            writeln!(table, "{} {state}: {}", names.join("+"), steps.join(", ")).unwrap();
        }
    }
    insta::assert_snapshot!(table, @"
    batch+flex+realtime open: realtime below 7 min, flex below 480 min, keeps its way
    batch+flex+realtime refused for 20 min: realtime below 80 min, flex below 480 min, keeps its way
    batch+flex+realtime queue of 2 h: realtime below 127 min, flex below 480 min, keeps its way
    batch+flex+realtime queue of 6 h: realtime below 367 min, flex below 480 min, keeps its way
    batch+realtime open: realtime below 480 min, keeps its way
    batch+realtime refused for 20 min: realtime below 480 min, keeps its way
    batch+realtime queue of 2 h: realtime below 480 min, keeps its way
    batch+realtime queue of 6 h: realtime below 480 min, keeps its way
    batch+flex open: flex below 480 min, keeps its way
    batch+flex refused for 20 min: keeps its way
    batch+flex queue of 2 h: flex below 480 min, keeps its way
    batch+flex queue of 6 h: keeps its way
    flex+realtime open: realtime below 7 min, keeps its way
    flex+realtime refused for 20 min: realtime below 80 min, keeps its way
    flex+realtime queue of 2 h: realtime below 127 min, keeps its way
    flex+realtime queue of 6 h: realtime below 367 min, keeps its way
    batch open: keeps its way
    batch refused for 20 min: keeps its way
    batch queue of 2 h: keeps its way
    batch queue of 6 h: keeps its way
    ");
}

#[test]
fn codes_never_change() {
    let codes: Vec<&str> = RouteReason::ALL.iter().map(|it| it.as_str()).collect();
    insta::assert_snapshot!(codes.join("\n"), @"
    only_way
    flex_queue_short
    batch_in_time
    flex_for_deadline
    realtime_for_deadline
    flex_without_capacity
    after_failure
    ");
}

/// A model with some ways, and how long each really takes: flex at most as long as was measured,
/// realtime at most as long as flex.
#[derive(Debug, Clone)]
struct TimedWays {
    ways: Vec<InferenceMode>,
    batch_minutes: i64,
    flex_minutes: i64,
    realtime_minutes: i64,
}

impl TimedWays {
    fn minutes(&self, via: InferenceMode) -> i64 {
        match via {
            InferenceMode::Batch => self.batch_minutes,
            InferenceMode::Flex => self.flex_minutes,
            InferenceMode::Realtime => self.realtime_minutes,
        }
    }
}

fn timed_ways() -> impl Strategy<Value = TimedWays> {
    let ways = prop::sample::subsequence(ALL_WAYS.to_vec(), 1..=3);
    (ways, 60_i64..1200, 1_i64..30).prop_flat_map(|(ways, batch_minutes, flex_minutes)| {
        (0..=flex_minutes).prop_map(move |realtime_minutes| TimedWays {
            ways: ways.clone(),
            batch_minutes,
            flex_minutes,
            realtime_minutes,
        })
    })
}

proptest! {
    #[test]
    fn a_deadline_that_some_way_can_meet_is_met(
        timed in timed_ways(),
        left in 1_i64..1441,
        is_flex_open: bool,
    ) {
        let model = model(&timed.ways);
        let situation = LoadSituation {
            times: WayTimes {
                batch_p95: TimeDelta::minutes(timed.batch_minutes),
                flex_answer: TimeDelta::minutes(timed.flex_minutes),
                ..WayTimes::default()
            },
            is_flex_open,
            ..due_in(TimeDelta::minutes(left))
        };
        let works = |via: &&InferenceMode| is_flex_open || **via != InferenceMode::Flex;
        let can_meet = timed.ways.iter().filter(works).any(|via| timed.minutes(*via) <= left);
        let via = choose(&model, "north", &situation).route.via;
        if can_meet {
            prop_assert!(timed.minutes(via) <= left, "{} takes {}", via.as_str(), timed.minutes(via));
        }
    }

    #[test]
    fn realtime_is_taken_only_when_no_cheaper_way_is_sure(
        timed in timed_ways(),
        left in 1_i64..1441,
        queue_items in 0_u64..500,
    ) {
        let model = model(&timed.ways);
        let situation = LoadSituation {
            times: WayTimes {
                batch_p95: TimeDelta::minutes(timed.batch_minutes),
                flex_answer: TimeDelta::minutes(timed.flex_minutes),
                ..WayTimes::default()
            },
            queue_items,
            ..due_in(TimeDelta::minutes(left))
        };
        let has = |via| timed.ways.contains(&via);
        if choose(&model, "north", &situation).route.via == InferenceMode::Realtime
            && timed.ways.len() > 1
        {
            let is_batch_sure = left > timed.batch_minutes + BATCH_MARGIN.num_minutes();
            prop_assert!(!(has(InferenceMode::Batch) && is_batch_sure));
            let is_flex_sure = situation.is_flex_in_time(true);
            prop_assert!(!(has(InferenceMode::Flex) && is_flex_sure));
        }
    }

    /// A way that was right at load moves on in time: steps are sorted, and never skip a cheaper
    /// way that is sure.
    #[test]
    fn steps_are_sorted_by_the_time_that_is_left(
        timed in timed_ways(),
        refused in 0_i64..600,
        queued in 0_i64..1200,
        is_flex_usable: bool,
    ) {
        let model = model(&timed.ways);
        let times = WayTimes {
            batch_p95: TimeDelta::minutes(timed.batch_minutes),
            flex_answer: TimeDelta::minutes(timed.flex_minutes),
            flex_refused_for: Some(TimeDelta::minutes(refused)),
            flex_wait: TimeDelta::minutes(queued),
            is_flex_usable,
        };
        let steps = ModelWays::of(&model.routes, "north").steps(&times);
        prop_assert!(steps.is_sorted_by_key(|step| step.left_below));
        prop_assert!(steps.len() < timed.ways.len().max(1));
    }
}
