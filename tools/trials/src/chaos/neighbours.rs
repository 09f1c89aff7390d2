//! Isolation: each part measures healthy organizations without and with a faulty neighbour.

pub mod connections;
pub mod flood;
pub mod memory;
pub mod poison;
pub mod provider;
pub mod receivers;
pub mod steady_load;

use std::time::Instant;

use clap::ValueEnum as _;

use crate::harness::{Result, TrialVerdict, report_progress};
use crate::options::{ChaosNeighboursOptions, CommonOptions, NeighbourPart, value_name};

pub async fn run(common: &CommonOptions, options: &ChaosNeighboursOptions) -> Result<TrialVerdict> {
    let mut verdict = TrialVerdict::new("chaos neighbours");
    verdict.record("small", options.small);
    for part in NeighbourPart::value_variants() {
        if !options.part.is_empty() && !options.part.contains(part) {
            continue;
        }
        let name = value_name(part);
        report_progress(format!("neighbours: {name}"));
        let begun = Instant::now();
        let ended = match part {
            NeighbourPart::Provider => provider::run(common, options, &mut verdict).await,
            NeighbourPart::Flood => flood::run(common, options, &mut verdict).await,
            NeighbourPart::Receivers => receivers::run(common, options, &mut verdict).await,
            NeighbourPart::Poison => poison::run(common, options, &mut verdict).await,
            NeighbourPart::Memory => memory::run(common, options, &mut verdict).await,
            NeighbourPart::Connections => connections::run(common, options, &mut verdict).await,
        };
        // The figures of the other parts are still useful.
        if let Err(failure) = ended {
            verdict
                .record(&format!("{name}_error"), failure.to_string())
                .check(format!("{name}: the part ran to its end"), false);
        }
        let seconds = begun.elapsed().as_secs();
        verdict.record(&format!("{name}_took_seconds"), seconds);
    }
    Ok(verdict)
}
