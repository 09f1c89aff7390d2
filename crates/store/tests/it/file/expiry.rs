//! How files end: deleted, expired or abandoned; and the cleanup after that.

use std::time::Duration;

use domain::file::{FileFailureReason, FileStatus};
use domain::storage_quota::StorageUsage;
use store::shard::file::{self, FileChange, FileCreation, FileDeletion};
use store::shard::{object, patrol};

use crate::file::fixture::{FileFixture, TTL, UNLIMITED, berth, organization, project, text};

#[tokio::test]
async fn a_session_is_aborted_and_a_file_expires() {
    let fixture = FileFixture::new().await;
    let session = fixture.session(project(1), text(1, 10)).await;
    let claimed = fixture.validating(project(1), text(2, 10)).await;
    for file in [session, claimed] {
        let FileDeletion::Done {
            file: told,
            gone_object,
        } = fixture.delete(&file, false).await
        else {
            panic!("not deleted")
        };
        assert_eq!((told.status, gone_object), (FileStatus::Failed, None));
        assert_eq!(told.failure_reason, Some(FileFailureReason::UploadAborted));
        // The result matches the row.
        assert_eq!(fixture.find(&file).await, told);
        // Deleted again, a failed file expires, and stays expired.
        for _ in 0..2 {
            let FileDeletion::Done { file: told, .. } = fixture.delete(&file, false).await else {
                panic!("not deleted")
            };
            assert_eq!(told.status, FileStatus::Expired);
            assert_eq!(fixture.find(&file).await, told);
        }
    }
    let ready = fixture.ready(project(1), text(3, 10)).await;
    let FileDeletion::Done {
        file: told,
        gone_object,
    } = fixture.delete(&ready, false).await
    else {
        panic!("not deleted")
    };
    assert_eq!(
        (told.status, gone_object),
        (FileStatus::Expired, Some(ready.id))
    );
    assert_eq!(fixture.find(&ready).await, told);
    let elsewhere = file::delete(&fixture.shard, project(2), ready.id, true, fixture.now()).await;
    assert_eq!(elsewhere.unwrap(), FileDeletion::NotFound);
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage::default()
    );
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn bytes_go_with_the_last_file_that_wants_them() {
    let fixture = FileFixture::new().await;
    let first = fixture.ready(project(1), text(1, 10)).await;
    let FileCreation::Duplicate(second) = fixture.create(project(1), text(1, 10), UNLIMITED).await
    else {
        panic!("no duplicate")
    };
    let gone = |deleted: FileDeletion| match deleted {
        FileDeletion::Done { gone_object, .. } => gone_object,
        FileDeletion::InUse | FileDeletion::NotFound => panic!("not deleted"),
    };
    assert_eq!(gone(fixture.delete(&first, false).await), None);
    let left = StorageUsage {
        files: 1,
        bytes: 10,
    };
    assert_eq!(fixture.stored(organization(0)).await, left);
    assert_eq!(gone(fixture.delete(&second, false).await), Some(first.id));
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage::default()
    );
    assert_eq!(
        object::list_gone(&fixture.shard, 10).await.unwrap(),
        [first.id]
    );
    // A gone object is never used again: the same bytes are a new object.
    let again = fixture.ready(project(1), text(1, 10)).await;
    assert_eq!(again.object, Some(again.id));
    object::delete(&fixture.shard, first.id).await.unwrap();
    object::delete(&fixture.shard, again.id).await.unwrap();
    assert!(
        object::list_gone(&fixture.shard, 10)
            .await
            .unwrap()
            .is_empty()
    );
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn what_is_past_its_time_expires_unless_it_is_pinned() {
    let fixture = FileFixture::new().await;
    let plain = fixture.ready(project(1), text(1, 10)).await;
    let pinned = fixture.ready(project(1), text(2, 10)).await;
    let longer = fixture.ready(project(1), text(3, 10)).await;
    let other = fixture.ready(project(101), text(1, 7)).await;
    let change = |pinned, ttl_seconds| FileChange {
        pinned,
        ttl_seconds,
        metadata: None,
    };
    for (file, change) in [
        (&pinned, change(Some(true), None)),
        (&longer, change(None, Some(TTL + 1))),
    ] {
        let changed = file::update(
            &fixture.shard,
            file.project,
            file.id,
            &change,
            fixture.now(),
        );
        changed.await.unwrap();
    }
    let almost = Duration::from_micros(u64::from(TTL) * 1_000_000 - 1);
    let now = fixture.database.clock.advance(almost);
    let none = file::expire(&fixture.shard, now, 10).await.unwrap();
    assert_eq!(none, (0, Vec::new()));
    let now = fixture.database.clock.advance(Duration::from_micros(1));
    let (count, mut gone) = file::expire(&fixture.shard, now, 10).await.unwrap();
    gone.sort_unstable();
    let mut expected = [plain.id, other.id];
    expected.sort_unstable();
    assert_eq!((count, gone.as_slice()), (2, &expected[..]));
    assert_eq!(fixture.find(&plain).await.status, FileStatus::Expired);
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage {
            files: 2,
            bytes: 20
        }
    );
    let now = fixture.database.clock.advance(Duration::from_hours(9999));
    let (count, _) = file::expire(&fixture.shard, now, 10).await.unwrap();
    assert_eq!(count, 1);
    assert_eq!(fixture.find(&pinned).await.status, FileStatus::Ready);
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn duplicates_that_expire_together_free_their_bytes_once() {
    let fixture = FileFixture::new().await;
    let first = fixture.ready(project(1), text(1, 10)).await;
    for _ in 0..3 {
        fixture.create(project(1), text(1, 10), UNLIMITED).await;
    }
    let now = fixture
        .database
        .clock
        .advance(Duration::from_secs(TTL.into()));
    let expired = file::expire(&fixture.shard, now, 10).await.unwrap();
    assert_eq!(expired, (4, vec![first.id]));
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage::default()
    );
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn a_session_that_is_never_completed_is_abandoned() {
    let fixture = FileFixture::new().await;
    let old = fixture.session(project(1), text(1, 10)).await;
    let looked_at = fixture.validating(project(1), text(2, 10)).await;
    let before = fixture.database.clock.advance(Duration::from_secs(1));
    let young = fixture.session(project(1), text(3, 10)).await;
    let abandoned = file::fail_abandoned(&fixture.shard, before, 10)
        .await
        .unwrap();
    assert_eq!(abandoned, [old.id]);
    let after = fixture.find(&old).await;
    assert_eq!(
        (after.status, after.failure_reason),
        (FileStatus::Failed, Some(FileFailureReason::UploadAbandoned))
    );
    assert_eq!(fixture.find(&young).await.status, FileStatus::Uploading);
    assert_eq!(
        fixture.find(&looked_at).await.status,
        FileStatus::Validating
    );
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn staging_is_remembered_until_it_was_looked_at() {
    let fixture = FileFixture::new().await;
    let open = fixture.session(project(1), text(1, 10)).await;
    file::record_upload(&fixture.shard, open.id, "u")
        .await
        .unwrap();
    let ready = fixture.ready(project(1), text(2, 10)).await;
    let staged = || async { file::list_staged(&fixture.shard, None, 10).await.unwrap() };
    assert_eq!(staged().await, [(ready.id, None)]);
    // An open session still needs its staged bytes.
    file::mark_cleaned(&fixture.shard, open.id).await.unwrap();
    assert!(fixture.find(&open).await.staged);
    fixture.delete(&open, false).await;
    let both = [(open.id, Some("u".to_owned())), (ready.id, None)];
    assert_eq!(staged().await, both);
    let rest = file::list_staged(&fixture.shard, Some(open.id), 10)
        .await
        .unwrap();
    assert_eq!(rest, both[1..]);
    file::mark_cleaned(&fixture.shard, open.id).await.unwrap();
    file::mark_cleaned(&fixture.shard, ready.id).await.unwrap();
    assert!(staged().await.is_empty());
}

#[tokio::test]
async fn the_patrol_knows_berths_files_and_objects() {
    let fixture = FileFixture::new().await;
    let now = fixture.now();
    patrol::add_berths(&fixture.shard, now).await.unwrap();
    patrol::add_berths(&fixture.shard, now).await.unwrap();
    let next = now + Duration::from_hours(1);
    assert_eq!(
        patrol::claim_due_berth(&fixture.shard, now, next)
            .await
            .unwrap(),
        Some(berth())
    );
    assert_eq!(
        patrol::claim_due_berth(&fixture.shard, now, next)
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        patrol::claim_due_berth(&fixture.shard, next, next)
            .await
            .unwrap(),
        Some(berth())
    );
    let open = fixture.session(project(1), text(1, 10)).await;
    file::record_upload(&fixture.shard, open.id, "u")
        .await
        .unwrap();
    let ready = fixture.ready(project(1), text(2, 10)).await;
    let gone = fixture.ready(project(1), text(3, 10)).await;
    fixture.delete(&gone, false).await;
    let unknown = fixture.file_id();
    let ids = [open.id, ready.id, gone.id, unknown];
    let known = patrol::find_files(&fixture.shard, &ids).await.unwrap();
    assert_eq!(known[&open.id].upload.as_deref(), Some("u"));
    assert_eq!(known[&gone.id].status, FileStatus::Expired);
    assert!(!known.contains_key(&unknown));
    let published = patrol::find_published(&fixture.shard, &ids).await.unwrap();
    let seen = ids.map(|id| (published[&id].file, published[&id].is_live));
    let expected = [
        (Some(FileStatus::Uploading), false),
        (Some(FileStatus::Ready), true),
        (Some(FileStatus::Expired), false),
        (None, false),
    ];
    assert_eq!(seen, expected);
    let live = patrol::find_live_objects(&fixture.shard, &ids)
        .await
        .unwrap();
    assert_eq!(live.into_iter().collect::<Vec<_>>(), [ready.id]);
    let live = patrol::list_live_objects(&fixture.shard, berth(), None, 10)
        .await
        .unwrap();
    assert_eq!(live, [ready.id]);
    let after = patrol::list_live_objects(&fixture.shard, berth(), Some(ready.id), 10)
        .await
        .unwrap();
    assert!(after.is_empty());
}
