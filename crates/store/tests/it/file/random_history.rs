//! A random history of file operations, compared with an oracle in memory.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use domain::file::{FileFailureReason, FileStatus, ScanStatus};
use domain::id::CargoId;
use domain::storage_quota::StorageQuota;
use store::shard::file::{
    self, FileChange, FileChangeResult, FileCreation, FileDeletion, FileFilter, FileRow,
    FileSizeClass, PublishResult, UploadCompletion,
};
use store::shard::object;
use test_support::environment::optional_number;

use crate::file::fixture::{FileFixture, TTL, organization, project, text};
use crate::file::random_history::oracle::{FileOracle, OracleFile};

mod oracle;

const OPERATIONS: u64 = 4_000;
const OPERATIONS_PER_COMPARISON: u64 = 100;
/// They belong to two organizations.
const PROJECTS: [u64; 5] = [1, 2, 3, 101, 102];
const CONTENTS: u64 = 8;
/// Small enough to be reached now and then.
const QUOTA: StorageQuota = StorageQuota {
    files: Some(60),
    bytes: Some(400),
};

struct RandomHistory {
    fixture: Arc<FileFixture>,
    oracle: FileOracle,
    random: u64,
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "the seed is needed to repeat it")]
async fn rows_never_differ_from_the_oracle_over_a_random_history() {
    let seed = optional_number("LONGSHORE_MODEL_SEED");
    let seed = seed.unwrap_or_else(|| RandomState::new().hash_one("a seed"));
    eprintln!("LONGSHORE_MODEL_SEED={seed}");
    let mut history = RandomHistory {
        fixture: FileFixture::new().await,
        oracle: FileOracle::default(),
        random: seed,
    };
    for done in 1..=OPERATIONS {
        history.step().await;
        for number in [0, 1] {
            let stored = history.fixture.stored(organization(number)).await;
            let expected = history.oracle.stored(organization(number));
            assert_eq!(stored, expected, "seed {seed}, after {done} operations");
        }
        if done % OPERATIONS_PER_COMPARISON == 0 {
            history.compare().await;
        }
    }
    history.compare().await;
}

impl RandomHistory {
    /// Splitmix: the same seed draws the same history.
    fn draw(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % below
    }

    /// One of the newest files: the old ones have all expired.
    fn file(&mut self) -> Option<usize> {
        let count = self.oracle.files.len();
        let young = count.min(40);
        (count > 0).then(|| count - 1 - self.draw(young))
    }

    async fn step(&mut self) {
        match self.draw(26) {
            0..6 => self.create().await,
            6..10 => self.complete().await,
            10..12 => self.claim().await,
            12..15 => self.publish().await,
            15 => self.fail().await,
            16 => self.later().await,
            17 => self.delete().await,
            18..20 => self.load().await,
            20..22 => self.finish().await,
            22 => self.expire().await,
            23 => self.abandon().await,
            24 => self.change().await,
            _ => self.clean().await,
        }
    }

    async fn create(&mut self) {
        let of = project(PROJECTS[self.draw(PROJECTS.len())]);
        let content = self.draw(usize::try_from(CONTENTS).unwrap());
        let declared = text(u8::try_from(content).unwrap(), 10 + content as u64);
        let expected = self.oracle.admit(of, &declared, QUOTA);
        let created = self.fixture.create(of, declared, QUOTA).await;
        match created {
            FileCreation::Session(file) => {
                assert_eq!(expected, Ok(None));
                self.oracle.files.push(OracleFile::of(&file));
            }
            FileCreation::Duplicate(file) => {
                assert_eq!(expected, Ok(Some(file.object.unwrap())));
                self.oracle.attach(file.object.unwrap());
                self.oracle.files.push(OracleFile::of(&file));
            }
            FileCreation::Refused(refusal) => assert_eq!(expected, Err(refusal)),
        }
    }

    async fn complete(&mut self) {
        let Some(which) = self.file() else { return };
        let (now, entry) = (self.fixture.now(), &mut self.oracle.files[which]);
        let done = file::complete(&self.fixture.shard, entry.project, entry.id, None, now).await;
        let begun = matches!(done.unwrap(), UploadCompletion::ValidationStarted(_));
        assert_eq!(begun, entry.status == FileStatus::Uploading);
        if begun {
            entry.status = FileStatus::Validating;
        }
    }

