//! Two processes under load, one of them killed at random every 1 to 3 seconds.

use std::time::{Duration, Instant};

use crate::chaos::scene::{Scene, Servers};
use crate::chaos::settle::{self, Settled};
use crate::chaos::takeup::{self, Deaths};
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{ChaosOptions, Common};
use crate::process::Process;
use crate::progress::say;
use crate::verdict::Verdict;

const LEAST_RATE: f64 = 200.0;
const LATEST_TAKE_UP: f64 = 15.0;
const SETTLING: Duration = Duration::from_secs(90);

pub async fn run(common: &Common, options: &ChaosOptions) -> Result<Verdict> {
    let mut scene = Scene::build(common, Servers::OneForAll).await?;
    let deaths = Deaths::default();
    let length = Duration::from_secs(options.seconds);
    say(format!("killing for {} s", options.seconds));
    let shards = scene.shards.clone();
    let storm = async {
        let enough = tokio::time::sleep(length);
        let loading = traffic::offer(options.rate, enough, traffic::anywhere(&scene.callers));
        let (offered, killed) = tokio::join!(loading, kill(&mut scene.processes, length, &deaths));
        killed?;
        say(format!("{} kills; settling", deaths.count()));
        Ok::<_, Failure>((offered, settle::settle(&scene, SETTLING).await?))
    };
    let (offered, settled) = tokio::select! {
        storm = storm => storm?,
        watched = takeup::watch(&shards, &deaths) => {
            watched?;
            return Err(Failure::new("nobody watched the claims"));
        }
    };
    Ok(judged(
        &scene,
        &settled,
        &deaths,
        figures::rate(to_count(offered), length),
    ))
}

fn judged(scene: &Scene, settled: &Settled, deaths: &Deaths, offered: f64) -> Verdict {
    let mut verdict = Verdict::new("chaos kill");
    settled.judge(&scene.callers, &mut verdict);
    let mut taken_up = deaths.taken_up();
    let worst = figures::percentile(&mut taken_up, 990);
    verdict
        .note("offered_per_second", figures::rounded(offered, 1))
        .note("kills", deaths.count())
        .note("kills_with_work", taken_up.len())
        .note("take_up_seconds", figures::spread(&mut taken_up))
        .promise("at least 200 loads a second", offered >= LEAST_RATE * 0.99)
        .promise("someone was killed at work", !taken_up.is_empty())
        .promise(
            "taken up within 15 s at p99",
            worst.is_none_or(|worst| worst <= LATEST_TAKE_UP),
        );
    verdict
}

fn to_count(offered: u64) -> usize {
    usize::try_from(offered).unwrap_or(usize::MAX)
}

async fn kill(processes: &mut [Process], length: Duration, deaths: &Deaths) -> Result<()> {
    let begun = Instant::now();
    loop {
        let pause = Duration::from_millis(rand::random_range(1000..=3000));
        if begun.elapsed() + pause > length {
            break;
        }
        tokio::time::sleep(pause).await;
        let which = rand::random_range(0..processes.len());
        let Some(process) = processes.get_mut(which) else {
            continue;
        };
        if !process.is_running() {
            let words = process.last_words();
            return Err(Failure::new(format!("longshored ended by itself\n{words}")));
        }
        if let Some(pid) = process.kill() {
            deaths.note(pid);
        }
        process.start()?;
    }
    for process in processes {
        process.ready().await?;
    }
    Ok(())
}
