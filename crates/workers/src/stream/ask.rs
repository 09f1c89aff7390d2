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
use super::{Load, PATIENCE, Stream};
use crate::counted::counted;
use crate::manifest::handful;
use crate::media;
use crate::onward::last_word;
use crate::storing::{self, Finished};

/// So often one question is asked of a server that is well, before it is left for later.
const MOST_TRIES: u32 = 3;
/// How long a place with the server is waited for.
const PLACE: Duration = Duration::from_millis(20);
/// After so many failures without an answer between them the server is left alone.
const MOST_TROUBLE: usize = 8;

pub(super) struct Asking<'a> {
    pub(super) stream: &'a Stream,
    pub(super) load: &'a Load<'a>,
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
}

struct Question {
    item: Item,
    head: Head,
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
        let (shard, batch) = (&self.stream.shard, self.load.batch);
        let heads = manifest::heads(shard, batch.id, &batch.cargo).await?;
        let mut unread = VecDeque::from(heads);
        let mut open: VecDeque<Question> = VecDeque::new();
        let mut asked = Asked::default();
        let mut under_way = FuturesUnordered::new();
        loop {
            if open.is_empty() && !unread.is_empty() {
                for stowed in handful(shard, &mut unread).await? {
                    let (item, head) = stowed.open()?;
                    open.push_back(Question {
                        item,
                        head,
                        tries: 0,
                    });
                }
            }
            while !asked.is_troubled
                && !open.is_empty()
                && let Some(place) = Place::take(self.bears)
                && let Some(question) = open.pop_front()
            {
                under_way.push(self.ask(question, place));
            }
            let Some(first) = under_way.next().await else {
                if asked.is_troubled || (open.is_empty() && unread.is_empty()) {
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

    async fn ask(&self, question: Question, place: Place<'a>) -> Answered<'a> {
        let item = &question.item;
        let form = |media_type| self.server.form(media_type);
        let objects = self.stream.objects.as_ref();
        let end = match media::fetch(&self.stream.shard, objects, item, form).await {
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
                tracing::debug!(provider = self.load.lane.provider, %failure, "a question has no answer");
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
            realtime: self.load.model.as_ref().and_then(Model::realtime),
        }
    }

    async fn store(&self, finished: Vec<(Finished, bool)>) -> Result<usize, store::Error> {
        if finished.is_empty() {
            return Ok(0);
        }
        let (shard, desk) = (&self.stream.shard, Some(&self.stream.desk));
        let finished = counted(shard, finished).await?;
        let (batch, claim) = (self.load.batch.id, self.load.claim);
        storing::store(shard, batch, claim, desk, finished, shard.clock.now()).await
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
