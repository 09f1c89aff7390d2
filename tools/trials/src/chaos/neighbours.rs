//! Whether a sick neighbour slows anyone else: each part measures its victims without it and with it.

pub mod accounts;
pub mod connections;
pub mod environment;
pub mod flood;
pub mod memory;
pub mod poison;
pub mod provider;
pub mod receivers;
pub mod sick;
pub mod victims;

use std::time::Instant;

use crate::failure::Result;
use crate::options::{Common, NeighbourPart, NeighboursOptions};
use crate::progress::say;
use crate::verdict::Verdict;

pub async fn run(common: &Common, options: &NeighboursOptions) -> Result<Verdict> {
    let mut verdict = Verdict::new("chaos neighbours");
    verdict.note("small", options.small);
    for part in NeighbourPart::ALL {
        if !options.part.is_empty() && !options.part.contains(&part) {
            continue;
        }
        say(format!("neighbours: {}", part.name()));
        let begun = Instant::now();
        let ended = match part {
            NeighbourPart::Provider => provider::run(common, options, &mut verdict).await,
            NeighbourPart::Flood => flood::run(common, options, &mut verdict).await,
            NeighbourPart::Receivers => receivers::run(common, options, &mut verdict).await,
            NeighbourPart::Poison => poison::run(common, options, &mut verdict).await,
            NeighbourPart::Memory => memory::run(common, options, &mut verdict).await,
            NeighbourPart::Connections => connections::run(common, options, &mut verdict).await,
        };
        // The figures of the other parts are worth having all the same.
        if let Err(failure) = ended {
            let name = format!("{}_error", part.name());
            verdict
                .note(&name, failure.to_string())
                .promise(format!("{}: carried out", part.name()), false);
        }
        let seconds = begun.elapsed().as_secs();
        verdict.note(&format!("{}_took_seconds", part.name()), seconds);
    }
    Ok(verdict)
}
