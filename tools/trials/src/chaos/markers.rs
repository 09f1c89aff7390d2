//! Texts of customers are in no file of the database, its write-ahead log, logs or temporary files.
//!
//! With TLS to PostgreSQL, they are not on the wire. Without encryption and TLS, the same searches
//! find each of them. After the project is erased, and under zero retention, no reader shows them.

mod content_removal;
mod dashboard_session;
mod disk_search;
mod marked_work;
mod marker;
mod marker_readers;
mod marker_receiver;
mod text_search;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::chaos::markers::disk_search::{OpenFileSearch, SearchFindings};
use crate::chaos::markers::marked_work::MarkedWork;
use crate::chaos::markers::marker::Markers;
use crate::chaos::markers::marker_receiver::MarkerReceiver;
use crate::chaos::markers::text_search::TextSearch;
use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::deployment::Deployment;
use crate::harness::environment::files_environment::{FilesEnvironment, FilesServers};
use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::progress::report_progress;
use crate::harness::relays::capturing_relay::CapturingRelay;
use crate::harness::servers::simulator_process::SimulatorProcess;
use crate::harness::verdict::TrialVerdict;
use crate::options::{ChaosMarkersOptions, CommonOptions};

/// The verdict shows so many places of a marker.
const MAX_SHOWN_PLACES: usize = 5;

/// What protects the contents in a part of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentProtection {
    /// Encryption at rest alone.
    Encrypted,
    /// TLS to PostgreSQL alone.
    Tls,
    Plain,
}

/// What the searches of a part found.
#[derive(Debug)]
struct PartFindings {
    /// In files with a name. TLS does not protect them, so with TLS they are not searched.
    files: Option<SearchFindings>,
    /// In files of jobs, which are encrypted in every part.
    job_files: SearchFindings,
    /// Between the service and PostgreSQL.
    wire: SearchFindings,
    /// What readers showed before and after the contents were removed, if the part removes them.
    removal: Option<TrialVerdict>,
}

pub async fn run(common: &CommonOptions, options: &ChaosMarkersOptions) -> Result<TrialVerdict> {
    let mut verdict = TrialVerdict::new("chaos markers");
    verdict
        .record("cargo", options.cargo)
        .record("small", options.small);
    for (part, removal, protection) in [
        ("encrypted", "erased", ContentProtection::Encrypted),
        ("tls", "", ContentProtection::Tls),
        ("plain", "zero_retention", ContentProtection::Plain),
    ] {
        report_progress(format!("markers: {part}"));
        let markers = Markers::draw();
        let found = Box::pin(run_part(common, options, protection, &markers)).await?;
        verdict.merge_part(part, judge(protection, &markers, &found));
        if let Some(judged) = found.removal {
            verdict.merge_part(removal, judged);
        }
    }
    Ok(verdict)
}

async fn run_part(
    common: &CommonOptions,
    options: &ChaosMarkersOptions,
    protection: ContentProtection,
    markers: &Markers,
) -> Result<PartFindings> {
    let mut servers = FilesServers::start(common).await?;
    let temporary = servers.base.scratch.join("temporary");
    fs::create_dir(&temporary).context("creating a folder for temporary files")?;
    let folder = temporary.display().to_string();
    servers.base.longshored.set_env_var("TMPDIR", &folder);
    let relay = protect(&mut servers.base, protection).await?;
    let simulator = SimulatorProcess::start(&common.simulator, &servers.base.scratch, 1).await?;
    marked_work::set_accounts(&mut servers.base, &simulator)?;
    let deployment = Deployment::one_serve("markers-", 1)
        .with_organizations(1)
        .with("LOG", "debug");
    let environment = FilesEnvironment::start(servers, deployment).await?;

    let search = TextSearch::new(&markers.list());
    let worker = environment.service.worker()?.child.pid();
    let worker = worker.ok_or_else(|| TrialFailure::new("the worker has exited"))?;
    let mut job_files = OpenFileSearch {
        search: &search,
        descriptors: PathBuf::from(format!("/proc/{worker}/fd")),
        folder: &temporary,
        findings: SearchFindings::default(),
    };
    let receiver = MarkerReceiver::start(&markers.callback_answer, true).await?;
    let work = MarkedWork {
        environment: &environment,
        simulator: &simulator,
        markers,
        receiver: &receiver,
        cargo: options.cargo,
    };
    let records = job_files.search_during(work.run()).await?;
    let job_files = job_files.findings;

    report_progress("searching");
    let mut wire = SearchFindings::default();
    for stream in relay.streams() {
        wire.search_bytes(&search, &stream, "the wire");
    }
    let logs = common.logs.as_deref();
    let (service, mut files, mut removal) = (&environment.service, None, None);
    if protection != ContentProtection::Tls {
        files = Some(SearchFindings::of_trial(&search, service, logs).await?);
    }
    if protection == ContentProtection::Plain {
        removal = Some(content_removal::judge_zero_retention(&environment, &simulator).await?);
    }
    if protection == ContentProtection::Encrypted {
        let mut judged = content_removal::judge_erasure(service, &records, markers).await?;
        let left = SearchFindings::of_trial(&search, service, logs).await?;
        judged.record("files", left.files);
        judge_search(&mut judged, "in a file", markers, &left, true);
        removal = Some(judged);
    }
    Ok(PartFindings {
        files,
        job_files,
        wire,
        removal,
    })
}

