//! The bare engine: the same lines to the same provider and back, with nothing in between.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::bench::batches::jobs::Job;
use crate::bench::batches::provider::{Provider, text};
use crate::failure::{Failure, Result};

/// As many as two shards submit at once.
const AT_ONCE: usize = 16;
const LOOK: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_mins(5);

/// Uploads the lines of every job again, waits, and reads the results; says how long it took.
pub async fn seconds(provider: &Provider, jobs: &[Job]) -> Result<f64> {
    let begun = Instant::now();
    stream::iter(jobs)
        .map(|job| carry(provider, job))
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(begun.elapsed().as_secs_f64())
}

async fn carry(provider: &Provider, job: &Job) -> Result<()> {
    let file = provider.upload(&job.body).await?;
    let batch = provider.create(&file).await?;
    let begun = Instant::now();
    let results = loop {
        let seen = provider.batch(&batch).await?;
        match text(&seen, "status")?.as_str() {
            "completed" => break text(&seen, "output_file_id")?,
            "validating" | "in_progress" | "finalizing" if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(LOOK).await;
            }
            _ => return Err(Failure::new(format!("a bare job did not end: {seen}"))),
        }
    };
    let answers = provider.content(&results).await?;
    let lines = answers.split(|byte| *byte == b'\n');
    let count = lines.filter(|line| !line.is_empty()).count();
    if count < job.lines.len() {
        let text = format!("{count} answers to {} lines", job.lines.len());
        return Err(Failure::new(text));
    }
    Ok(())
}
