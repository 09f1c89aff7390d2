//! `POST /cargo/wait`: waits until at least one of some cargo is completed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};
use domain::id::{Berth, CargoId};
use store::shard::completion;
use tokio::time::{Instant, sleep};
use wire::wait::CargoWaitResponse;

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::cargo::tracking::RecordReader;
use crate::cargo::wait_request::parse_cargo_wait;
use crate::request_body::BufferedBody;
use crate::state::App;
use crate::waiters::{FULL_RETRY_SECONDS, WaitEnd, WaitMilestone, WaitTime};

/// A thousand ids with spaces between them are much smaller.
pub(crate) const MAX_WAIT_BODY_BYTES: usize = 256 << 10;
/// After the first cargo: others of its batch complete in the same moment.
const COLLECT_DELAY: Duration = Duration::from_millis(100);
/// The rest of the completed cargo stays pending, and the next request gets it at once.
const MAX_RECORDS: usize = 100;
const MAX_RECORD_BYTES: usize = 8 << 20;

pub(crate) async fn wait(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    request: Request,
) -> Result<Response, ApiError> {
    let BufferedBody(body) = BufferedBody::read(request, MAX_WAIT_BODY_BYTES).await?;
    let parsed = parse_cargo_wait(&body)?;
    drop(body);
    let reader = RecordReader::new(&app, caller.berth, caller.project)?;
    let (cargo, mut unknown) = separate_ids(parsed.cargo_ids, caller.berth);
    let poll = poll(&reader, &cargo, parsed.duration.min(app.max_wait)).await?;
    unknown.extend(poll.unknown.iter().map(CargoId::to_string));
    let records = read_records(&reader, &poll.completed).await?;
    let is_refused = poll.is_refused && records.is_empty();
    let answered: HashSet<&str> = records.iter().map(|it| it.cargo_id.as_str()).collect();
    let completed = poll.completed.iter().map(CargoId::to_string);
    let left = completed.filter(|id| !answered.contains(id.as_str()));
    let pending = poll.pending.iter().map(CargoId::to_string).chain(left);
    let pending = pending.collect();
    let mut response = Json(CargoWaitResponse {
        completed: records,
        pending,
        unknown,
    })
    .into_response();
    if is_refused {
        let seconds = FULL_RETRY_SECONDS.into();
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response.extensions_mut().insert(WaitTime(poll.time_waited));
    Ok(response)
}

/// The cargo ids of this berth, each once, and everything else.
fn separate_ids(ids: Vec<String>, berth: Berth) -> (Vec<CargoId>, Vec<String>) {
    let (mut cargo, mut unknown) = (Vec::with_capacity(ids.len()), Vec::new());
    let mut seen = HashSet::with_capacity(ids.len());
    for id in ids {
        if !seen.insert(id.clone()) {
            continue;
        }
        let parsed = id.parse::<CargoId>().ok();
        match parsed.filter(|parsed| parsed.berth() == berth) {
            Some(parsed) => cargo.push(parsed),
            None => unknown.push(id),
        }
    }
    (cargo, unknown)
}

/// The cargo of a request, in its order.
#[derive(Debug, Default)]
struct CargoPoll {
    completed: Vec<CargoId>,
    pending: Vec<CargoId>,
    unknown: Vec<CargoId>,
    time_waited: Duration,
    /// Whether it did not wait because too many requests do.
    is_refused: bool,
}

async fn poll(
    reader: &RecordReader<'_>,
    cargo: &[CargoId],
    duration: Duration,
) -> Result<CargoPoll, ApiError> {
    if cargo.is_empty() {
        return Ok(CargoPoll::default());
    }
    let deadline = Instant::now() + duration;
    let waiters = &reader.handle.waiters;
    let (milestone, wants_to_wait) = (WaitMilestone::Completed, !duration.is_zero());
    let waiter = wants_to_wait.then(|| waiters.wait_for_cargo(reader.project, cargo, milestone));
    let mut poll = read_poll(reader, cargo).await?;
    let Some(waiter) = waiter.flatten() else {
        poll.is_refused = wants_to_wait && !poll.pending.is_empty();
        return Ok(poll);
    };
    let (mut time_waited, mut is_last) = (Duration::ZERO, false);
    while !is_last && poll.completed.is_empty() && !poll.pending.is_empty() {
        let began = Instant::now();
        is_last = waiter.wait_until(deadline).await != WaitEnd::Changed;
        if !is_last {
            sleep(COLLECT_DELAY).await;
        }
        time_waited += began.elapsed();
        let _turn = waiters.acquire_read_turn().await;
        poll = read_poll(reader, cargo).await?;
    }
    Ok(CargoPoll {
        time_waited,
        ..poll
    })
}

async fn read_poll(reader: &RecordReader<'_>, cargo: &[CargoId]) -> Result<CargoPoll, ApiError> {
    let found = completion::find_of_project(&reader.handle.shard, reader.project, cargo).await?;
    let found = found.into_iter().map(|it| (it.cargo, it.is_completed));
    let found: HashMap<CargoId, bool> = found.collect();
    let mut poll = CargoPoll::default();
    for id in cargo {
        let list = match found.get(id) {
            Some(true) => &mut poll.completed,
            Some(false) => &mut poll.pending,
            None => &mut poll.unknown,
        };
        list.push(*id);
    }
    Ok(poll)
}

/// The records of as many completed cargo as an answer may have.
async fn read_records(
    reader: &RecordReader<'_>,
    completed: &[CargoId],
) -> Result<Vec<wire::tracking::TrackingResponse>, ApiError> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    for cargo in completed.iter().take(MAX_RECORDS) {
        let _turn = reader.handle.waiters.acquire_read_turn().await;
        // Its project may have been erased in the meantime.
        if let Some(record) = reader.find(*cargo).await? {
            bytes += record.response.as_ref().map_or(0, |it| it.get().len());
            records.push(record);
        }
        if bytes >= MAX_RECORD_BYTES {
            break;
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_other_berths_and_other_texts_are_unknown() {
        let berth = |number| Berth::new(number).unwrap();
        let id = |number| CargoId::new(<_>::default(), berth(number), 1).to_string();
        let ids = vec![id(1), "x".to_owned(), id(2), id(1)];
        let (cargo, unknown) = separate_ids(ids, berth(1));
        assert_eq!(cargo, [id(1).parse::<CargoId>().unwrap()]);
        assert_eq!(unknown, ["x".to_owned(), id(2)]);
    }
}
