//! One group: written whole, or in halves until the one that cannot be written stands alone.

use store::Shard;

use crate::writer::transaction::{self, Outcome, Way};
use crate::writer::{Answer, MAX_GROUP_BYTES, NotStored, QueueSender, Stored, Waiting};

#[derive(Debug)]
pub(super) struct Group {
    waiting: Vec<Waiting>,
    max_loads: usize,
    bytes: usize,
}

impl Group {
    pub(super) fn starting_with(first: Waiting, max_loads: usize) -> Self {
        let mut group = Self {
            waiting: Vec::new(),
            max_loads,
            bytes: 0,
        };
        group.push(first);
        group
    }

    pub(super) fn push(&mut self, mut next: Waiting) {
        next.ticket.begin();
        self.bytes += next.load.request.bytes.len();
        self.waiting.push(next);
    }

    pub(super) const fn is_full(&self) -> bool {
        self.waiting.len() >= self.max_loads || self.bytes >= MAX_GROUP_BYTES
    }

    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Everyone in the group gets an answer: the truth about their load. Says how many the
    /// database decided about.
    pub(super) async fn write(
        self,
        shard: &Shard,
        aside: Option<&QueueSender>,
        takes_long: bool,
    ) -> u32 {
        let way = Way {
            passes_over: aside.is_some(),
            takes_long,
        };
        let mut answered = 0;
        let mut groups = vec![self.waiting];
        while let Some(mut group) = groups.pop() {
            let loads: Vec<_> = group.iter().map(|waiting| &waiting.load).collect();
            match transaction::write(shard, &loads, way).await {
                Outcome::Answers(answers) => {
                    for (waiting, answer) in group.into_iter().zip(answers) {
                        match (answer, aside) {
                            (Some(answer), _) => {
                                answered += 1;
                                tell(waiting, answer);
                            }
                            // Its account is held elsewhere.
                            (None, Some(aside)) => hand_on(waiting, aside),
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
        answered
    }
}

/// Puts a load into the queue of those that wait for an account; the queue is bounded, so
/// that one account's loads never stop the writer of all others.
fn hand_on(mut waiting: Waiting, aside: &QueueSender) {
    match aside.admission.take_over(&waiting.ticket) {
        Ok(ticket) => waiting.ticket = ticket,
        Err(overload) => return tell(waiting, Err(overload.into())),
    }
    if let Err(unsent) = aside.sender.try_send(waiting) {
        tell(unsent.into_inner(), Err(NotStored::Away));
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
