//! Receivers hang, and then nothing can be delivered at all.

use std::net::Ipv4Addr;

use crate::chaos::alerts::alert_fleet::AlertFleet;
use crate::chaos::alerts::fault_table::{DELIVERIES_LOCKED, RECEIVERS_HANG};
use crate::harness::servers::postgres;
use crate::harness::{FaultyServer, Result, ServerFault};

/// The second fault needs callbacks that wait for their retry.
pub async fn hang_receivers(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(RECEIVERS_HANG).await?;
    let receivers = FaultyServer::start(ServerFault::Hang)?;
    let port = receivers.at(Ipv4Addr::LOCALHOST).port();
    fleet.load_plan.set_hanging_receivers(Some(port));
    fleet.monitor.wait_until_firing(expected).await?;
    lock_deliveries(fleet).await?;
    fleet.load_plan.set_hanging_receivers(None);
    Ok(())
}

async fn lock_deliveries(fleet: &mut AlertFleet) -> Result<()> {
    let expected = fleet.monitor.expect(DELIVERIES_LOCKED).await?;
    let mut session = fleet.connect_north().await?;
    let lock = "begin; lock table shard.delivery in exclusive mode";
    postgres::execute(&mut session, lock).await?;
    fleet.monitor.wait_until_firing(expected).await?;
    postgres::execute(&mut session, "rollback").await?;
    fleet.monitor.wait_until_silent(DELIVERIES_LOCKED).await
}
