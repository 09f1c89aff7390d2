//! The scheduler: draws who goes on next, and what goes wrong meanwhile.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use store::pool::intercept::Statement;
use store::shard::resend;

use super::gate::{Decision, Gate, Point, Ticket};
use super::log::Log;
use super::plan::Plan;
use super::receiver::Receiver;
use super::world::{Customer, NODES, OPERATOR, World};

/// Tasks that have not come back to the gate after this may wait for each other's locks.
const USUAL_STATEMENT: Duration = Duration::from_millis(3);
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// Whoever is under way for longer is lost.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// More would have batches halved and results set aside.
const MAX_LAPSES: u32 = 4;
/// In turns. A node whose lease has run out is away for longer.
const SHORT_FREEZE: Range<u32> = 5..50;
const LONG_FREEZE: Range<u32> = 20..100;
/// Clicks fall on callbacks that may just be recorded.
const RECENT_POSTS: usize = 3;

pub(super) struct Scheduler<'a> {
    pub(super) world: &'a World,
    pub(super) plan: Plan,
    pub(super) random: StdRng,
    pub(super) gate: Arc<Gate>,
    pub(super) log: Arc<Log>,
    pub(super) receiver: Arc<Receiver>,
    pub(super) customers: Vec<Customer>,
    frozen: [u32; NODES],
    paused: [bool; NODES],
    lapses: u32,
    /// Whether a lease ran out a moment ago.
    is_lapsed: bool,
    /// How many tasks waited for locks a moment ago.
    blocked: Cell<usize>,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(
        world: &'a World,
        (plan, random): (Plan, StdRng),
        log: Arc<Log>,
        receiver: Arc<Receiver>,
        customers: Vec<Customer>,
    ) -> Self {
        Self {
            world,
            plan,
            random,
            gate: world.gate.clone(),
            log,
            receiver,
            customers,
            frozen: [0; NODES],
            paused: [false; NODES],
            lapses: 0,
            is_lapsed: false,
            blocked: Cell::new(0),
        }
    }

    /// Everything that a seed lets go wrong.
    pub(super) async fn disturb(&mut self) -> Result<(), String> {
        self.gate.set_open(false);
        for _ in 0..self.plan.turns {
            self.log.next_turn();
            self.settle().await?;
            self.events().await;
            let Some(ticket) = self.draw() else {
                self.advance_clock();
                continue;
            };
            let decision = self.decide(ticket);
            self.log.tell(&format!("{ticket}: {decision:?}"));
            if decision == Decision::Fail || decision == Decision::LoseAnswer {
                self.log.trouble(ticket.node, "a fault");
            }
            self.gate.let_go(ticket, decision);
        }
        self.settle().await?;
        for node in 0..NODES {
            self.resume(node).await;
        }
        self.frozen = [0; NODES];
        Ok(())
    }

    async fn events(&mut self) {
        for left in &mut self.frozen {
            *left = left.saturating_sub(1);
        }
        if self.random.random_ratio(1, 12) {
            self.advance_clock();
        }
        if self.lapses < MAX_LAPSES && self.draw_lapse() {
            self.lapses += 1;
            self.lapse().await;
        }
        let node = self.random.random_range(0..NODES);
        if self.plan.freezes.strikes(&mut self.random) {
            self.freeze(node, SHORT_FREEZE);
        }
        if self.paused[node] && self.random.random_ratio(1, 8) {
            self.resume(node).await;
        } else if self.plan.pauses.strikes(&mut self.random) {
            self.pause(node).await;
        }
        if self.plan.resends.strikes(&mut self.random) {
            self.resend_twice();
        }
    }

    /// More often while somebody waits to hear of the job that it created.
    fn draw_lapse(&mut self) -> bool {
        let waits = |it: &Ticket| it.point == Point::Reply("create") && self.frozen[it.node] == 0;
        let is_created = self.gate.waiting().iter().any(waits);
        let is_hit = self.plan.lapses.strikes(&mut self.random);
        let is_drawn = is_created && self.random.random_ratio(1, 4);
        is_hit || (is_drawn && !self.plan.lapses.is_never())
    }

    fn freeze(&mut self, node: usize, turns: Range<u32>) {
        let turns = self.random.random_range(turns);
        self.frozen[node] = turns;
        self.log
            .tell(&format!("node {node} is frozen for {turns} turns"));
    }

    /// Nodes that wait inside a statement, or for what came of a call or a statement.
    async fn held_nodes(&self) -> Vec<usize> {
        let mut held: Vec<usize> = Vec::new();
        for ticket in self.gate.waiting() {
            let weight = match ticket.point {
                Point::Reply("create") => 4,
                Point::Reply(_) | Point::Answer => 1,
                Point::Step | Point::Statement(_) | Point::Call(_) => 0,
            };
            if ticket.node < NODES {
                held.extend(std::iter::repeat_n(ticket.node, weight));
            }
        }
        let paused = "select application_name from pg_stat_activity
                      where datname = current_database() and wait_event = 'advisory'";
        if self.paused.contains(&true) {
            let paused: Vec<String> = self.world.ask(paused).await;
            let name = |node: &usize| self.world.identity(*node, &self.plan).application();
            held.extend((0..NODES).filter(|node| paused.contains(&name(node))));
        }
        held
    }

    fn advance_clock(&mut self) {
        let millis = if self.random.random_ratio(1, self.plan.long_waits) {
            self.random.random_range(30_000..70_000)
        } else {
            self.random.random_range(50..5_000)
        };
        self.log.tell(&format!("the clock advances by {millis} ms"));
        self.world.clock().advance(Duration::from_millis(millis));
    }

    /// Who goes on: mostly one that is in the middle of something.
    fn draw(&mut self) -> Option<Ticket> {
        let is_free = |ticket: &Ticket| self.frozen.get(ticket.node).is_none_or(|left| *left == 0);
        let free: Vec<Ticket> = self.gate.waiting().into_iter().filter(is_free).collect();
        let (steps, inside): (Vec<Ticket>, Vec<Ticket>) =
            free.into_iter().partition(|it| it.point == Point::Step);
        if !inside.is_empty() && !self.random.random_ratio(1, 6) {
            return inside.choose(&mut self.random).copied();
        }
        let weight = |ticket: &Ticket| match ticket.stage {
            "dispatch" | "collect" | "deliver" => 16,
            // Somebody has to notice.
            "bury" if self.is_lapsed => 60,
            "gather" | "bury" | "renew" => 10,
            "sweep" => 1,
            _ => 3,
        };
        let drawn = steps.choose_weighted(&mut self.random, weight);
        let drawn = drawn.ok().or_else(|| inside.first()).copied();
        if drawn.is_some_and(|it| it.stage == "bury") {
            self.is_lapsed = false;
        }
        drawn
    }

    fn decide(&mut self, ticket: Ticket) -> Decision {
        let is_hit = match ticket.point {
            Point::Step | Point::Answer | Point::Reply(_) => false,
            Point::Statement(_) => self.plan.faults.strikes(&mut self.random),
            Point::Call(_) => self.plan.call_faults.strikes(&mut self.random),
        };
        // BEGIN is repeated on another connection, so that nothing is learned from it.
        let is_begin = ticket.point == Point::Statement(Statement::Begin);
        if is_hit && !is_begin && ticket.node != OPERATOR {
            return if self.random.random() {
                Decision::Fail
            } else {
                Decision::LoseAnswer
            };
        }
        let holds = match ticket.point {
            Point::Call("create" | "callback") => self.random.random_ratio(1, 2),
            Point::Statement(_) => self.random.random_ratio(1, 10),
            Point::Step | Point::Answer | Point::Call(_) | Point::Reply(_) => false,
        };
        if holds {
            return Decision::HoldAnswer;
        }
        match self.random.random_range(0..10) {
            0..5 => Decision::Continue,
            5..8 => Decision::Burst(self.random.random_range(1..6)),
            _ => Decision::Burst(self.random.random_range(6..40)),
        }
    }

    /// A lease that was not renewed for ten seconds: rather one of a node that is in the middle of
    /// something, and that node is often frozen.
    async fn lapse(&mut self) {
        let held = self.held_nodes().await;
        let drawn = held.choose(&mut self.random).copied();
        let node = drawn.unwrap_or_else(|| self.random.random_range(0..NODES));
        self.log.lapsed(node);
        self.is_lapsed = true;
        if self.random.random() {
            self.freeze(node, LONG_FREEZE);
        }
        let id = self.world.identity(node, &self.plan).id;
        let lapsed = format!(
            "update shard.node set seen_until = clock_timestamp() - interval '1 second'
             where node in (select node from shard.node where node = '{id}'
                            for no key update skip locked) returning true"
        );
        self.world.ask::<bool>(&lapsed).await;
    }

    /// From now on statements of this node that claim wait before they are committed.
    async fn pause(&mut self, node: usize) {
        let name = self.world.identity(node, &self.plan).application();
        let lock = format!("select pg_try_advisory_lock(hashtext('{name}'))");
        if self.paused[node] {
            return;
        }
        self.paused[node] = self.world.ask(&lock).await[0];
        if self.paused[node] {
            self.log
                .tell(&format!("node {node} is paused inside its next statement"));
        }
    }

    async fn resume(&mut self, node: usize) {
        if !std::mem::take(&mut self.paused[node]) {
            return;
        }
        self.log
            .tell(&format!("node {node} goes on inside its statement"));
        let name = self.world.identity(node, &self.plan).application();
        let unlock = format!("select pg_advisory_unlock(hashtext('{name}'))");
        self.world.ask::<bool>(&unlock).await;
    }

    /// Somebody clicks twice on one of the callbacks that were made.
    fn resend_twice(&mut self) {
        let posts: Vec<_> = {
            let posts = self.receiver.lock();
            let recent = posts.iter().rev().take(RECENT_POSTS);
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
        let (log, clock) = (self.log.clone(), self.world.clock());
        let shard = self.world.shard(OPERATOR, &self.plan);
        log.tell(&format!("the operator sends {cargo} again"));
        tokio::spawn(super::gate::STAGE.scope("resend", async move {
            let now = domain::time::Clock::now(&*clock);
            let resent = resend::one(&shard, project, cargo, now).await;
            log.ended(OPERATOR, "resend", &resent);
        }));
    }

    /// Waits until every task is at the gate, or waits for a lock of one that is.
    pub(super) async fn settle(&self) -> Result<(), String> {
        let tasks = tokio::runtime::Handle::current().metrics();
        let (began, mut looked_at) = (Instant::now(), None::<Instant>);
        loop {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            let under_way = tasks.num_alive_tasks().saturating_sub(self.gate.count());
            if under_way == 0 {
                self.blocked.set(0);
                return Ok(());
            }
            // Those that were blocked a moment ago most probably still are.
            let is_due = match looked_at {
                None if under_way == self.blocked.get() => true,
                looked_at => looked_at.unwrap_or(began).elapsed() > USUAL_STATEMENT,
            };
            if is_due {
                if self.world.blocked().await == under_way {
                    self.blocked.set(under_way);
                    return self.no_renewal_is_blocked().await;
                }
                looked_at = Some(Instant::now());
            }
            if began.elapsed() > MAX_WAIT {
                return Err(format!("{under_way} tasks never came back"));
            }
            let _ = tokio::time::timeout(LOOK_INTERVAL, self.gate.changed.notified()).await;
        }
    }

    async fn no_renewal_is_blocked(&self) -> Result<(), String> {
        let waiting = self.gate.waiting().into_iter();
        if waiting.filter(|it| it.stage == "renew").count() == NODES {
            return Ok(());
        }
        match self.world.blocked_renewal().await {
            Some(by) => Err(format!("the renewal of a lease waits for a lock: {by}")),
            None => Ok(()),
        }
    }
}
