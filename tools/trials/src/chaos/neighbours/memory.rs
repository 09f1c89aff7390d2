//! Many loads of compressible text, small on the disk and large in memory.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::json;

use crate::catalogue::FREE;
use crate::chaos::neighbours::environment::{Environment, Plan};
use crate::chaos::neighbours::victims::{self, Victims};
use crate::failure::{During as _, Failure, Result};
use crate::figures::rounded;
use crate::http::Target;
use crate::memory;
use crate::options::{Common, NeighboursOptions};
use crate::process::Process;
use crate::progress::say;
use crate::stand::{CHAOS_MEMORY, Stand};
use crate::verdict::Verdict;

const PROSE: &str = "lorem ipsum dolor sit amet ";
const BYTES: usize = 9_000_000;
/// Answers are as large as the mock can be made to give them.
const MAX_TOKENS: u32 = 100_000;
const LOADS_AT_ONCE: usize = 4;
const ORGANIZATIONS: usize = 6;
/// Loads a second of the others.
const RATE: u32 = 10;
const MAX_MEGABYTES: f64 = 512.0;
const LOOK: Duration = Duration::from_millis(100);
const SETTLING: Duration = Duration::from_secs(15);

pub async fn run(
    common: &Common,
    options: &NeighboursOptions,
    verdict: &mut Verdict,
) -> Result<()> {
    let stand = Stand::build(common, CHAOS_MEMORY).await?;
    let plan = Plan {
        part: "memory",
        organizations: ORGANIZATIONS,
        workers: 1,
        settings: &[],
        open_files: None,
    };
    let mut environment = Environment::start(stand, plan).await?;
    let mut members = environment.members();
    let large = members.pop();
    let large = large.ok_or_else(|| Failure::new("there is no organization to load"))?;
    let serving = environment.serving.address();
    let receipts = std::sync::Arc::clone(&environment.receiver.receipts);
    let others = Victims::new(serving, members, &[FREE], &receipts);
    let length = Duration::from_secs(options.size(15, 6));
    let ((), calm) = others.load_during(RATE, tokio::time::sleep(length)).await;
    others.settle(SETTLING).await;

    // They wait together, so that they travel together.
    environment.stop_working().await?;
    let count = options.size(300, 60);
    say(format!("loading {count} of 9 MB"));
    let text = PROSE.repeat(BYTES / PROSE.len());
    let request = victims::written(&large, FREE, &text, MAX_TOKENS);
    let target = Target::new(serving);
    let loading = (0..count).map(|_| async {
        let answer = target.send(request.as_bytes()).await;
        let answer = answer.during("loading 9 MB")?;
        let refused = || Failure::new(format!("9 MB got {} {}", answer.status, answer.json()));
        answer.cargo().ok_or_else(refused)
    });
    let cargo: Vec<u128> = stream::iter(loading)
        .buffer_unordered(LOADS_AT_ONCE)
        .try_collect()
        .await?;
    environment.start_working()?;
    let within = Duration::from_secs(options.size(240, 90));
    let delivering = async {
        let begun = Instant::now();
        let came = || {
            cargo
                .iter()
                .filter(|it| receipts.find(**it).is_some())
                .count()
        };
        while came() < cargo.len() && begun.elapsed() < within {
            tokio::time::sleep(LOOK).await;
        }
        (came(), begun.elapsed().as_secs_f64())
    };
    let ((came, seconds), beside) = others.load_during(RATE, delivering).await;
    others.settle(SETTLING).await;

    let work = peak(environment.working.first())?;
    let serve = peak(Some(&environment.serving))?;
    let (mut without, mut with) = (others.observe(calm, None), others.observe(beside, None));
    victims::compare(verdict, "memory", &mut without, &mut with);
    verdict
        .note(
            "memory_loads",
            json!({"count": count, "called_back": came, "seconds": rounded(seconds, 1),
                "work_peak_megabytes": rounded(work, 1),
                "serve_peak_megabytes": rounded(serve, 1)}),
        )
        .promise(
            format!("memory: work stays below {MAX_MEGABYTES} MB"),
            work < MAX_MEGABYTES,
        )
        .promise(
            format!("memory: serve stays below {MAX_MEGABYTES} MB"),
            serve < MAX_MEGABYTES,
        )
        .promise("memory: every large load is called back", came == count);
    Ok(())
}

fn peak(process: Option<&Process>) -> Result<f64> {
    let pid = process.and_then(Process::pid);
    let pid = pid.ok_or_else(|| Failure::new("a process has ended"))?;
    memory::peak_of_process(pid)
}
