//! How files end: deleted, past their time, abandoned; and what is left to clean up.

use std::time::Duration;

use domain::file::{Flaw, Status};
use domain::storage::Stored;
use store::shard::file::{self, Change, Created, Deleted};
use store::shard::{object, patrol};

use crate::file::yard::{TTL, UNLIMITED, Yard, berth, organization, project, text};

#[tokio::test]
async fn a_session_is_aborted_and_a_file_expires() {
    let yard = Yard::new().await;
    let session = yard.session(project(1), text(1, 10)).await;
    let claimed = yard.validating(project(1), text(2, 10)).await;
    for file in [session, claimed] {
        let Deleted::Done { file: told, gone } = yard.delete(&file, false).await else {
            panic!("not deleted")
        };
        assert_eq!((told.status, gone), (Status::Failed, None));
        assert_eq!(told.failure_reason, Some(Flaw::UploadAborted));
        // What is told is what stands.
        assert_eq!(yard.find(&file).await, told);
        // Deleted again, what failed expires, and stays so.
        for _ in 0..2 {
            let Deleted::Done { file: told, .. } = yard.delete(&file, false).await else {
                panic!("not deleted")
            };
            assert_eq!(told.status, Status::Expired);
            assert_eq!(yard.find(&file).await, told);
        }
    }
    let ready = yard.ready(project(1), text(3, 10)).await;
    let Deleted::Done { file: told, gone } = yard.delete(&ready, false).await else {
        panic!("not deleted")
    };
    assert_eq!((told.status, gone), (Status::Expired, Some(ready.id)));
    assert_eq!(yard.find(&ready).await, told);
    let elsewhere = file::delete(&yard.shard, project(2), ready.id, true, yard.now()).await;
    assert_eq!(elsewhere.unwrap(), Deleted::NotFound);
    assert_eq!(yard.stored(organization(0)).await, Stored::default());
    yard.assert_sound().await;
}

#[tokio::test]
async fn bytes_go_with_the_last_file_that_wants_them() {
    let yard = Yard::new().await;
    let first = yard.ready(project(1), text(1, 10)).await;
    let Created::Duplicate(second) = yard.create(project(1), text(1, 10), UNLIMITED).await else {
        panic!("no duplicate")
    };
    let gone = |deleted: Deleted| match deleted {
        Deleted::Done { gone, .. } => gone,
        Deleted::InUse | Deleted::NotFound => panic!("not deleted"),
    };
    assert_eq!(gone(yard.delete(&first, false).await), None);
    let left = Stored {
        files: 1,
        bytes: 10,
    };
    assert_eq!(yard.stored(organization(0)).await, left);
    assert_eq!(gone(yard.delete(&second, false).await), Some(first.id));
    assert_eq!(yard.stored(organization(0)).await, Stored::default());
    assert_eq!(object::gone(&yard.shard, 10).await.unwrap(), [first.id]);
    // What is gone is never wanted again: the same bytes are a new object.
    let again = yard.ready(project(1), text(1, 10)).await;
    assert_eq!(again.object, Some(again.id));
    object::forget(&yard.shard, first.id).await.unwrap();
    object::forget(&yard.shard, again.id).await.unwrap();
    assert!(object::gone(&yard.shard, 10).await.unwrap().is_empty());
    yard.assert_sound().await;
}

#[tokio::test]
async fn what_is_past_its_time_expires_unless_it_is_pinned() {
    let yard = Yard::new().await;
    let plain = yard.ready(project(1), text(1, 10)).await;
    let pinned = yard.ready(project(1), text(2, 10)).await;
    let longer = yard.ready(project(1), text(3, 10)).await;
    let other = yard.ready(project(101), text(1, 7)).await;
    let change = |pinned, ttl_seconds| Change {
        pinned,
        ttl_seconds,
        metadata: None,
    };
    for (file, change) in [
        (&pinned, change(Some(true), None)),
        (&longer, change(None, Some(TTL + 1))),
    ] {
        let changed = file::change(&yard.shard, file.project, file.id, &change, yard.now());
        changed.await.unwrap();
    }
    let almost = Duration::from_micros(u64::from(TTL) * 1_000_000 - 1);
    let now = yard.database.clock.advance(almost);
    let none = file::expire(&yard.shard, now, 10).await.unwrap();
    assert_eq!(none, (0, Vec::new()));
    let now = yard.database.clock.advance(Duration::from_micros(1));
    let (count, mut gone) = file::expire(&yard.shard, now, 10).await.unwrap();
    gone.sort_unstable();
    let mut expected = [plain.id, other.id];
    expected.sort_unstable();
    assert_eq!((count, gone.as_slice()), (2, &expected[..]));
    assert_eq!(yard.find(&plain).await.status, Status::Expired);
    assert_eq!(
        yard.stored(organization(0)).await,
        Stored {
            files: 2,
            bytes: 20
        }
    );
    let now = yard.database.clock.advance(Duration::from_hours(9999));
    let (count, _) = file::expire(&yard.shard, now, 10).await.unwrap();
    assert_eq!(count, 1);
    assert_eq!(yard.find(&pinned).await.status, Status::Ready);
    yard.assert_sound().await;
}

