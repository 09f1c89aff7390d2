//! Every alert is made to fire by a real fault, with windows at a sixtieth of the usual ones, and
//! every query of the dashboards returns data.

pub mod alert_fleet;
pub mod alert_monitor;
pub mod database_faults;
pub mod dependency_faults;
pub mod early_alerts;
pub mod fault_table;
pub mod file_faults;
pub mod host_monitors;
pub mod load_plan;
pub mod provider_faults;
pub mod receiver_faults;
pub mod slow_faults;
pub mod worker_faults;

use std::time::{Duration, Instant};

use crate::chaos::alerts::alert_fleet::AlertFleet;
use crate::chaos::alerts::load_plan::planned_load;
use crate::harness::build_profile;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{Result, SampleFile, TrialVerdict, UploadContent, judge, report_progress};
use crate::options::{ChaosAlertsOptions, CommonOptions};

/// Queries are asked from the first fault on; some need a file that was verified.
const QUERY_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_mins(1));
const QUERY_ROUND: Duration = Duration::from_secs(2);
/// A full run must not take longer.
const MAX_DURATION: Duration = Duration::from_mins(12);

pub async fn run(common: &CommonOptions, options: &ChaosAlertsOptions) -> Result<TrialVerdict> {
    let begun = Instant::now();
    let mut fleet = AlertFleet::start(common, options).await?;
    let load = planned_load(&fleet.load_plan);
    let injection = inject_faults(&mut fleet, options.small);
    let (offered, injected) = open_loop::offer_loads_during(options.rate, load, injection).await;
    injected?;
    let mut verdict = TrialVerdict::new("chaos alerts").judging_figures(!options.small);
    let seconds = statistics::round_to(begun.elapsed().as_secs_f64(), 1);
    judge! { verdict;
        record "loads" => offered.loads,
        record "seconds" => seconds,
        check_figure "all faults happen within 12 minutes" => begun.elapsed() < MAX_DURATION,
    }
    fleet.monitor.judge(&mut verdict, !options.small);
    Ok(verdict)
}

async fn inject_faults(fleet: &mut AlertFleet, is_small: bool) -> Result<()> {
    provider_faults::refuse_and_fail(fleet, is_small).await?;
    wait_for_dashboards(fleet).await?;
    worker_faults::kill_workers(fleet).await?;
    if is_small {
        return Ok(());
    }
    worker_faults::break_ledger(fleet).await?;
    worker_faults::shift_clock(fleet).await?;
    dependency_faults::kill_redis(fleet).await?;
    dependency_faults::damage_licence(fleet).await?;
    dependency_faults::block_audit_file(fleet).await?;
    database_faults::stop_shard(fleet).await?;
    database_faults::stop_control(fleet).await?;
    database_faults::lock_accounts(fleet).await?;
    database_faults::remove_table(fleet).await?;
    database_faults::drop_partitions(fleet).await?;
    file_faults::kill_store(fleet).await?;
    file_faults::lose_object(fleet).await?;
    file_faults::turn_rows_back(fleet).await?;
    database_faults::promote_shard(fleet).await?;
    let aged = worker_faults::age_ledger_pass(fleet).await?;
    receiver_faults::hang_receivers(fleet).await?;
    worker_faults::renew_ledger_pass(fleet, aged).await?;
    Box::pin(slow_faults::cause_slow_faults(fleet)).await?;
    dependency_faults::stop_key_service(fleet).await?;
    // The last one: its workers leave times in the rows that lie a day ahead.
    worker_faults::lose_day(fleet).await
}

/// Uploads files until every query has returned data.
async fn wait_for_dashboards(fleet: &mut AlertFleet) -> Result<()> {
    report_progress("waiting for the queries of the dashboards");
    let (client, begun) = (fleet.files_client()?, Instant::now());
    while fleet.monitor.has_unanswered_queries() && begun.elapsed() < QUERY_TIMEOUT {
        let content = UploadContent::from(SampleFile::nth(0));
        // The verdict names the queries without data.
        let _ = client.upload_and_complete(&content).await;
        fleet.monitor.wait_for_queries(QUERY_ROUND).await?;
    }
    Ok(())
}
