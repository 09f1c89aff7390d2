//! Pages of files: complete, newest first, and cheap in projects of any size.

use std::time::Duration;

use domain::file::{FileFailureReason, FileKind, FileStatus, MediaType, Sha256};
use domain::id::FileId;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use store::shard::file::{self, FileChange, FileChangeResult, FileFilter, FileRow};

use crate::file::fixture::{FileFixture, connect, owner, project, text};

/// Files of every status and kind, in a mixed order.
async fn create_mixed_files(fixture: &FileFixture) -> Vec<FileRow> {
    let mut files = Vec::new();
    for number in 0..45_u8 {
        let media_type = [MediaType::Png, MediaType::Pdf, MediaType::Mp4][usize::from(number % 3)];
        let declared = domain::file::FileDeclaration {
            media_type,
            ..text(number, 10)
        };
        let file = match number / 3 % 5 {
            0 => fixture.session(project(1), declared).await,
            1 => fixture.validating(project(1), declared).await,
            2 => fixture.ready(project(1), declared).await,
            3 => {
                let file = fixture.session(project(1), declared).await;
                fixture.delete(&file, false).await;
                file
            }
            _ => {
                let file = fixture.ready(project(1), declared).await;
                fixture.delete(&file, false).await;
                file
            }
        };
        fixture.database.clock.advance(Duration::from_millis(1));
        files.push(fixture.find(&file).await);
    }
    // Files of another project are never listed.
    fixture.session(project(2), text(1, 10)).await;
    files.reverse();
    files
}

#[tokio::test]
async fn every_filter_lists_all_of_its_files_newest_first_without_gaps() {
    let fixture = FileFixture::new().await;
    let files = create_mixed_files(&fixture).await;
    let statuses = FileStatus::ALL.iter().copied().map(Some).chain([None]);
    for status in statuses {
        for kind in FileKind::ALL.iter().copied().map(Some).chain([None]) {
            let expected: Vec<&FileRow> = files
                .iter()
                .filter(|file| status.is_none_or(|only| file.status == only))
                .filter(|file| kind.is_none_or(|only| file.kind == only))
                .collect();
            assert!(!expected.is_empty());
            for limit in [1, 2, 7, 200] {
                let mut listed: Vec<FileRow> = Vec::new();
                loop {
                    let before = listed.last().map(|file| file.id);
                    let filter = FileFilter { status, kind };
                    let page = file::list(&fixture.shard, project(1), filter, before, limit).await;
                    let page = page.unwrap();
                    assert!(page.len() <= usize::try_from(limit).unwrap());
                    if page.is_empty() {
                        break;
                    }
                    listed.extend(page);
                }
                assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
            }
        }
    }
}

