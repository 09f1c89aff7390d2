//! References: a referenced file is kept, and outcomes release it.

use std::time::Duration;

use domain::file::{FileStatus, FileStructure};
use domain::id::BatchId;
use store::shard::file::{self, FileDeletion, reference};
use store::shard::node::Claim;
use store::shard::outcome::ExpectedCargoState;
use store::shard::{batch, outcome, waiting};

use crate::file::fixture::{self, FileFixture, TTL, berth, owner, project, text};

#[tokio::test]
async fn a_load_sees_the_files_of_its_project_with_their_structure() {
    let fixture = FileFixture::new().await;
    let ready = fixture.ready(project(1), text(1, 10)).await;
    let session = fixture.session(project(1), text(2, 10)).await;
    let elsewhere = fixture.ready(project(2), text(1, 10)).await;
    let ids = [ready.id, session.id, elsewhere.id, fixture.file_id()];
    let found = reference::find(&fixture.shard, project(1), &ids)
        .await
        .unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[&ready.id].structure, Some(FileStructure::Text));
    assert!(found[&ready.id].is_ready(fixture.now()));
    assert_eq!(found[&session.id].status, FileStatus::Uploading);
    assert_eq!(found[&session.id].structure, None);
}

#[tokio::test]
async fn cargo_that_is_open_is_counted_once_for_each_file() {
    let fixture = FileFixture::new().await;
    let one = fixture.ready(project(1), text(1, 10)).await;
    let other = fixture.ready(project(1), text(2, 10)).await;
    let both = fixture
        .load(project(1), &[one.id, other.id])
        .await
        .unwrap()
        .unwrap();
    let only = fixture.load(project(1), &[one.id]).await.unwrap().unwrap();
    let none = fixture.load(project(1), &[]).await.unwrap().unwrap();
    assert_eq!(fixture.find(&one).await.refs, 2);
    assert_eq!(fixture.find(&other).await.refs, 1);
    fixture.assert_no_faults().await;
    // In a column of the cargo, which is null without references.
    let files: Vec<Option<Vec<uuid::Uuid>>> =
        sqlx::query_scalar("select files from shard.cargo order by id")
            .fetch_all(&fixture.shard.pool)
            .await
            .unwrap();
    let named = |ids: &[domain::id::FileId]| Some(ids.iter().map(|id| id.uuid()).collect());
    assert_eq!(files, [named(&[one.id, other.id]), named(&[one.id]), None]);
    // A group of outcomes releases all of them, and only once.
    assert_eq!(fixture.finish(&[both, only, none]).await.unwrap(), 3);
    assert_eq!(fixture.finish(&[both, only]).await.unwrap(), 0);
    assert_eq!(fixture.find(&one).await.refs, 0);
    assert_eq!(fixture.find(&other).await.refs, 0);
    fixture.assert_no_faults().await;
}

async fn claim_gathered(fixture: &FileFixture, most: usize) -> Vec<batch::ClaimedBatchRow> {
    let turn = batch::BatchClaimQuota {
        lanes: vec![fixture.lane()],
        max: most,
        only_sent: false,
    };
    let claimed =
        batch::claim_gathered(&fixture.shard, fixture.claim, &[turn], fixture.now()).await;
    claimed.unwrap()
}

