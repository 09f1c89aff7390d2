//! The audit file holds every entry: after a restart, a takeover, a rotation and a torn line.

use std::fs;

use serde_json::Value;
use store::control::audit_log::{Actor, AuditEvent};
use test_support::database::TestDatabase;

use super::*;

struct AuditFixture {
    database: TestDatabase,
    folder: PathBuf,
}

impl AuditFixture {
    async fn new() -> Self {
        let name = format!("longshore-audit-{:032x}", rand::random::<u128>());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Self {
            database: TestDatabase::new().await,
            folder,
        }
    }

    fn writer(&self, node: u128) -> AuditFileWriter {
        AuditFileWriter {
            control: self.database.control.clone(),
            clock: self.database.clock.clone(),
            node: Uuid::from_u128(node),
            path: self.folder.join("audit.jsonl"),
        }
    }

    async fn record(&self, subjects: impl IntoIterator<Item = usize>) {
        let (control, now) = (&self.database.control, self.database.clock.now());
        for subject in subjects {
            let event = AuditEvent {
                action: "test.recorded",
                subject: subject.to_string(),
                ..AuditEvent::default()
            };
            let by = Actor::console();
            audit_log::record(control, &by, event, now).await.unwrap();
        }
    }

    /// The targets of the lines in a file, in order. A line that is no JSON is shown as it is.
    fn targets(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let target = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(entry) => entry["target"].as_str().unwrap().to_owned(),
            Err(_) => line.to_owned(),
        };
        text.lines().map(target).collect()
    }
}

impl Drop for AuditFixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn every_entry_is_written_once_and_a_restart_continues() {
    let fixture = AuditFixture::new().await;
    fixture.record(0..3).await;
    fixture.writer(1).catch_up().await.unwrap();
    fixture.writer(1).catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl"), numbers(0..3));
    let missing = audit_file::find_oldest_unwritten(&fixture.database.control).await;
    assert_eq!(missing.unwrap(), None);
    fixture.record(3..5).await;
    fixture.writer(1).catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl"), numbers(0..5));
}

#[tokio::test]
async fn more_entries_than_one_write_holds_are_all_written() {
    let fixture = AuditFixture::new().await;
    let count = usize::try_from(MAX_ENTRIES_PER_WRITE).unwrap() + 5;
    fixture.record(0..count).await;
    fixture.writer(1).catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl"), numbers(0..count));
}

#[tokio::test]
async fn one_process_writes_at_a_time_and_another_takes_over() {
    let fixture = AuditFixture::new().await;
    let (first, second) = (fixture.writer(1), fixture.writer(2));
    let second = AuditFileWriter {
        path: fixture.folder.join("second.jsonl"),
        ..second
    };
    fixture.record(0..1).await;
    first.catch_up().await.unwrap();
    fixture.record(1..2).await;
    second.catch_up().await.unwrap();
    assert_eq!(fixture.targets("second.jsonl"), Vec::<String>::new());

    // The first process is gone: its lease expires.
    fixture.database.clock.advance(Duration::from_secs(16));
    second.catch_up().await.unwrap();
    assert_eq!(fixture.targets("second.jsonl"), numbers(1..2));
    fixture.record(2..3).await;
    first.catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl"), numbers(0..1));

    // A process that stops leaves the lease to the next one at once.
    let stop = CancellationToken::new();
    stop.cancel();
    second.run(stop).await;
    first.catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl"), ["0", "2"]);
}

#[tokio::test]
async fn a_renamed_file_is_replaced_by_a_new_one() {
    let fixture = AuditFixture::new().await;
    fixture.record(0..1).await;
    fixture.writer(1).catch_up().await.unwrap();
    let (file, rotated) = (
        fixture.folder.join("audit.jsonl"),
        fixture.folder.join("audit.jsonl.1"),
    );
    fs::rename(&file, rotated).unwrap();
    fixture.record(1..2).await;
    fixture.writer(1).catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl.1"), numbers(0..1));
    assert_eq!(fixture.targets("audit.jsonl"), numbers(1..2));
}

#[tokio::test]
async fn a_write_that_failed_is_repeated_after_a_torn_line() {
    let fixture = AuditFixture::new().await;
    fixture.record(0..1).await;
    // A folder cannot be opened for writing.
    let writer = AuditFileWriter {
        path: fixture.folder.clone(),
        ..fixture.writer(1)
    };
    assert!(writer.catch_up().await.is_err());
    let missing = audit_file::find_oldest_unwritten(&fixture.database.control).await;
    assert_eq!(missing.unwrap(), Some(fixture.database.clock.now()));

    fs::write(fixture.folder.join("audit.jsonl"), "{\"id\":1,\"ti").unwrap();
    fixture.writer(1).catch_up().await.unwrap();
    assert_eq!(fixture.targets("audit.jsonl"), ["{\"id\":1,\"ti", "0"]);
}
