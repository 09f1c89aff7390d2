//! The scheduler: draws which task continues next, and which faults happen.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use store::pool::intercept::InterceptedStatement;
use store::shard::resend;

use super::cancellation::AcknowledgedCancellations;
use super::event_log::EventLog;
use super::fixture::{InterleavingFixture, NODE_COUNT, OPERATOR, SeedCustomer};
use super::gate::{GateDecision, GatePoint, GateTicket, TaskGate};
use super::recording_receiver::RecordingReceiver;
use super::seed_plan::SeedPlan;

/// Tasks that have not returned to the gate after this time may wait for each other's locks.
const LOCK_CHECK_DELAY: Duration = Duration::from_millis(3);
const CHECK_INTERVAL: Duration = Duration::from_millis(1);
/// A task that runs for longer is stuck.
const IDLE_TIMEOUT: Duration = Duration::from_mins(2);
/// More would make Longshore split batches and fail results as poison pills.
const MAX_LAPSES: u32 = 4;
/// A node whose lease expired is frozen for longer.
const SHORT_FREEZE_TURNS: Range<u32> = 5..50;
const LONG_FREEZE_TURNS: Range<u32> = 20..100;
/// The operator resends recent callbacks, whose attempts may not be recorded yet.
const MAX_RECENT_CALLBACKS: usize = 3;

