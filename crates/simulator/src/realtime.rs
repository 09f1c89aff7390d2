//! Realtime answers: slots, delays and faults.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::answer::{AnswerFaults, SimulatedAnswer, answer_request};
use crate::bill::SimulatedTier;
use crate::call::{CallResult, SimulatedCall, malformed};
use crate::fault::FaultName;
use crate::pace::milliseconds;
use crate::provider::SimulatedProvider;
use crate::record::RealtimeCall;
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::reply;
use crate::request::{ItemRequest, RequestFormat, TaskKind};

mod flex;

const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The faults that affect one call.
#[derive(Debug, Default)]
struct CallFaults {
    hangs: bool,
    is_cut: bool,
    slow_ms: u32,
    answer_faults: AnswerFaults,
}

/// Answers one call. `model` is the model in the URL, if it has one. `render` makes the body; its
/// last argument is a unique id.
pub async fn respond(
    mut call: SimulatedCall,
    kind: TaskKind,
    model: &str,
    render: impl Fn(&ItemRequest, &SimulatedAnswer, &str) -> Value,
) -> CallResult {
    let bytes = call.bytes(MAX_BODY_BYTES).await?;
    let index = record_call(&call, &bytes);
    let format = RequestFormat {
        provider: call.provider,
        kind,
        model,
    };
    let answered = answer_call(&call, format, &bytes, render).await;
    let status = match &answered {
        Ok(response) => Some(response.status().as_u16()),
        Err(CallRejection::Refused(refusal)) => Some(refusal.status),
        Err(CallRejection::Dropped) => None,
    };
    if let Some(noted) = call.account.lock().calls.get_mut(index) {
        noted.status = status;
    }
    answered
}

fn record_call(call: &SimulatedCall, bytes: &[u8]) -> usize {
    let mut account = call.account.lock();
    let noted = RealtimeCall {
        at: call.now,
        provider: call.provider,
        account: account.name.clone(),
        path: call.path.clone(),
        request_id: call.header("x-request-id").map(str::to_owned),
        body_sha256: hex::encode(Sha256::digest(bytes)),
        status: None,
    };
    account.calls.push(noted);
    account.calls.len() - 1
}

async fn answer_call(
    call: &SimulatedCall,
    format: RequestFormat<'_>,
    bytes: &[u8],
    render: impl Fn(&ItemRequest, &SimulatedAnswer, &str) -> Value,
) -> CallResult {
    let treatment = fire_faults(call)?;
    if treatment.hangs {
        std::future::pending::<()>().await;
    }
    let body: Value = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    let question = ItemRequest::parse(format, &body).map_err(|invalid| invalid.refusal(400))?;
    let flex = flex::admit(call, &question)?;
    let (slots, pace_ms) = {
        let account = call.account.lock();
        (Arc::clone(&account.slots), account.pace.answer_ms)
    };
    // The queue is unbounded, and waiting calls get no notice.
    let slot = slots.acquire_owned().await;
    let slow_ms = question.directives().slow_ms().unwrap_or(0);
    let slow_ms = u32::try_from(slow_ms).unwrap_or(u32::MAX);
    let delay = milliseconds(pace_ms)
        + milliseconds(treatment.slow_ms)
        + milliseconds(slow_ms)
        + flex.delay;
    let clock = &call.world.clock;
    clock.wait_until(clock.now() + delay).await;
    drop(slot);
    let (answer, fresh) = answer_and_bill(call, &question, treatment.answer_faults, flex.tier);
    if let SimulatedAnswer::Failed(failed) = &answer {
        return Err(SimulatedRefusal::new(failed.status, failed.message.clone()).into());
    }
    let body = render(&question, &answer, &fresh);
    if treatment.is_cut {
        return Ok(reply::half_of_json(&body));
    }
    let mut response = reply::json(&body);
    if let Some(tier) = flex.tier {
        response.extensions_mut().insert(tier);
    }
    Ok(response)
}

/// The answer and a unique id. The account pays also for an answer that its caller does not receive.
fn answer_and_bill(
    call: &SimulatedCall,
    question: &ItemRequest,
    habits: AnswerFaults,
    tier: Option<SimulatedTier>,
) -> (SimulatedAnswer, String) {
    let mut account = call.account.lock();
    let now = call.world.clock.now();
    let cache = account.caches.apply(question.cache_marks(), now);
    let mut answer = answer_request(question, habits, cache);
    if let SimulatedAnswer::Chat(chat) = &mut answer {
        chat.tier = tier;
    }
    let (status, billed) = answer.billed();
    if status == 200 {
        let tier = tier.unwrap_or(SimulatedTier::Standard);
        account.realtime_bill.add(&question.model, tier, billed);
    }
    let fresh = account.unique_hex(32);
    (answer, fresh)
}

fn fire_faults(call: &SimulatedCall) -> Result<CallFaults, CallRejection> {
    let mut account = call.account.lock();
    account.require_funds()?;
    account.refuse_if(FaultName::Busy503, |fault| {
        let mut refusal = SimulatedRefusal::new(503, "the server is overloaded");
        refusal.retry_after = fault.seconds;
        refusal
    })?;
    account.refuse_if(FaultName::Dead, |_| {
        SimulatedRefusal::new(
            500,
            "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        )
    })?;
    let is_server = call.provider == SimulatedProvider::Server;
    account.refuse_if(FaultName::Context400, |_| {
        let refusal = SimulatedRefusal::new(
            400,
            "This model's maximum context length is 4096 tokens. However, your request has more. Please reduce the length of the input messages.",
        );
        if is_server {
            refusal
        } else {
            refusal.openai_code("context_length_exceeded")
        }
    })?;
    let slow = account.faults.fire(FaultName::Slow);
    Ok(CallFaults {
        hangs: account.faults.fire(FaultName::Hang).is_some(),
        is_cut: account.faults.fire(FaultName::Drop).is_some(),
        slow_ms: slow.map_or(0, |fault| fault.ms.unwrap_or(1000)),
        answer_faults: AnswerFaults {
            usage_missing: account.faults.fire(FaultName::UsageMissing).is_some(),
            usage_absurd: account.faults.fire(FaultName::UsageAbsurd).is_some(),
            is_blocked: account.faults.fire(FaultName::SafetyBlock).is_some(),
        },
    })
}
