//! The file audit: every kind of corruption is found.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Executor as _};
use store::shard::file::audit;

use crate::file::fixture::{FileFixture, project, text};

#[tokio::test]
async fn every_corruption_is_found_and_named() {
    let allow = "alter table shard.object drop constraint object_check";
    for (statement, expected) in [
        (
            "update shard.file set refs = refs + 1 where status = 'ready'",
            "references",
        ),
        (
            "update shard.file set refs = refs + 1 where status = 'uploading'",
            "references",
        ),
        ("update shard.cargo set files = null", "references"),
        (
            "update shard.cargo set files = array[gen_random_uuid()]",
            "references",
        ),
        ("update shard.object set files = 2", "files"),
        ("delete from shard.object", "bytes files storage"),
        (
            &format!("{allow}; update shard.object set gone_at = '2026-01-01'"),
            "bytes storage",
        ),
        (
            "update shard.object set project = gen_random_uuid()",
            "bytes",
        ),
        (
            "update shard.file set size_bytes = 11 where status = 'ready'",
            "bytes",
        ),
        (
            "update shard.file set size_bytes = 11 where status = 'uploading'",
            "storage",
        ),
        ("update shard.storage set files = files + 1", "storage"),
        ("update shard.storage set bytes = bytes - 1", "storage"),
        ("delete from shard.storage", "storage"),
        (
            "insert into shard.storage (organization, files) values (gen_random_uuid(), 1)",
            "storage",
        ),
    ] {
        let fixture = FileFixture::new().await;
        fixture.session(project(1), text(2, 10)).await;
        let file = fixture.ready(project(1), text(1, 10)).await;
        fixture.load(project(1), &[file.id]).await.unwrap();
        fixture.assert_no_faults().await;
        let statement = statement.to_owned();
        fixture
            .shard
            .pool
            .execute(AssertSqlSafe(statement.clone()))
            .await
            .unwrap();
        let faults = audit::check(&fixture.shard).await.unwrap();
        let names: BTreeSet<&str> = faults
            .iter()
            .map(|fault| fault.invariant.as_str())
            .collect();
        let names = names.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(names, expected, "{statement}");
        assert!(
            faults
                .iter()
                .all(|fault| fault.to_string().contains(" expected "))
        );
    }
}
