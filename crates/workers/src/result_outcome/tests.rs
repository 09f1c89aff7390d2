//! What callers pay and what providers bill for each result.

use domain::id::{ApiKeyId, Berth, CargoId, OrganizationId, ProjectId};
use domain::model::{ModelKind, Prices};
use domain::model_answer::ModelStop;
use domain::money::Money;
use domain::outcome::CompletionBlock;
use domain::reason_code::FailureCode;
use domain::response_shape::ResponseShape;
use domain::route::Routes;
use domain::time::Timestamp;

use super::*;

/// One nano-dollar for an input token, two for an output token.
const COST: Price = Price::flat(Money(1_000_000), Money(2_000_000));
const REALTIME: Price = Price::flat(Money(10_000_000), Money(20_000_000));
const USAGE: TokenBuckets = TokenBuckets {
    fresh: 100,
    cached: 0,
    cache_write: 0,
    cache_write_1h: 0,
    output: 50,
    thinking: 0,
};

fn head() -> OpenCargo {
    let (now, berth) = (Timestamp::UNIX_EPOCH, Berth::new(0).unwrap());
    OpenCargo {
        cargo: CargoId::new(now, berth, 1),
        attempt: 2,
        loaded_at: now,
        organization: OrganizationId::new(now, berth, 2),
        project: ProjectId::new(now, berth, 3),
        key: ApiKeyId::new(now, berth, 4),
        model: "ours".to_owned(),
        callback: None,
        shape: ResponseShape::default(),
        deadline_at: now,
        queued_at: now,
        trace: None,
        group: None,
        is_cancel_requested: false,
    }
}

fn model(via: InferenceMode) -> Model {
    let route = Route {
        cost: Some(COST),
        ..Route::plain("account", "theirs", via)
    };
    Model {
        routes: route.into(),
        prices: Some(Prices {
            batch: REALTIME,
            realtime: Some(REALTIME),
        }),
        ..Model::plain("ours", "account", ModelKind::Chat)
    }
}

fn context(model: &Model, via: InferenceMode) -> ResultContext<'_> {
    ResultContext {
        model: Some(model),
        route: model.routes.find("account", via),
        via,
    }
}

fn answer(tier: Option<InferenceMode>) -> ModelAnswer {
    let blocks = vec![CompletionBlock::plain_text("yes".to_owned())];
    let usage = TokenBuckets { fresh: 90, ..USAGE };
    ModelAnswer {
        billed: Some(USAGE),
        tier,
        ..ModelAnswer::new(blocks, ModelStop::EndTurn, Some(usage))
    }
}

fn bill(tier: Option<InferenceMode>) -> ItemBill {
    ItemBill {
        tokens: USAGE,
        tier,
    }
}

#[test]
fn the_caller_pays_for_the_usage_and_we_pay_what_is_billed() {
    let model = model(InferenceMode::Batch);
    let finished = context(&model, InferenceMode::Batch).answered(head(), answer(None), &[]);
    assert_eq!(finished.usage.unwrap().fresh, 90);
    assert_eq!(finished.cost(), Some(Money(200)));
    assert_eq!(finished.served, Some(InferenceMode::Batch));
}

#[test]
fn a_failure_is_free_for_the_caller_and_may_be_billed() {
    let model = model(InferenceMode::Batch);
    let failure = FailureCode::AttemptsExhausted.with_message("no answer");
    let context = context(&model, InferenceMode::Batch);
    let failed = context.failed(head(), failure.clone(), bill(None));
    assert_eq!(failed.usage, Some(TokenBuckets::default()));
    assert_eq!(failed.cost(), Some(Money(200)));
    let unsent = FinishedCargo::failed(head(), failure);
    assert_eq!(unsent.cost(), None);
}

#[test]
fn a_flex_request_at_the_standard_tier_costs_the_realtime_price() {
    let model = model(InferenceMode::Flex);
    let context = context(&model, InferenceMode::Flex);
    let flex = context.answered(head(), answer(Some(InferenceMode::Flex)), &[]);
    assert_eq!(flex.cost(), Some(Money(200)));
    let standard = context.answered(head(), answer(Some(InferenceMode::Realtime)), &[]);
    assert_eq!(standard.cost(), Some(Money(2000)));
    assert_eq!(standard.served, Some(InferenceMode::Realtime));
}

#[test]
fn a_flex_request_at_the_standard_tier_costs_what_the_accounts_own_realtime_route_costs() {
    const STANDARD: Price = Price::flat(Money(3_000_000), Money(4_000_000));
    let own = |upstream: &str| Route {
        cost: Some(STANDARD),
        ..Route::plain("account", upstream, InferenceMode::Realtime)
    };
    for (upstream, cost) in [("theirs", Money(500)), ("another", Money(2000))] {
        let mut model = model(InferenceMode::Flex);
        let flex = model.routes.preferred("north").clone();
        model.routes = Routes::new(flex, vec![own(upstream)]);
        let context = context(&model, InferenceMode::Flex);
        let standard = context.answered(head(), answer(Some(InferenceMode::Realtime)), &[]);
        assert_eq!(standard.cost(), Some(cost), "{upstream}");
    }
}

#[test]
fn a_flex_request_that_fails_at_the_standard_tier_costs_the_realtime_price_too() {
    let model = model(InferenceMode::Flex);
    let context = context(&model, InferenceMode::Flex);
    for (tier, cost) in [
        (InferenceMode::Flex, Money(200)),
        (InferenceMode::Realtime, Money(2000)),
    ] {
        let failure = FailureCode::AttemptsExhausted.with_message("no answer");
        let failed = context.failed(head(), failure, bill(Some(tier)));
        assert_eq!((failed.cost(), failed.served), (Some(cost), Some(tier)));
        let billed = context.billed_attempt(&head(), bill(Some(tier))).unwrap();
        assert_eq!(billed.cost, cost);
    }
}

#[test]
fn an_attempt_without_an_outcome_is_billed_if_it_cost_anything() {
    let model = model(InferenceMode::Batch);
    let context = context(&model, InferenceMode::Batch);
    let billed = context.billed_attempt(&head(), bill(None)).unwrap();
    assert_eq!(billed.cost, Money(200));
    let free = context.billed_attempt(&head(), ItemBill::default());
    assert_eq!(free, None);
}

#[test]
fn the_cost_of_a_route_that_is_gone_is_not_known() {
    let model = model(InferenceMode::Batch);
    let context = ResultContext {
        route: None,
        ..context(&model, InferenceMode::Batch)
    };
    let finished = context.answered(head(), answer(None), &[]);
    assert_eq!(finished.cost(), None);
    assert_eq!(finished.served, Some(InferenceMode::Batch));
}
