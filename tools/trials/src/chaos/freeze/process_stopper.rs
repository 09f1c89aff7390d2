//! Stops a process at a chosen moment of its conversation with PostgreSQL.
//!
//! After the stop, `pg_stat_activity` shows what the backends of the process do. If it was the
//! wrong moment, the process continues and the trial tries again.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::harness::build_profile;
use crate::harness::measurement::tcp_ports;
use crate::harness::{FailureContext as _, LongshoredProcess, Result, TRIALS_APPLICATION_NAME};

const CATCH_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(45));
/// Bytes on their way to the server arrive within this time.
const ARRIVAL_DELAY: Duration = Duration::from_millis(10);
/// A send that blocks this long has a client that does not read.
const BLOCKED_WRITE_DELAY: Duration = Duration::from_millis(60);
const MAX_PAUSE_MILLISECONDS: u64 = 20;
const READER_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The moment at which a process is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMoment {
    Any,
    /// Its server waits for it inside a transaction that has written.
    IdleInTransaction,
    /// Its server waits for it to read a result.
    ClientWrite,
}

impl StopMoment {
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

/// Stops processes; remembers which process each backend belongs to.
#[derive(Debug)]
pub struct ProcessStopper {
    server: PgPool,
    /// To look this up takes a while on a busy machine.
    process_by_backend: HashMap<Backend, Option<usize>>,
}

impl ProcessStopper {
    pub fn new(server: PgPool) -> Self {
        Self {
            server,
            process_by_backend: HashMap::new(),
        }
    }

    /// Stops one of these processes at this moment, if it succeeds in time; returns its index.
    pub async fn stop_at(
        &mut self,
        processes: &[LongshoredProcess],
        places: Range<usize>,
        moment: StopMoment,
    ) -> Result<Option<usize>> {
        self.find_processes_with(processes, BackendActivity::Anything)
            .await?;
        let begun = Instant::now();
        while begun.elapsed() < CATCH_TIMEOUT {
            let caught = match moment {
                StopMoment::Any => {
                    let place = rand::random_range(places.clone());
                    process_at(processes, place)?.child.stop()?;
                    Some(place)
                }
                StopMoment::IdleInTransaction => {
                    let place = rand::random_range(places.clone());
                    self.stop_in_transaction(processes, place).await?
                }
                StopMoment::ClientWrite => self.stop_in_write(processes, &places).await?,
            };
            if caught.is_some() {
                return Ok(caught);
            }
        }
        Ok(None)
    }

    /// Stops a process and checks what its backends do.
    async fn stop_in_transaction(
        &mut self,
        processes: &[LongshoredProcess],
        place: usize,
    ) -> Result<Option<usize>> {
        let wanted = BackendActivity::IdleInTransaction;
        if self
            .stops_during(processes, place, wanted, ARRIVAL_DELAY)
            .await?
        {
            return Ok(Some(place));
        }
        let pause = rand::random_range(0..=MAX_PAUSE_MILLISECONDS);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        Ok(None)
    }

    /// A large result takes milliseconds, so the reader is stopped as soon as it is seen.
    async fn stop_in_write(
        &mut self,
        processes: &[LongshoredProcess],
        places: &Range<usize>,
    ) -> Result<Option<usize>> {
        let readers = self
            .find_processes_with(processes, BackendActivity::ReadingBodies)
            .await?;
        let Some(place) = readers.into_iter().find(|it| places.contains(it)) else {
            tokio::time::sleep(READER_POLL_INTERVAL).await;
            return Ok(None);
        };
        let wanted = BackendActivity::ClientWrite;
        let caught = self.stops_during(processes, place, wanted, BLOCKED_WRITE_DELAY);
        Ok(caught.await?.then_some(place))
    }

    /// Stops a process; resumes it unless one of its backends shows this activity.
    async fn stops_during(
        &mut self,
        processes: &[LongshoredProcess],
        place: usize,
        wanted: BackendActivity,
        after: Duration,
    ) -> Result<bool> {
        let process = process_at(processes, place)?;
        process.child.stop()?;
        tokio::time::sleep(after).await;
        let found = self.find_processes_with(processes, wanted).await;
        let is_caught = found.as_ref().is_ok_and(|found| found.contains(&place));
        if !is_caught {
            process.child.resume()?;
        }
        found.map(|_| is_caught)
    }

    /// The processes with a backend that shows this activity.
    async fn find_processes_with(
        &mut self,
        processes: &[LongshoredProcess],
        activity: BackendActivity,
    ) -> Result<Vec<usize>> {
        let backends: Vec<Backend> = sqlx::query_as(activity.query())
            .bind(TRIALS_APPLICATION_NAME)
            .fetch_all(&self.server)
            .await
            .context("reading pg_stat_activity")?;
        if backends
            .iter()
            .any(|it| !self.process_by_backend.contains_key(it))
        {
            let ports = tcp_ports::ports_by_process(processes.iter().map(|it| it.child.pid()));
            for backend in &backends {
                let port = u16::try_from(backend.1).unwrap_or_default();
                self.process_by_backend
                    .insert(*backend, ports.get(&port).copied());
            }
        }
        let owners = backends
            .iter()
            .filter_map(|it| *self.process_by_backend.get(it)?);
        Ok(owners.collect())
    }
}

#[derive(Debug, Clone, Copy)]
enum BackendActivity {
    Anything,
    IdleInTransaction,
    ReadingBodies,
    ClientWrite,
}

impl BackendActivity {
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

fn process_at(processes: &[LongshoredProcess], place: usize) -> Result<&LongshoredProcess> {
    processes.get(place).context("the process does not exist")
}
