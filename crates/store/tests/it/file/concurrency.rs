//! All operations concurrently for a while: no deadlock, and every count is right.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use domain::file::{FileFailureReason, FileKind, FileStructure, ScanStatus};
use domain::id::CargoId;
use store::Error;
use store::shard::file::{self, FileCreation, FileFilter, FileSizeClass};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::file::fixture::{FileFixture, TTL, UNLIMITED, project, text};

const RUN_TIME: Duration = Duration::from_secs(4);
const PROJECTS: u64 = 3;

struct ConcurrentOperations {
    fixture: Arc<FileFixture>,
    open: Mutex<Vec<CargoId>>,
    done: AtomicBool,
    steps: AtomicU64,
}

impl ConcurrentOperations {
    /// A pseudo-random number below `below`.
    fn draw(&self, below: u64) -> u64 {
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % below
    }

    async fn step(&self, what: u64) -> Result<(), Error> {
        let (fixture, shard) = (&self.fixture, &self.fixture.shard);
        let of = project(self.draw(PROJECTS));
        match what {
            0 => {
                let content = u8::try_from(self.draw(6)).unwrap_or_default();
                let created = fixture.create(of, text(content, 10), UNLIMITED).await;
                if let FileCreation::Session(file) = created {
                    file::complete(shard, of, file.id, None, fixture.now()).await?;
                }
            }
            1 => {
                let claimed =
                    file::claim(shard, fixture.claim, FileSizeClass::Small, 4, fixture.now())
                        .await?;
                for claimed in claimed {
                    let (file, now) = (&claimed.file, fixture.now());
                    if self.draw(8) == 0 {
                        let (flaw, scan) =
                            (FileFailureReason::MalwareDetected, ScanStatus::Infected);
                        file::fail(shard, file.id, fixture.claim, flaw, scan).await?;
                    } else {
                        file::publish(shard, file, fixture.claim, FileStructure::Text, now).await?;
                    }
                }
            }
            2 | 3 => {
                let filter = FileFilter {
                    status: Some(domain::file::FileStatus::Ready),
                    kind: Some(FileKind::Document),
                };
                let files = file::list(shard, of, filter, None, 8).await?;
                let mut named: Vec<_> = files.iter().map(|file| file.id).collect();
                // In any order: the lock sorts them.
                let turn = usize::try_from(self.draw(8)).unwrap_or_default() % named.len().max(1);
                named.rotate_left(turn);
                if let Some(cargo) = fixture.load(of, &named).await? {
                    self.open.lock().await.push(cargo);
                }
            }
            4 | 5 => {
                let ended: Vec<_> = {
                    let mut open = self.open.lock().await;
                    let left = open.len().saturating_sub(7);
                    open.split_off(left)
                };
                fixture.finish(&ended).await?;
            }
            6 => {
                let files = file::list(shard, of, FileFilter::default(), None, 20).await?;
                let which = usize::try_from(self.draw(20)).unwrap_or_default();
                if let Some(file) = files.get(which) {
                    fixture.delete(file, self.draw(3) == 0).await;
                }
            }
            _ => {
                let quarter = Duration::from_secs(u64::from(TTL) / 40);
                let now = fixture.database.clock.advance(quarter);
                file::expire(shard, now, 20).await?;
                file::fail_abandoned(shard, now - quarter * 8, 20).await?;
                for (id, _) in file::list_staged(shard, None, 5).await? {
                    file::mark_cleaned(shard, id).await?;
                }
                // A pause, or everything expires at once.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_operations_never_deadlock_and_every_count_is_right() {
    let storm = Arc::new(ConcurrentOperations {
        fixture: FileFixture::new().await,
        open: Mutex::default(),
        done: AtomicBool::new(false),
        steps: AtomicU64::new(0),
    });
    let mut tasks = JoinSet::new();
    for what in 0..8 {
        for _ in 0..2 {
            let storm = Arc::clone(&storm);
            tasks.spawn(async move {
                let mut steps = 0;
                while !storm.done.load(Ordering::SeqCst) {
                    storm.step(what).await.unwrap();
                    steps += 1;
                }
                (what, steps)
            });
        }
    }
    tokio::time::sleep(RUN_TIME).await;
    storm.done.store(true, Ordering::SeqCst);
    for (what, steps) in tasks.join_all().await {
        assert!(steps > 3, "operation {what} ran only {steps} times");
    }
    storm.fixture.assert_no_faults().await;
    // In the end no file is referenced.
    let rest: Vec<_> = storm.open.lock().await.drain(..).collect();
    storm.fixture.finish(&rest).await.unwrap();
    storm.fixture.assert_no_faults().await;
    let named = "select count(*) from shard.file where refs <> 0";
    let named: i64 = sqlx::query_scalar(named)
        .fetch_one(&storm.fixture.shard.pool)
        .await
        .unwrap();
    assert_eq!(named, 0);
}
