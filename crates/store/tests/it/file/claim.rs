//! Which file is claimed next, and what happens to the claims of a dead node.

use std::collections::HashMap;
use std::time::Duration;

use domain::id::OrganizationId;
use store::shard::file::{self, ClaimedFile, FileSizeClass, UploadPart};
use store::shard::node;
use uuid::Uuid;

use crate::file::fixture::{FileFixture, organization, project, text};

const LARGE: u64 = (50 << 20) + 1;

async fn claim(fixture: &FileFixture, class: FileSizeClass, most: i64) -> Vec<ClaimedFile> {
    let claimed = file::claim(&fixture.shard, fixture.claim, class, most, fixture.now()).await;
    claimed.unwrap()
}

fn count(claimed: &[ClaimedFile]) -> HashMap<OrganizationId, usize> {
    let mut count = HashMap::new();
    for claimed in claimed {
        *count.entry(claimed.file.organization).or_default() += 1;
    }
    count
}

/// Completes this many files of each organization, one after the other.
async fn complete_files(fixture: &FileFixture, each: &[u64]) {
    for (number, files) in (0..).zip(each) {
        for content in 0..*files {
            let of = project(number * 100 + content / 20);
            let declared = text(u8::try_from(content).unwrap(), 10);
            let file = fixture.session(of, declared).await;
            fixture.complete(&file).await;
            fixture.database.clock.advance(Duration::from_millis(1));
        }
    }
}

#[tokio::test]
async fn a_flood_of_one_organization_takes_only_its_turn() {
    let fixture = FileFixture::new().await;
    complete_files(&fixture, &[60, 2, 5]).await;
    let first = count(&claim(&fixture, FileSizeClass::Small, 6).await);
    let expected = [(0, 2), (1, 2), (2, 2)].map(|(number, files)| (organization(number), files));
    assert_eq!(first, HashMap::from(expected));
    // Files that are claimed already count.
    let second = count(&claim(&fixture, FileSizeClass::Small, 4).await);
    let expected = [(0, 2), (2, 2)].map(|(number, files)| (organization(number), files));
    assert_eq!(second, HashMap::from(expected));
    // When no other organization waits, one may have all slots.
    let third = count(&claim(&fixture, FileSizeClass::Small, 100).await);
    assert_eq!(third[&organization(0)], 56);
    assert!(claim(&fixture, FileSizeClass::Small, 100).await.is_empty());
}

#[tokio::test]
async fn the_oldest_of_an_organization_comes_first() {
    let fixture = FileFixture::new().await;
    complete_files(&fixture, &[3]).await;
    let mut order = Vec::new();
    for _ in 0..3 {
        let claimed = claim(&fixture, FileSizeClass::Small, 1).await;
        order.push(claimed[0].file.sha256.0[0]);
    }
    assert_eq!(order, [0, 1, 2]);
}

#[tokio::test]
async fn large_files_have_slots_of_their_own() {
    let fixture = FileFixture::new().await;
    let small = fixture.session(project(1), text(1, LARGE - 1)).await;
    let large = fixture.session(project(1), text(2, LARGE)).await;
    fixture.complete(&small).await;
    fixture.complete(&large).await;
    let claimed = claim(&fixture, FileSizeClass::Large, 10).await;
    assert_eq!(claimed[0].file.id, large.id);
    assert_eq!(claimed.len(), 1);
    let claimed = claim(&fixture, FileSizeClass::Small, 10).await;
    assert_eq!(claimed[0].file.id, small.id);
    assert_eq!(claimed.len(), 1);
}

#[tokio::test]
async fn what_is_given_back_waits_until_it_is_due() {
    let fixture = FileFixture::new().await;
    let completed_at = fixture.now();
    complete_files(&fixture, &[1]).await;
    for (counted, tries) in [(false, 0), (true, 1), (true, 2)] {
        let later = fixture.now() + Duration::from_secs(5);
        let claimed = claim(&fixture, FileSizeClass::Small, 1).await;
        let back = file::reschedule(
            &fixture.shard,
            claimed[0].file.id,
            fixture.claim,
            later,
            counted,
        );
        assert!(back.await.unwrap());
        assert!(claim(&fixture, FileSizeClass::Small, 1).await.is_empty());
        fixture.database.clock.advance(Duration::from_secs(5));
        let again = claim(&fixture, FileSizeClass::Small, 1).await;
        assert_eq!(again[0].tries, tries);
        file::free_unknown_claims(&fixture.shard, fixture.claim, &[])
            .await
            .unwrap();
    }
    let waits = file::count_validating(&fixture.shard).await.unwrap();
    assert_eq!(waits, (1, Some(completed_at)));
}