    async fn claim(&mut self) {
        let most = 1 + self.draw(6);
        let (fixture, limit) = (&self.fixture, i64::try_from(most).unwrap());
        let claimed = file::claim(
            &fixture.shard,
            fixture.claim,
            FileSizeClass::Small,
            limit,
            fixture.now(),
        )
        .await;
        let waits =
            |entry: &&OracleFile| entry.status == FileStatus::Validating && entry.claimed.is_none();
        let waiting = self.oracle.files.iter().filter(waits).count();
        let claimed = claimed.unwrap();
        assert_eq!(claimed.len(), most.min(waiting));
        for claimed in claimed {
            let entry = self.oracle.entry(claimed.file.id);
            assert!(waits(&&*entry));
            entry.claimed = Some(claimed.file);
        }
    }

    /// A file that was claimed at some time and may have been aborted since.
    fn claimed(&mut self) -> Option<(usize, FileRow)> {
        let claimed = self.oracle.files.iter().enumerate();
        let claimed: Vec<_> = claimed
            .filter_map(|(which, entry)| Some((which, entry.claimed.clone()?)))
            .collect();
        (!claimed.is_empty()).then(|| claimed[self.draw(claimed.len())].clone())
    }

    async fn publish(&mut self) {
        let Some((which, file)) = self.claimed() else {
            return;
        };
        let published = self.fixture.publish(&file).await;
        let now = self.fixture.now();
        let entry = &mut self.oracle.files[which];
        entry.claimed = None;
        if entry.status != FileStatus::Validating {
            assert_eq!(published, PublishResult::Fenced);
            return;
        }
        entry.mark_ready(now);
        let (id, of) = (entry.id, entry.project);
        let known = self.oracle.find_duplicate(of, &file.declared());
        assert_eq!(
            published,
            PublishResult::Ready {
                is_new_object: known.is_none()
            }
        );
        match known {
            Some(object) => self.oracle.attach(object),
            None => self.oracle.add_object(&file),
        }
        self.oracle.files[which].object = Some(known.unwrap_or(id));
    }

    async fn fail(&mut self) {
        let Some((which, file)) = self.claimed() else {
            return;
        };
        let (flaw, scan) = (FileFailureReason::MagicByteMismatch, ScanStatus::Pending);
        let failed = file::fail(&self.fixture.shard, file.id, self.fixture.claim, flaw, scan).await;
        let entry = &mut self.oracle.files[which];
        assert_eq!(failed.unwrap(), entry.status == FileStatus::Validating);
        entry.claimed = None;
        if entry.status == FileStatus::Validating {
            entry.status = FileStatus::Failed;
        }
    }

    async fn later(&mut self) {
        let Some((which, file)) = self.claimed() else {
            return;
        };
        let (fixture, entry) = (&self.fixture, &mut self.oracle.files[which]);
        let back =
            file::reschedule(&fixture.shard, file.id, fixture.claim, fixture.now(), true).await;
        assert_eq!(back.unwrap(), entry.status == FileStatus::Validating);
        entry.claimed = None;
    }

    async fn delete(&mut self) {
        let Some(which) = self.file() else { return };
        let force = self.draw(3) == 0;
        let (now, entry) = (self.fixture.now(), self.oracle.files[which].clone());
        let shard = &self.fixture.shard;
        let deleted = file::delete(shard, entry.project, entry.id, force, now)
            .await
            .unwrap();
        if entry.status == FileStatus::Ready && entry.refs > 0 && !force {
            assert_eq!(deleted, FileDeletion::InUse);
            return;
        }
        let expected = self.oracle.end_file(which);
        let ended = match deleted {
            FileDeletion::Done {
                file,
                gone_object: gone,
            } => Some((file.status, gone)),
            FileDeletion::InUse | FileDeletion::NotFound => None,
        };
        assert_eq!(ended, Some((self.oracle.files[which].status, expected)));
    }

    async fn load(&mut self) {
        let Some(first) = self.file() else { return };
        let of = self.oracle.files[first].project;
        let mut named = vec![first];
        for _ in 0..self.draw(3) {
            named.extend(
                self.file()
                    .filter(|which| self.oracle.files[*which].project == of),
            );
        }
        named.sort_unstable();
        named.dedup();
        let now = self.fixture.now();
        let entries = named.iter().map(|which| &self.oracle.files[*which]);
        let may = entries.clone().all(|entry| entry.can_be_referenced(now));
        let ids: Vec<_> = entries.map(|entry| entry.id).collect();
        let cargo = self.fixture.load(of, &ids).await.unwrap();
        assert_eq!(cargo.is_some(), may);
        if let Some(cargo) = cargo {
            for which in &named {
                self.oracle.files[*which].refs += 1;
            }
            self.oracle.open.push((cargo, named));
        }
    }

