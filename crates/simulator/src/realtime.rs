//! Answers at once: slots, delays, and the faults of servers.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, Habits, answer};
use crate::call::{Answered, Call, malformed};
use crate::fault::Name;
use crate::pace::milliseconds;
use crate::provider::Provider;
use crate::question::{Kind, Question};
use crate::record::RealtimeCall;
use crate::refusal::{No, Refusal};
use crate::reply;

/// The largest body that is taken.
const LARGEST: usize = 64 * 1024 * 1024;

/// What the faults do to one call.
#[derive(Debug, Default)]
struct Treatment {
    hangs: bool,
    is_cut: bool,
    slow_ms: u32,
    habits: Habits,
}

/// Answers one call; `render` knows the shape. The last argument is fresh digits for ids.
pub async fn respond(
    mut call: Call,
    kind: Kind,
    render: impl Fn(&Question, &Answer, &str) -> Value,
) -> Answered {
    let bytes = call.bytes(LARGEST).await?;
    let place = note(&call, &bytes);
    let answered = work(&call, kind, &bytes, render).await;
    let status = match &answered {
        Ok(response) => Some(response.status().as_u16()),
        Err(No::Refused(refusal)) => Some(refusal.status),
        Err(No::Dropped) => None,
    };
    if let Some(noted) = call.account.lock().calls.get_mut(place) {
        noted.status = status;
    }
    answered
}

fn note(call: &Call, bytes: &[u8]) -> usize {
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

async fn work(
    call: &Call,
    kind: Kind,
    bytes: &[u8],
    render: impl Fn(&Question, &Answer, &str) -> Value,
) -> Answered {
    let treatment = treat(call)?;
    if treatment.hangs {
        std::future::pending::<()>().await;
    }
    let body: Value = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    let question =
        Question::read(call.provider, kind, &body).map_err(|message| Refusal::new(400, message))?;
    let (slots, pace_ms) = {
        let account = call.account.lock();
        (Arc::clone(&account.slots), account.pace.answer_ms)
    };
    // The queue is without end, and nobody is told that he waits.
    let slot = slots.acquire_owned().await;
    let asked = question.directives().slow_ms().unwrap_or(0);
    let asked = u32::try_from(asked).unwrap_or(u32::MAX);
    let delay = milliseconds(pace_ms) + milliseconds(treatment.slow_ms) + milliseconds(asked);
    let clock = &call.world.clock;
    clock.wait_until(clock.now() + delay).await;
    drop(slot);
    let said = answer(&question, treatment.habits);
    if let Answer::Failed(failed) = &said {
        return Err(Refusal::new(failed.status, failed.message.clone()).into());
    }
    let fresh = call.account.lock().fresh(32);
    let body = render(&question, &said, &fresh);
    if treatment.is_cut {
        return Ok(reply::half_of(&body));
    }
    Ok(reply::json(&body))
}

fn treat(call: &Call) -> Result<Treatment, No> {
    let mut account = call.account.lock();
    account.pay()?;
    account.refuse_if(Name::Busy503, |fault| {
        let mut refusal = Refusal::new(503, "the server is overloaded");
        refusal.retry_after = fault.seconds;
        refusal
    })?;
    account.refuse_if(Name::Dead, |_| {
        Refusal::new(
            500,
            "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        )
    })?;
    let is_server = call.provider == Provider::Server;
    account.refuse_if(Name::Context400, |_| {
        let refusal = Refusal::new(
            400,
            "This model's maximum context length is 4096 tokens. However, your request has more. Please reduce the length of the input messages.",
        );
        if is_server {
            refusal
        } else {
            refusal.openai_code("context_length_exceeded")
        }
    })?;
    let slow = account.faults.fire(Name::Slow);
    Ok(Treatment {
        hangs: account.faults.fire(Name::Hang).is_some(),
        is_cut: account.faults.fire(Name::Drop).is_some(),
        slow_ms: slow.map_or(0, |fault| fault.ms.unwrap_or(1000)),
        habits: Habits {
            usage_missing: account.faults.fire(Name::UsageMissing).is_some(),
            usage_absurd: account.faults.fire(Name::UsageAbsurd).is_some(),
            blocked: account.faults.fire(Name::SafetyBlock).is_some(),
        },
    })
}
