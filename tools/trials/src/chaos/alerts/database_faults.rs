//! Databases that stop, are locked by another session, or have lost tables.

use std::time::Duration;

use hyper::Method;
use sqlx::PgConnection;

use crate::chaos::alerts::alert_fleet::AlertFleet;
use crate::chaos::alerts::fault_table::{
    ACCOUNTS_LOCKED, CONTROL_STOPPED, PARTITIONS_GONE, SHARD_STOPPED, STANDBY_PROMOTED,
    TABLE_MISSING,
};
use crate::harness::servers::postgres;
use crate::harness::{FilesClient, Result};

/// Longer than the 250 ms of the service level, and shorter than a load waits for a lock.
const LOCK_DURATION: Duration = Duration::from_millis(1500);
const LOCK_PAUSE: Duration = Duration::from_millis(200);
const REQUEST_INTERVAL: Duration = Duration::from_millis(500);
/// Of all days after tomorrow. Each in its own transaction, so that it cannot deadlock with loads.
const DROP_PARTITIONS: &str = "
do $$
declare part regclass;
begin
    for part in
        select c.oid::regclass from pg_class c
        where c.relnamespace = 'shard'::regnamespace and c.relkind = 'r'
            and c.relname ~ '^(outcome|attempt|trouble|request|cargo)_[0-9]{8}$'
            and right(c.relname, 8) > to_char(now() at time zone 'UTC' + interval '1 day', 'YYYYMMDD')
    loop
        execute format('drop table %s', part);
        commit;
    end loop;
end $$";

pub async fn stop_shard(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(SHARD_STOPPED).await?;
    fleet.north_server()?.crash().await?;
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.north_server()?.start().await
}

pub async fn stop_control(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(CONTROL_STOPPED).await?;
    fleet.control_server()?.crash().await?;
    fleet.monitor.wait_until_firing(expected).await?;
    fleet.control_server()?.start().await?;
    fleet.monitor.wait_until_silent(CONTROL_STOPPED).await
}

/// As after the promotion of a standby that has every commit.
pub async fn promote_shard(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(STANDBY_PROMOTED).await?;
    let server = fleet.north_server()?;
    server.crash().await?;
    server.start_with_new_timeline().await?;
    fleet.monitor.wait_until_firing(expected).await?;
    let confirm = ["admin", "files", "confirm"];
    fleet.service.longshored.run(&confirm).await.map(drop)
}

pub async fn lock_accounts(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(ACCOUNTS_LOCKED).await?;
    let mut connection = fleet.connect_north().await?;
    // The server ends the transaction when the connection is dropped.
    tokio::select! {
        waited = fleet.monitor.wait_until_firing(expected) => waited,
        failed = lock_in_turns(&mut connection) => failed,
    }
}

/// Returns only when it fails.
async fn lock_in_turns(connection: &mut PgConnection) -> Result<()> {
    loop {
        postgres::execute(
            connection,
            "begin; lock table shard.account in exclusive mode",
        )
        .await?;
        tokio::time::sleep(LOCK_DURATION).await;
        postgres::execute(connection, "rollback").await?;
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

pub async fn remove_table(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(TABLE_MISSING).await?;
    let client = fleet.files_client()?;
    fleet
        .execute_north("alter table shard.file rename to file_away")
        .await?;
    tokio::select! {
        waited = fleet.monitor.wait_until_firing(expected) => waited?,
        () = list_files(&client) => {}
    }
    fleet
        .execute_north("alter table shard.file_away rename to file")
        .await?;
    Ok(())
}

/// Until it is dropped.
async fn list_files(client: &FilesClient) {
    loop {
        client.send(Method::GET, "/files", None).await;
        tokio::time::sleep(REQUEST_INTERVAL).await;
    }
}

/// Workers make missing partitions, and report how many there are, once a minute and at their start.
pub async fn drop_partitions(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(PARTITIONS_GONE).await?;
    fleet
        .execute_north("alter function shard.make_day(date) rename to make_day_away")
        .await?;
    fleet.execute_north(DROP_PARTITIONS).await?;
    fleet.restart_workers().await?;
    fleet.monitor.wait_until_firing(expected).await?;
    fleet
        .execute_north("alter function shard.make_day_away(date) rename to make_day")
        .await?;
    fleet.restart_workers().await?;
    fleet.monitor.wait_until_silent(PARTITIONS_GONE).await
}
