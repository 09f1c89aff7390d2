//! The desk: the one task of a process that everyone's asks go through.
//!
//! Nobody is made to wait for company. While a call is under way others come, and
//! group commit sends callers in waves: measured, a dozen share a call without waiting.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use domain::limit::Backstop;
use outbound::counters::{Asks, Grants};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::limits::ask::{Ask, Group};
use crate::limits::line::{Called, Event, Line};
use crate::limits::local::Local;
use crate::limits::nodes::Nodes;
use crate::limits::pending::Pending;
use crate::limits::returns::{Origin, Returned, Returns};
use crate::limits::status::Status;
use crate::limits::watch::Watch;

/// The most that one call asks for.
const MOST: usize = 1024;
/// How often a quiet line is looked at.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Desk {
    line: Option<Line>,
    backstop: Backstop,
    watch: Watch,
    nodes: Arc<Nodes>,
    status: Arc<Status>,
    returns: Arc<Returns>,
    local: Local,
    pending: Pending,
}

impl Desk {
    pub(super) fn new(
        line: Option<Line>,
        backstop: Backstop,
        watch: Watch,
        nodes: Arc<Nodes>,
        status: Arc<Status>,
        returns: Arc<Returns>,
    ) -> Self {
        Self {
            line,
            backstop,
            watch,
            nodes,
            status,
            returns,
            local: Local::default(),
            pending: Pending::default(),
        }
    }

    pub(super) async fn run(mut self, mut room: mpsc::Receiver<Ask>, stop: CancellationToken) {
        if let Some(line) = &mut self.line {
            line.connect().await;
        }
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut group = Group::default();
            // Asks come in all the time, so what is rare is looked at before them.
            tokio::select! {
                biased;
                event = event(self.line.as_mut()) => self.learn(event),
                () = self.returns.wait() => {}
                ask = room.recv() => match ask {
                    Some(ask) => group.push(ask),
                    None => break,
                },
                // Redis is back, and there is more to tell than goes into one call.
                () = ready(()), if !self.pending.is_empty() && !self.is_alone() => {}
                () = stop.cancelled() => break,
                _ = look.tick() => if let Some(line) = &mut self.line {
                    line.look().await;
                },
            }
            while group.size() < MOST
                && let Ok(ask) = room.try_recv()
            {
                group.push(ask);
            }
            self.serve(group).await;
        }
        // What came back at the end is told before we go.
        self.serve(Group::default()).await;
    }

    /// Whether asks are answered without Redis.
    fn is_alone(&self) -> bool {
        self.line.as_ref().is_none_or(Line::is_cut)
    }

    async fn serve(&mut self, group: Group) {
        for returned in self.returns.take() {
            self.take_back(returned);
        }
        let mut asks = group.asks(self.watch.given(), self.backstop);
        metrics::counter!("limiter_asks_total", "kind" => "bucket").increment(taking(&asks));
        metrics::counter!("limiter_asks_total", "kind" => "backstop").increment(counting(&asks));
        let Some(line) = self.line.as_mut().filter(|line| !line.is_cut()) else {
            return self.serve_alone(group, &asks);
        };
        self.pending.tell(&mut asks);
        if asks.is_empty() {
            return;
        }
        let asks = Arc::new(asks);
        match line.call(Arc::clone(&asks)).await {
            Called::Answered(grants) => {
                self.remember(&asks, &grants);
                group.answer(&grants, Origin::Redis, 1, &self.returns);
            }
            Called::Failed => {
                self.pending.take_back(&asks);
                self.serve_alone(group, &asks);
            }
            Called::GivenUp => self.serve_alone(group, &asks),
        }
    }

    fn serve_alone(&mut self, group: Group, asks: &Asks) {
        if group.size() == 0 {
            return;
        }
        self.status.fell_back(taking(asks) + counting(asks));
        let nodes = self.nodes.alive();
        let grants = self.local.grant(asks, nodes, self.watch.now());
        if self.line.is_some() {
            for (ask, taken) in asks.buckets.iter().zip(&grants.buckets) {
                self.pending.owe(ask.organization, ask.rate, taken.granted);
            }
        }
        group.answer(&grants, Origin::Here, nodes, &self.returns);
    }

    fn remember(&mut self, asks: &Asks, grants: &Grants) {
        let now = self.watch.now();
        for (ask, taken) in asks.buckets.iter().zip(&grants.buckets) {
            self.local.learn(ask.organization, taken.level, now);
        }
    }

    fn take_back(&mut self, returned: Returned) {
        let Returned {
            organization,
            origin,
            rate,
            count,
        } = returned;
        match origin {
            Origin::Redis => self.pending.give_back(organization, rate, count),
            Origin::Here => {
                let (nodes, now) = (self.nodes.alive(), self.watch.now());
                self.local.give_back(organization, rate, count, nodes, now);
                if self.line.is_some() {
                    self.pending.spare(organization, rate, count);
                }
            }
        }
    }

    fn learn(&mut self, event: Event) {
        match event {
            // What is pending goes out with the next calls, which follow at once.
            Event::Back => {}
            Event::Late(asks, Some(grants)) => self.pending.heard_late(&asks, &grants),
            Event::Late(asks, None) => self.pending.take_back(&asks),
        }
    }
}

async fn event(line: Option<&mut Line>) -> Event {
    match line {
        Some(line) => line.event().await,
        None => std::future::pending().await,
    }
}

fn taking(asks: &Asks) -> u64 {
    asks.buckets.iter().map(|ask| u64::from(ask.wanted)).sum()
}

fn counting(asks: &Asks) -> u64 {
    asks.windows.iter().map(|ask| u64::from(ask.wanted)).sum()
}
