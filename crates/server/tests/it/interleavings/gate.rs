//! The gate: every task of the tested nodes waits here until the scheduler lets it go on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use store::pool::intercept::{Interceptor, Statement, Verdict};
use tokio::sync::{Notify, oneshot};

tokio::task_local! {
    /// The stage that a task runs; tasks that a stage spawned have none.
    pub(super) static STAGE: &'static str;
}

/// What a task is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    /// Begin the next step of its stage.
    Step,
    /// Send a statement.
    Statement(Statement),
    /// Take the answer of a statement that has run.
    Answer,
    /// Call a provider or a receiver: nothing has happened yet.
    Call(&'static str),
    /// Take the reply of a call that had its effect.
    Reply(&'static str),
}

/// How a task goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Continue,
    /// It goes on and does not wait before so many statements that follow.
    Burst(u32),
    /// Nothing is sent, and the connection is lost.
    Fail,
    /// It happens, and its answer is lost.
    LoseAnswer,
    /// It happens, and the task waits once more before it has the answer.
    HoldAnswer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) number: u64,
    pub(super) node: usize,
    pub(super) stage: &'static str,
    pub(super) point: Point,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, stage) = (self.node, self.stage);
        match self.point {
            Point::Step => write!(f, "node {node} {stage}: step"),
            Point::Statement(Statement::Other) => write!(f, "node {node} {stage}: statement"),
            Point::Statement(other) => write!(f, "node {node} {stage}: {other:?}"),
            Point::Answer => write!(f, "node {node} {stage}: answer"),
            Point::Call(what) => write!(f, "node {node} {stage}: call {what}"),
            Point::Reply(what) => write!(f, "node {node} {stage}: reply of {what}"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    /// Something arrived here, or a statement has run.
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<u64, (Ticket, oneshot::Sender<Decision>)>,
    next: u64,
    /// Only steps wait; everything inside a step goes on at once.
    is_open: bool,
    /// Tasks that wait once more when their statement has run.
    held: HashSet<tokio::task::Id>,
    /// How many statements of a task need not wait.
    bursts: HashMap<tokio::task::Id, u32>,
}

impl State {
    fn passes(&mut self, point: Point) -> bool {
        if self.is_open || !matches!(point, Point::Statement(_)) {
            return self.is_open && point != Point::Step;
        }
        let left = tokio::task::try_id().and_then(|id| self.bursts.get_mut(&id));
        left.is_some_and(|left| {
            let passes = *left > 0;
            *left = left.saturating_sub(1);
            passes
        })
    }
}

impl Gate {
    /// Waits for the scheduler.
    pub(super) async fn pass(&self, node: usize, point: Point) -> Decision {
        let (decide, decided) = oneshot::channel();
        let name = STAGE.try_with(|name| *name).unwrap_or("task");
        let number = {
            let mut state = self.lock();
            if state.passes(point) {
                drop(state);
                self.changed.notify_one();
                return Decision::Continue;
            }
            let number = state.next;
            state.next += 1;
            let ticket = Ticket {
                number,
                node,
                stage: name,
                point,
            };
            state.waiting.insert(number, (ticket, decide));
            number
        };
        self.changed.notify_one();
        let _place = Place { gate: self, number };
        let decision = decided.await.unwrap_or(Decision::Continue);
        if let (Decision::Burst(count), Some(id)) = (decision, tokio::task::try_id()) {
            self.lock().bursts.insert(id, count);
            return Decision::Continue;
        }
        decision
    }

    /// Who waits, in an order that does not depend on who came first.
    pub(super) fn waiting(&self) -> Vec<Ticket> {
        let state = self.lock();
        let mut tickets: Vec<Ticket> = state.waiting.values().map(|(ticket, _)| *ticket).collect();
        tickets.sort_by_key(|it| (it.node, it.stage, it.number));
        tickets
    }

    pub(super) fn count(&self) -> usize {
        self.lock().waiting.len()
    }

    pub(super) fn let_go(&self, ticket: Ticket, decision: Decision) {
        let waiting = self.lock().waiting.remove(&ticket.number);
        if let Some((_, decide)) = waiting {
            // A task that was dropped meanwhile needs no answer.
            let _ = decide.send(decision);
        }
    }

    /// From now on only steps wait, or everything again.
    pub(super) fn set_open(&self, is_open: bool) {
        let mut state = self.lock();
        state.is_open = is_open;
        state.bursts.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// A task that is dropped while it waits leaves no ticket behind.
struct Place<'a> {
    gate: &'a Gate,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.gate.lock().waiting.remove(&self.number);
        self.gate.changed.notify_one();
    }
}

/// Leads the statements of one node to the gate.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) node: usize,
    pub(super) gate: Arc<Gate>,
}

#[async_trait::async_trait]
impl Interceptor for Statements {
    async fn before(&self, statement: Statement) -> Verdict {
        let point = Point::Statement(statement);
        match self.gate.pass(self.node, point).await {
            Decision::Continue | Decision::Burst(_) => Verdict::Run,
            Decision::Fail => Verdict::Fail,
            Decision::LoseAnswer => Verdict::LoseAnswer,
            Decision::HoldAnswer => {
                self.gate.lock().held.extend(tokio::task::try_id());
                Verdict::Run
            }
        }
    }

    async fn after(&self, _: Statement) {
        self.gate.changed.notify_one();
        let id = tokio::task::try_id();
        if id.is_some_and(|id| self.gate.lock().held.remove(&id)) {
            self.gate.pass(self.node, Point::Answer).await;
        }
    }
}
