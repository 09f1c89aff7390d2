//! The oldest entries of the audit log and of the change feed leave.

use chrono::TimeDelta;
use domain::time::Clock as _;
use store::control::audit_log::{self, Actor, AuditEvent};
use store::control::{change_feed, history};
use test_support::database::TestDatabase;

use super::{days_ago, execute, read};

const SUBJECTS: &str = "select subject from control.audit order by id";

/// An entry a day, for the last six days.
async fn with_audit_log() -> TestDatabase {
    let database = TestDatabase::new().await;
    for day in (1..=6).rev() {
        let event = AuditEvent {
            action: "test.recorded",
            subject: day.to_string(),
            ..AuditEvent::default()
        };
        let at = database.clock.now() - TimeDelta::days(day);
        audit_log::record(&database.control, &Actor::console(), event, at)
            .await
            .unwrap();
    }
    database
}

#[tokio::test]
async fn old_entries_of_the_audit_log_leave() {
    let database = with_audit_log().await;
    let (control, before) = (&database.control, days_ago(&database, 3));
    let delete = |most| history::delete_audit_entries(control, before, false, most);
    assert_eq!(delete(2).await.unwrap(), 2);
    assert_eq!(read(&control.pool, SUBJECTS).await, "4 3 2 1");
    assert_eq!(delete(2).await.unwrap(), 1);
    assert_eq!(delete(2).await.unwrap(), 0);
    assert_eq!(read(&control.pool, SUBJECTS).await, "3 2 1");
    // Nothing else may delete.
    let deleted = sqlx::raw_sql("delete from control.audit").execute(&control.pool);
    assert!(deleted.await.is_err());
}

#[tokio::test]
async fn entries_that_are_not_in_the_audit_file_stay() {
    let database = with_audit_log().await;
    let (control, before) = (&database.control, days_ago(&database, 3));
    let delete = || history::delete_audit_entries(control, before, true, 100);
    assert_eq!(delete().await.unwrap(), 0);
    let written = "update control.audit_file
        set last_entry = (select id from control.audit where subject = '5')";
    execute(&control.pool, written).await;
    assert_eq!(delete().await.unwrap(), 2);
    assert_eq!(read(&control.pool, SUBJECTS).await, "4 3 2 1");
}

#[tokio::test]
async fn old_changes_leave_and_the_newest_stays() {
    let database = TestDatabase::new().await;
    let control = &database.control;
    let now = database.clock.now();
    let changes = format!(
        "insert into control.change (kind, at)
         select 'key', '{now}'::timestamptz - n * interval '1 day' from generate_series(8, 1, -1) n"
    );
    execute(&control.pool, changes).await;
    let newest = change_feed::read_newest_seq(control).await.unwrap();
    let delete = |days| history::delete_changes(control, days_ago(&database, days), 100);
    assert_eq!(delete(5).await.unwrap(), 3);
    let left = "select count(*) from control.change";
    assert_eq!(read(&control.pool, left).await, "5");
    assert_eq!(delete(0).await.unwrap(), 4);
    assert_eq!(change_feed::read_newest_seq(control).await.unwrap(), newest);
}
