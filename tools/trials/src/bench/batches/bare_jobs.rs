//! The baseline: the same lines to the same provider and back, without the service.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::bench::batches::provider_client::BenchProviderClient;
use crate::bench::batches::provider_jobs::ProviderJob;
use crate::harness::{Result, TrialFailure, string_field};

/// As many as two shards submit at the same time.
const MAX_CONCURRENT_JOBS: usize = 16;
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const JOB_TIMEOUT: Duration = Duration::from_mins(5);

/// Uploads the lines of every job again, waits, and reads the results; returns the seconds.
pub async fn measure_seconds(provider: &BenchProviderClient, jobs: &[ProviderJob]) -> Result<f64> {
    let begun = Instant::now();
    stream::iter(jobs)
        .map(|job| run_job(provider, job))
        .buffer_unordered(MAX_CONCURRENT_JOBS)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(begun.elapsed().as_secs_f64())
}

async fn run_job(provider: &BenchProviderClient, job: &ProviderJob) -> Result<()> {
    let file = provider.upload_lines(&job.body).await?;
    let batch = provider.create_batch(&file).await?;
    let begun = Instant::now();
    let results = loop {
        let seen = provider.fetch_batch(&batch).await?;
        match string_field(&seen, "status")?.as_str() {
            "completed" => break string_field(&seen, "output_file_id")?,
            "validating" | "in_progress" | "finalizing" if begun.elapsed() < JOB_TIMEOUT => {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            _ => return Err(TrialFailure::new(format!("a bare job did not end: {seen}"))),
        }
    };
    let answers = provider.download_file(&results).await?;
    let lines = answers.split(|byte| *byte == b'\n');
    let count = lines.filter(|line| !line.is_empty()).count();
    if count < job.lines.len() {
        let text = format!("{count} answers to {} lines", job.lines.len());
        return Err(TrialFailure::new(text));
    }
    Ok(())
}
