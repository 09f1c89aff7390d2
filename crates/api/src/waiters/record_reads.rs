//! Tracking records for requests that wait. Those that wait for a turn to read are served by one
//! statement.

use std::collections::{HashMap, VecDeque};

use domain::id::{CargoId, ProjectId};
use parking_lot::Mutex;
use store::Shard;
use store::shard::tracking::{self, TrackedCargo};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use crate::waiters::FeedWaiters;

/// A record may be megabytes.
const MAX_RECORDS_PER_READ: usize = 50;

#[derive(Debug, Default)]
pub(super) struct RecordReads {
    queue: Mutex<VecDeque<QueuedRead>>,
}

#[derive(Debug)]
struct QueuedRead {
    project: ProjectId,
    cargo: CargoId,
    answer: oneshot::Sender<ReadAnswer>,
}

/// None if the statement found no record that it could read.
type ReadAnswer = Option<Box<TrackedCargo>>;

impl RecordReads {
    fn add(&self, project: ProjectId, cargo: CargoId) -> oneshot::Receiver<ReadAnswer> {
        let (answer, read) = oneshot::channel();
        self.queue.lock().push_back(QueuedRead {
            project,
            cargo,
            answer,
        });
        read
    }

    /// The oldest reads, without those of requests that have ended.
    fn take(&self) -> Vec<QueuedRead> {
        let mut queue = self.queue.lock();
        queue.retain(|read| !read.answer.is_closed());
        let count = queue.len().min(MAX_RECORDS_PER_READ);
        queue.drain(..count).collect()
    }

    /// Reads the records of the oldest reads, and answers them.
    async fn serve(&self, shard: &Shard) {
        let reads = self.take();
        let mut cargo: Vec<CargoId> = reads.iter().map(|read| read.cargo).collect();
        cargo.sort_unstable();
        cargo.dedup();
        // If the statement fails, each request reads for itself, and returns its failure.
        let found = tracking::find_many(shard, &cargo).await.unwrap_or_default();
        let mut records: HashMap<(ProjectId, CargoId), TrackedCargo> = found
            .into_iter()
            .map(|found| ((found.project, found.cargo), found.record))
            .collect();
        for read in reads {
            let record = records.remove(&(read.project, read.cargo));
            let _ = read.answer.send(record.map(Box::new));
        }
    }
}

impl FeedWaiters {
    /// The record of a cargo, if it belongs to the project.
    pub(crate) async fn read_record(
        &self,
        shard: &Shard,
        project: ProjectId,
        cargo: CargoId,
    ) -> Result<Option<TrackedCargo>, store::Error> {
        let answer = loop {
            if let Some(answer) = self.await_record(shard, project, cargo).await {
                break answer;
            }
        };
        if let Some(record) = answer {
            return Ok(Some(*record));
        }
        let _turn = self.acquire_read_turn().await;
        tracking::find(shard, project, cargo).await
    }

    /// None if the request that was reading for this one has ended before its answer.
    async fn await_record(
        &self,
        shard: &Shard,
        project: ProjectId,
        cargo: CargoId,
    ) -> Option<ReadAnswer> {
        let mut read = self.record_reads.add(project, cargo);
        let _turn = tokio::select! {
            biased;
            answer = &mut read => return answer.ok(),
            turn = self.acquire_read_turn() => turn,
        };
        loop {
            match read.try_recv() {
                Ok(answer) => return Some(answer),
                Err(TryRecvError::Closed) => return None,
                Err(TryRecvError::Empty) => self.record_reads.serve(shard).await,
            }
        }
    }
}
