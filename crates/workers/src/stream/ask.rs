//! The items of one batch, asked for side by side.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use domain::account_fault::AccountFaultReports;
use domain::model::Model;
use domain::outcome::Outcome;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use outbound::provider::Item;
use outbound::provider::call::CallFailure;
use outbound::provider::ending::ItemEnd;
use outbound::provider::server::Server;
use outbound::provider::server::concurrency::{Concurrency, Ended};
use store::shard::manifest::{self, Head};

use super::place::Place;
use super::{PATIENCE, Streamer};
use crate::claimed::ClaimedBatch;
use crate::counted::counted;
use crate::manifest::{StoredRequest, read_chunk};
use crate::media;
use crate::onward::last_word;
use crate::storing::{self, Finished};

/// So often one question is asked of a server that is well, before it is left for later.
const MOST_TRIES: u32 = 3;
/// What the questions of one batch that are under way may take in memory, unpacked; a single one
/// may take more.
const MAX_BYTES_ASKED: usize = 16 << 20;
/// How long a place with the server is waited for.
const PLACE: Duration = Duration::from_millis(20);
/// After so many failures without an answer between them the server is left alone.
const MOST_TROUBLE: usize = 8;

pub(super) struct Asking<'a> {
    pub(super) streamer: &'a Streamer,
    pub(super) claimed: &'a ClaimedBatch,
    pub(super) upstream: &'a str,
    pub(super) server: &'a Server,
    pub(super) bears: &'a Mutex<Concurrency>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) stored: usize,
    /// The server is not to be asked for now; what is open stays in the batch.
    pub(super) is_troubled: bool,
    /// Why the account is to be paused.
    pub(super) account_fault: Option<String>,
    /// What items say about the account.
    pub(super) reports: AccountFaultReports,
    /// Whether a control call was made because of a report.
    is_account_checked: bool,
    failures: usize,
    /// Of the questions that are under way, unpacked.
    bytes: usize,
}

struct Question {
    item: Item,
    head: Head,
    /// Unpacked.
    bytes: usize,
    /// How often it was asked in vain, for no reason that all share.
    tries: u32,
}

struct Answered<'a> {
    question: Question,
    place: Place<'a>,
    end: Result<ItemEnd, CallFailure>,
}

impl<'a> Asking<'a> {
    pub(super) async fn all(&self) -> Result<Asked, store::Error> {
        let (shard, batch) = (&self.streamer.shard, &self.claimed.batch);
        let heads = manifest::heads(shard, batch.id, &batch.cargo).await?;
        let mut unread = VecDeque::from(heads);
        let mut stored: VecDeque<StoredRequest> = VecDeque::new();
        let mut open: VecDeque<Question> = VecDeque::new();
        let mut asked = Asked::default();
        let mut under_way = FuturesUnordered::new();
        loop {
            if open.is_empty() && stored.is_empty() && !unread.is_empty() {
                stored.extend(read_chunk(shard, &mut unread).await?);
            }
            let mut finished = Vec::new();
            while !asked.is_troubled
                && Self::has_next(&mut open, &mut stored, &asked, &mut finished)
                && let Some(place) = Place::take(self.bears)
                && let Some(question) = open.pop_front()
            {
                asked.bytes += question.bytes;
                under_way.push(self.ask(question, place));
            }
            asked.stored += self.store(finished).await?;
            let Some(first) = self.claimed.while_held(under_way.next()).await? else {
                let is_done = open.is_empty() && stored.is_empty();
                if asked.is_troubled || (is_done && unread.is_empty()) {
                    break;
                }
                if open.is_empty() {
                    continue;
                }
                // All places are taken by other batches.
                tokio::time::sleep(PLACE).await;
                continue;
            };
            let mut finished = Vec::new();
            let mut next = Some(first);
            // What came meanwhile is stored together, and nothing waits for more to come.
            while let Some(answered) = next {
                open.extend(self.note(answered, &mut asked, &mut finished));
                next = under_way.next().now_or_never().flatten();
            }
            asked.stored += self.store(finished).await?;
            self.judge_account(&mut asked).await;
        }
        Ok(asked)
    }

    /// Stops asking when the account is at fault: items of two organizations met it, or the list
    /// of models is refused for it too. The list is asked for at most once per batch.
    async fn judge_account(&self, asked: &mut Asked) {
        if asked.reports.is_empty() || asked.account_fault.is_some() {
            return;
        }
        let mut fault = asked.reports.confirmed().map(str::to_owned);
        if fault.is_none() && !asked.is_account_checked {
            asked.is_account_checked = true;
            fault = match self.server.models().await {
                Err(failure @ (CallFailure::Unauthorized | CallFailure::OutOfFunds)) => {
                    Some(failure.to_string())
                }
                Ok(_) | Err(_) => None,
            };
        }
        asked.is_troubled |= fault.is_some();
        asked.account_fault = fault;
    }

