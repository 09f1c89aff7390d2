//! The scanner in every bad state: nothing is ever ready without an explicit clean verdict.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::caller::{Caller, Said};
use crate::dock::{Dock, Plan};
use crate::failure::{Failure, Result};
use crate::figures::rounded;
use crate::options::{Common, ScannerOptions};
use crate::progress::say;
use crate::relay::Behaviour;
use crate::samples::content::Content;
use crate::samples::movie::Movie;
use crate::samples::{self, Sample, pdf};
use crate::scanner::{Limits, eicar};
use crate::verdict::Verdict;

const MB: u64 = 1 << 20;
const MEGABYTE: usize = 1 << 20;
/// How long a bad state is watched.
const WATCHED: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_mins(2);
const LARGE_PATIENCE: Duration = Duration::from_mins(15);
const LOOK: Duration = Duration::from_millis(100);
/// What clamd says is `stream: OK` and a terminator, and to a ping `PONG` and one:
/// of the first this leaves a part, of the second everything.
const PART_OF_A_VERDICT: usize = 6;
/// `stream: OK` without its terminator: it might have gone on.
const VERDICT_WITHOUT_END: usize = 10;
const RELOADED: usize = 12;

struct Trial {
    dock: Dock,
    verdict: Verdict,
}

/// A session whose bytes are in the store.
struct Brought {
    caller: Caller,
    id: String,
    listed: Value,
    begun: Instant,
}

pub async fn run(common: &Common, options: &ScannerOptions) -> Result<Verdict> {
    let timeout = if options.large { "900" } else { "60" };
    let plan = Plan {
        organizations: 2,
        workers: 1,
        settings: &[
            ("COMPLETE_WAIT_SECONDS", "1"),
            ("SCAN_TIMEOUT_SECONDS", timeout),
        ],
    };
    let dock = Dock::build(common, plan).await?;
    dock.well().await?;
    let verdict = Verdict::new("chaos scanner");
    let mut trial = Trial { dock, verdict };
    trial.absent().await?;
    trial.frozen().await?;
    trial.half("half_an_answer", PART_OF_A_VERDICT).await?;
    trial
        .half("an_answer_without_its_end", VERDICT_WITHOUT_END)
        .await?;
    trial.reloading().await?;
    trial.too_small("stream_limit", Limits::ShortStream).await?;
    trial.too_small("file_limit", Limits::ShortFile).await?;
    trial.hidden(options.large).await?;
    if options.large {
        trial.resembling().await?;
    }
    Ok(trial.verdict)
}

impl Trial {
    async fn absent(&mut self) -> Result<()> {
        say("the scanner is gone");
        self.dock.scanner.kill();
        let brought = bring(&self.dock, short()).await?;
        let meanwhile = brought.watched().await;
        self.dock.scanner.start(Limits::Ample).await?;
        let end = brought.ended(PATIENCE).await;
        self.waited("absent", &meanwhile, &end);
        Ok(())
    }

    async fn frozen(&mut self) -> Result<()> {
        say("the scanner is frozen");
        self.dock.scanner.freeze()?;
        let brought = bring(&self.dock, short()).await?;
        let meanwhile = brought.watched().await;
        self.dock.scanner.thaw()?;
        let end = brought.ended(PATIENCE).await;
        self.waited("frozen", &meanwhile, &end);
        Ok(())
    }

    /// It waited while the scanner was not there, and is ready now that it is.
    fn waited(&mut self, name: &str, meanwhile: &Said, end: &End) {
        self.verdict
            .note(name, end.figures())
            .promise(
                format!("{name}: the file waits"),
                meanwhile.text("status") == "validating",
            )
            .promise(format!("{name}: and is ready later"), end.is("ready", ""));
    }

    async fn half(&mut self, name: &str, bytes: usize) -> Result<()> {
        say("the scanner's answers break off");
        let brought = bring(&self.dock, short()).await?;
        self.dock.to_scanner.behave(Behaviour::Half { bytes });
        let end = brought.ended(PATIENCE).await;
        self.dock.to_scanner.behave(Behaviour::Pass);
        self.verdict.note(name, end.figures()).promise(
            format!("{name}: the file fails"),
            end.is("failed", "scan_timeout"),
        );
        Ok(())
    }

    async fn reloading(&mut self) -> Result<()> {
        say("the scanner reloads its signatures");
        let mut ready = 0;
        for number in 0..RELOADED {
            self.dock.scanner.reload().await?;
            let bytes = samples::long_text(MEGABYTE * (number % 3));
            let content = if bytes.is_empty() {
                short()
            } else {
                Sample::text(bytes).into()
            };
            let brought = bring(&self.dock, content).await?;
            self.dock.scanner.reload().await?;
            let end = brought.ended(PATIENCE).await;
            ready += usize::from(end.is("ready", ""));
        }
        self.verdict
            .note("reloading", json!({"uploads": RELOADED, "ready": ready}))
            .promise("reloading: every clean file is ready", ready == RELOADED);
        Ok(())
    }