#[tokio::test]
async fn claims_of_a_dead_node_are_free_and_counted() {
    let fixture = FileFixture::new().await;
    complete_files(&fixture, &[3]).await;
    let dead = node::join(&fixture.shard, Uuid::from_u128(2), "two", 3600.0)
        .await
        .unwrap();
    let claimed = file::claim(&fixture.shard, dead, FileSizeClass::Small, 2, fixture.now()).await;
    let claimed = claimed.unwrap();
    node::renew(&fixture.shard, dead, -1.0).await.unwrap();
    assert_eq!(
        node::fence_expired_nodes(&fixture.shard).await.unwrap(),
        ["two"]
    );
    let late = file::reschedule(
        &fixture.shard,
        claimed[0].file.id,
        dead,
        fixture.now(),
        true,
    );
    assert!(!late.await.unwrap());
    let taken = claim(&fixture, FileSizeClass::Small, 10).await;
    let mut takeovers: Vec<u32> = taken.iter().map(|claimed| claimed.takeovers).collect();
    takeovers.sort_unstable();
    assert_eq!(takeovers, [0, 1, 1]);
    // A node that shuts down counts no takeover.
    node::leave(&fixture.shard, fixture.claim).await.unwrap();
    let other = node::join(&fixture.shard, Uuid::from_u128(3), "three", 3600.0)
        .await
        .unwrap();
    let again = file::claim(
        &fixture.shard,
        other,
        FileSizeClass::Small,
        10,
        fixture.now(),
    )
    .await;
    let mut takeovers: Vec<u32> = again.unwrap().iter().map(|it| it.takeovers).collect();
    takeovers.sort_unstable();
    assert_eq!(takeovers, [0, 1, 1]);
}

#[tokio::test]
async fn what_complete_listed_is_claimed() {
    let fixture = FileFixture::new().await;
    let file = fixture.session(project(1), text(1, 20 << 20)).await;
    let parts = [Some(file.sha256), None].map(|checksum| UploadPart {
        etag: "\"e\"".to_owned(),
        checksum,
    });
    let completed = file::complete(
        &fixture.shard,
        file.project,
        file.id,
        Some(&parts),
        fixture.now(),
    );
    completed.await.unwrap();
    let claimed = claim(&fixture, FileSizeClass::Small, 1).await;
    assert_eq!(claimed[0].parts.as_deref(), Some(&parts[..]));
    assert_eq!(claimed[0].completed_at, fixture.now());
    // Only once.
    let again = file::complete(&fixture.shard, file.project, file.id, None, fixture.now()).await;
    assert!(matches!(
        again.unwrap(),
        file::UploadCompletion::NotUploading(_)
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_is_claimed_twice() {
    let fixture = FileFixture::new().await;
    complete_files(&fixture, &[30, 30, 30]).await;
    let other = node::join(&fixture.shard, Uuid::from_u128(2), "two", 3600.0)
        .await
        .unwrap();
    let mut taken = Vec::new();
    for _ in 0..10 {
        let ours = file::claim(
            &fixture.shard,
            fixture.claim,
            FileSizeClass::Small,
            6,
            fixture.now(),
        );
        let theirs = file::claim(
            &fixture.shard,
            other,
            FileSizeClass::Small,
            6,
            fixture.now(),
        );
        let (ours, theirs) = tokio::join!(ours, theirs);
        taken.extend(ours.unwrap().into_iter().map(|it| it.file.id));
        taken.extend(theirs.unwrap().into_iter().map(|it| it.file.id));
    }
    let found = taken.len();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), found);
}
