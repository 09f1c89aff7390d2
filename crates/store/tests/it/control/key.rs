//! API keys: what they authenticate, and when they were last used.

use std::time::Duration;

use domain::api_key::ApiKeyStatus;
use domain::organization::Plan;
use domain::time::Clock as _;
use store::control::audit_log::Actor;
use store::control::{api_key, berth, organization, project};
use test_support::database::TestDatabase;

use crate::control::{SHARDS, digest, new_key, new_organization, new_project};

#[tokio::test]
async fn a_key_is_found_by_its_digest_with_all_that_it_stands_for() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let organization = new_organization(control, 1, clock.now()).await;
    let project = new_project(control, &organization, 1).await;
    let key = new_key(control, &project, 1).await;

    let found = api_key::find_by_digest(control, digest(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (found.key, found.project, found.organization),
        (key.id, project.id, organization.id)
    );
    assert_eq!((found.plan, found.berth), (Plan::Pro, organization.berth));
    let good = ApiKeyStatus {
        is_active: true,
        expires_at: None,
        is_project_active: true,
    };
    assert_eq!(found.status, good);
    assert_eq!(
        api_key::find_by_digest(control, digest(2)).await.unwrap(),
        None
    );

    organization::set_plan(
        control,
        organization.id,
        Plan::Free,
        &Actor::console(),
        clock.now(),
    )
    .await
    .unwrap();
    project::deactivate(control, project.id, &Actor::console(), clock.now())
        .await
        .unwrap();
    api_key::deactivate(control, key.id, &Actor::console(), clock.now())
        .await
        .unwrap();
    let found = api_key::find_by_digest(control, digest(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.plan, Plan::Free);
    let bad = ApiKeyStatus {
        is_active: false,
        expires_at: None,
        is_project_active: false,
    };
    assert_eq!(found.status, bad);

    project::activate(control, project.id, &Actor::console(), clock.now())
        .await
        .unwrap();
    api_key::activate(control, key.id, &Actor::console(), clock.now())
        .await
        .unwrap();
    let found = api_key::find_by_digest(control, digest(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.status, good);
}

#[tokio::test]
async fn a_last_use_never_goes_back() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let organization = new_organization(control, 1, clock.now()).await;
    let project = new_project(control, &organization, 1).await;
    let keys = [
        new_key(control, &project, 1).await.id,
        new_key(control, &project, 2).await.id,
    ];
    let early = clock.now();
    let late = clock.advance(Duration::from_secs(5));

    api_key::record_last_used(
        control,
        &[(keys[0], late), (keys[1], early), (keys[0], early)],
    )
    .await
    .unwrap();
    api_key::record_last_used(control, &[(keys[0], early), (keys[1], late)])
        .await
        .unwrap();
    let rows = api_key::list(control, project.id, None, 9).await.unwrap();
    assert!(rows.iter().all(|key| key.last_used_at == Some(late)));
    api_key::record_last_used(control, &[]).await.unwrap();
}
