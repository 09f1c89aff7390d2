//! More than the service can take: load, distance, wrong clocks, a full disk.

mod clocks;
mod disk;
mod flood;
mod offered;

use crate::failure::Result;
use crate::options::{Common, OverloadOptions, OverloadPart};
use crate::progress::say;
use crate::verdict::Verdict;

const ALL: [OverloadPart; 4] = [
    OverloadPart::Load,
    OverloadPart::Distance,
    OverloadPart::Clocks,
    OverloadPart::Disk,
];

pub async fn run(common: &Common, options: &OverloadOptions) -> Result<Verdict> {
    let mut verdict = Verdict::new("chaos overload");
    let parts = if options.parts.is_empty() {
        ALL.as_slice()
    } else {
        &options.parts
    };
    for part in parts {
        let name = name(*part);
        say(format!("part {name}"));
        let judged = match part {
            OverloadPart::Load => flood::run(common, options, flood::Place::Near).await,
            OverloadPart::Distance => flood::run(common, options, flood::Place::Far).await,
            OverloadPart::Clocks => clocks::run(common, options).await,
            OverloadPart::Disk => disk::run(common, options).await,
        };
        verdict.absorb(name, judged?);
    }
    Ok(verdict)
}

const fn name(part: OverloadPart) -> &'static str {
    match part {
        OverloadPart::Load => "load",
        OverloadPart::Distance => "distance",
        OverloadPart::Clocks => "clocks",
        OverloadPart::Disk => "disk",
    }
}
