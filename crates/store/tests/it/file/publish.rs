//! Becoming ready, while others do the same, delete or take over.

use std::sync::Arc;

use domain::file::{Flaw, ScanStatus, Status, Structure, expiry};
use domain::storage::Stored;
use store::shard::file::{self, Change, Created, Deleted, Published};
use store::shard::node::Claim;
use store::shard::object;

use crate::file::yard::{TTL, UNLIMITED, Yard, organization, project, text};

#[tokio::test]
async fn a_published_file_lives_from_then_on() {
    let yard = Yard::new().await;
    let file = yard.validating(project(1), text(1, 10)).await;
    // Changed while it is looked at.
    let change = Change {
        ttl_seconds: Some(2 * TTL),
        ..Change::default()
    };
    let changed = file::change(&yard.shard, file.project, file.id, &change, yard.now());
    changed.await.unwrap();
    let now = yard
        .database
        .clock
        .advance(std::time::Duration::from_mins(1));
    assert_eq!(yard.publish(&file).await, Published::Ready { own: true });
    let ready = yard.find(&file).await;
    assert_eq!(ready.status, Status::Ready);
    assert_eq!(ready.scan_status, ScanStatus::Clean);
    assert_eq!(ready.expires_at, Some(expiry(now, 2 * TTL)));
    assert_eq!(ready.object, Some(file.id));
    // Once.
    assert_eq!(yard.publish(&file).await, Published::Moved);
    assert_eq!(
        yard.stored(organization(0)).await,
        Stored {
            files: 1,
            bytes: 10
        }
    );
    yard.assert_sound().await;
}

#[tokio::test]
async fn a_claim_that_is_gone_publishes_and_fails_nothing() {
    let yard = Yard::new().await;
    let file = yard.validating(project(1), text(1, 10)).await;
    let before = Claim {
        epoch: yard.claim.epoch - 1,
        ..yard.claim
    };
    let published = file::publish(&yard.shard, &file, before, Structure::Text, yard.now());
    assert_eq!(published.await.unwrap(), Published::Moved);
    let (flaw, scan) = (Flaw::MalwareDetected, ScanStatus::Infected);
    let failed = file::fail(&yard.shard, file.id, before, flaw, scan);
    assert!(!failed.await.unwrap());
    let failed = file::fail(&yard.shard, file.id, yard.claim, flaw, scan);
    assert!(failed.await.unwrap());
    let failed = yard.find(&file).await;
    assert_eq!(
        (failed.status, failed.failure_reason),
        (Status::Failed, Some(flaw))
    );
    assert_eq!(failed.scan_status, scan);
    assert_eq!(yard.stored(organization(0)).await, Stored::default());
    yard.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_publish_the_same_bytes_have_one_object() {
    let yard = Yard::new().await;
    for content in 0..20 {
        let one = yard.validating(project(1), text(content, 10)).await;
        let other = yard.validating(project(1), text(content, 10)).await;
        let (one_way, other_way) = tokio::join!(yard.publish(&one), yard.publish(&other));
        let mut own = [one_way, other_way].map(|published| match published {
            Published::Ready { own } => own,
            Published::Moved => panic!("not published"),
        });
        own.sort_unstable();
        assert_eq!(own, [false, true]);
        let (one, other) = (yard.find(&one).await, yard.find(&other).await);
        assert_eq!(one.object, other.object);
        let stored = u64::from(content) + 1;
        let expected = Stored {
            files: 2 * stored,
            bytes: 10 * stored,
        };
        assert_eq!(yard.stored(organization(0)).await, expected);
    }
    yard.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_deleted_while_it_is_published_ends_one_way() {
    let yard = Yard::new().await;
    for content in 0..40 {
        let file = yard.validating(project(1), text(content, 10)).await;
        let (published, deleted) = tokio::join!(yard.publish(&file), yard.delete(&file, false));
        let Deleted::Done { gone, .. } = deleted else {
            panic!("not deleted: {deleted:?}")
        };
        let after = yard.find(&file).await;
        match published {
            Published::Ready { own: true } => {
                assert_eq!((after.status, gone), (Status::Expired, Some(file.id)));
            }
            Published::Moved => {
                assert_eq!((after.status, gone), (Status::Failed, None));
                assert_eq!(after.failure_reason, Some(Flaw::UploadAborted));
            }
            Published::Ready { own: false } => panic!("nobody else had these bytes"),
        }
    }
    assert_eq!(yard.stored(organization(0)).await, Stored::default());
    yard.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_of_the_last_file_is_ready_only_with_its_bytes() {
    let yard = Yard::new().await;
    let (mut duplicates, mut sessions) = (0, 0);
    for content in 0..60 {
        let last = yard
            .ready(project(u64::from(content)), text(content, 10))
            .await;
        let creating = Arc::clone(&yard);
        let creating = tokio::spawn(async move {
            let again = text(content, 10);
            creating
                .create(project(u64::from(content)), again, UNLIMITED)
                .await
        });
        let (deleted, created) = tokio::join!(yard.delete(&last, false), creating);
        let Deleted::Done { gone, .. } = deleted else {
            panic!("not deleted: {deleted:?}")
        };
        match created.unwrap() {
            Created::Duplicate(file) => {
                assert_eq!((file.object, gone), (last.object, None));
                duplicates += 1;
            }
            Created::Session(_) => {
                assert_eq!(gone, last.object);
                sessions += 1;
            }
            Created::Refused(refusal) => panic!("{refusal:?}"),
        }
    }
    assert_eq!(duplicates + sessions, 60);
    yard.assert_sound().await;
    let gone = object::gone(&yard.shard, 100).await.unwrap();
    assert_eq!(gone.len(), sessions);
    for gone in gone {
        object::forget(&yard.shard, gone).await.unwrap();
    }
    yard.assert_sound().await;
}