#[tokio::test]
async fn duplicates_that_expire_together_free_their_bytes_once() {
    let yard = Yard::new().await;
    let first = yard.ready(project(1), text(1, 10)).await;
    for _ in 0..3 {
        yard.create(project(1), text(1, 10), UNLIMITED).await;
    }
    let now = yard.database.clock.advance(Duration::from_secs(TTL.into()));
    let expired = file::expire(&yard.shard, now, 10).await.unwrap();
    assert_eq!(expired, (4, vec![first.id]));
    assert_eq!(yard.stored(organization(0)).await, Stored::default());
    yard.assert_sound().await;
}

#[tokio::test]
async fn a_session_that_nobody_completes_is_abandoned() {
    let yard = Yard::new().await;
    let old = yard.session(project(1), text(1, 10)).await;
    let looked_at = yard.validating(project(1), text(2, 10)).await;
    let before = yard.database.clock.advance(Duration::from_secs(1));
    let young = yard.session(project(1), text(3, 10)).await;
    let abandoned = file::abandon(&yard.shard, before, 10).await.unwrap();
    assert_eq!(abandoned, [old.id]);
    let after = yard.find(&old).await;
    assert_eq!(
        (after.status, after.failure_reason),
        (Status::Failed, Some(Flaw::UploadAbandoned))
    );
    assert_eq!(yard.find(&young).await.status, Status::Uploading);
    assert_eq!(yard.find(&looked_at).await.status, Status::Validating);
    yard.assert_sound().await;
}

#[tokio::test]
async fn staging_is_remembered_until_it_was_looked_at() {
    let yard = Yard::new().await;
    let open = yard.session(project(1), text(1, 10)).await;
    file::keep_upload(&yard.shard, open.id, "u").await.unwrap();
    let ready = yard.ready(project(1), text(2, 10)).await;
    let staged = || async { file::staged(&yard.shard, None, 10).await.unwrap() };
    assert_eq!(staged().await, [(ready.id, None)]);
    // An open session still needs its staging.
    file::cleaned(&yard.shard, open.id).await.unwrap();
    assert!(yard.find(&open).await.staged);
    yard.delete(&open, false).await;
    let both = [(open.id, Some("u".to_owned())), (ready.id, None)];
    assert_eq!(staged().await, both);
    let rest = file::staged(&yard.shard, Some(open.id), 10).await.unwrap();
    assert_eq!(rest, both[1..]);
    file::cleaned(&yard.shard, open.id).await.unwrap();
    file::cleaned(&yard.shard, ready.id).await.unwrap();
    assert!(staged().await.is_empty());
}

#[tokio::test]
async fn the_patrol_knows_berths_files_and_objects() {
    let yard = Yard::new().await;
    let now = yard.now();
    patrol::enter(&yard.shard, now).await.unwrap();
    patrol::enter(&yard.shard, now).await.unwrap();
    let next = now + Duration::from_hours(1);
    assert_eq!(
        patrol::take(&yard.shard, now, next).await.unwrap(),
        Some(berth())
    );
    assert_eq!(patrol::take(&yard.shard, now, next).await.unwrap(), None);
    assert_eq!(
        patrol::take(&yard.shard, next, next).await.unwrap(),
        Some(berth())
    );
    let open = yard.session(project(1), text(1, 10)).await;
    file::keep_upload(&yard.shard, open.id, "u").await.unwrap();
    let ready = yard.ready(project(1), text(2, 10)).await;
    let gone = yard.ready(project(1), text(3, 10)).await;
    yard.delete(&gone, false).await;
    let unknown = yard.file_id();
    let ids = [open.id, ready.id, gone.id, unknown];
    let known = patrol::files(&yard.shard, &ids).await.unwrap();
    assert_eq!(known[&open.id].upload.as_deref(), Some("u"));
    assert_eq!(known[&gone.id].status, Status::Expired);
    assert!(!known.contains_key(&unknown));
    let published = patrol::published(&yard.shard, &ids).await.unwrap();
    let seen = ids.map(|id| (published[&id].file, published[&id].is_live));
    let expected = [
        (Some(Status::Uploading), false),
        (Some(Status::Ready), true),
        (Some(Status::Expired), false),
        (None, false),
    ];
    assert_eq!(seen, expected);
    let live = patrol::objects(&yard.shard, &ids).await.unwrap();
    assert_eq!(live.into_iter().collect::<Vec<_>>(), [ready.id]);
    let live = patrol::live(&yard.shard, berth(), None, 10).await.unwrap();
    assert_eq!(live, [ready.id]);
    let after = patrol::live(&yard.shard, berth(), Some(ready.id), 10)
        .await
        .unwrap();
    assert!(after.is_empty());
}