/// Puts a relay between the service and its databases, and switches the protection on.
async fn protect(
    base: &mut BaseEnvironment,
    protection: ContentProtection,
) -> Result<CapturingRelay> {
    let relay = CapturingRelay::start(base.database_server()?.address()).await?;
    let mut urls = base.urls.with_port(relay.address.port());
    if protection == ContentProtection::Tls {
        let server = base.postgres.first_mut();
        let server = server.ok_or_else(|| TrialFailure::new("no database server is running"))?;
        let authority = server.enable_tls().await?;
        let authority = authority.display();
        urls = urls.with_parameters(&format!("sslmode=verify-full&sslrootcert={authority}"));
    }
    base.longshored.set_databases(&urls);
    if protection == ContentProtection::Encrypted {
        base.enable_encryption().await?;
    }
    Ok(relay)
}

fn judge(protection: ContentProtection, markers: &Markers, found: &PartFindings) -> TrialVerdict {
    let mut verdict = TrialVerdict::new("search");
    if let Some(files) = &found.files {
        verdict
            .record("files", files.files)
            .record("megabytes", files.bytes / 1_000_000)
            .record("kinds_found", files.places.len());
        let is_protected = protection == ContentProtection::Encrypted;
        judge_search(&mut verdict, "in a file", markers, files, is_protected);
    }
    verdict
        .record("job_file_kilobytes", found.job_files.bytes / 1000)
        .check(
            "a file of a job was read while it was open",
            found.job_files.bytes > 0,
        );
    let place = "in a file of a job";
    judge_search(&mut verdict, place, markers, &found.job_files, true);
    verdict
        .record("wire_kilobytes", found.wire.bytes / 1000)
        .record("wire_kinds_found", found.wire.places.len())
        .check("the relay was used", found.wire.bytes > 0);
    let is_protected = protection != ContentProtection::Plain;
    judge_search(
        &mut verdict,
        "on the wire",
        markers,
        &found.wire,
        is_protected,
    );
    verdict
}

/// A protected place has no marker. Any other has all of them: the search can find them.
fn judge_search(
    verdict: &mut TrialVerdict,
    place: &str,
    markers: &Markers,
    found: &SearchFindings,
    is_protected: bool,
) {
    if is_protected {
        verdict
            .record(
                &format!("found_{}", place.replace(' ', "_")),
                places_to_json(found),
            )
            .check(format!("no marker is {place}"), found.places.is_empty());
        return;
    }
    for (kind, _) in markers.list() {
        let is_found = found.places.contains_key(kind);
        verdict.check(format!("the {kind} is {place}"), is_found);
    }
}

fn places_to_json(findings: &SearchFindings) -> Value {
    let places = findings.places.iter();
    let shown = places.map(|(kind, places)| {
        let some: Vec<&String> = places.iter().take(MAX_SHOWN_PLACES).collect();
        ((*kind).to_owned(), json!(some))
    });
    shown.collect()
}