    async fn finish(&mut self) {
        let left = self.oracle.open.len().saturating_sub(self.draw(4));
        let ended = self.oracle.open.split_off(left);
        let cargo: Vec<CargoId> = ended.iter().map(|(cargo, _)| *cargo).collect();
        assert_eq!(self.fixture.finish(&cargo).await.unwrap(), cargo.len());
        // A repeated outcome counts once.
        assert_eq!(self.fixture.finish(&cargo).await.unwrap(), 0);
        for which in ended.iter().flat_map(|(_, named)| named) {
            self.oracle.files[*which].refs -= 1;
        }
    }

    async fn expire(&mut self) {
        let by = Duration::from_secs(self.draw(usize::try_from(TTL / 2).unwrap()) as u64);
        let now = self.fixture.database.clock.advance(by);
        let (count, mut gone) = file::expire(&self.fixture.shard, now, 1000).await.unwrap();
        let files = 0..self.oracle.files.len();
        let late: Vec<_> = files
            .filter(|which| self.oracle.files[*which].is_due_to_expire(now))
            .collect();
        assert_eq!(count, late.len());
        let ended = late
            .into_iter()
            .filter_map(|which| self.oracle.end_file(which));
        let mut expected: Vec<_> = ended.collect();
        expected.sort_unstable();
        gone.sort_unstable();
        assert_eq!(gone, expected);
    }

    async fn abandon(&mut self) {
        let before = self.fixture.now() - Duration::from_secs(TTL.into());
        let mut ended = file::fail_abandoned(&self.fixture.shard, before, 1000)
            .await
            .unwrap();
        let mut expected = Vec::new();
        for entry in &mut self.oracle.files {
            if entry.status == FileStatus::Uploading && entry.created_at < before {
                entry.status = FileStatus::Failed;
                expected.push(entry.id);
            }
        }
        expected.sort_unstable();
        ended.sort_unstable();
        assert_eq!(ended, expected);
    }

    async fn change(&mut self) {
        let Some(which) = self.file() else { return };
        let ttl = TTL + u32::try_from(self.draw(7200)).unwrap();
        let change = FileChange {
            ttl_seconds: (self.draw(2) == 0).then_some(ttl),
            pinned: [None, Some(true), Some(false)][self.draw(3)],
            metadata: None,
        };
        let (now, entry) = (self.fixture.now(), &mut self.oracle.files[which]);
        let changed =
            file::update(&self.fixture.shard, entry.project, entry.id, &change, now).await;
        if matches!(entry.status, FileStatus::Failed | FileStatus::Expired) {
            assert_eq!(changed.unwrap(), FileChangeResult::WrongState);
            return;
        }
        assert!(matches!(changed.unwrap(), FileChangeResult::Done(_)));
        entry.change(&change, now);
    }

    /// Does the cleanup of sweep, and retracts a session.
    async fn clean(&mut self) {
        let shard = &self.fixture.shard;
        for gone in object::list_gone(shard, 3).await.unwrap() {
            object::delete(shard, gone).await.unwrap();
        }
        let Some(which) = self.file() else { return };
        let named = self
            .oracle
            .open
            .iter()
            .any(|(_, named)| named.contains(&which));
        let entry = &self.oracle.files[which];
        if entry.status == FileStatus::Uploading && !named && which + 1 == self.oracle.files.len() {
            file::retract(&self.fixture.shard, entry.id).await.unwrap();
            self.oracle.files.pop();
        }
    }

    /// Compares every row, and checks every invariant.
    async fn compare(&self) {
        self.fixture.assert_no_faults().await;
        for number in PROJECTS {
            let all = FileFilter::default();
            let listed = file::list(&self.fixture.shard, project(number), all, None, 100_000).await;
            let listed: Vec<_> = listed.unwrap().iter().map(OracleFile::of).collect();
            assert_eq!(listed, self.oracle.list(project(number)));
        }
    }
}
