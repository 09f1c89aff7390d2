//! Fills a shard with waiting cargo by SQL: loading millions would take an hour.

use std::time::{Duration, Instant};

use sqlx::PgConnection;

use crate::harness::servers::postgres;
use crate::harness::{FailureContext as _, Result, report_progress};

/// Large enough to hide the overhead of a statement, small enough for its memory.
const CARGO_PER_STATEMENT: i64 = 100_000;
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const MAX_VACUUM_WAIT: Duration = Duration::from_mins(4);

/// `organization` makes the id of the n-th organization, an hour old and with its berth.
const CREATE_ID_FUNCTIONS: &str = "
create function pg_temp.organization(number bigint) returns uuid language sql immutable as $$
    select ('018f0000000070008' || lpad(to_hex(number % 512), 3, '0')
        || lpad(to_hex(number), 12, '0'))::uuid
$$;
-- A UUIDv7 with this time and this berth, as the service makes them.
create function pg_temp.cargo(moment timestamptz, berth bigint) returns uuid language sql as $$
    select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(floor(random() * 4096)::int), 3, '0')
        || to_hex(2048 + berth) || lpad(to_hex(floor(random() * 4503599627370496)::bigint), 13, '0')
    )::uuid
$$;";

const INSERT_LANE: &str = "
with made as (
    insert into shard.lane (provider, model, kind) values ('mock', $1, 'chat')
    on conflict (provider, model, kind, via) do nothing returning id)
select id from made union all select id from shard.lane where model = $1 limit 1";

const INSERT_ACCOUNTS: &str = "
with made as (
    insert into shard.account (organization, opened_at)
    select pg_temp.organization(number), now() from generate_series(0, $1 - 1) number
    on conflict do nothing returning 1)
select count(*) from made";

/// With `$7` every second cargo belongs to the first organization, and the others share the rest;
/// otherwise they share all. Each statement makes `$5` cargo from number `$4` on, spread over the last hour like all `$3`.
const INSERT_CARGO: &str = "
with place as (
    select number, case when not $7 then 1 + number % ($2 - 1) when number % 2 = 0 then 0
        else 1 + (number / 2) % ($2 - 1) end as owner
    from generate_series($4, least($4 + $5, $3) - 1) number
), made as materialized (
    select owner, pg_temp.organization(owner) as organization,
        now() - interval '1 hour' + number * (interval '1 hour' / $3) as created_at,
        pg_temp.cargo(now() - interval '1 hour' + number * (interval '1 hour' / $3), owner % 512) as id
    from place
), cargo as (
    insert into shard.cargo (id, organization, project, api_key, lane, model, created_at,
        callback_url, callback_host)
    select id, organization, organization, organization, $1, $6, created_at,
        'http://127.0.0.1:9/hook', '127.0.0.1:9' from made
), request as (
    insert into shard.request (cargo, codec, body)
    select id, 0, convert_to('{\"model\":\"' || $6 || '\",\"max_tokens\":64,\"messages\":'
        || '[{\"role\":\"user\",\"content\":\"' || repeat(md5(id::text), 4) || '\"}]}', 'UTF8')
    from made
), waiting as (
    insert into shard.waiting (lane, organization, cargo)
    select $1, organization, id from made returning 1
)
select count(*) from waiting";

/// A connection with the functions to fill a lane.
#[derive(Debug)]
pub struct WaitingBacklog {
    connection: PgConnection,
    lane: i32,
    model: &'static str,
    organizations: i64,
}

impl WaitingBacklog {
    pub async fn prepare(
        mut connection: PgConnection,
        model: &'static str,
        organizations: i64,
    ) -> Result<Self> {
        postgres::execute(&mut connection, CREATE_ID_FUNCTIONS).await?;
        let lane = sqlx::query_scalar(INSERT_LANE)
            .bind(model)
            .fetch_one(&mut connection)
            .await;
        let lane = lane.context("inserting the lane")?;
        let accounts = sqlx::query_scalar::<_, i64>(INSERT_ACCOUNTS).bind(organizations);
        accounts
            .fetch_one(&mut connection)
            .await
            .context("inserting accounts")?;
        Ok(Self {
            connection,
            lane,
            model,
            organizations,
        })
    }

    /// Adds `count` waiting cargo, half of it of the first organization.
    pub async fn add_waiting(&mut self, count: i64) -> Result<()> {
        self.fill(count, true).await
    }

    /// Adds `count` waiting cargo of all organizations but the first.
    pub async fn add_waiting_of_others(&mut self, count: i64) -> Result<()> {
        self.fill(count, false).await
    }

    async fn fill(&mut self, count: i64, with_first: bool) -> Result<()> {
        let begun = Instant::now();
        let mut filled = 0;
        while filled < count {
            let query = sqlx::query_scalar::<_, i64>(INSERT_CARGO)
                .bind(self.lane)
                .bind(self.organizations)
                .bind(count)
                .bind(filled)
                .bind(CARGO_PER_STATEMENT)
                .bind(self.model)
                .bind(with_first);
            filled += query
                .fetch_one(&mut self.connection)
                .await
                .context("adding waiting cargo")?;
            if filled % 1_000_000 == 0 {
                report_progress(format!(
                    "{filled} cargo added after {} s",
                    begun.elapsed().as_secs()
                ));
            }
        }
        Ok(())
    }

    /// Waits until autovacuum has finished after a fill.
    ///
    /// The bench never vacuums by hand. It measures the size of the backlog, not the aftermath
    /// of a fill that no caller could make.
    pub async fn wait_for_vacuum(&mut self) -> Result<()> {
        let begun = Instant::now();
        postgres::execute(&mut self.connection, "checkpoint").await?;
        let busy = "select
            exists (select from pg_stat_activity where backend_type = 'autovacuum worker')
            or exists (select from pg_stat_user_tables
                where schemaname = 'shard' and n_ins_since_vacuum > 1000000)";
        while sqlx::query_scalar(busy)
            .fetch_one(&mut self.connection)
            .await
            .context("waiting for autovacuum")?
            && begun.elapsed() < MAX_VACUUM_WAIT
        {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        report_progress(format!(
            "waited {} s for autovacuum",
            begun.elapsed().as_secs()
        ));
        Ok(())
    }

    pub async fn count_waiting(&mut self) -> Result<i64> {
        let query = "select count(*) from shard.waiting";
        sqlx::query_scalar(query)
            .fetch_one(&mut self.connection)
            .await
            .context("counting waiting cargo")
    }

    pub async fn analyze(&mut self) -> Result<()> {
        let tables = "analyze shard.cargo, shard.request, shard.waiting, shard.account";
        postgres::execute(&mut self.connection, tables).await
    }
}
