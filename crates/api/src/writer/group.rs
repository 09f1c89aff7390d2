//! One group: written whole, or in halves until the one that cannot be written stands alone.

use store::Shard;
use tokio::sync::mpsc;

use crate::writer::transaction::{self, Outcome};
use crate::writer::{Answer, MOST, MOST_BYTES, NotStored, Stored, Waiting};

#[derive(Debug)]
pub(super) struct Group {
    waiting: Vec<Waiting>,
    bytes: usize,
}

impl Group {
    pub(super) fn starting_with(first: Waiting) -> Self {
        let mut group = Self {
            waiting: Vec::new(),
            bytes: 0,
        };
        group.push(first);
        group
    }

    pub(super) fn push(&mut self, next: Waiting) {
        self.bytes += next.load.request.bytes.len();
        self.waiting.push(next);
    }

    pub(super) const fn is_full(&self) -> bool {
        self.waiting.len() >= MOST || self.bytes >= MOST_BYTES
    }

    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Everyone in the group gets an answer: the truth about their load.
    pub(super) async fn write(self, shard: &Shard, aside: Option<&mpsc::Sender<Waiting>>) {
        let mut groups = vec![self.waiting];
        while let Some(mut group) = groups.pop() {
            let loads: Vec<_> = group.iter().map(|waiting| &waiting.load).collect();
            match transaction::write(shard, &loads, aside.is_some()).await {
                Outcome::Answers(answers) => {
                    for (waiting, answer) in group.into_iter().zip(answers) {
                        match (answer, aside) {
                            (Some(answer), _) => tell(waiting, answer),
                            // Its account is held elsewhere.
                            (None, Some(aside)) => hand_on(waiting, aside).await,
                            (None, None) => tell(waiting, Err(NotStored::Away)),
                        }
                    }
                }
                Outcome::Away => {
                    for waiting in group {
                        tell(waiting, Err(NotStored::Away));
                    }
                }
                Outcome::Refused(text) if group.len() == 1 => {
                    for waiting in group {
                        tell(waiting, Err(NotStored::Failed(text.clone())));
                    }
                }
                Outcome::Refused(_) => {
                    let second = group.split_off(group.len() / 2);
                    groups.push(second);
                    groups.push(group);
                }
            }
        }
    }
}

async fn hand_on(waiting: Waiting, aside: &mpsc::Sender<Waiting>) {
    if let Err(mpsc::error::SendError(waiting)) = aside.send(waiting).await {
        tell(waiting, Err(NotStored::Away));
    }
}

fn tell(waiting: Waiting, answer: Answer) {
    // Before the answer: who hears it and comes again finds the bucket as it is.
    match answer {
        Ok(Stored::New(_)) => waiting.pass.spend(),
        Ok(Stored::Replay(_)) | Err(_) => drop(waiting.pass),
    }
    // Who hung up is not told; the load stands all the same.
    let _ = waiting.answer.send(answer);
}
