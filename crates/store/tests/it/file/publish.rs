//! Publication, also while other tasks publish, delete or take over.

use std::sync::Arc;

use domain::file::{FileFailureReason, FileStatus, FileStructure, ScanStatus, expires_at};
use domain::storage_quota::StorageUsage;
use store::shard::file::{self, FileChange, FileCreation, FileDeletion, PublishResult};
use store::shard::node::Claim;
use store::shard::object;

use crate::file::fixture::{FileFixture, TTL, UNLIMITED, organization, project, text};

#[tokio::test]
async fn a_published_file_lives_from_then_on() {
    let fixture = FileFixture::new().await;
    let file = fixture.validating(project(1), text(1, 10)).await;
    // Changed during the scan.
    let change = FileChange {
        ttl_seconds: Some(2 * TTL),
        ..FileChange::default()
    };
    let changed = file::update(
        &fixture.shard,
        file.project,
        file.id,
        &change,
        fixture.now(),
    );
    changed.await.unwrap();
    let now = fixture
        .database
        .clock
        .advance(std::time::Duration::from_mins(1));
    assert_eq!(
        fixture.publish(&file).await,
        PublishResult::Ready {
            is_new_object: true
        }
    );
    let ready = fixture.find(&file).await;
    assert_eq!(ready.status, FileStatus::Ready);
    assert_eq!(ready.scan_status, ScanStatus::Clean);
    assert_eq!(ready.expires_at, Some(expires_at(now, 2 * TTL)));
    assert_eq!(ready.object, Some(file.id));
    // Only once.
    assert_eq!(fixture.publish(&file).await, PublishResult::Fenced);
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage {
            files: 1,
            bytes: 10
        }
    );
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn a_claim_that_is_gone_publishes_and_fails_nothing() {
    let fixture = FileFixture::new().await;
    let file = fixture.validating(project(1), text(1, 10)).await;
    let before = Claim {
        epoch: fixture.claim.epoch - 1,
        ..fixture.claim
    };
    let published = file::publish(
        &fixture.shard,
        &file,
        before,
        FileStructure::Text,
        fixture.now(),
    );
    assert_eq!(published.await.unwrap(), PublishResult::Fenced);
    let (flaw, scan) = (FileFailureReason::MalwareDetected, ScanStatus::Infected);
    let failed = file::fail(&fixture.shard, file.id, before, flaw, scan);
    assert!(!failed.await.unwrap());
    let failed = file::fail(&fixture.shard, file.id, fixture.claim, flaw, scan);
    assert!(failed.await.unwrap());
    let failed = fixture.find(&file).await;
    assert_eq!(
        (failed.status, failed.failure_reason),
        (FileStatus::Failed, Some(flaw))
    );
    assert_eq!(failed.scan_status, scan);
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage::default()
    );
    fixture.assert_no_faults().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_publish_the_same_bytes_have_one_object() {
    let fixture = FileFixture::new().await;
    for content in 0..20 {
        let one = fixture.validating(project(1), text(content, 10)).await;
        let other = fixture.validating(project(1), text(content, 10)).await;
        let (one_way, other_way) = tokio::join!(fixture.publish(&one), fixture.publish(&other));
        let mut own = [one_way, other_way].map(|published| match published {
            PublishResult::Ready { is_new_object } => is_new_object,
            PublishResult::Fenced => panic!("not published"),
        });
        own.sort_unstable();
        assert_eq!(own, [false, true]);
        let (one, other) = (fixture.find(&one).await, fixture.find(&other).await);
        assert_eq!(one.object, other.object);
        let stored = u64::from(content) + 1;
        let expected = StorageUsage {
            files: 2 * stored,
            bytes: 10 * stored,
        };
        assert_eq!(fixture.stored(organization(0)).await, expected);
    }
    fixture.assert_no_faults().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_deleted_while_it_is_published_ends_one_way() {
    let fixture = FileFixture::new().await;
    for content in 0..40 {
        let file = fixture.validating(project(1), text(content, 10)).await;
        let (published, deleted) =
            tokio::join!(fixture.publish(&file), fixture.delete(&file, false));
        let FileDeletion::Done { gone_object, .. } = deleted else {
            panic!("not deleted: {deleted:?}")
        };
        let after = fixture.find(&file).await;
        match published {
            PublishResult::Ready {
                is_new_object: true,
            } => {
                assert_eq!(
                    (after.status, gone_object),
                    (FileStatus::Expired, Some(file.id))
                );
            }
            PublishResult::Fenced => {
                assert_eq!((after.status, gone_object), (FileStatus::Failed, None));
                assert_eq!(after.failure_reason, Some(FileFailureReason::UploadAborted));
            }
            PublishResult::Ready {
                is_new_object: false,
            } => panic!("no other file had these bytes"),
        }
    }
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage::default()
    );
    fixture.assert_no_faults().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_of_the_last_file_is_ready_only_with_its_bytes() {
    let fixture = FileFixture::new().await;
    let (mut duplicates, mut sessions) = (0, 0);
    for content in 0..60 {
        let last = fixture
            .ready(project(u64::from(content)), text(content, 10))
            .await;
        let creating = Arc::clone(&fixture);
        let creating = tokio::spawn(async move {
            let again = text(content, 10);
            creating
                .create(project(u64::from(content)), again, UNLIMITED)
                .await
        });
        let (deleted, created) = tokio::join!(fixture.delete(&last, false), creating);
        let FileDeletion::Done { gone_object, .. } = deleted else {
            panic!("not deleted: {deleted:?}")
        };
        match created.unwrap() {
            FileCreation::Duplicate(file) => {
                assert_eq!((file.object, gone_object), (last.object, None));
                duplicates += 1;
            }
            FileCreation::Session(_) => {
                assert_eq!(gone_object, last.object);
                sessions += 1;
            }
            FileCreation::Refused(refusal) => panic!("{refusal:?}"),
        }
    }
    assert_eq!(duplicates + sessions, 60);
    fixture.assert_no_faults().await;
    let gone = object::list_gone(&fixture.shard, 100).await.unwrap();
    assert_eq!(gone.len(), sessions);
    for gone in gone {
        object::delete(&fixture.shard, gone).await.unwrap();
    }
    fixture.assert_no_faults().await;
}
