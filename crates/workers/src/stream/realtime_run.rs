//! Sends the items of one batch as concurrent realtime requests.

use std::collections::VecDeque;
use std::time::Duration;

use chrono::TimeDelta;
use domain::account_fault::AccountFaultReports;
use domain::route::Route;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use outbound::provider::BatchItem;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::item_result::{ItemBill, ItemResult};
use outbound::provider::realtime::RealtimeProvider;
use outbound::provider::realtime::concurrency_limiter::{ConcurrencyFeedback, ConcurrencyLimiter};
use parking_lot::Mutex;
use store::shard::batch_submission;
use store::shard::earlier_cost::{self, BilledAttempt};
use store::shard::manifest::OpenCargo;

use super::ANSWER_TIMEOUT;
use super::flex::{FlexProgress, FlexVerdict, answer_timeout};
use super::permit_guard::PermitGuard;
use crate::claimed_batch::ClaimedBatch;
use crate::media;
use crate::outcome_writer::FinishedCargo;
use crate::requeue::final_failure;
use crate::stop_sequences;
use crate::stored_requests::{StoredRequest, read_chunk};
use crate::usage_estimate::estimate_missing_usage;

/// How often a request is tried at a healthy server before its cargo is requeued.
const MAX_ATTEMPTS_PER_REQUEST: u32 = 3;
/// How many unpacked bytes the requests in flight of one batch may have. A single request may have
/// more.
const MAX_BYTES_IN_FLIGHT: usize = 16 << 20;
/// How long to wait before trying to get a permit again.
const PERMIT_RETRY_DELAY: Duration = Duration::from_millis(20);
/// Why a flex request used an attempt whose results are unknown.
const UNKNOWN_RESULT: &str = "no response to a flex request before the timeout";
/// After this many failures in a row no more requests are sent to the server for now.
const MAX_CONSECUTIVE_FAILURES: usize = 8;

pub(super) struct RealtimeRun<'a> {
    pub(super) claimed: &'a ClaimedBatch,
    pub(super) route: &'a Route,
    /// Whether the model has a realtime route.
    pub(super) has_realtime: bool,
    pub(super) provider: &'a dyn RealtimeProvider,
    pub(super) limiter: &'a Mutex<ConcurrencyLimiter>,
}

/// How far a batch has come.
#[derive(Debug, Default)]
pub(super) struct RealtimeProgress {
    pub(super) stored: usize,
    /// The server gets no more requests for now. The open cargo stays in the batch.
    pub(super) is_failing: bool,
    /// Why the account must be paused.
    pub(super) account_fault: Option<String>,
    /// The account faults that items report.
    pub(super) reports: AccountFaultReports,
    pub(super) flex: FlexProgress,
    /// Whether a control call has checked the account because of a report.
    is_account_checked: bool,
    consecutive_failures: usize,
    /// What answers without an outcome cost us, not recorded yet.
    billed: Vec<BilledAttempt>,
    /// Of the requests in flight, unpacked.
    bytes_in_flight: usize,
}

struct RealtimeRequest {
    item: BatchItem,
    open_cargo: OpenCargo,
    /// Unpacked.
    bytes: usize,
    /// How often it failed for a reason other than a rate limit.
    attempts: u32,
}

struct RealtimeResponse<'a> {
    request: RealtimeRequest,
    permit: PermitGuard<'a>,
    result: Result<ItemResult, ProviderCallFailure>,
    took: TimeDelta,
}

