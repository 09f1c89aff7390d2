//! Which file is claimed next, and what happens to the claims of a dead node.

use std::collections::HashMap;
use std::time::Duration;

use domain::id::OrganizationId;
use store::shard::file::{self, ClaimedFile, FileSizeClass, UploadPart};
use store::shard::node;
use uuid::Uuid;

use crate::file::fixture::{FileFixture, organization, project, text};

const LARGE: u64 = (50 << 20) + 1;

async fn claim(yard: &FileFixture, class: FileSizeClass, most: i64) -> Vec<ClaimedFile> {
    let claimed = file::claim(&yard.shard, yard.claim, class, most, yard.now()).await;
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
async fn complete_files(yard: &FileFixture, each: &[u64]) {
    for (number, files) in (0..).zip(each) {
        for content in 0..*files {
            let of = project(number * 100 + content / 20);
            let declared = text(u8::try_from(content).unwrap(), 10);
            let file = yard.session(of, declared).await;
            yard.complete(&file).await;
            yard.database.clock.advance(Duration::from_millis(1));
        }
    }
}

#[tokio::test]
async fn a_flood_of_one_organization_takes_only_its_turn() {
    let yard = FileFixture::new().await;
    complete_files(&yard, &[60, 2, 5]).await;
    let first = count(&claim(&yard, FileSizeClass::Small, 6).await);
    let expected = [(0, 2), (1, 2), (2, 2)].map(|(number, files)| (organization(number), files));
    assert_eq!(first, HashMap::from(expected));
    // Files that are claimed already count.
    let second = count(&claim(&yard, FileSizeClass::Small, 4).await);
    let expected = [(0, 2), (2, 2)].map(|(number, files)| (organization(number), files));
    assert_eq!(second, HashMap::from(expected));
    // When no other organization waits, one may have all slots.
    let third = count(&claim(&yard, FileSizeClass::Small, 100).await);
    assert_eq!(third[&organization(0)], 56);
    assert!(claim(&yard, FileSizeClass::Small, 100).await.is_empty());
}

#[tokio::test]
async fn the_oldest_of_an_organization_comes_first() {
    let yard = FileFixture::new().await;
    complete_files(&yard, &[3]).await;
    let mut order = Vec::new();
    for _ in 0..3 {
        let claimed = claim(&yard, FileSizeClass::Small, 1).await;
        order.push(claimed[0].file.sha256.0[0]);
    }
    assert_eq!(order, [0, 1, 2]);
}

#[tokio::test]
async fn large_files_have_slots_of_their_own() {
    let yard = FileFixture::new().await;
    let small = yard.session(project(1), text(1, LARGE - 1)).await;
    let large = yard.session(project(1), text(2, LARGE)).await;
    yard.complete(&small).await;
    yard.complete(&large).await;
    let claimed = claim(&yard, FileSizeClass::Large, 10).await;
    assert_eq!(claimed[0].file.id, large.id);
    assert_eq!(claimed.len(), 1);
    let claimed = claim(&yard, FileSizeClass::Small, 10).await;
    assert_eq!(claimed[0].file.id, small.id);
    assert_eq!(claimed.len(), 1);
}

#[tokio::test]
async fn what_is_given_back_waits_until_it_is_due() {
    let yard = FileFixture::new().await;
    let completed_at = yard.now();
    complete_files(&yard, &[1]).await;
    for (counted, tries) in [(false, 0), (true, 1), (true, 2)] {
        let later = yard.now() + Duration::from_secs(5);
        let claimed = claim(&yard, FileSizeClass::Small, 1).await;
        let back = file::reschedule(&yard.shard, claimed[0].file.id, yard.claim, later, counted);
        assert!(back.await.unwrap());
        assert!(claim(&yard, FileSizeClass::Small, 1).await.is_empty());
        yard.database.clock.advance(Duration::from_secs(5));
        let again = claim(&yard, FileSizeClass::Small, 1).await;
        assert_eq!(again[0].tries, tries);
        file::free_unknown_claims(&yard.shard, yard.claim, &[])
            .await
            .unwrap();
    }
    let waits = file::count_validating(&yard.shard).await.unwrap();
    assert_eq!(waits, (1, Some(completed_at)));
}

#[tokio::test]
async fn claims_of_a_dead_node_are_free_and_counted() {
    let yard = FileFixture::new().await;
    complete_files(&yard, &[3]).await;
    let dead = node::join(&yard.shard, Uuid::from_u128(2), "two", 3600.0)
        .await
        .unwrap();
    let claimed = file::claim(&yard.shard, dead, FileSizeClass::Small, 2, yard.now()).await;
    let claimed = claimed.unwrap();
    node::renew(&yard.shard, dead, -1.0).await.unwrap();
    assert_eq!(
        node::fence_expired_nodes(&yard.shard).await.unwrap(),
        ["two"]
    );
    let late = file::reschedule(&yard.shard, claimed[0].file.id, dead, yard.now(), true);
    assert!(!late.await.unwrap());
    let taken = claim(&yard, FileSizeClass::Small, 10).await;
    let mut takeovers: Vec<u32> = taken.iter().map(|claimed| claimed.takeovers).collect();
    takeovers.sort_unstable();
    assert_eq!(takeovers, [0, 1, 1]);
    // A node that shuts down counts no takeover.
    node::leave(&yard.shard, yard.claim).await.unwrap();
    let other = node::join(&yard.shard, Uuid::from_u128(3), "three", 3600.0)
        .await
        .unwrap();
    let again = file::claim(&yard.shard, other, FileSizeClass::Small, 10, yard.now()).await;
    let mut takeovers: Vec<u32> = again.unwrap().iter().map(|it| it.takeovers).collect();
    takeovers.sort_unstable();
    assert_eq!(takeovers, [0, 1, 1]);
}

#[tokio::test]
async fn what_complete_listed_is_claimed() {
    let yard = FileFixture::new().await;
    let file = yard.session(project(1), text(1, 20 << 20)).await;
    let parts = [Some(file.sha256), None].map(|checksum| UploadPart {
        etag: "\"e\"".to_owned(),
        checksum,
    });
    let completed = file::complete(&yard.shard, file.project, file.id, Some(&parts), yard.now());
    completed.await.unwrap();
    let claimed = claim(&yard, FileSizeClass::Small, 1).await;
    assert_eq!(claimed[0].parts.as_deref(), Some(&parts[..]));
    assert_eq!(claimed[0].completed_at, yard.now());
    // Only once.
    let again = file::complete(&yard.shard, file.project, file.id, None, yard.now()).await;
    assert!(matches!(
        again.unwrap(),
        file::UploadCompletion::NotUploading(_)
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_is_claimed_twice() {
    let yard = FileFixture::new().await;
    complete_files(&yard, &[30, 30, 30]).await;
    let other = node::join(&yard.shard, Uuid::from_u128(2), "two", 3600.0)
        .await
        .unwrap();
    let mut taken = Vec::new();
    for _ in 0..10 {
        let ours = file::claim(&yard.shard, yard.claim, FileSizeClass::Small, 6, yard.now());
        let theirs = file::claim(&yard.shard, other, FileSizeClass::Small, 6, yard.now());
        let (ours, theirs) = tokio::join!(ours, theirs);
        taken.extend(ours.unwrap().into_iter().map(|it| it.file.id));
        taken.extend(theirs.unwrap().into_iter().map(|it| it.file.id));
    }
    let found = taken.len();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), found);
}
