//! API keys: what they authenticate, and when they were last used.

use std::net::IpAddr;
use std::time::Duration;

use chrono::TimeDelta;
use domain::api_key::ApiKeyStatus;
use domain::id::{ApiKeyId, OrganizationId};
use domain::key_scope::{KeyRight, KeyScope, parse_address_range};
use domain::key_spending::SpendingCap;
use domain::money::Money;
use domain::organization::Plan;
use domain::time::{Clock as _, Timestamp};
use store::control::api_key::{ApiKeyRow, KeyUseRow};
use store::control::audit_log::Actor;
use store::control::{api_key, berth, key_policy, organization, project};
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

    let used = |key: usize, at: Timestamp, last: u8| KeyUseRow {
        key: keys[key],
        at,
        address: Some(IpAddr::from([192, 0, 2, last])),
    };
    let first = [used(0, late, 1), used(1, early, 2), used(0, early, 3)];
    api_key::record_last_used(control, &first).await.unwrap();
    let second = [used(0, early, 4), used(1, late, 5)];
    api_key::record_last_used(control, &second).await.unwrap();
    let rows = api_key::list(control, project.id, None, 9).await.unwrap();
    let last_uses = rows
        .iter()
        .map(|key| (key.last_used_at, key.last_used_address.as_deref()));
    let expected = [
        (Some(late), Some("192.0.2.1")),
        (Some(late), Some("192.0.2.5")),
    ];
    assert_eq!(last_uses.collect::<Vec<_>>(), expected);
    api_key::record_last_used(control, &[]).await.unwrap();
}

#[tokio::test]
async fn a_scope_is_read_as_it_was_written_and_is_in_the_audit_log() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let organization = new_organization(control, 1, clock.now()).await;
    let project = new_project(control, &organization, 1).await;
    let plain = new_key(control, &project, 1).await;
    let found = api_key::find_by_digest(control, digest(1)).await.unwrap();
    assert_eq!(found.unwrap().scope, None);

    let scope = KeyScope {
        rights: Some(vec![KeyRight::Load, KeyRight::Files]),
        models: Some(vec!["svc-mock".to_owned()]),
        addresses: Some(vec![parse_address_range("10.0.0.0/8").unwrap()]),
        spending_cap: Some(SpendingCap {
            key: plain.id,
            monthly: Money(1),
        }),
    };
    let id = ApiKeyId::new(clock.now(), project.id.berth(), 2);
    let scoped = ApiKeyRow {
        id,
        scope: scope.clone(),
        ..plain
    };
    let by = Actor::console();
    let created = api_key::create(control, &scoped, digest(2), &by).await;
    assert_eq!(created.unwrap(), None);
    assert_eq!(api_key::find(control, id).await.unwrap(), Some(scoped));
    let found = api_key::find_by_digest(control, digest(2)).await.unwrap();
    assert_eq!(found.unwrap().scope.as_deref(), Some(&scope));
    let logged = "select count(*) from control.audit
                  where action = 'key.created' and detail = $1";
    let logged: i64 = sqlx::query_scalar(logged)
        .bind(scope.to_string())
        .fetch_one(&control.pool)
        .await
        .unwrap();
    assert_eq!(logged, 1);
}

#[tokio::test]
async fn the_longest_lifetime_of_an_organization_ends_old_and_new_keys() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let organization = new_organization(control, 1, clock.now()).await;
    let other = new_organization(control, 2, clock.now()).await;
    let project = new_project(control, &organization, 1).await;
    let untouched = new_key(control, &new_project(control, &other, 2).await, 2).await;
    let old = new_key(control, &project, 1).await;
    let (by, now) = (Actor::console(), clock.now());
    let limit = async |days| {
        let set = key_policy::set_max_key_days(control, organization.id, days, &by, now);
        set.await.unwrap()
    };
    let expiry = async |id| {
        api_key::find(control, id)
            .await
            .unwrap()
            .unwrap()
            .expires_at
    };
    let in_days = |days| Some(old.created_at + TimeDelta::days(days));

    assert_eq!(limit(Some(30)).await, Some(1));
    assert_eq!(expiry(old.id).await, in_days(30));
    assert_eq!(expiry(untouched.id).await, None);
    // A longer limit gives no time back, and no limit neither.
    assert_eq!(limit(Some(60)).await, Some(0));
    assert_eq!(limit(None).await, Some(0));
    assert_eq!(expiry(old.id).await, in_days(30));

    assert_eq!(limit(Some(90)).await, Some(0));
    let of = key_policy::find_max_key_days(control, organization.id);
    assert_eq!(of.await.unwrap(), Some(90));
    for (number, requested, expected) in [
        (3, None, in_days(90)),
        (4, in_days(10), in_days(10)),
        (5, in_days(400), in_days(90)),
    ] {
        let new = ApiKeyRow {
            id: ApiKeyId::new(now, project.id.berth(), number.into()),
            expires_at: requested,
            ..old.clone()
        };
        let stored = api_key::create(control, &new, digest(number), &by).await;
        assert_eq!(stored.unwrap(), expected);
    }
    let unknown = OrganizationId::new(now, organization.berth, 99);
    let set = key_policy::set_max_key_days(control, unknown, Some(1), &by, now);
    assert_eq!(set.await.unwrap(), None);
}
