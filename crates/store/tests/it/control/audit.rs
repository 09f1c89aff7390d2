//! The audit log for readers with a cursor, and the tokens that read it.

use domain::id::AuditTokenId;
use domain::time::{Clock as _, Timestamp};
use sqlx::Executor as _;
use store::Control;
use store::control::audit_log::{self, Actor, AuditEvent};
use store::control::audit_token::{self, AuditTokenRow};
use store::control::berth;
use test_support::database::TestDatabase;

use crate::control::{SHARDS, digest, new_organization};

async fn record(control: &Control, action: &str, now: Timestamp) {
    let event = AuditEvent {
        action,
        ..AuditEvent::default()
    };
    let by = Actor::console();
    audit_log::record(control, &by, event, now).await.unwrap();
}

async fn actions_after(control: &Control, after: i64) -> Vec<String> {
    let entries = audit_log::list_after(control, None, after, 100).await;
    let actions = entries.unwrap().into_iter().map(|entry| entry.action);
    actions.collect()
}

#[tokio::test]
async fn an_entry_waits_for_an_earlier_one_that_is_not_committed() {
    let database = TestDatabase::new().await;
    let (control, now) = (&database.control, database.clock.now());
    let mut held = control.pool.begin().await.unwrap();
    let first = "insert into control.audit (at, who, action)
                 values ('2026-01-01 00:00:00Z', 'test', 'test.first')";
    held.execute(first).await.unwrap();
    let waiting = tokio::spawn({
        let control = control.clone();
        async move { record(&control, "test.second", now).await }
    });
    let blocked = "select count(*) from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())";
    loop {
        let count = sqlx::query_scalar::<_, i64>(blocked);
        if count.fetch_one(&database.shard.pool).await.unwrap() > 0 {
            break;
        }
    }
    assert_eq!(actions_after(control, 0).await, Vec::<String>::new());
    held.commit().await.unwrap();
    waiting.await.unwrap();
    assert_eq!(
        actions_after(control, 0).await,
        ["test.first", "test.second"]
    );
}

#[tokio::test]
async fn one_who_follows_with_a_cursor_misses_no_entry() {
    let database = TestDatabase::new().await;
    let (control, now) = (&database.control, database.clock.now());
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let control = control.clone();
        writers.spawn(async move { record(&control, "test.recorded", now).await });
    }
    let (mut seen, mut cursor) = (0, 0);
    while seen < 60 {
        let page = audit_log::list_after(control, None, cursor, 7).await;
        for entry in page.unwrap() {
            assert!(entry.id > cursor);
            cursor = entry.id;
            seen += 1;
        }
    }
    writers.join_all().await;
    assert_eq!(actions_after(control, cursor).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_token_works_until_it_is_revoked() {
    let database = TestDatabase::new().await;
    let (control, now) = (&database.control, database.clock.now());
    berth::assign(control, &SHARDS, now).await.unwrap();
    let owner = new_organization(control, 1, now).await;
    let other = new_organization(control, 2, now).await;
    let by = Actor::console();
    let token = AuditTokenRow {
        id: AuditTokenId::new(now, owner.berth, 1),
        organization: Some(owner.id),
        name: "SIEM".to_owned(),
        prefix: "svc_audit_ABCDE".to_owned(),
        last_used_at: None,
        created_at: now,
    };
    audit_token::create(control, &token, digest(1), &by)
        .await
        .unwrap();
    let find = async || audit_token::authenticate(control, digest(1), now).await;
    assert_eq!(find().await.unwrap(), Some(token.clone()));
    let listed = audit_token::list(control, Some(owner.id)).await.unwrap();
    assert_eq!(listed[0].last_used_at, Some(now));
    assert_eq!(
        audit_token::list(control, Some(other.id)).await.unwrap(),
        []
    );

    // Another organization cannot revoke it.
    let revoke = async |by_organization| {
        audit_token::revoke(control, Some(by_organization), token.id, &by, now).await
    };
    assert_eq!(revoke(other.id).await.unwrap(), None);
    assert!(revoke(owner.id).await.unwrap().is_some());
    assert_eq!(find().await.unwrap(), None);
    let log = audit_log::list_after(control, Some(owner.id), 0, 100).await;
    let actions: Vec<_> = log.unwrap().into_iter().map(|entry| entry.action).collect();
    assert_eq!(
        actions,
        [
            "organization.created",
            "audit_token.created",
            "audit_token.revoked"
        ]
    );
}