impl<'a> RealtimeRun<'a> {
    pub(super) async fn run(&self) -> Result<RealtimeProgress, store::Error> {
        let (shard, claimed) = (self.claimed.shard(), self.claimed);
        // Before the list: what is cancelled later than this may be sent.
        batch_submission::close_to_cancelling(shard, claimed.batch.id, claimed.claim).await?;
        let mut unread = VecDeque::from(claimed.list_to_send(shard.clock.now()).await?);
        let mut stored: VecDeque<StoredRequest> = VecDeque::new();
        let mut open: VecDeque<RealtimeRequest> = VecDeque::new();
        let mut progress = RealtimeProgress::default();
        let mut under_way = FuturesUnordered::new();
        loop {
            if open.is_empty() && stored.is_empty() && !unread.is_empty() {
                stored.extend(read_chunk(shard, &mut unread).await?);
            }
            let mut finished = Vec::new();
            while !progress.is_failing
                && !progress.flex.is_refused()
                && Self::has_next(&mut open, &mut stored, &progress, &mut finished)
                && let Some(place) = PermitGuard::try_acquire(self.limiter)
                && let Some(question) = open.pop_front()
            {
                progress.bytes_in_flight += question.bytes;
                under_way.push(self.send(question, place));
            }
            progress.stored += self.store_finished(finished).await?;
            let Some(first) = self.claimed.run_while_leased(under_way.next()).await? else {
                let is_done = open.is_empty() && stored.is_empty();
                let is_stopped = progress.is_failing || progress.flex.is_refused();
                if is_stopped || (is_done && unread.is_empty()) {
                    break;
                }
                if open.is_empty() {
                    continue;
                }
                // Other batches hold all permits.
                tokio::time::sleep(PERMIT_RETRY_DELAY).await;
                continue;
            };
            let mut finished = Vec::new();
            let mut next = Some(first);
            // Answers that are ready are stored together. None waits for more to arrive.
            while let Some(answered) = next {
                open.extend(self.handle_response(answered, &mut progress, &mut finished));
                next = under_way.next().now_or_never().flatten();
            }
            progress.stored += self.store_finished(finished).await?;
            self.record_billed(&mut progress).await?;
            self.judge_account(&mut progress).await;
        }
        Ok(progress)
    }

    /// Stops sending when the account is at fault: items of two organizations report it, or the
    /// list of models is refused too. The list is requested at most once per batch.
    async fn judge_account(&self, progress: &mut RealtimeProgress) {
        if progress.reports.is_empty() || progress.account_fault.is_some() {
            return;
        }
        let mut fault = progress.reports.confirmed().map(str::to_owned);
        if fault.is_none() && !progress.is_account_checked {
            progress.is_account_checked = true;
            fault = match self.provider.list_models().await {
                Err(
                    failure
                    @ (ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit),
                ) => Some(failure.to_string()),
                Ok(_) | Err(_) => None,
            };
        }
        progress.is_failing |= fault.is_some();
        progress.account_fault = fault;
    }

    /// Whether there is a request to send now. A stored request is unpacked only when it is next
    /// and the requests in flight leave memory for it.
    fn has_next(
        open: &mut VecDeque<RealtimeRequest>,
        stored: &mut VecDeque<StoredRequest>,
        progress: &RealtimeProgress,
        finished: &mut Vec<FinishedCargo>,
    ) -> bool {
        while open.is_empty()
            && let Some(next) = stored.front()
        {
            let bytes = next.unpacked_len();
            if progress.bytes_in_flight > 0
                && progress.bytes_in_flight + bytes > MAX_BYTES_IN_FLIGHT
            {
                return false;
            }
            match stored.pop_front().map(StoredRequest::unpack) {
                Some(Ok((item, head))) => open.push_back(RealtimeRequest {
                    item,
                    open_cargo: head,
                    bytes,
                    attempts: 0,
                }),
                Some(Err(failed)) => finished.push(*failed),
                None => {}
            }
        }
        !open.is_empty()
    }

