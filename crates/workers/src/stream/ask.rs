//! The items of one batch, asked for side by side.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use domain::model::Model;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use outbound::provider::Item;
use outbound::provider::call::CallFailure;
use outbound::provider::ending::ItemEnd;
use outbound::provider::server::Server;
use outbound::provider::server::concurrency::{Concurrency, Ended, Turn};
use store::shard::manifest::{self, Head};

use super::{Load, PATIENCE, Stream, lock};
use crate::counted::counted;
use crate::manifest::items;
use crate::media;
use crate::storing::{self, Finished};

/// Answers that wait to be stored together.
const AT_ONCE: usize = 50;
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
    pub(super) account_fault: Option<String>,
    failures: usize,
}

struct Answered {
    item: Item,
    head: Head,
    turn: Turn,
    end: Result<ItemEnd, CallFailure>,
}

impl Asking<'_> {
    pub(super) async fn all(&self) -> Result<Asked, store::Error> {
        let (shard, batch) = (&self.stream.shard, self.load.batch);
        let heads = manifest::heads(shard, batch.id, &batch.cargo).await?;
        let mut open: VecDeque<(Item, Head)> = items(shard, heads).await?.into();
        let mut asked = Asked::default();
        let mut under_way = FuturesUnordered::new();
        let mut finished: Vec<(Finished, bool)> = Vec::new();
        loop {
            while !asked.is_troubled
                && !open.is_empty()
                && let Some(turn) = lock(self.bears).begin()
            {
                match open.pop_front() {
                    Some((item, head)) => under_way.push(self.ask(item, head, turn)),
                    None => lock(self.bears).end(turn, Ended::Aside),
                }
            }
            let Some(answered) = under_way.next().await else {
                if open.is_empty() || asked.is_troubled {
                    break;
                }
                // All places are taken by other batches.
                tokio::time::sleep(PLACE).await;
                continue;
            };
            open.extend(self.note(answered, &mut asked, &mut finished));
            if finished.len() >= AT_ONCE || under_way.is_empty() {
                asked.stored += self.store(std::mem::take(&mut finished)).await?;
            }
        }
        Ok(asked)
    }

    async fn ask(&self, item: Item, head: Head, turn: Turn) -> Answered {
        let form = |media_type| self.server.form(media_type);
        let objects = self.stream.objects.as_ref();
        let end = match media::fetch(&self.stream.shard, objects, &item, form).await {
            Ok(media) => {
                let asked = self.server.ask(&item, self.upstream, &media, PATIENCE);
                asked.await
            }
            Err(failure) => Err(CallFailure::Unavailable {
                why: failure.to_string(),
                retry_after: None,
            }),
        };
        Answered {
            item,
            head,
            turn,
            end,
        }
    }

    /// What is to be asked again at once.
    fn note(
        &self,
        answered: Answered,
        asked: &mut Asked,
        finished: &mut Vec<(Finished, bool)>,
    ) -> Option<(Item, Head)> {
        let Answered {
            item,
            head,
            turn,
            end,
        } = answered;
        lock(self.bears).end(turn, how(&end));
        match end {
            Ok(ItemEnd::Outcome {
                outcome,
                usage_known,
            }) => {
                asked.failures = 0;
                let model = self.load.model.as_ref();
                let one = Finished {
                    head,
                    outcome,
                    realtime: model.and_then(Model::realtime),
                };
                finished.push((one, usage_known));
                None
            }
            // At the end of the batch it takes the next way.
            Ok(ItemEnd::Again(_)) => None,
            Ok(ItemEnd::AccountFault(reason)) => {
                asked.account_fault = Some(reason);
                None
            }
            Err(failure @ (CallFailure::Unauthorized | CallFailure::OutOfFunds)) => {
                asked.account_fault = Some(failure.to_string());
                // The others would hear the same.
                asked.is_troubled = true;
                None
            }
            Err(failure) => {
                tracing::debug!(provider = self.load.lane.provider, %failure, "a question has no answer");
                asked.failures += 1;
                asked.is_troubled |= asked.failures >= MOST_TROUBLE;
                Some((item, head))
            }
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
