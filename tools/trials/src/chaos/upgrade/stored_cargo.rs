//! Cargo of the last two days that is completed and delivered, written by SQL.

use crate::harness::{BaseEnvironment, FailureContext as _, Result, SHARD, report_progress};

const ROWS_PER_CHUNK: u64 = 100_000;
/// How many chunks there are between two reports.
const CHUNKS_PER_REPORT: u64 = 10;

/// Free cargo, so that no ledger needs to know it. The ids are in order, as loads make them.
const INSERT_ROWS: &str = "
with chunk as materialized (
    select (left(shard.id_floor(
            date_trunc('day', now(), 'UTC') - interval '2 days' + number * $3 * interval '1 second')::text, 14)
        || '7' || left(md5(number::text), 3) || '-8000-' || right(md5(number::text), 12))::uuid as id,
        date_trunc('day', now(), 'UTC') - interval '2 days' as at
    from generate_series($1::bigint, $2::bigint) number
), cargo as (
    insert into shard.cargo (id, organization, project, api_key, lane, model, created_at, callback_url,
        callback_host, batch, completed_at, success, callback_state, callback_ended_at)
    select id, '00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002',
        '00000000-0000-7000-8000-000000000003', 1, 'svc-mock', at, 'https://receiver.example/hook',
        'receiver.example', '00000000-0000-7000-8000-000000000004', at, true, 'delivered', at
    from chunk
), request as (
    insert into shard.request (cargo, codec, body) select id, 0, '\\x7b7d' from chunk
)
insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens)
select id, true, 0, '\\x7b7d', 1, 1 from chunk";

pub async fn store(base: &BaseEnvironment, count: u64) -> Result<()> {
    report_progress(format!("storing {count} cargo"));
    let mut connection = base.database_server()?.connect(SHARD).await?;
    let seconds_per_row = 172_800.0 / f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    let first_rows = (0..count).step_by(usize::try_from(ROWS_PER_CHUNK).unwrap_or(1));
    for (chunk, first) in (1..).zip(first_rows) {
        let last = (first + ROWS_PER_CHUNK).min(count) - 1;
        sqlx::query(INSERT_ROWS)
            .bind(i64::try_from(first).unwrap_or(i64::MAX))
            .bind(i64::try_from(last).unwrap_or(i64::MAX))
            .bind(seconds_per_row)
            .execute(&mut connection)
            .await
            .context("storing cargo")?;
        if chunk % CHUNKS_PER_REPORT == 0 {
            report_progress(format!("{} of {count} cargo stored", last + 1));
        }
    }
    let analyzed = sqlx::raw_sql("analyze shard.cargo, shard.request, shard.outcome");
    let analyzed = analyzed.execute(&mut connection).await;
    analyzed.context("analyzing").map(drop)
}