    async fn too_small(&mut self, name: &str, limits: Limits) -> Result<()> {
        say("the scanner looks at a megabyte only");
        let content = Sample::text(samples::long_text(3 * MEGABYTE));
        let brought = bring(&self.dock, content.into()).await?;
        self.dock.scanner.kill();
        self.dock.scanner.start(limits).await?;
        let end = brought.ended(PATIENCE).await;
        self.dock.scanner.kill();
        self.dock.scanner.start(Limits::Ample).await?;
        self.verdict.note(name, end.figures()).promise(
            format!("{name}: the file fails"),
            end.is("failed", "scan_limit_exceeded"),
        );
        Ok(())
    }

    /// Compressed video is as good as random: what looks like an archive in it is none.
    async fn resembling(&mut self) -> Result<()> {
        say("a clean video of 1 GB in which something looks like an archive");
        let movie = Movie::new(1024 * MB).hiding(100 * MB, b"PK\x03\x04".to_vec());
        let brought = bring(&self.dock, movie.into()).await?;
        let end = brought.ended(LARGE_PATIENCE).await;
        self.verdict
            .note("resembling_an_archive", end.figures())
            .promise("a clean video is ready", end.is("ready", ""));
        Ok(())
    }

    async fn hidden(&mut self, large: bool) -> Result<()> {
        let text_with = |offset: usize, size: usize| {
            let mut bytes = samples::long_text(size);
            let virus = eicar();
            bytes.splice(offset..offset + virus.len(), virus);
            Content::from(Sample::text(bytes))
        };
        let video_with =
            |offset: u64, size: u64| Content::from(Movie::new(size).hiding(offset, eicar()));
        let zipped = Sample {
            media_type: "application/pdf",
            bytes: pdf::with_zip_of(&eicar()),
        };
        let mut cases = vec![
            ("at_the_start_of_a_text", text_with(0, 1000)),
            (
                "at_25_mb_of_a_text",
                text_with(25 * MEGABYTE, 30 * MEGABYTE),
            ),
            ("at_99_mb_of_a_video", video_with(99 * MB, 100 * MB)),
            ("in_a_zip_attached_to_a_pdf", zipped.into()),
        ];
        if large {
            let size = 1024 * MB;
            cases.push(("near_the_end_of_1_gb", video_with(size - 5000, size)));
        }
        for (name, content) in cases {
            say(format!("a test virus {}", name.replace('_', " ")));
            let brought = bring(&self.dock, content).await?;
            let end = brought.ended(LARGE_PATIENCE).await;
            self.verdict.note(name, end.figures()).promise(
                format!("{name}: found"),
                end.is("failed", "malware_detected"),
            );
        }
        Ok(())
    }
}

fn short() -> Content {
    Sample::text(samples::text()).into()
}

async fn bring(dock: &Dock, content: Content) -> Result<Brought> {
    let caller = dock.callers.first().cloned();
    let caller = caller.ok_or_else(|| Failure::new("there is nobody to upload"))?;
    let asked = Instant::now();
    loop {
        let begun = Instant::now();
        let said = caller.create(&content).await;
        if said.status == 201 {
            let listed = caller.bring(said.upload(), &content).await;
            let listed = listed.map_err(|refused| Failure::new(format!("bringing: {refused}")))?;
            return Ok(Brought {
                caller,
                id: said.text("id").to_owned(),
                listed,
                begun,
            });
        }
        // A scanner that was too small a moment ago may still be thought so.
        if !said.is_trouble() || asked.elapsed() > PATIENCE {
            return Err(Failure::new(format!("no session: {}", said.line())));
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl Brought {
    /// Completes, and looks for a while; says how it stood.
    async fn watched(&self) -> Said {
        let begun = Instant::now();
        loop {
            self.caller.complete(&self.id, &self.listed).await;
            let said = self.caller.find(&self.id).await;
            if begun.elapsed() > WATCHED || said.text("status") != "validating" {
                return said;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Completes until it has come to an end.
    async fn ended(&self, within: Duration) -> End {
        let begun = Instant::now();
        loop {
            self.caller.complete(&self.id, &self.listed).await;
            let said = self.caller.find(&self.id).await;
            let is_over = matches!(said.text("status"), "ready" | "failed" | "expired");
            if is_over || begun.elapsed() > within {
                return End {
                    said,
                    after: self.begun.elapsed(),
                };
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// How a file stood in the end, and how long after its session that was.
struct End {
    said: Said,
    after: Duration,
}

impl End {
    fn is(&self, status: &str, reason: &str) -> bool {
        self.said.text("status") == status && self.said.text("failure_reason") == reason
    }

    fn figures(&self) -> Value {
        json!({
            "status": self.said.text("status"),
            "failure_reason": self.said.body.get("failure_reason"),
            "scan_status": self.said.text("scan_status"),
            "seconds": rounded(self.after.as_secs_f64(), 1),
        })
    }
}