    async fn send(
        &self,
        question: RealtimeRequest,
        place: PermitGuard<'a>,
    ) -> RealtimeResponse<'a> {
        let item = &question.item;
        let form = |media_type| self.provider.media_form(media_type);
        let deps = &self.claimed.deps;
        let began_at = deps.shard.clock.now();
        let left = question.open_cargo.deadline_at - began_at;
        let within = answer_timeout(self.route.via, ANSWER_TIMEOUT, left, self.has_realtime);
        let end = match media::fetch(&deps.shard, deps.objects.as_ref(), item, form).await {
            Ok(media) => {
                self.provider
                    .complete_item(item, self.route, &media, within)
                    .await
            }
            Err(failure) => Err(ProviderCallFailure::Unavailable {
                why: failure.to_string(),
                retry_after: None,
            }),
        };
        RealtimeResponse {
            request: question,
            permit: place,
            result: end,
            took: deps.shard.clock.now() - began_at,
        }
    }

    /// Handles a response; returns the request if it must be sent again at once.
    fn handle_response(
        &self,
        answered: RealtimeResponse<'_>,
        progress: &mut RealtimeProgress,
        finished: &mut Vec<FinishedCargo>,
    ) -> Option<RealtimeRequest> {
        let RealtimeResponse {
            request: mut question,
            permit: place,
            result: end,
            took,
        } = answered;
        place.release(classify_end(&end));
        progress.bytes_in_flight = progress.bytes_in_flight.saturating_sub(question.bytes);
        let head = &question.open_cargo;
        let cargo = head.cargo;
        match progress.flex.judge(self.claimed, cargo, &end, took) {
            FlexVerdict::Usual => {}
            FlexVerdict::SendAgain => return Some(question),
            FlexVerdict::KeepAttempt => return None,
            FlexVerdict::CountAttempt => {
                finished.extend(self.count_attempt(question.open_cargo, UNKNOWN_RESULT));
                return None;
            }
        }
        match end {
            Ok(result) => {
                finished.extend(self.handle_result(question, result, progress));
                None
            }
            Err(
                failure @ (ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit),
            ) => {
                let why = failure.to_string();
                progress.flex.record_attempt(cargo);
                progress.reports.add(head.organization, &why);
                finished.extend(self.count_attempt(question.open_cargo, &why));
                None
            }
            Err(failure) => {
                tracing::debug!(
                    provider = self.claimed.lane.provider,
                    failure = failure.diagnosis(),
                    "a realtime request was not answered"
                );
                progress.consecutive_failures += 1;
                progress.is_failing |= progress.consecutive_failures >= MAX_CONSECUTIVE_FAILURES;
                question.attempts +=
                    u32::from(!matches!(failure, ProviderCallFailure::RateLimited { .. }));
                if question.attempts < MAX_ATTEMPTS_PER_REQUEST {
                    return Some(question);
                }
                // When all requests fail, the cause is the server and not this request.
                if progress.consecutive_failures < MAX_CONSECUTIVE_FAILURES {
                    progress.flex.record_attempt(cargo);
                    finished.extend(self.count_attempt(question.open_cargo, &failure.to_string()));
                }
                None
            }
        }
    }

    /// The outcome of a result. An item without one is requeued at the end of the batch.
    fn handle_result(
        &self,
        question: RealtimeRequest,
        result: ItemResult,
        progress: &mut RealtimeProgress,
    ) -> Option<FinishedCargo> {
        let (context, head) = (self.claimed.result_context(), question.open_cargo);
        match result {
            ItemResult::Answer(answer) => {
                progress.consecutive_failures = 0;
                let stops = stop_sequences::of_request(&question.item.params);
                Some(context.answered(head, answer, stops))
            }
            ItemResult::Embeddings { vectors, usage } => {
                progress.consecutive_failures = 0;
                Some(context.embedded(head, vectors, usage))
            }
            ItemResult::Failure { failure, billed } => {
                progress.consecutive_failures = 0;
                Some(context.failed(head, failure, billed))
            }
            ItemResult::Retry { why, billed } => {
                let failure = final_failure(&head, &why);
                if failure.is_none() {
                    let unanswered = context.billed_attempt(&head, billed);
                    progress.billed.extend(unanswered);
                }
                Some(context.failed(head, failure?, billed))
            }
            ItemResult::AccountFault(why) => {
                progress.reports.add(head.organization, &why);
                self.count_attempt(head, &why)
            }
        }
    }

    /// Leaves an unanswered item to be requeued, or fails it when its attempts are used up.
    fn count_attempt(&self, head: OpenCargo, why: &str) -> Option<FinishedCargo> {
        let failure = final_failure(&head, why)?;
        let context = self.claimed.result_context();
        Some(context.failed(head, failure, ItemBill::default()))
    }

    /// Every call is billed, so what a call cost is recorded even if the batch does not end.
    async fn record_billed(&self, progress: &mut RealtimeProgress) -> Result<(), store::Error> {
        let billed = std::mem::take(&mut progress.billed);
        let (batch, claim) = (self.claimed.batch.id, self.claimed.claim);
        earlier_cost::add(self.claimed.shard(), batch, claim, &billed).await
    }

    async fn store_finished(&self, finished: Vec<FinishedCargo>) -> Result<usize, store::Error> {
        if finished.is_empty() {
            return Ok(0);
        }
        let shard = self.claimed.shard();
        let finished = estimate_missing_usage(shard, finished).await?;
        let now = shard.clock.now();
        self.claimed.store_outcomes(finished, now).await
    }
}

const fn classify_end(end: &Result<ItemResult, ProviderCallFailure>) -> ConcurrencyFeedback {
    match end {
        Ok(ItemResult::Answer(_) | ItemResult::Embeddings { .. } | ItemResult::Failure { .. }) => {
            ConcurrencyFeedback::Success
        }
        Err(
            ProviderCallFailure::RateLimited { .. }
            | ProviderCallFailure::Unavailable { .. }
            | ProviderCallFailure::Indeterminate(_),
        ) => ConcurrencyFeedback::Overloaded,
        Ok(ItemResult::Retry { .. } | ItemResult::AccountFault(_)) | Err(_) => {
            ConcurrencyFeedback::Ignored
        }
    }
}
