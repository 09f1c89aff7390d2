//! The tier flex: cheap realtime calls that a provider may refuse, delay or serve at full price.

use chrono::TimeDelta;

use crate::bill::SimulatedTier;
use crate::call::SimulatedCall;
use crate::fault::{FaultName, SimulatedFault};
use crate::pace::milliseconds;
use crate::provider::{SimulatedDialect, SimulatedProvider};
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::request::ItemRequest;

/// How the tier of a call is served.
#[derive(Debug, Default)]
pub(super) struct FlexService {
    /// None: the request named no tier.
    pub(super) tier: Option<SimulatedTier>,
    pub(super) delay: TimeDelta,
}

/// Fires the faults of flex, if the request asks for it.
pub(super) fn admit(
    call: &SimulatedCall,
    question: &ItemRequest,
) -> Result<FlexService, CallRejection> {
    // Azure's header wins over the body.
    let header = call
        .header("x-ms-service-tier")
        .filter(|_| call.dialect == SimulatedDialect::Azure);
    let Some(tier) = header.or(question.tier()) else {
        return Ok(FlexService::default());
    };
    if tier != "flex" {
        return Ok(FlexService {
            tier: Some(SimulatedTier::Standard),
            delay: TimeDelta::zero(),
        });
    }
    let mut account = call.account.lock();
    account.refuse_if(FaultName::FlexUnavailable, |fault| {
        no_capacity(call.provider, call.dialect, fault)
    })?;
    let slow = account.faults.fire(FaultName::FlexSlow);
    let is_downgraded = account.faults.fire(FaultName::FlexDowngrade).is_some();
    Ok(FlexService {
        tier: Some(if is_downgraded {
            SimulatedTier::Standard
        } else {
            SimulatedTier::Flex
        }),
        delay: slow.map_or(TimeDelta::zero(), |fault| {
            milliseconds(fault.ms.unwrap_or(60_000))
        }),
    })
}

/// Each provider has its own status for a lack of capacity.
fn no_capacity(
    provider: SimulatedProvider,
    dialect: SimulatedDialect,
    fault: &SimulatedFault,
) -> SimulatedRefusal {
    let mut refusal = match (provider, dialect) {
        (SimulatedProvider::Gemini, _) => {
            SimulatedRefusal::new(503, "The model is overloaded. Please try again later.")
        }
        (_, SimulatedDialect::Groq) => {
            SimulatedRefusal::new(498, "Flex tier capacity exceeded. Please try again later.")
                .openai_code("capacity_exceeded")
        }
        (_, SimulatedDialect::OpenAi | SimulatedDialect::Azure) => {
            SimulatedRefusal::new(429, "Resource Unavailable").openai_code("resource_unavailable")
        }
    };
    refusal.retry_after = fault.seconds;
    refusal
}
