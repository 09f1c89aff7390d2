//! Stops a process at a chosen moment of its talk with PostgreSQL.
//!
//! Where a process stands is what `pg_stat_activity` says of its backends after the stop.
//! A stop at another moment is taken back and tried again.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::failure::{During as _, Failure, Result};
use crate::postgres::OURSELVES;
use crate::process::Process;
use crate::sockets;

const MAX_CATCH_TIME: Duration = Duration::from_secs(45);
/// What was on its way to the server arrives in this time.
const LOOK_DELAY: Duration = Duration::from_millis(10);
/// A send that waits so long waits for a client that does not read.
const WRITE_LOOK_DELAY: Duration = Duration::from_millis(60);
const MAX_PAUSE_MILLISECONDS: u64 = 20;
const READER_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The moment at which a process is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Any,
    /// Its server waits for it inside a transaction that has written.
    IdleInTransaction,
    /// Its server waits for it to read a result.
    ClientWrite,
}

impl Moment {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "at any moment",
            Self::IdleInTransaction => "idle in transaction",
            Self::ClientWrite => "in ClientWrite",
        }
    }
}

/// A backend of the service: its process id at the server, and its client's port.
type Backend = (i32, i32);

/// Stops processes; keeps what it found out about backends.
#[derive(Debug)]
pub struct Catcher {
    server: PgPool,
    /// Which process a backend serves. To find out takes a while on a busy machine.
    owners: HashMap<Backend, Option<usize>>,
}

impl Catcher {
    pub fn new(server: PgPool) -> Self {
        Self {
            server,
            owners: HashMap::new(),
        }
    }

    /// Stops one of these at this moment, if that succeeds in time; says which one.
    pub async fn stop_at(
        &mut self,
        processes: &[Process],
        places: Range<usize>,
        moment: Moment,
    ) -> Result<Option<usize>> {
        self.backends_in(processes, Activity::Anything).await?;
        let begun = Instant::now();
        while begun.elapsed() < MAX_CATCH_TIME {
            let caught = match moment {
                Moment::Any => {
                    let place = rand::random_range(places.clone());
                    at(processes, place)?.stop()?;
                    Some(place)
                }
                Moment::IdleInTransaction => {
                    let place = rand::random_range(places.clone());
                    self.stop_in_transaction(processes, place).await?
                }
                Moment::ClientWrite => self.stop_in_write(processes, &places).await?,
            };
            if caught.is_some() {
                return Ok(caught);
            }
        }
        Ok(None)
    }

    /// Stops a process and looks where it stands.
    async fn stop_in_transaction(
        &mut self,
        processes: &[Process],
        place: usize,
    ) -> Result<Option<usize>> {
        let wanted = Activity::IdleInTransaction;
        if self.is_caught(processes, place, wanted, LOOK_DELAY).await? {
            return Ok(Some(place));
        }
        let pause = rand::random_range(0..=MAX_PAUSE_MILLISECONDS);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        Ok(None)
    }

    /// A large result takes some milliseconds, so its reader is stopped as soon as it is seen.
    async fn stop_in_write(
        &mut self,
        processes: &[Process],
        places: &Range<usize>,
    ) -> Result<Option<usize>> {
        let readers = self.backends_in(processes, Activity::ReadingBodies).await?;
        let Some(place) = readers.into_iter().find(|it| places.contains(it)) else {
            tokio::time::sleep(READER_POLL_INTERVAL).await;
            return Ok(None);
        };
        let wanted = Activity::ClientWrite;
        let caught = self.is_caught(processes, place, wanted, WRITE_LOOK_DELAY);
        Ok(caught.await?.then_some(place))
    }

    /// Stops a process; it goes on unless one of its backends does what is wanted.
    async fn is_caught(
        &mut self,
        processes: &[Process],
        place: usize,
        wanted: Activity,
        after: Duration,
    ) -> Result<bool> {
        let process = at(processes, place)?;
        process.stop()?;
        tokio::time::sleep(after).await;
        let found = self.backends_in(processes, wanted).await;
        let is_caught = found.as_ref().is_ok_and(|found| found.contains(&place));
        if !is_caught {
            process.resume()?;
        }
        found.map(|_| is_caught)
    }

    /// The processes that have a backend which does this.
    async fn backends_in(
        &mut self,
        processes: &[Process],
        activity: Activity,
    ) -> Result<Vec<usize>> {
        let backends: Vec<Backend> = sqlx::query_as(activity.query())
            .bind(OURSELVES)
            .fetch_all(&self.server)
            .await
            .during("looking at backends")?;
        if backends.iter().any(|it| !self.owners.contains_key(it)) {
            let ports = sockets::ports_of(processes.iter().map(Process::pid));
            for backend in &backends {
                let port = u16::try_from(backend.1).unwrap_or_default();
                self.owners.insert(*backend, ports.get(&port).copied());
            }
        }
        let owners = backends.iter().filter_map(|it| *self.owners.get(it)?);
        Ok(owners.collect())
    }
}

/// What a backend does.
#[derive(Debug, Clone, Copy)]
enum Activity {
    Anything,
    IdleInTransaction,
    ReadingBodies,
    ClientWrite,
}

impl Activity {
    const fn query(self) -> &'static str {
        match self {
            Self::Anything => {
                "select pid, client_port from pg_stat_activity
                 where application_name <> $1 and client_port > 0"
            }
            Self::IdleInTransaction => {
                "select pid, client_port from pg_stat_activity
                 where application_name <> $1 and client_port > 0
                   and state = 'idle in transaction' and backend_xid is not null"
            }
            Self::ReadingBodies => {
                "select pid, client_port from pg_stat_activity
                 where application_name <> $1 and client_port > 0 and state = 'active'
                   and (wait_event = 'ClientWrite' or query like '%body%from shard.request%')
                 order by wait_event = 'ClientWrite' desc nulls last"
            }
            Self::ClientWrite => {
                "select pid, client_port from pg_stat_activity
                 where application_name <> $1 and client_port > 0
                   and state = 'active' and wait_event = 'ClientWrite'"
            }
        }
    }
}

fn at(processes: &[Process], place: usize) -> Result<&Process> {
    let process = processes.get(place);
    process.ok_or_else(|| Failure::new("there is no such process"))
}
