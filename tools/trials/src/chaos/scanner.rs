//! The scanner in every bad state: a file is never ready without an explicit clean verdict.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::sample_files;
use crate::harness::sample_files::pdf;
use crate::harness::{
    ClamdLimits, Deployment, FilesEnvironment, FilesResponse, GeneratedVideo, PollLimits,
    RelayBehaviour, Result, SampleFile, StagedUpload, TrialFailure, TrialVerdict, UploadContent,
    eicar_test_file, judge, report_progress, round_to,
};
use crate::options::{ChaosScannerOptions, CommonOptions};

const MEBIBYTE: u64 = 1 << 20;
const TEXT_MEBIBYTE: usize = 1 << 20;
/// How long each bad state lasts.
const BAD_STATE_DURATION: Duration = Duration::from_secs(4);
const VERIFY_TIMEOUT: Duration = Duration::from_mins(5);
const LARGE_VERIFY_TIMEOUT: Duration = Duration::from_mins(15);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// clamd answers `stream: OK` and a terminator to a scan, and `PONG` and a terminator to a
/// ping. This cuts the first and leaves the second whole.
const PARTIAL_VERDICT_BYTES: usize = 6;
/// `stream: OK` without its terminator: the answer could continue.
const UNTERMINATED_VERDICT_BYTES: usize = 10;
const RELOADED_UPLOADS: usize = 12;

struct ScannerTrial {
    environment: FilesEnvironment,
    verdict: TrialVerdict,
}

pub async fn run(common: &CommonOptions, options: &ChaosScannerOptions) -> Result<TrialVerdict> {
    let timeout = if options.large { "900" } else { "60" };
    let deployment = Deployment::one_serve("", 1)
        .with_organizations(2)
        .with("COMPLETE_WAIT_SECONDS", "1")
        .with("SCAN_TIMEOUT_SECONDS", timeout);
    let environment = FilesEnvironment::build(common, deployment).await?;
    let verdict = TrialVerdict::new("chaos scanner");
    let mut trial = ScannerTrial {
        environment,
        verdict,
    };
    trial.scan_while_absent().await?;
    trial.scan_while_frozen().await?;
    trial
        .truncate_answers("half_an_answer", PARTIAL_VERDICT_BYTES)
        .await?;
    trial
        .truncate_answers("an_answer_without_its_end", UNTERMINATED_VERDICT_BYTES)
        .await?;
    trial.scan_while_reloading().await?;
    trial
        .scan_with_small_limits("stream_limit", ClamdLimits::SmallStream)
        .await?;
    trial
        .scan_with_small_limits("file_limit", ClamdLimits::SmallFile)
        .await?;
    trial.scan_hidden_malware(options.large).await?;
    if options.large {
        trial.scan_archive_lookalike().await?;
    }
    Ok(trial.verdict)
}

impl ScannerTrial {
    async fn scan_while_absent(&mut self) -> Result<()> {
        report_progress("the scanner is killed");
        self.environment.scanner.child.kill();
        let upload = stage_upload(&self.environment, short_text()).await?;
        let meanwhile = watch_while_bad(&upload).await?;
        self.environment
            .scanner
            .start(ClamdLimits::Sufficient)
            .await?;
        let end = wait_until_final(&upload, VERIFY_TIMEOUT).await?;
        self.judge_waited("absent", &meanwhile, &end);
        Ok(())
    }

    async fn scan_while_frozen(&mut self) -> Result<()> {
        report_progress("the scanner is frozen");
        self.environment.scanner.child.stop()?;
        let upload = stage_upload(&self.environment, short_text()).await?;
        let meanwhile = watch_while_bad(&upload).await?;
        self.environment.scanner.child.resume()?;
        let end = wait_until_final(&upload, VERIFY_TIMEOUT).await?;
        self.judge_waited("frozen", &meanwhile, &end);
        Ok(())
    }

    /// The file waited while the scanner was unavailable, and is ready now.
    fn judge_waited(&mut self, name: &str, meanwhile: &FilesResponse, end: &FileEnd) {
        judge! { self.verdict;
            record name => end.to_json(),
            check format!("{name}: the file waits") =>
                meanwhile.string_field("status") == "validating",
            check format!("{name}: the file is ready later") => end.has_status("ready", ""),
        }
    }

    async fn truncate_answers(&mut self, name: &str, bytes: usize) -> Result<()> {
        report_progress("the scanner's answers are truncated");
        let upload = stage_upload(&self.environment, short_text()).await?;
        self.environment
            .scanner_relay
            .set_behaviour(RelayBehaviour::TruncateAnswer { bytes });
        let end = wait_until_final(&upload, VERIFY_TIMEOUT).await?;
        self.environment
            .scanner_relay
            .set_behaviour(RelayBehaviour::Pass);
        self.verdict.record(name, end.to_json()).check(
            format!("{name}: the file fails"),
            end.has_status("failed", "scan_timeout"),
        );
        Ok(())
    }

    async fn scan_while_reloading(&mut self) -> Result<()> {
        report_progress("the scanner reloads its signatures");
        let mut ready = 0;
        for number in 0..RELOADED_UPLOADS {
            self.environment.scanner.reload().await?;
            let bytes = sample_files::long_text(TEXT_MEBIBYTE * (number % 3));
            let content = if bytes.is_empty() {
                short_text()
            } else {
                SampleFile::from_text(bytes).into()
            };
            let upload = stage_upload(&self.environment, content).await?;
            self.environment.scanner.reload().await?;
            let end = wait_until_final(&upload, VERIFY_TIMEOUT).await?;
            ready += usize::from(end.has_status("ready", ""));
        }
        judge! { self.verdict;
            record "reloading" => json!({"uploads": RELOADED_UPLOADS, "ready": ready}),
            check "reloading: every clean file is ready" => ready == RELOADED_UPLOADS,
        }
        Ok(())
    }

