//! The models of the catalogue: prices, turnaround, availability and recent usage.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::TimeDelta;
use domain::features::{
    Features, PromptCaching, SamplingSupport, StructuredOutput, ThinkingSupport, ToolSupport,
};
use domain::id::ProjectId;
use domain::model::{Model, ModelKind};
use domain::price::{Price, Rates};
use domain::route::{InferenceMode, Route};
use domain::time::Timestamp;
use store::Shard;
use store::shard::provider::{self, ProviderPauseRow};
use store::view::models::{self, ModelCounts, ModelLane};

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::state::DashboardState;
use crate::text;

#[derive(Debug, Template)]
#[template(path = "models.html")]
struct ModelsPage {
    page: PageLayout,
    rows: Vec<ModelRow>,
}

#[derive(Debug)]
struct ModelRow {
    model: Model,
    features: Vec<&'static str>,
    /// Prices of requests with more input.
    price_steps: Vec<String>,
    routes: Vec<RouteStatus>,
    recent_usage: Option<ModelCounts>,
}

/// The status of a model's route on this shard.
#[derive(Debug)]
struct RouteStatus {
    provider: String,
    via: InferenceMode,
    turnaround: Option<TimeDelta>,
    /// Why the route is paused.
    pause: Option<RoutePause>,
}

#[derive(Debug)]
enum RoutePause {
    /// An operator paused the lane.
    Lane(Option<String>),
    Provider(ProviderPauseRow),
}

impl ModelRow {
    fn state(&self) -> (&'static str, &'static str) {
        let open = self.routes.iter().filter(|route| route.pause.is_none());
        match open.count() {
            0 => ("bad", "paused"),
            open if open < self.routes.len() => ("warm", "partly paused"),
            _ => ("good", "available"),
        }
    }

    fn batch_price(&self) -> Option<Price> {
        self.model.prices.map(|prices| prices.batch)
    }

    /// The batch discount in percent of the realtime price, for equal input and output tokens.
    fn discount(&self) -> Option<i64> {
        let (batch, realtime) = (self.batch_price()?, self.model.realtime()?);
        let sum = |price: Price| (price.base.input + price.base.output).nanos();
        let less = (sum(realtime) - sum(batch)).checked_mul(100)?;
        less.checked_div(sum(realtime)).filter(|less| *less > 0)
    }

    fn turnaround(&self) -> Option<TimeDelta> {
        let open = self.routes.iter().filter(|route| route.pause.is_none());
        open.filter_map(|route| route.turnaround).min()
    }

    fn completed(&self) -> u64 {
        let done = self.recent_usage.as_ref();
        done.map_or(0, |done| done.succeeded + done.failed)
    }
}

impl ModelsPage {
    fn is_operator(&self) -> bool {
        self.page.access.signed_in.person.is_operator
    }
}

struct ShardLanes {
    lanes: Vec<ModelLane>,
    paused: HashMap<String, ProviderPauseRow>,
    now: Timestamp,
}

impl ShardLanes {
    fn route_status(&self, model: &Model, route: &Route) -> RouteStatus {
        let lane = self.lanes.iter().find(|lane| {
            lane.model == model.id && lane.provider == route.provider && lane.via == route.via
        });
        let lane_pause = lane.filter(|lane| lane.paused_at.is_some());
        let lane_pause = lane_pause.map(|lane| RoutePause::Lane(lane.pause_reason.clone()));
        let paused = self.paused.get(&route.provider);
        let paused = paused
            .filter(|paused| paused.is_in_force(self.now))
            .cloned();
        RouteStatus {
            provider: route.provider.clone(),
            via: route.via,
            turnaround: lane.and_then(|lane| lane.turnaround_seconds).map(took),
            pause: lane_pause.or_else(|| paused.map(RoutePause::Provider)),
        }
    }
}