pub(super) struct Scheduler<'a> {
    pub(super) fixture: &'a InterleavingFixture,
    pub(super) plan: SeedPlan,
    pub(super) random: StdRng,
    pub(super) gate: Arc<TaskGate>,
    pub(super) log: Arc<EventLog>,
    pub(super) receiver: Arc<RecordingReceiver>,
    pub(super) customers: Vec<SeedCustomer>,
    pub(super) cancellations: AcknowledgedCancellations,
    frozen_turns: [u32; NODE_COUNT],
    is_paused: [bool; NODE_COUNT],
    lapse_count: u32,
    /// Whether a lease expired a moment ago.
    has_recent_lapse: bool,
    /// How many tasks waited for locks a moment ago.
    blocked_tasks: Cell<usize>,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(
        fixture: &'a InterleavingFixture,
        plan: SeedPlan,
        random: StdRng,
        log: Arc<EventLog>,
        receiver: Arc<RecordingReceiver>,
        customers: Vec<SeedCustomer>,
    ) -> Self {
        Self {
            fixture,
            plan,
            random,
            gate: fixture.gate.clone(),
            log,
            receiver,
            customers,
            cancellations: AcknowledgedCancellations::default(),
            frozen_turns: [0; NODE_COUNT],
            is_paused: [false; NODE_COUNT],
            lapse_count: 0,
            has_recent_lapse: false,
            blocked_tasks: Cell::new(0),
        }
    }

    /// Releases one task per turn, with the faults of the plan.
    pub(super) async fn inject_faults(&mut self) -> Result<(), String> {
        self.gate.set_open(false);
        for _ in 0..self.plan.turns {
            self.log.next_turn();
            self.wait_until_idle().await?;
            self.draw_events().await;
            let Some(ticket) = self.draw_ticket() else {
                self.advance_clock();
                continue;
            };
            let decision = self.decide(ticket);
            self.log.record(&format!("{ticket}: {decision:?}"));
            if decision == GateDecision::Fail || decision == GateDecision::LoseAnswer {
                self.log.record_fault(ticket.node, "a fault");
            }
            self.gate.release(ticket, decision);
        }
        self.wait_until_idle().await?;
        for node in 0..NODE_COUNT {
            self.resume(node).await;
        }
        self.frozen_turns = [0; NODE_COUNT];
        Ok(())
    }

    async fn draw_events(&mut self) {
        for left in &mut self.frozen_turns {
            *left = left.saturating_sub(1);
        }
        if self.random.random_ratio(1, 12) {
            self.advance_clock();
        }
        if self.lapse_count < MAX_LAPSES && self.draw_lapse() {
            self.lapse_count += 1;
            self.expire_lease().await;
        }
        let node = self.random.random_range(0..NODE_COUNT);
        if self.plan.freezes.happens(&mut self.random) {
            self.freeze(node, SHORT_FREEZE_TURNS);
        }
        if self.is_paused[node] && self.random.random_ratio(1, 8) {
            self.resume(node).await;
        } else if self.plan.statement_pauses.happens(&mut self.random) {
            self.pause(node).await;
        }
        if self.plan.resends.happens(&mut self.random) {
            self.resend_twice();
        }
        if self.plan.cancellations.happens(&mut self.random) {
            self.cancel_any();
        }
    }

    /// Leases expire more often while a node waits for the reply about a job that it created.
    fn draw_lapse(&mut self) -> bool {
        let waits = |it: &GateTicket| {
            it.point == GatePoint::Reply("create") && self.frozen_turns[it.node] == 0
        };
        let is_created = self.gate.waiting_tickets().iter().any(waits);
        let is_hit = self.plan.lease_lapses.happens(&mut self.random);
        let is_drawn = is_created && self.random.random_ratio(1, 4);
        is_hit || (is_drawn && !self.plan.lease_lapses.is_never())
    }

    fn freeze(&mut self, node: usize, turns: Range<u32>) {
        let turns = self.random.random_range(turns);
        self.frozen_turns[node] = turns;
        self.log
            .record(&format!("node {node} is frozen for {turns} turns"));
    }

    /// Nodes that wait inside a statement, or for the answer to a statement or call.
    async fn find_held_nodes(&self) -> Vec<usize> {
        let mut held: Vec<usize> = Vec::new();
        for ticket in self.gate.waiting_tickets() {
            let weight = match ticket.point {
                GatePoint::Reply("create") => 4,
                GatePoint::Reply(_) | GatePoint::Answer => 1,
                GatePoint::Step | GatePoint::Statement(_) | GatePoint::Call(_) => 0,
            };
            if ticket.node < NODE_COUNT {
                held.extend(std::iter::repeat_n(ticket.node, weight));
            }
        }
        let paused = "select application_name from pg_stat_activity
                      where datname = current_database() and wait_event = 'advisory'";
        if self.is_paused.contains(&true) {
            let paused: Vec<String> = self.fixture.query_column(paused).await;
            let name = |node: &usize| self.fixture.identity(*node, &self.plan).application_name();
            held.extend((0..NODE_COUNT).filter(|node| paused.contains(&name(node))));
        }
        held
    }

    fn advance_clock(&mut self) {
        let millis = if self.random.random_ratio(1, self.plan.long_advance_odds) {
            self.random.random_range(30_000..70_000)
        } else {
            self.random.random_range(50..5_000)
        };
        self.log
            .record(&format!("the clock advances by {millis} ms"));
        self.fixture.clock().advance(Duration::from_millis(millis));
    }

    /// Draws the task that continues, usually one that is inside a step.
    fn draw_ticket(&mut self) -> Option<GateTicket> {
        let is_free = |ticket: &GateTicket| {
            self.frozen_turns
                .get(ticket.node)
                .is_none_or(|left| *left == 0)
        };
        let free: Vec<GateTicket> = self
            .gate
            .waiting_tickets()
            .into_iter()
            .filter(is_free)
            .collect();
        let (steps, inside): (Vec<GateTicket>, Vec<GateTicket>) =
            free.into_iter().partition(|it| it.point == GatePoint::Step);
        if !inside.is_empty() && !self.random.random_ratio(1, 6) {
            return inside.choose(&mut self.random).copied();
        }
        let weight = |ticket: &GateTicket| match ticket.stage {
            "dispatch" | "collect" | "deliver" => 16,
            // A peer has to notice the expired lease.
            "claim-takeover" if self.has_recent_lapse => 60,
            "gather" | "claim-takeover" | "renew" => 10,
            "sweep" => 1,
            _ => 3,
        };
        let drawn = steps.choose_weighted(&mut self.random, weight);
        let drawn = drawn.ok().or_else(|| inside.first()).copied();
        if drawn.is_some_and(|it| it.stage == "claim-takeover") {
            self.has_recent_lapse = false;
        }
        drawn
    }

    fn decide(&mut self, ticket: GateTicket) -> GateDecision {
        let is_hit = match ticket.point {
            GatePoint::Step | GatePoint::Answer | GatePoint::Reply(_) => false,
            GatePoint::Statement(_) => self.plan.statement_faults.happens(&mut self.random),
            GatePoint::Call(_) => self.plan.call_faults.happens(&mut self.random),
        };
        // The pool repeats BEGIN on another connection, so a fault there has no effect.
        let is_begin = ticket.point == GatePoint::Statement(InterceptedStatement::Begin);
        if is_hit && !is_begin && ticket.node != OPERATOR {
            return if self.random.random() {
                GateDecision::Fail
            } else {
                GateDecision::LoseAnswer
            };
        }
        let holds = match ticket.point {
            GatePoint::Call("create" | "callback") => self.random.random_ratio(1, 2),
            GatePoint::Statement(_) => self.random.random_ratio(1, 10),
            GatePoint::Step | GatePoint::Answer | GatePoint::Call(_) | GatePoint::Reply(_) => false,
        };
        if holds {
            return GateDecision::HoldAnswer;
        }
        match self.random.random_range(0..10) {
            0..5 => GateDecision::Continue,
            5..8 => GateDecision::Burst(self.random.random_range(1..6)),
            _ => GateDecision::Burst(self.random.random_range(6..40)),
        }
    }

    /// Expires a lease, preferably of a node that waits for an answer, and often freezes that node.
    async fn expire_lease(&mut self) {
        let held = self.find_held_nodes().await;
        let drawn = held.choose(&mut self.random).copied();
        let node = drawn.unwrap_or_else(|| self.random.random_range(0..NODE_COUNT));
        self.log.record_lapse(node);
        self.has_recent_lapse = true;
        if self.random.random() {
            self.freeze(node, LONG_FREEZE_TURNS);
        }
        let id = self.fixture.identity(node, &self.plan).id;
        let lapsed = format!(
            "update shard.node set seen_until = clock_timestamp() - interval '1 second'
             where node in (select node from shard.node where node = '{id}'
                            for no key update skip locked) returning true"
        );
        self.fixture.query_column::<bool>(&lapsed).await;
    }

    /// From now on, statements of this node that claim rows pause before they end.
    async fn pause(&mut self, node: usize) {
        let name = self.fixture.identity(node, &self.plan).application_name();
        let lock = format!("select pg_try_advisory_lock(hashtext('{name}'))");
        if self.is_paused[node] {
            return;
        }
        self.is_paused[node] = self.fixture.query_column(&lock).await[0];
        if self.is_paused[node] {
            self.log
                .record(&format!("node {node} is paused inside its next statement"));
        }
    }

    async fn resume(&mut self, node: usize) {
        if !std::mem::take(&mut self.is_paused[node]) {
            return;
        }
        self.log
            .record(&format!("node {node} continues inside its statement"));
        let name = self.fixture.identity(node, &self.plan).application_name();
        let unlock = format!("select pg_advisory_unlock(hashtext('{name}'))");
        self.fixture.query_column::<bool>(&unlock).await;
    }

    /// The operator clicks twice on resend, for one of the recent callbacks.
    fn resend_twice(&mut self) {
        let posts: Vec<_> = {
            let posts = self.receiver.lock();
            let recent = posts.iter().rev().take(MAX_RECENT_CALLBACKS);
            recent.map(|it| it.cargo).collect()
        };
        let Some(cargo) = posts.choose(&mut self.random).copied() else {
            return;
        };
        for _ in 0..2 {
            self.resend(cargo);
        }
    }

    pub(super) fn resend(&self, cargo: domain::id::CargoId) {
        let customer = self.customers.iter().find(|it| it.cargo.contains(&cargo));
        let project = customer.unwrap().project;
        let (log, clock) = (self.log.clone(), self.fixture.clock());
        let shard = self.fixture.shard(OPERATOR, &self.plan);
        log.record(&format!("the operator resends {cargo}"));
        tokio::spawn(super::gate::STAGE.scope("resend", async move {
            let now = domain::time::Clock::now(&*clock);
            let resent = resend::queue_one(&shard, project, cargo, now).await;
            log.record_step(OPERATOR, "resend", &resent);
        }));
    }

    /// Waits until every task is at the gate or blocked by a task at the gate.
    pub(super) async fn wait_until_idle(&self) -> Result<(), String> {
        let tasks = tokio::runtime::Handle::current().metrics();
        let (started_at, mut checked_at) = (Instant::now(), None::<Instant>);
        loop {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            let running = tasks
                .num_alive_tasks()
                .saturating_sub(self.gate.waiting_count());
            if running == 0 {
                self.blocked_tasks.set(0);
                return Ok(());
            }
            // Tasks that were blocked a moment ago are probably still blocked.
            let is_due = match checked_at {
                None if running == self.blocked_tasks.get() => true,
                checked_at => checked_at.unwrap_or(started_at).elapsed() > LOCK_CHECK_DELAY,
            };
            if is_due {
                if self.fixture.count_blocked().await == running {
                    self.blocked_tasks.set(running);
                    return self.check_renewals().await;
                }
                checked_at = Some(Instant::now());
            }
            if started_at.elapsed() > IDLE_TIMEOUT {
                return Err(format!("{running} tasks never returned to the gate"));
            }
            let _ = tokio::time::timeout(CHECK_INTERVAL, self.gate.changed.notified()).await;
        }
    }

    async fn check_renewals(&self) -> Result<(), String> {
        let waiting = self.gate.waiting_tickets().into_iter();
        if waiting.filter(|it| it.stage == "renew").count() == NODE_COUNT {
            return Ok(());
        }
        match self.fixture.find_blocked_renewal().await {
            Some(by) => Err(format!("the renewal of a lease waits for a lock: {by}")),
            None => Ok(()),
        }
    }
}
