//! Sessions, quotas and duplicates, also when everyone comes at once.

use std::sync::Arc;

use domain::file::{MediaType, Status};
use domain::storage::{StorageQuota, StorageRefusal, Stored};
use store::shard::file::{self, Created};
use tokio::task::JoinSet;

use crate::file::yard::{UNLIMITED, Yard, organization, project, text};

/// Everyone at once; what each got, in no order.
async fn at_once(
    all: impl Iterator<Item = impl Future<Output = Created> + Send + 'static>,
) -> Vec<Created> {
    all.collect::<JoinSet<_>>().join_all().await
}

fn create(
    yard: &Arc<Yard>,
    number: u64,
    content: u64,
    size: u64,
    quota: StorageQuota,
) -> impl Future<Output = Created> + Send + 'static + use<> {
    let yard = Arc::clone(yard);
    let declared = text(u8::try_from(content).unwrap(), size);
    async move { yard.create(project(number), declared, quota).await }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_creates_at_once_exactly_twenty_are_sessions() {
    let yard = Yard::new().await;
    let created = at_once((0..100).map(|number| create(&yard, 1, number, 5, UNLIMITED))).await;
    let refused = Created::Refused(StorageRefusal::TooManySessions);
    assert_eq!(created.iter().filter(|it| **it == refused).count(), 80);
    let sessions = created
        .iter()
        .filter(|it| matches!(it, Created::Session(_)));
    assert_eq!(sessions.count(), 20);
    // Another project has its own, and one that ends makes room for one.
    assert!(matches!(
        create(&yard, 2, 1, 5, UNLIMITED).await,
        Created::Session(_)
    ));
    let one = created.iter().find_map(|it| match it {
        Created::Session(file) => Some(file),
        Created::Duplicate(_) | Created::Refused(_) => None,
    });
    yard.delete(one.unwrap(), false).await;
    assert!(matches!(
        create(&yard, 1, 1, 5, UNLIMITED).await,
        Created::Session(_)
    ));
    assert_eq!(create(&yard, 1, 1, 5, UNLIMITED).await, refused);
    yard.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_filled_to_the_byte_and_never_passed() {
    let yard = Yard::new().await;
    let bytes = StorageQuota {
        files: None,
        bytes: Some(100),
    };
    // Five projects of one organization; 33 do not go into the last byte.
    let created = at_once((0..60).map(|number| create(&yard, number % 5, number, 3, bytes))).await;
    let sessions = created
        .iter()
        .filter(|it| matches!(it, Created::Session(_)));
    assert_eq!(sessions.count(), 33);
    assert_eq!(
        yard.stored(organization(0)).await,
        Stored {
            files: 33,
            bytes: 99
        }
    );
    let refused = StorageRefusal::TooManyBytes {
        most: 100,
        stored: 99,
    };
    assert_eq!(
        create(&yard, 9, 0, 2, bytes).await,
        Created::Refused(refused)
    );
    assert!(matches!(
        create(&yard, 9, 0, 1, bytes).await,
        Created::Session(_)
    ));
    // Another organization, by files.
    let files = StorageQuota {
        files: Some(7),
        bytes: None,
    };
    let created =
        at_once((0..40).map(|number| create(&yard, 100 + number % 5, number, 3, files))).await;
    let refused = Created::Refused(StorageRefusal::TooManyFiles { most: 7 });
    assert_eq!(created.iter().filter(|it| **it == refused).count(), 33);
    yard.assert_sound().await;
}

#[tokio::test]
async fn bytes_that_the_project_has_are_ready_at_once_and_stored_once() {
    let yard = Yard::new().await;
    let first = yard.ready(project(1), text(1, 10)).await;
    let Created::Duplicate(second) = create(&yard, 1, 1, 10, UNLIMITED).await else {
        panic!("no duplicate")
    };
    assert_ne!(second.id, first.id);
    assert_eq!(
        (second.status, second.object),
        (Status::Ready, first.object)
    );
    assert_eq!(second.expires_at, first.expires_at);
    assert!(!second.staged && second.refs == 0);
    assert_eq!(
        yard.stored(organization(0)).await,
        Stored {
            files: 2,
            bytes: 10
        }
    );
    // Other bytes, another size, another type, another project.
    let png = domain::file::Declared {
        media_type: MediaType::Png,
        ..text(1, 10)
    };
    for (in_project, declared) in [
        (project(1), text(2, 10)),
        (project(1), text(1, 11)),
        (project(1), png),
        (project(2), text(1, 10)),
    ] {
        yard.session(in_project, declared).await;
    }
    // A duplicate takes no room, even where none is left.
    let full = StorageQuota {
        files: None,
        bytes: Some(1),
    };
    assert!(matches!(
        create(&yard, 1, 1, 10, full).await,
        Created::Duplicate(_)
    ));
    yard.assert_sound().await;
}

#[tokio::test]
async fn what_could_not_be_granted_was_never_there() {
    let yard = Yard::new().await;
    let file = yard.session(project(1), text(1, 10)).await;
    file::take_back(&yard.shard, file.id).await.unwrap();
    assert_eq!(yard.stored(organization(0)).await, Stored::default());
    let found = file::find(&yard.shard, file.project, file.id).await;
    assert_eq!(found.unwrap(), None);
    // Only a session is taken back.
    let ready = yard.ready(project(1), text(1, 10)).await;
    file::take_back(&yard.shard, ready.id).await.unwrap();
    assert_eq!(yard.find(&ready).await, ready);
    yard.assert_sound().await;
}

#[tokio::test]
async fn an_upload_is_noted_once() {
    let yard = Yard::new().await;
    let file = yard.session(project(1), text(1, 10)).await;
    let keep = |upload: &'static str| file::keep_upload(&yard.shard, file.id, upload);
    assert!(keep("one").await.unwrap());
    assert!(!keep("two").await.unwrap());
    assert_eq!(yard.find(&file).await.upload.as_deref(), Some("one"));
    let late = yard.session(project(1), text(2, 10)).await;
    yard.delete(&late, false).await;
    assert!(
        !file::keep_upload(&yard.shard, late.id, "three")
            .await
            .unwrap()
    );
}
