//! Upload sessions, quotas and duplicates, also with concurrent requests.

use std::sync::Arc;

use domain::file::{FileStatus, MediaType};
use domain::storage_quota::{StorageQuota, StorageRefusal, StorageUsage};
use store::shard::file::{self, FileCreation};
use tokio::task::JoinSet;

use crate::file::fixture::{FileFixture, UNLIMITED, organization, project, text};

/// Runs all at once; returns the results in no particular order.
async fn at_once(
    all: impl Iterator<Item = impl Future<Output = FileCreation> + Send + 'static>,
) -> Vec<FileCreation> {
    all.collect::<JoinSet<_>>().join_all().await
}

fn create(
    fixture: &Arc<FileFixture>,
    number: u64,
    content: u64,
    size: u64,
    quota: StorageQuota,
) -> impl Future<Output = FileCreation> + Send + 'static + use<> {
    let fixture = Arc::clone(fixture);
    let declared = text(u8::try_from(content).unwrap(), size);
    async move { fixture.create(project(number), declared, quota).await }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_creates_at_once_exactly_twenty_are_sessions() {
    let fixture = FileFixture::new().await;
    let created = at_once((0..100).map(|number| create(&fixture, 1, number, 5, UNLIMITED))).await;
    let refused = FileCreation::Refused(StorageRefusal::TooManySessions);
    assert_eq!(created.iter().filter(|it| **it == refused).count(), 80);
    let sessions = created
        .iter()
        .filter(|it| matches!(it, FileCreation::Session(_)));
    assert_eq!(sessions.count(), 20);
    // Another project has a separate limit, and a session that ends makes room for one.
    assert!(matches!(
        create(&fixture, 2, 1, 5, UNLIMITED).await,
        FileCreation::Session(_)
    ));
    let one = created.iter().find_map(|it| match it {
        FileCreation::Session(file) => Some(file),
        FileCreation::Duplicate(_) | FileCreation::Refused(_) => None,
    });
    fixture.delete(one.unwrap(), false).await;
    assert!(matches!(
        create(&fixture, 1, 1, 5, UNLIMITED).await,
        FileCreation::Session(_)
    ));
    assert_eq!(create(&fixture, 1, 1, 5, UNLIMITED).await, refused);
    fixture.assert_no_faults().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_filled_to_the_byte_and_never_passed() {
    let fixture = FileFixture::new().await;
    let bytes = StorageQuota {
        files: None,
        bytes: Some(100),
    };
    // Five projects of one organization; 33 sessions of 3 bytes fit into 100 bytes.
    let created =
        at_once((0..60).map(|number| create(&fixture, number % 5, number, 3, bytes))).await;
    let sessions = created
        .iter()
        .filter(|it| matches!(it, FileCreation::Session(_)));
    assert_eq!(sessions.count(), 33);
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage {
            files: 33,
            bytes: 99
        }
    );
    let refused = StorageRefusal::TooManyBytes {
        most: 100,
        stored: 99,
    };
    assert_eq!(
        create(&fixture, 9, 0, 2, bytes).await,
        FileCreation::Refused(refused)
    );
    assert!(matches!(
        create(&fixture, 9, 0, 1, bytes).await,
        FileCreation::Session(_)
    ));
    // Another organization, by files.
    let files = StorageQuota {
        files: Some(7),
        bytes: None,
    };
    let created =
        at_once((0..40).map(|number| create(&fixture, 100 + number % 5, number, 3, files))).await;
    let refused = FileCreation::Refused(StorageRefusal::TooManyFiles { most: 7 });
    assert_eq!(created.iter().filter(|it| **it == refused).count(), 33);
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn bytes_that_the_project_has_are_ready_at_once_and_stored_once() {
    let fixture = FileFixture::new().await;
    let first = fixture.ready(project(1), text(1, 10)).await;
    let FileCreation::Duplicate(second) = create(&fixture, 1, 1, 10, UNLIMITED).await else {
        panic!("no duplicate")
    };
    assert_ne!(second.id, first.id);
    assert_eq!(
        (second.status, second.object),
        (FileStatus::Ready, first.object)
    );
    assert_eq!(second.expires_at, first.expires_at);
    assert!(!second.staged && second.refs == 0);
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage {
            files: 2,
            bytes: 10
        }
    );
    // Other bytes, another size, another type, another project.
    let png = domain::file::FileDeclaration {
        media_type: MediaType::Png,
        ..text(1, 10)
    };
    for (in_project, declared) in [
        (project(1), text(2, 10)),
        (project(1), text(1, 11)),
        (project(1), png),
        (project(2), text(1, 10)),
    ] {
        fixture.session(in_project, declared).await;
    }
    // A duplicate needs no bytes, so a full quota does not refuse it.
    let full = StorageQuota {
        files: None,
        bytes: Some(1),
    };
    assert!(matches!(
        create(&fixture, 1, 1, 10, full).await,
        FileCreation::Duplicate(_)
    ));
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn what_could_not_be_granted_was_never_there() {
    let fixture = FileFixture::new().await;
    let file = fixture.session(project(1), text(1, 10)).await;
    file::retract(&fixture.shard, file.id).await.unwrap();
    assert_eq!(
        fixture.stored(organization(0)).await,
        StorageUsage::default()
    );
    let found = file::find(&fixture.shard, file.project, file.id).await;
    assert_eq!(found.unwrap(), None);
    // Only a session is retracted.
    let ready = fixture.ready(project(1), text(1, 10)).await;
    file::retract(&fixture.shard, ready.id).await.unwrap();
    assert_eq!(fixture.find(&ready).await, ready);
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn an_upload_is_noted_once() {
    let fixture = FileFixture::new().await;
    let file = fixture.session(project(1), text(1, 10)).await;
    let keep = |upload: &'static str| file::record_upload(&fixture.shard, file.id, upload);
    assert!(keep("one").await.unwrap());
    assert!(!keep("two").await.unwrap());
    assert_eq!(fixture.find(&file).await.upload.as_deref(), Some("one"));
    let late = fixture.session(project(1), text(2, 10)).await;
    fixture.delete(&late, false).await;
    assert!(
        !file::record_upload(&fixture.shard, late.id, "three")
            .await
            .unwrap()
    );
}
