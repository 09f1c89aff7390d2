//! `longshored doctor`: what is wrong with each dependency, and how to mend it.

mod berths;
mod database;
mod files;
mod host;
mod licence;
mod providers;
mod redis;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Serialize;
use store::control::installation;

use crate::clock;
use crate::settings::Settings;
use crate::wiring;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// It works, but somebody should look.
    Warning,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub dependency: String,
    pub check: &'static str,
    pub state: State,
    pub found: String,
    /// What to do about it.
    pub mend: Option<String>,
}

/// Everything that was looked at, in order.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Nothing is wrong; there may be warnings.
    pub ok: bool,
    pub findings: Vec<Finding>,
}

/// Looks at everything that the settings name. Nothing is changed, but that an empty bucket
/// becomes ours.
pub async fn examine(settings: &Settings) -> Report {
    let mut findings = Vec::new();
    let mut installation = None;
    let mut shards = Vec::new();
    let databases = &settings.databases;
    match wiring::connect_for_command(settings) {
        Ok(stores) => {
            let mut control = Findings::of("control");
            let now = database::control(&mut control, settings, &stores).await;
            findings.append(&mut control.list);
            if now.is_some() {
                installation = installation::id(&stores.control).await.ok();
            }
            for (shard, address) in stores.shards.iter().zip(&databases.shards) {
                let mut found = Findings::of(&format!("shard {}", shard.name));
                let place = (&**shard, &address.url);
                database::shard(&mut found, settings, place, now).await;
                findings.append(&mut found.list);
            }
            shards = stores.shards;
        }
        Err(failure) => {
            let mut found = Findings::of("databases");
            let text = failure.to_string();
            found.wrong(
                "address",
                &text,
                "correct the address; see: longshored config",
            );
            findings.append(&mut found.list);
        }
    }
    for mut found in providers::examine(settings, &shards, clock::host_now()).await {
        findings.append(&mut found.list);
    }
    findings.append(
        &mut redis::examine(settings.values.redis_url.as_ref())
            .await
            .list,
    );
    for mut found in files::examine(&settings.values, installation).await {
        findings.append(&mut found.list);
    }
    findings.append(&mut licence::examine(&settings.values, clock::host_now()).list);
    findings.append(&mut host::examine(settings).list);
    let ok = findings.iter().all(|finding| finding.state != State::Wrong);
    Report { ok, findings }
}

/// The findings about one dependency.
#[derive(Debug)]
struct Findings {
    dependency: String,
    list: Vec<Finding>,
}

impl Findings {
    fn of(dependency: &str) -> Self {
        Self {
            dependency: dependency.to_owned(),
            list: Vec::new(),
        }
    }

    fn ok(&mut self, check: &'static str, found: &str) {
        self.add(check, State::Ok, found, None);
    }

    fn warning(&mut self, check: &'static str, found: &str, mend: &str) {
        self.add(check, State::Warning, found, Some(mend));
    }

    fn wrong(&mut self, check: &'static str, found: &str, mend: &str) {
        self.add(check, State::Wrong, found, Some(mend));
    }

    fn add(&mut self, check: &'static str, state: State, found: &str, mend: Option<&str>) {
        let dependency = self.dependency.clone();
        let (found, mend) = (found.to_owned(), mend.map(str::to_owned));
        self.list.push(Finding {
            dependency,
            check,
            state,
            found,
            mend,
        });
    }
}

/// For people: a paragraph per dependency, and the verdict last.
pub fn text(report: &Report) -> String {
    let mut page = String::new();
    let mut last = "";
    for finding in &report.findings {
        let break_before = if last.is_empty() { "" } else { "\n" };
        // Writing to a text cannot fail.
        if finding.dependency != last {
            let _written = writeln!(page, "{break_before}{}", finding.dependency);
            last = &finding.dependency;
        }
        let state = match finding.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Wrong => "WRONG",
        };
        let _written = writeln!(page, "  {state:<8}{:<20}{}", finding.check, finding.found);
        if let Some(mend) = &finding.mend {
            let _written = writeln!(page, "          to mend it: {mend}");
        }
    }
    let count = |state| {
        report
            .findings
            .iter()
            .filter(|finding| finding.state == state)
            .count()
    };
    let verdict = match (count(State::Wrong), count(State::Warning)) {
        (0, 0) => "all is well".to_owned(),
        (0, warnings) => format!("nothing is wrong; {warnings} to look at"),
        (wrong, 0) => format!("{wrong} wrong"),
        (wrong, warnings) => format!("{wrong} wrong; {warnings} more to look at"),
    };
    let _written = write!(page, "\n{verdict}");
    page
}