    async fn scan_with_small_limits(&mut self, name: &str, limits: ClamdLimits) -> Result<()> {
        report_progress("the scanner scans only one megabyte");
        let content = SampleFile::from_text(sample_files::long_text(3 * TEXT_MEBIBYTE));
        let upload = stage_upload(&self.environment, content.into()).await?;
        self.environment.scanner.child.kill();
        self.environment.scanner.start(limits).await?;
        let end = wait_until_final(&upload, VERIFY_TIMEOUT).await?;
        self.environment.scanner.child.kill();
        self.environment
            .scanner
            .start(ClamdLimits::Sufficient)
            .await?;
        self.verdict.record(name, end.to_json()).check(
            format!("{name}: the file fails"),
            end.has_status("failed", "scan_limit_exceeded"),
        );
        Ok(())
    }

    /// Compressed video looks random: bytes in it may look like an archive.
    async fn scan_archive_lookalike(&mut self) -> Result<()> {
        report_progress("a clean video of 1 GB with bytes that look like an archive");
        let movie = GeneratedVideo::new(1024 * MEBIBYTE)
            .with_hidden(100 * MEBIBYTE, b"PK\x03\x04".to_vec());
        let upload = stage_upload(&self.environment, movie.into()).await?;
        let end = wait_until_final(&upload, LARGE_VERIFY_TIMEOUT).await?;
        self.verdict
            .record("resembling_an_archive", end.to_json())
            .check("a clean video is ready", end.has_status("ready", ""));
        Ok(())
    }

    async fn scan_hidden_malware(&mut self, large: bool) -> Result<()> {
        let text_with = |offset: usize, size: usize| {
            let mut bytes = sample_files::long_text(size);
            let virus = eicar_test_file();
            bytes.splice(offset..offset + virus.len(), virus);
            UploadContent::from(SampleFile::from_text(bytes))
        };
        let video_with = |offset: u64, size: u64| {
            UploadContent::from(GeneratedVideo::new(size).with_hidden(offset, eicar_test_file()))
        };
        let zipped = SampleFile {
            media_type: "application/pdf",
            bytes: pdf::with_zip_attachment(&eicar_test_file()),
        };
        let mut cases = vec![
            ("at_the_start_of_a_text", text_with(0, 1000)),
            (
                "at_25_mb_of_a_text",
                text_with(25 * TEXT_MEBIBYTE, 30 * TEXT_MEBIBYTE),
            ),
            (
                "at_99_mb_of_a_video",
                video_with(99 * MEBIBYTE, 100 * MEBIBYTE),
            ),
            ("in_a_zip_attached_to_a_pdf", zipped.into()),
        ];
        if large {
            let size = 1024 * MEBIBYTE;
            cases.push(("near_the_end_of_1_gb", video_with(size - 5000, size)));
        }
        for (name, content) in cases {
            report_progress(format!("test malware {}", name.replace('_', " ")));
            let upload = stage_upload(&self.environment, content).await?;
            let end = wait_until_final(&upload, LARGE_VERIFY_TIMEOUT).await?;
            self.verdict.record(name, end.to_json()).check(
                format!("{name}: the malware is found"),
                end.has_status("failed", "malware_detected"),
            );
        }
        Ok(())
    }
}

fn short_text() -> UploadContent {
    SampleFile::from_text(sample_files::unique_text()).into()
}

async fn stage_upload(
    environment: &FilesEnvironment,
    content: UploadContent,
) -> Result<StagedUpload> {
    let client = environment.first_client()?;
    let mut began_at = Instant::now();
    // The service may still think that the scanner's limits are too small.
    let limits = PollLimits::new(VERIFY_TIMEOUT, POLL_INTERVAL);
    let create = async || {
        began_at = Instant::now();
        Ok(client.create_file(&content).await)
    };
    let created = limits.read_until(|it| !it.is_retryable(), create).await?;
    let staged = client.stage_session(&created, began_at, &content).await;
    staged.map_err(|refused| TrialFailure::new(format!("no upload: {refused}")))
}

/// Calls `complete` for a while; returns the file's last state.
async fn watch_while_bad(upload: &StagedUpload) -> Result<FilesResponse> {
    let limits = PollLimits::exact(BAD_STATE_DURATION, POLL_INTERVAL);
    let is_over = |status: &str| status != "validating";
    upload.complete_until(limits, is_over).await
}

/// Calls `complete` until the file has reached its final status.
async fn wait_until_final(upload: &StagedUpload, within: Duration) -> Result<FileEnd> {
    let limits = PollLimits::new(within, POLL_INTERVAL);
    let is_final = |status: &str| matches!(status, "ready" | "failed" | "expired");
    Ok(FileEnd {
        response: upload.complete_until(limits, is_final).await?,
        elapsed: upload.began_at.elapsed(),
    })
}

/// The final state of a file, and how long after its session it was reached.
struct FileEnd {
    response: FilesResponse,
    elapsed: Duration,
}

impl FileEnd {
    fn has_status(&self, status: &str, reason: &str) -> bool {
        self.response.string_field("status") == status
            && self.response.string_field("failure_reason") == reason
    }

    fn to_json(&self) -> Value {
        json!({
            "status": self.response.string_field("status"),
            "failure_reason": self.response.body.get("failure_reason"),
            "scan_status": self.response.string_field("scan_status"),
            "seconds": round_to(self.elapsed.as_secs_f64(), 1),
        })
    }
}
