//! Overload: too much load, a distant database, wrong clocks, a full disk.

mod clocks;
mod disk;
mod excess_load;

use clap::ValueEnum as _;

use crate::harness::{Result, TrialVerdict, report_progress};
use crate::options::{ChaosOverloadOptions, CommonOptions, OverloadPart, value_name};

pub async fn run(common: &CommonOptions, options: &ChaosOverloadOptions) -> Result<TrialVerdict> {
    let mut verdict = TrialVerdict::new("chaos overload");
    let parts = if options.parts.is_empty() {
        OverloadPart::value_variants()
    } else {
        &options.parts
    };
    for part in parts {
        let name = value_name(part);
        report_progress(format!("part {name}"));
        let judged = match part {
            OverloadPart::Load => {
                excess_load::run(common, options, excess_load::DatabaseDistance::Near).await
            }
            OverloadPart::Distance => {
                excess_load::run(common, options, excess_load::DatabaseDistance::Far).await
            }
            OverloadPart::Clocks => clocks::run(common, options).await,
            OverloadPart::Disk => disk::run(common, options).await,
        };
        verdict.merge_part(&name, judged?);
    }
    Ok(verdict)
}
