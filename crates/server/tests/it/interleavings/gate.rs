//! The gate: every task of the tested nodes waits here until the scheduler releases it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use store::pool::intercept::{InterceptAction, InterceptedStatement, Interceptor};
use tokio::sync::{Notify, oneshot};

tokio::task_local! {
    /// The stage that a task runs. Tasks that a stage spawned have none.
    pub(super) static STAGE: &'static str;
}

/// What a task is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GatePoint {
    /// Begin the next step of its stage.
    Step,
    /// Send a statement.
    Statement(InterceptedStatement),
    /// Receive the answer to a statement that has run.
    Answer,
    /// Call a provider or a receiver. The call has had no effect yet.
    Call(&'static str),
    /// Receive the reply to a call that has had its effect.
    Reply(&'static str),
}

/// How a task continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateDecision {
    Continue,
    /// It continues, and does not wait before this many of its next statements.
    Burst(u32),
    /// The statement or call is not sent, and the connection is lost.
    Fail,
    /// It takes effect, and its answer is lost.
    LoseAnswer,
    /// It takes effect, and the task waits once more before it receives the answer.
    HoldAnswer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GateTicket {
    pub(super) number: u64,
    pub(super) node: usize,
    pub(super) stage: &'static str,
    pub(super) point: GatePoint,
}

impl fmt::Display for GateTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, stage) = (self.node, self.stage);
        match self.point {
            GatePoint::Step => write!(f, "node {node} {stage}: step"),
            GatePoint::Statement(InterceptedStatement::Other) => {
                write!(f, "node {node} {stage}: statement")
            }
            GatePoint::Statement(other) => write!(f, "node {node} {stage}: {other:?}"),
            GatePoint::Answer => write!(f, "node {node} {stage}: answer"),
            GatePoint::Call(what) => write!(f, "node {node} {stage}: call {what}"),
            GatePoint::Reply(what) => write!(f, "node {node} {stage}: reply of {what}"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct TaskGate {
    state: Mutex<GateState>,
    /// Notified when a task arrives at the gate or a statement has run.
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
struct GateState {
    waiting: BTreeMap<u64, (GateTicket, oneshot::Sender<GateDecision>)>,
    next_number: u64,
    /// If open, only steps wait. Everything inside a step continues immediately.
    is_open: bool,
    /// Tasks that wait once more after their statement has run.
    holding_answer: HashSet<tokio::task::Id>,
    /// How many of a task's next statements do not wait.
    bursts: HashMap<tokio::task::Id, u32>,
}

impl GateState {
    fn may_pass(&mut self, point: GatePoint) -> bool {
        if self.is_open || !matches!(point, GatePoint::Statement(_)) {
            return self.is_open && point != GatePoint::Step;
        }
        let left = tokio::task::try_id().and_then(|id| self.bursts.get_mut(&id));
        left.is_some_and(|left| {
            let passes = *left > 0;
            *left = left.saturating_sub(1);
            passes
        })
    }
}

impl TaskGate {
    /// Waits until the scheduler decides.
    pub(super) async fn pass(&self, node: usize, point: GatePoint) -> GateDecision {
        let (decide, decided) = oneshot::channel();
        let name = STAGE.try_with(|name| *name).unwrap_or("task");
        let number = {
            let mut state = self.lock();
            if state.may_pass(point) {
                drop(state);
                self.changed.notify_one();
                return GateDecision::Continue;
            }
            let number = state.next_number;
            state.next_number += 1;
            let ticket = GateTicket {
                number,
                node,
                stage: name,
                point,
            };
            state.waiting.insert(number, (ticket, decide));
            number
        };
        self.changed.notify_one();
        let _guard = TicketGuard { gate: self, number };
        let decision = decided.await.unwrap_or(GateDecision::Continue);
        if let (GateDecision::Burst(count), Some(id)) = (decision, tokio::task::try_id()) {
            self.lock().bursts.insert(id, count);
            return GateDecision::Continue;
        }
        decision
    }

    /// The waiting tasks, in an order that does not depend on their arrival across stages.
    pub(super) fn waiting_tickets(&self) -> Vec<GateTicket> {
        let state = self.lock();
        let mut tickets: Vec<GateTicket> =
            state.waiting.values().map(|(ticket, _)| *ticket).collect();
        tickets.sort_by_key(|it| (it.node, it.stage, it.number));
        tickets
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.lock().waiting.len()
    }

    pub(super) fn release(&self, ticket: GateTicket, decision: GateDecision) {
        let waiting = self.lock().waiting.remove(&ticket.number);
        if let Some((_, decide)) = waiting {
            // The task may have been dropped meanwhile.
            let _ = decide.send(decision);
        }
    }

    /// Opened, the gate stops only steps. Closed, it stops statements and calls too.
    pub(super) fn set_open(&self, is_open: bool) {
        let mut state = self.lock();
        state.is_open = is_open;
        state.bursts.clear();
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap()
    }
}

/// Removes the ticket of a task that is dropped while it waits.
struct TicketGuard<'a> {
    gate: &'a TaskGate,
    number: u64,
}

impl Drop for TicketGuard<'_> {
    fn drop(&mut self) {
        self.gate.lock().waiting.remove(&self.number);
        self.gate.changed.notify_one();
    }
}

/// Makes every statement of one node wait at the gate.
#[derive(Debug)]
pub(super) struct GateInterceptor {
    pub(super) node: usize,
    pub(super) gate: Arc<TaskGate>,
}

#[async_trait::async_trait]
impl Interceptor for GateInterceptor {
    async fn before(&self, statement: InterceptedStatement) -> InterceptAction {
        let point = GatePoint::Statement(statement);
        match self.gate.pass(self.node, point).await {
            GateDecision::Continue | GateDecision::Burst(_) => InterceptAction::Run,
            GateDecision::Fail => InterceptAction::Fail,
            GateDecision::LoseAnswer => InterceptAction::LoseAnswer,
            GateDecision::HoldAnswer => {
                self.gate
                    .lock()
                    .holding_answer
                    .extend(tokio::task::try_id());
                InterceptAction::Run
            }
        }
    }

    async fn after(&self, _: InterceptedStatement) {
        self.gate.changed.notify_one();
        let id = tokio::task::try_id();
        if id.is_some_and(|id| self.gate.lock().holding_answer.remove(&id)) {
            self.gate.pass(self.node, GatePoint::Answer).await;
        }
    }
}