/// How many rows of files were read so far, with or without an index.
async fn count_rows_read(connection: &mut store::DatabaseSession) -> i64 {
    // Makes the counters of this connection visible at once.
    connection
        .execute("select pg_stat_force_next_flush()")
        .await
        .unwrap();
    connection
        .execute("select pg_stat_clear_snapshot()")
        .await
        .unwrap();
    let read = "select (select sum(idx_tup_read)::bigint from pg_stat_user_indexes
                        where schemaname = 'shard' and relname = 'file')
        + (select seq_tup_read from pg_stat_user_tables
           where schemaname = 'shard' and relname = 'file')";
    sqlx::query_scalar(read)
        .fetch_one(connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_page_of_a_hundred_thousand_files_reads_no_more_than_its_walks() {
    let fixture = FileFixture::new().await;
    let (of, organization) = (project(1), owner(project(1)));
    let fill = format!(
        "insert into shard.file (id, organization, project, status, kind, media_type, filename,
             size_bytes, sha256, scan_status, failure_reason, ttl_seconds, created_at, object)
         select gen_random_uuid(), '{}', '{}', s.status, k.kind, k.media_type, 'f', 1,
             decode(repeat('00', 32), 'hex'), case s.status when 'ready' then 'clean' else 'pending' end,
             case s.status when 'failed' then '{}' end, 3600, '2026-01-01',
             case s.status when 'ready' then gen_random_uuid() end
         from generate_series(1, 100000) as n
         -- Most are ready images; some kinds are rare.
         join (values (0, 'ready'), (1, 'expired'), (2, 'failed'), (3, 'validating')) s (n, status)
             on s.n = case when n.n % 100 < 90 then 0 else n.n % 4 end
         join (values (0, 'image', 'image/png'), (1, 'document', 'text/plain'), (2, 'video', 'video/mp4'))
             k (n, kind, media_type) on k.n = case when n.n % 1000 < 990 then 0 else n.n % 3 end;
         analyze shard.file",
        organization.uuid(),
        of.uuid(),
        FileFailureReason::ChecksumMismatch.as_str()
    );
    // Filled without the deadlines of the pool: on a busy machine it takes longer than a query may.
    let mut writer = PgConnection::connect(&fixture.database.url())
        .await
        .unwrap();
    writer.execute(AssertSqlSafe(fill)).await.unwrap();
    writer.close().await.unwrap();
    // One connection, so that its counters are complete.
    let shard = connect(&fixture.database, 1);
    let middle = Some(FileId::from_uuid(uuid::Uuid::from_u128(u128::MAX / 2)));
    let image = Some(FileKind::Image);
    for (status, kind, before) in [
        (None, None, None),
        (None, None, middle),
        (Some(FileStatus::Ready), None, middle),
        (None, Some(FileKind::Video), middle),
        (Some(FileStatus::Ready), image, middle),
        // No such files.
        (Some(FileStatus::Uploading), image, None),
    ] {
        for limit in [50, 201] {
            let filter = FileFilter { status, kind };
            // PostgreSQL may change the plan after some executions. That must not matter.
            for _ in 0..7 {
                let first = count_rows_read(&mut shard.pool.acquire().await.unwrap()).await;
                let page = file::list(&shard, of, filter, before, limit).await.unwrap();
                let rows = count_rows_read(&mut shard.pool.acquire().await.unwrap()).await - first;
                let walks = status.map_or(5, |_| 1) * kind.map_or(3, |_| 1);
                let most = walks * i64::from(limit);
                assert!(
                    rows <= most,
                    "{filter:?} read {rows} rows, more than {most}"
                );
                assert!(i64::try_from(page.len()).unwrap() <= rows);
                assert!(status != Some(FileStatus::Uploading) || page.is_empty());
            }
        }
    }
}

#[tokio::test]
async fn what_lives_can_be_changed_and_what_ended_cannot() {
    let fixture = FileFixture::new().await;
    let ready = fixture.ready(project(1), text(1, 10)).await;
    let now = fixture.database.clock.advance(Duration::from_secs(100));
    let change = |file: FileRow, change: FileChange| {
        let fixture = &fixture;
        async move {
            let changed = file::update(&fixture.shard, file.project, file.id, &change, now).await;
            changed.unwrap()
        }
    };
    let all = FileChange {
        ttl_seconds: Some(7200),
        metadata: Some(b"{\"a\":\"b\"}".to_vec()),
        pinned: Some(true),
    };
    let expected = FileRow {
        ttl_seconds: 7200,
        expires_at: Some(now + Duration::from_hours(2)),
        metadata: all.metadata.clone(),
        pinned: true,
        ..ready.clone()
    };
    assert_eq!(
        change(ready.clone(), all.clone()).await,
        FileChangeResult::Done(expected.clone())
    );
    // Properties without a new value stay.
    assert_eq!(
        change(ready.clone(), FileChange::default()).await,
        FileChangeResult::Done(expected)
    );
    let session = fixture.session(project(1), text(2, 10)).await;
    let FileChangeResult::Done(changed) = change(session.clone(), all.clone()).await else {
        panic!("not changed")
    };
    assert_eq!((changed.ttl_seconds, changed.expires_at), (7200, None));
    fixture.delete(&session, false).await;
    assert_eq!(
        change(session.clone(), all.clone()).await,
        FileChangeResult::WrongState
    );
    let elsewhere = FileRow {
        project: project(2),
        ..ready
    };
    assert_eq!(change(elsewhere, all).await, FileChangeResult::NotFound);
    assert_eq!(session.sha256, Sha256([2; 32]));
}
