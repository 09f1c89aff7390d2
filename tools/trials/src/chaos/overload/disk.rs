//! The disk of the database is full for a while, under load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::offered::{self, OfferedLoad, OfferedLoads};
use crate::chaos::scene::{Deployment, ProcessSpec, Scene, Servers, Storage};
use crate::chaos::{settle, traffic};
use crate::failure::{Failure, Result};
use crate::figures::{self, rounded};
use crate::options::{Common, OverloadOptions};
use crate::postgres::Postgres;
use crate::progress::say;
use crate::scratch::Scratch;
use crate::small_disk::SmallDisk;
use crate::verdict::Verdict;

const DISK_MEGABYTES: u64 = 320;
const RATE: u32 = 60;
const BEFORE: Duration = Duration::from_secs(5);
const MAX_FULL: Duration = Duration::from_secs(25);
/// Loads must be accepted again by then.
const WORKS_WITHIN: Duration = Duration::from_secs(10);
const AFTER: Duration = Duration::from_secs(5);
/// A full disk is seen when the log or a table next grows.
const NOTICE_WITHIN: Duration = Duration::from_secs(10);
const SETTLE_WITHIN: Duration = Duration::from_mins(2);

/// When the disk was full.
#[derive(Debug, Clone, Copy)]
struct Outage {
    full: Instant,
    freed: Instant,
    /// The server was up again.
    back: Instant,
    end: Instant,
    /// The server gave up, and was started again.
    restarted: bool,
}

pub(super) async fn run(common: &Common, options: &OverloadOptions) -> Result<Verdict> {
    let scratch = Scratch::new()?;
    say("starting PostgreSQL on a small disk, and Redis");
    let disk = SmallDisk::mount(scratch.join("small-disk"), DISK_MEGABYTES)?;
    let data = disk.path().to_owned();
    let postgres = Postgres::create_small(&scratch, "small", data).await?;
    let storage = Storage::over(scratch, vec![postgres], Servers::OneForAll).await?;
    let plan = Deployment::of(vec![
        ProcessSpec::new("serve", "serve"),
        ProcessSpec::new("work", "work-1"),
        ProcessSpec::new("work", "work-2"),
    ]);
    let mut scene = Scene::with(common, storage, plan).await?;

    let loads = Arc::new(OfferedLoads::default());
    let callers = Arc::clone(&scene.callers);
    let length = Duration::from_secs(options.seconds).min(MAX_FULL);
    let (over, enough) = tokio::sync::oneshot::channel::<()>();
    let offering = traffic::offer(RATE, async { drop(enough.await) }, |number| {
        let (callers, loads) = (Arc::clone(&callers), Arc::clone(&loads));
        async move {
            loads.load(&callers, number).await;
        }
    });
    let storm = async {
        let outage = fill_and_free(&mut scene, &disk, length).await;
        drop(over);
        outage
    };
    let (_, outage) = tokio::join!(offering, storm);
    let outage = outage?;
    say("settling");
    let settled = settle::settle(&scene, SETTLE_WITHIN).await?;

    let mut verdict = Verdict::new("disk");
    settled.judge(&scene.callers, &mut verdict);
    judge(&mut verdict, &loads, outage);
    // Nothing is taken from under the server.
    drop(scene);
    drop(disk);
    Ok(verdict)
}

async fn fill_and_free(scene: &mut Scene, disk: &SmallDisk, length: Duration) -> Result<Outage> {
    tokio::time::sleep(BEFORE).await;
    let full = Instant::now();
    let bytes = disk.fill()?;
    say(format!("{} MB are full", bytes >> 20));
    // What the server gives back meanwhile is taken, too.
    while full.elapsed() < length {
        tokio::time::sleep(Duration::from_secs(1)).await;
        disk.fill()?;
    }
    disk.free()?;
    let freed = Instant::now();
    say("freed");
    let postgres = scene.postgres.first_mut();
    let postgres = postgres.ok_or_else(|| Failure::new("no server"))?;
    // A server that could not write its log has ended: its supervisor starts it again.
    let restarted = !postgres.is_running();
    if restarted {
        postgres.start().await?;
    }
    let back = Instant::now();
    tokio::time::sleep(WORKS_WITHIN + AFTER).await;
    Ok(Outage {
        full,
        freed,
        back,
        end: Instant::now(),
        restarted,
    })
}

fn judge(verdict: &mut Verdict, loads: &OfferedLoads, outage: Outage) {
    let meanwhile = loads.between(outage.full, outage.freed);
    let noticed = loads.between(outage.full + NOTICE_WITHIN, outage.freed);
    let afterwards = loads.between(outage.back + WORKS_WITHIN, outage.end);
    let mut refusals = offered::milliseconds(&meanwhile, OfferedLoad::is_refused);
    let first = meanwhile.iter().filter(|load| load.is_refused());
    let first = first.map(|load| load.ended() - outage.full).min();
    let others = loads.between(outage.full, outage.end);
    let others = others
        .iter()
        .filter(|load| !load.is_accepted() && !load.is_refused());
    let works = loads.between(outage.freed, outage.end);
    let works = works.iter().filter(|load| load.is_accepted());
    let works = works.map(|load| load.ended() - outage.back).min();
    let seconds = |duration: Option<Duration>| duration.map(|it| rounded(it.as_secs_f64(), 2));
    verdict
        .note("full_answers", offered::answers(&meanwhile))
        .note("refused_milliseconds", figures::spread(&mut refusals))
        .note("first_refusal_after_seconds", seconds(first))
        .note("works_after_seconds", seconds(works))
        .note("server_was_restarted", outage.restarted)
        .promise(
            "loads were refused while the disk was full",
            first.is_some(),
        )
        .promise(
            "loads are refused while the disk is full",
            noticed.is_empty() || noticed.iter().any(OfferedLoad::is_refused),
        )
        .promise("every answer is 202 or 503", others.count() == 0)
        .promise(
            "loads are accepted again within 10 s",
            !afterwards.is_empty() && afterwards.iter().all(OfferedLoad::is_accepted),
        );
}