#[tokio::test]
async fn cargo_that_is_halved_or_sent_back_keeps_its_files() {
    let fixture = FileFixture::new().await;
    let file = fixture.ready(project(1), text(1, 10)).await;
    let mut cargo = Vec::new();
    for _ in 0..2 {
        cargo.push(fixture.load(project(1), &[file.id]).await.unwrap().unwrap());
    }
    let (now, claim) = (fixture.now(), fixture.claim);
    let id = |number| BatchId::new(now, berth(), number);
    let picked: Vec<_> = cargo
        .iter()
        .map(|cargo| (owner(project(1)), *cargo))
        .collect();
    let mut tx = fixture.shard.begin().await.unwrap();
    let gathered = waiting::gather(&mut tx, fixture.lane(), id(1), &picked, now);
    gathered.await.unwrap();
    tx.commit().await.unwrap();
    let claimed = claim_gathered(&fixture, 1).await;
    let halves = [id(2), id(3)];
    batch::split(&fixture.shard, &claimed[0], claim, halves, now)
        .await
        .unwrap();
    assert_eq!(fixture.find(&file).await.refs, 2);
    let claimed = claim_gathered(&fixture, 2).await;
    batch::end(
        &fixture.shard,
        id(2),
        claim,
        batch::RequeuePlan::default(),
        now,
    )
    .await
    .unwrap();
    assert_eq!(fixture.find(&file).await.refs, 2);
    fixture.assert_no_faults().await;
    // Cargo in a batch is completed like waiting cargo.
    let rest = claimed.iter().find(|batch| batch.id == id(3)).unwrap();
    let outcomes = vec![fixture::outcome(rest.cargo[0])];
    let stale = Claim { epoch: 99, ..claim };
    let expected = ExpectedCargoState::InBatch(id(3));
    let refused = outcome::record(&fixture.shard, expected, stale, outcomes.clone(), now).await;
    assert!(refused.is_err());
    assert_eq!(fixture.find(&file).await.refs, 2);
    outcome::record(&fixture.shard, expected, claim, outcomes, now)
        .await
        .unwrap();
    assert_eq!(fixture.find(&file).await.refs, 1);
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn what_open_cargo_name_is_not_deleted_and_does_not_expire() {
    let fixture = FileFixture::new().await;
    let file = fixture.ready(project(1), text(1, 10)).await;
    let cargo = fixture.load(project(1), &[file.id]).await.unwrap().unwrap();
    assert_eq!(fixture.delete(&file, false).await, FileDeletion::InUse);
    let now = fixture
        .database
        .clock
        .advance(Duration::from_secs(TTL.into()));
    assert_eq!(file::expire(&fixture.shard, now, 10).await.unwrap().0, 0);
    // New loads cannot reference it.
    assert_eq!(fixture.load(project(1), &[file.id]).await.unwrap(), None);
    fixture.finish(&[cargo]).await.unwrap();
    assert_eq!(file::expire(&fixture.shard, now, 10).await.unwrap().0, 1);
    fixture.assert_no_faults().await;
}

#[tokio::test]
async fn a_file_that_is_forced_away_is_counted_down_all_the_same() {
    let fixture = FileFixture::new().await;
    let file = fixture.ready(project(1), text(1, 10)).await;
    let cargo = fixture.load(project(1), &[file.id]).await.unwrap().unwrap();
    assert!(matches!(
        fixture.delete(&file, true).await,
        FileDeletion::Done {
            gone_object: Some(_),
            ..
        }
    ));
    let after = fixture.find(&file).await;
    assert_eq!((after.status, after.refs), (FileStatus::Expired, 1));
    fixture.assert_no_faults().await;
    fixture.finish(&[cargo]).await.unwrap();
    assert_eq!(fixture.find(&file).await.refs, 0);
    fixture.assert_no_faults().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_named_or_deleted_and_never_both() {
    let fixture = FileFixture::new().await;
    for content in 0..60 {
        let of = project(u64::from(content));
        let file = fixture.ready(of, text(content, 10)).await;
        let named = [file.id];
        let (loaded, deleted) =
            tokio::join!(fixture.load(of, &named), fixture.delete(&file, false));
        match (loaded.unwrap(), deleted) {
            (Some(_), FileDeletion::InUse) => assert_eq!(fixture.find(&file).await.refs, 1),
            (None, FileDeletion::Done { .. }) => assert_eq!(fixture.find(&file).await.refs, 0),
            other => panic!("both or neither: {other:?}"),
        }
    }
    fixture.assert_no_faults().await;
}
