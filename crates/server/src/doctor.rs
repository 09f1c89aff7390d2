//! `longshored doctor`: checks every dependency and says how to fix what is wrong.

mod audit_file;
mod berths;
mod data_keys;
mod database;
mod durability;
mod encryption;
mod files;
mod host;
mod ledger;
mod licence;
mod providers;
mod recovery;
mod redis;
mod retention;
mod runbook;
mod schema;
mod secret_files;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Serialize;
use store::control::installation;

use crate::clock;
use crate::databases;
use crate::settings::Settings;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    Ok,
    /// It works, but needs attention.
    Warning,
    Wrong,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    pub dependency: String,
    pub check: &'static str,
    pub state: FindingState,
    pub found: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// The page of `docs/runbooks` about it.
    pub runbook: Option<&'static str>,
}

/// The results of all checks, in order.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    /// No check found an error; there may be warnings.
    pub ok: bool,
    pub findings: Vec<DoctorFinding>,
}

/// Checks everything that the settings name. It changes nothing, except that it marks an empty
/// bucket with the id of this installation.
pub async fn examine(settings: &Settings) -> DoctorReport {
    let mut findings = Vec::new();
    let mut installation = None;
    let mut shards = Vec::new();
    let databases = &settings.databases;
    let (mut found, master_keys) = data_keys::examine_master_key(&settings.values).await;
    findings.append(&mut found.list);
    match databases::connect_for_command(settings) {
        Ok(stores) => {
            let mut control = DependencyFindings::new("control");
            let now = database::check_control(&mut control, settings, &stores).await;
            if let Some(now) = now {
                audit_file::examine(&mut control, settings, &stores.control, now).await;
                installation = installation::read_id(&stores.control).await.ok();
            }
            findings.append(&mut control.list);
            for (shard, address) in stores.shards.iter().zip(&databases.shards) {
                let mut found = DependencyFindings::new(&format!("shard {}", shard.name));
                database::check_shard(&mut found, settings, shard, &address.url, now).await;
                data_keys::check_shard(&mut found, shard, master_keys.as_ref()).await;
                retention::check_shard(&mut found, &settings.values, shard, now).await;
                findings.append(&mut found.list);
            }
            shards = stores.shards;
        }
        Err(failure) => {
            let mut found = DependencyFindings::new("databases");
            let text = failure.to_string();
            found.wrong(
                "address",
                &text,
                "correct the database address; `longshored config` shows the settings",
            );
            findings.append(&mut found.list);
        }
    }
    let mut found = DependencyFindings::new("retention");
    retention::list_tables(&mut found, &settings.values);
    findings.append(&mut found.list);
    for mut found in providers::examine(settings, &shards, clock::host_now()).await {
        findings.append(&mut found.list);
    }
    findings.append(&mut redis::examine(&settings.values).await.list);
    for mut found in files::examine(&settings.values, installation).await {
        findings.append(&mut found.list);
    }
    findings.append(&mut licence::examine(&settings.values, clock::host_now()).list);
    findings.append(&mut host::examine(settings, clock::host_now()).list);
    let ok = findings
        .iter()
        .all(|finding| finding.state != FindingState::Wrong);
    DoctorReport { ok, findings }
}

/// The findings for one dependency.
#[derive(Debug)]
struct DependencyFindings {
    dependency: String,
    list: Vec<DoctorFinding>,
}

impl DependencyFindings {
    fn new(dependency: &str) -> Self {
        Self {
            dependency: dependency.to_owned(),
            list: Vec::new(),
        }
    }

    fn ok(&mut self, check: &'static str, found: &str) {
        self.add(check, FindingState::Ok, found, None);
    }

    fn warning(&mut self, check: &'static str, found: &str, fix: &str) {
        self.add(check, FindingState::Warning, found, Some(fix));
    }

    fn wrong(&mut self, check: &'static str, found: &str, fix: &str) {
        self.add(check, FindingState::Wrong, found, Some(fix));
    }

    fn add(&mut self, check: &'static str, state: FindingState, found: &str, fix: Option<&str>) {
        let dependency = self.dependency.clone();
        let runbook = match state {
            FindingState::Ok => None,
            FindingState::Warning | FindingState::Wrong => runbook::find(&dependency, check, state),
        };
        let (found, fix) = (found.to_owned(), fix.map(str::to_owned));
        self.list.push(DoctorFinding {
            dependency,
            check,
            state,
            found,
            fix,
            runbook,
        });
    }
}

/// For people: a paragraph per dependency, and the summary last.
pub fn render_text(report: &DoctorReport) -> String {
    let mut page = String::new();
    let mut last = "";
    for finding in &report.findings {
        let break_before = if last.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        if finding.dependency != last {
            let _written = writeln!(page, "{break_before}{}", finding.dependency);
            last = &finding.dependency;
        }
        let state = match finding.state {
            FindingState::Ok => "ok",
            FindingState::Warning => "warning",
            FindingState::Wrong => "ERROR",
        };
        let _written = writeln!(page, "  {state:<8}{:<20}{}", finding.check, finding.found);
        if let Some(fix) = &finding.fix {
            let _written = writeln!(page, "          fix: {fix}");
        }
        if let Some(runbook) = finding.runbook {
            let _written = writeln!(page, "          see {runbook}");
        }
    }
    let count = |state| {
        report
            .findings
            .iter()
            .filter(|finding| finding.state == state)
            .count()
    };
    let summary = match (count(FindingState::Wrong), count(FindingState::Warning)) {
        (0, 0) => "no problems found".to_owned(),
        (0, warnings) => format!("no errors; warnings: {warnings}"),
        (errors, 0) => format!("errors: {errors}"),
        (errors, warnings) => format!("errors: {errors}; warnings: {warnings}"),
    };
    let _written = write!(page, "\n{summary}");
    page
}