    /// Whether there is a question to ask now. One that is stored is unpacked only when it can be
    /// asked: its turn has come, and what is under way leaves memory for it.
    fn has_next(
        open: &mut VecDeque<Question>,
        stored: &mut VecDeque<StoredRequest>,
        asked: &Asked,
        finished: &mut Vec<(Finished, bool)>,
    ) -> bool {
        while open.is_empty()
            && let Some(next) = stored.front()
        {
            let bytes = next.unpacked_len();
            if asked.bytes > 0 && asked.bytes + bytes > MAX_BYTES_ASKED {
                return false;
            }
            match stored.pop_front().map(StoredRequest::open) {
                Some(Ok((item, head))) => open.push_back(Question {
                    item,
                    head,
                    bytes,
                    tries: 0,
                }),
                Some(Err(failed)) => finished.push((*failed, true)),
                None => {}
            }
        }
        !open.is_empty()
    }

    async fn ask(&self, question: Question, place: Place<'a>) -> Answered<'a> {
        let item = &question.item;
        let form = |media_type| self.server.form(media_type);
        let objects = self.streamer.objects.as_ref();
        let end = match media::fetch(&self.streamer.shard, objects, item, form).await {
            Ok(media) => {
                let asked = self.server.ask(item, self.upstream, &media, PATIENCE);
                asked.await
            }
            Err(failure) => Err(CallFailure::Unavailable {
                why: failure.to_string(),
                retry_after: None,
            }),
        };
        Answered {
            question,
            place,
            end,
        }
    }

    /// What is to be asked again at once.
    fn note(
        &self,
        answered: Answered<'_>,
        asked: &mut Asked,
        finished: &mut Vec<(Finished, bool)>,
    ) -> Option<Question> {
        let Answered {
            mut question,
            place,
            end,
        } = answered;
        place.end(how(&end));
        asked.bytes = asked.bytes.saturating_sub(question.bytes);
        let head = &question.head;
        match end {
            Ok(ItemEnd::Outcome {
                outcome,
                usage_known,
            }) => {
                asked.failures = 0;
                let one = self.finished(question.head, outcome);
                finished.push((one, usage_known));
                None
            }
            // At the end of the batch it takes the next way.
            Ok(ItemEnd::Again(why)) => {
                self.count_attempt(question.head, &why, finished);
                None
            }
            Ok(ItemEnd::AccountFault(why)) => {
                asked.reports.add(head.organization, &why);
                self.count_attempt(question.head, &why, finished);
                None
            }
            Err(failure @ (CallFailure::Unauthorized | CallFailure::OutOfFunds)) => {
                let why = failure.to_string();
                asked.reports.add(head.organization, &why);
                self.count_attempt(question.head, &why, finished);
                None
            }
            Err(failure) => {
                tracing::debug!(provider = self.claimed.lane.provider, %failure, "a question has no answer");
                asked.failures += 1;
                asked.is_troubled |= asked.failures >= MOST_TROUBLE;
                question.tries += u32::from(!matches!(failure, CallFailure::Busy { .. }));
                if question.tries < MOST_TRIES {
                    return Some(question);
                }
                // One of many that all fail is not the one to blame.
                if asked.failures < MOST_TROUBLE {
                    self.count_attempt(question.head, &failure.to_string(), finished);
                }
                None
            }
        }
    }

    /// An item without an answer goes again, or fails when it has gone often enough.
    fn count_attempt(&self, head: Head, why: &str, finished: &mut Vec<(Finished, bool)>) {
        if let Some(outcome) = last_word(&head, why) {
            finished.push((self.finished(head, outcome), true));
        }
    }

    fn finished(&self, head: Head, outcome: Outcome) -> Finished {
        Finished {
            head,
            outcome,
            realtime: self.claimed.model.as_ref().and_then(Model::realtime),
        }
    }

    async fn store(&self, finished: Vec<(Finished, bool)>) -> Result<usize, store::Error> {
        if finished.is_empty() {
            return Ok(0);
        }
        let (shard, slots) = (&self.streamer.shard, Some(&self.streamer.callback_slots));
        let finished = counted(shard, finished).await?;
        let (batch, claim) = (self.claimed.batch.id, self.claimed.claim);
        storing::store(shard, batch, claim, slots, finished, shard.clock.now()).await
    }
}

const fn how(end: &Result<ItemEnd, CallFailure>) -> Ended {
    match end {
        Ok(ItemEnd::Outcome { .. }) => Ended::Well,
        Err(
            CallFailure::Busy { .. } | CallFailure::Unavailable { .. } | CallFailure::Unknown(_),
        ) => Ended::Troubled,
        Ok(ItemEnd::Again(_) | ItemEnd::AccountFault(_)) | Err(_) => Ended::Aside,
    }
}