/// What a chat model can do beyond text, in words of the documentation.
fn feature_words(model: &Model) -> Vec<&'static str> {
    if model.kind == ModelKind::Embedding {
        let embedding = &model.features.embedding;
        let words = [
            embedding.dimensions.map(|_| "dimensions"),
            embedding.input_type.then_some("input type"),
        ];
        return words.into_iter().flatten().collect();
    }
    let Features {
        tools,
        structured_output,
        thinking,
        caching,
        sampling,
        seed,
        ..
    } = &model.features;
    let words = [
        (*tools != ToolSupport::None).then_some("tools"),
        match structured_output {
            StructuredOutput::None => None,
            StructuredOutput::WithoutTools => Some("JSON schema without tools"),
            StructuredOutput::WithTools => Some("JSON schema"),
        },
        (*thinking != ThinkingSupport::none()).then_some("thinking"),
        (*caching == PromptCaching::Marks).then_some("cached prompts"),
        seed.then_some("seed"),
        (*sampling != SamplingSupport::Pass).then_some("no sampling"),
    ];
    words.into_iter().flatten().collect()
}

fn price_steps(model: &Model) -> Vec<String> {
    let price = model.prices.map(|prices| prices.batch);
    let steps = price.iter().flat_map(|price| price.steps.iter().flatten());
    let describe = |above: u64, rates: Rates| {
        let above = text::short(above);
        format!("${} in, ${} out above {above}", rates.input, rates.output)
    };
    steps.map(|step| describe(step.above, step.rates)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "clamped")]
pub(crate) fn took(seconds: f64) -> TimeDelta {
    TimeDelta::milliseconds((seconds.clamp(0.0, 1e9) * 1000.0) as i64)
}

async fn read_recent_usage(
    shard: &Shard,
    of: ProjectId,
    now: Timestamp,
) -> Result<HashMap<String, ModelCounts>, PageError> {
    let done = models::count_by_model(shard, of, now - TimeDelta::hours(24)).await?;
    let named = done.into_iter().map(|done| (done.model.clone(), done));
    Ok(named.collect())
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
) -> Result<Response, PageError> {
    let (shard, now) = (within.shard(), state.clock.now());
    let seen = ShardLanes {
        lanes: models::list_lanes(shard).await?,
        paused: provider::list_paused(shard).await?,
        now,
    };
    let mut done = read_recent_usage(shard, within.id(), now).await?;
    let catalogue = state.catalogue.borrow().clone();
    let rows = catalogue.models().map(|model| {
        let routes = model.routes.for_shard(&shard.name);
        ModelRow {
            routes: routes
                .iter()
                .map(|it| seen.route_status(model, it))
                .collect(),
            recent_usage: done.remove(&model.id),
            features: feature_words(model),
            price_steps: price_steps(model),
            model: model.clone(),
        }
    });
    Ok(render_page(&ModelsPage {
        rows: rows.collect(),
        page: PageLayout::for_project("Models", NavItem::Models, &within, &client),
    }))
}

#[cfg(test)]
mod tests {
    use domain::model::Prices;
    use domain::money::Money;
    use domain::price::PriceStep;

    use super::*;

    #[test]
    fn features_are_named_as_in_the_documentation() {
        let mut model = Model::plain("m", "mock", ModelKind::Chat);
        assert_eq!(feature_words(&model), [""; 0]);
        model.features.tools = ToolSupport::Parallel;
        model.features.structured_output = StructuredOutput::WithoutTools;
        model.features.thinking.adaptive = true;
        model.features.sampling = SamplingSupport::Drop;
        assert_eq!(
            feature_words(&model),
            [
                "tools",
                "JSON schema without tools",
                "thinking",
                "no sampling"
            ]
        );
        let mut vectors = Model::plain("v", "mock", ModelKind::Embedding);
        vectors.features.embedding.dimensions = Some((1, 3072));
        assert_eq!(feature_words(&vectors), ["dimensions"]);
    }

    #[test]
    fn a_step_of_the_price_is_shown() {
        let dollars = |dollars: i64| Money(dollars * 1_000_000_000);
        let mut batch = Price::flat(dollars(1), dollars(5));
        batch.steps = [
            Some(PriceStep {
                above: 272_000,
                rates: Rates::flat(dollars(2), dollars(7)),
            }),
            None,
        ];
        let model = Model {
            prices: Some(Prices {
                batch,
                realtime: None,
            }),
            ..Model::plain("m", "mock", ModelKind::Chat)
        };
        let short = text::short(272_000_u64);
        let expected = format!("$2.00 in, $7.00 out above {short}");
        assert_eq!(price_steps(&model), [expected]);
    }
}
