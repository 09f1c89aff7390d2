//! Makes outcomes of what a provider returned, with what the provider bills us for them.

use domain::model::Model;
use domain::model_answer::ModelAnswer;
use domain::outcome::{Completion, EmbeddingCompletion, Outcome};
use domain::price::Price;
use domain::reason_code::CargoFailure;
use domain::route::{InferenceMode, Route};
use domain::token_buckets::TokenBuckets;
use outbound::provider::item_result::ItemBill;
use store::shard::earlier_cost::BilledAttempt;
use store::shard::manifest::OpenCargo;

use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;

/// The model and the route of the results of one batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultContext<'a> {
    model: Option<&'a Model>,
    /// None if the catalogue no longer has the route: its cost is not known.
    route: Option<&'a Route>,
    via: InferenceMode,
}

impl ClaimedBatch {
    pub(crate) fn result_context(&self) -> ResultContext<'_> {
        let (model, lane) = (self.model.as_ref(), &self.lane);
        ResultContext {
            model,
            route: model.and_then(|model| model.routes.find(&lane.provider, lane.via)),
            via: lane.via,
        }
    }
}

impl ResultContext<'_> {
    /// `stop_sequences` are needed only if Longshore applies them.
    pub(crate) fn answered(
        &self,
        head: OpenCargo,
        answer: ModelAnswer,
        stop_sequences: &[String],
    ) -> FinishedCargo {
        let (billed, tier) = (answer.billed, answer.tier);
        let judged = answer.into_outcome(head.cargo, &head.model, head.shape, stop_sequences);
        FinishedCargo {
            usage: judged.charged,
            billed,
            ..self.served(head, judged.outcome, tier)
        }
    }

    pub(crate) fn embedded(
        &self,
        head: OpenCargo,
        vectors: Vec<Vec<f32>>,
        usage: Option<TokenBuckets>,
    ) -> FinishedCargo {
        let completion = EmbeddingCompletion {
            id: format!("emb_{}", head.cargo.uuid().simple()),
            kind: "embedding".to_owned(),
            model: head.model.clone(),
            embeddings: vectors,
            usage: usage.unwrap_or_default().totals(),
        };
        let outcome = Outcome::Success(Completion::Embedding(completion));
        FinishedCargo {
            usage,
            ..self.served(head, outcome, None)
        }
    }

    /// The caller pays nothing for a failure. The provider may bill it.
    pub(crate) fn failed(
        &self,
        head: OpenCargo,
        failure: CargoFailure,
        bill: ItemBill,
    ) -> FinishedCargo {
        FinishedCargo {
            billed: Some(bill.tokens),
            ..self.served(head, Outcome::Failure(failure), bill.tier)
        }
    }

    /// An attempt that gave no outcome. None if it cost nothing, or nothing that is known.
    pub(crate) fn billed_attempt(&self, head: &OpenCargo, bill: ItemBill) -> Option<BilledAttempt> {
        let cost = self.cost_price(bill.tier)?.rounded_cost(bill.tokens);
        let cargo = head.cargo;
        (!cost.is_zero()).then_some(BilledAttempt { cargo, cost })
    }

    fn served(
        &self,
        head: OpenCargo,
        outcome: Outcome,
        tier: Option<InferenceMode>,
    ) -> FinishedCargo {
        FinishedCargo {
            open_cargo: head,
            outcome,
            realtime_price: self.model.and_then(Model::realtime),
            usage: Some(TokenBuckets::default()),
            billed: None,
            cost_price: self.cost_price(tier),
            served: Some(tier.unwrap_or(self.via)),
        }
    }

    /// A request by flex that the provider served at its standard tier is billed at the price of
    /// realtime.
    fn cost_price(&self, tier: Option<InferenceMode>) -> Option<Price> {
        let (model, route) = self.model.zip(self.route)?;
        let is_downgraded =
            route.via == InferenceMode::Flex && tier == Some(InferenceMode::Realtime);
        if !is_downgraded {
            return model.cost_by(route);
        }
        let realtime = model.routes.find(&route.provider, InferenceMode::Realtime);
        realtime
            .filter(|it| it.upstream_model == route.upstream_model)
            .map_or_else(|| model.realtime(), |realtime| model.cost_by(realtime))
    }
}

#[cfg(test)]
mod tests;
