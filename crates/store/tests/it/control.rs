//! Organizations, projects, keys, berths, and the change feed.

mod audit;
mod feed;
mod key;
mod node;
mod person;

use std::collections::HashMap;
use std::time::Duration;

use domain::api_key::SecretDigest;
use domain::id::{ApiKeyId, Berth, OrganizationId, ProjectId};
use domain::key_scope::KeyScope;
use domain::organization::Plan;
use domain::time::{Clock as _, Timestamp};
use store::Control;
use store::Error;
use store::control::api_key::ApiKeyRow;
use store::control::audit_log::Actor;
use store::control::berth::BerthAssignment;
use store::control::change_feed::{ChangeKind, ControlChange};
use store::control::organization::Organization;
use store::control::project::Project;
use store::control::{api_key, berth, change_feed, organization, project};
use test_support::database::TestDatabase;

const SHARDS: [&str; 2] = ["north", "south"];

async fn new_organization(control: &Control, number: u64, now: Timestamp) -> Organization {
    let berth = berth::find_emptiest(control, None)
        .await
        .unwrap()
        .unwrap()
        .berth;
    let made = Organization {
        id: OrganizationId::new(now, berth, number),
        name: format!("organization {number}"),
        plan: Plan::Pro,
        berth,
        created_at: now,
    };
    organization::create(control, &made, &Actor::console())
        .await
        .unwrap();
    made
}

async fn new_project(control: &Control, of: &Organization, number: u64) -> Project {
    let made = Project {
        id: ProjectId::new(of.created_at, of.berth, number),
        organization: of.id,
        slug: format!("demo-{number}").parse().unwrap(),
        is_active: true,
        created_at: of.created_at,
        is_erased: false,
    };
    project::create(control, &made, &Actor::console())
        .await
        .unwrap();
    made
}

async fn new_key(control: &Control, of: &Project, number: u8) -> ApiKeyRow {
    let made = ApiKeyRow {
        id: ApiKeyId::new(of.created_at, of.id.berth(), number.into()),
        project: of.id,
        name: format!("key {number}"),
        prefix: "svc_sk_ABCDE".to_owned(),
        is_active: true,
        expires_at: None,
        last_used_at: None,
        last_used_address: None,
        created_at: of.created_at,
        successor: None,
        scope: KeyScope::default(),
    };
    api_key::create(control, &made, digest(number), &Actor::console())
        .await
        .unwrap();
    made
}

const fn digest(number: u8) -> SecretDigest {
    SecretDigest([number; 32])
}

async fn read_changes(control: &Control, seq: i64) -> Vec<ControlChange> {
    let page = change_feed::read_since(control, seq, 1000).await.unwrap();
    page.changes
        .into_iter()
        .filter(|change| change.seq > seq)
        .collect()
}

#[tokio::test]
async fn berths_are_spread_evenly_and_once() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    assert!(matches!(
        berth::read_map(control).await,
        Err(Error::Corrupt { .. })
    ));
    let made = berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    assert_eq!(made, BerthAssignment::Assigned);

    let map = berth::read_map(control).await.unwrap();
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for shard in &map {
        *counts.entry(shard).or_default() += 1;
    }
    assert_eq!(counts, HashMap::from([("north", 512), ("south", 512)]));
    let second = Berth::new(1).unwrap();
    assert_eq!(
        berth::find_shard(control, second).await.unwrap().as_deref(),
        Some("south")
    );

    let again = berth::assign(control, &["west"], clock.now())
        .await
        .unwrap();
    assert_eq!(again, BerthAssignment::AlreadyAssigned);
    assert_eq!(berth::read_map(control).await.unwrap(), map);
    assert_eq!(
        read_changes(control, 0).await,
        [ControlChange {
            seq: 1,
            kind: ChangeKind::Berth,
            subject: None
        }]
    );
}

#[tokio::test]
async fn organizations_fill_all_shards_alike() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    for number in 0..4 {
        let made = new_organization(control, number, clock.now()).await;
        assert_eq!(u64::from(made.berth.number()), number);
    }
    let north = berth::find_emptiest(control, Some("north"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((north.berth.number(), north.shard.as_str()), (4, "north"));
    assert_eq!(
        berth::find_emptiest(control, Some("west")).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn what_is_not_there_is_not_changed() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    let (now, berth) = (clock.now(), Berth::new(0).unwrap());
    let organization = OrganizationId::new(now, berth, 1);
    assert_eq!(
        organization::find(control, organization).await.unwrap(),
        None
    );
    assert_eq!(
        organization::set_plan(control, organization, Plan::Pro, &Actor::console(), now)
            .await
            .unwrap(),
        None
    );
    let project = ProjectId::new(now, berth, 1);
    assert_eq!(project::find(control, project).await.unwrap(), None);
    assert_eq!(
        project::deactivate(control, project, &Actor::console(), now)
            .await
            .unwrap(),
        None
    );
    let key = ApiKeyId::new(now, berth, 1);
    assert_eq!(
        api_key::deactivate(control, key, &Actor::console(), now)
            .await
            .unwrap(),
        None
    );
    assert!(read_changes(control, 0).await.is_empty());
}

#[tokio::test]
async fn a_slug_belongs_to_one_project() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let organization = new_organization(control, 1, clock.now()).await;
    let mut made = new_project(control, &organization, 1).await;
    let before = change_feed::read_newest_seq(control).await.unwrap();
    made.id = ProjectId::new(clock.now(), organization.berth, 99);
    let refused = project::create(control, &made, &Actor::console())
        .await
        .unwrap_err();
    assert!(refused.is_unique_violation());
    assert!(read_changes(control, before).await.is_empty());
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let mut made = Vec::new();
    for number in 0..3 {
        made.push(new_organization(control, number, clock.advance(Duration::from_secs(1))).await);
    }
    assert_eq!(
        organization::list(control, None, 2).await.unwrap(),
        made[..2]
    );
    assert_eq!(
        organization::list(control, Some(made[1].id), 2)
            .await
            .unwrap(),
        made[2..]
    );

    let projects = [
        new_project(control, &made[0], 1).await,
        new_project(control, &made[0], 2).await,
    ];
    new_project(control, &made[1], 3).await;
    assert_eq!(
        project::list(control, made[0].id, None, 9).await.unwrap(),
        projects
    );
    let after = Some(projects[0].id);
    assert_eq!(
        project::list(control, made[0].id, after, 9).await.unwrap(),
        projects[1..]
    );

    let keys = [
        new_key(control, &projects[0], 1).await,
        new_key(control, &projects[0], 2).await,
    ];
    new_key(control, &projects[1], 3).await;
    assert_eq!(
        api_key::list(control, projects[0].id, None, 9)
            .await
            .unwrap(),
        keys
    );
    let after = Some(keys[0].id);
    assert_eq!(
        api_key::list(control, projects[0].id, after, 9)
            .await
            .unwrap(),
        keys[1..]
    );
}
