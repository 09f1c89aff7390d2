//! Checks of `SVC_AUDIT_FILE`: it can be written, and a process writes it.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use chrono::TimeDelta;
use domain::error_chain;
use domain::time::{Timestamp, to_wire};
use store::control::audit_file;
use store::{Control, Error};

use crate::audit_file::STANDARD_OUTPUT;
use crate::doctor::DependencyFindings;
use crate::settings::Settings;

const CHECK: &str = "audit file";
/// A process writes new entries within seconds.
const MAX_LAG: TimeDelta = TimeDelta::minutes(5);

/// Whether a process writes the file, if there is one. `now` is the time of control's server.
pub(super) async fn examine(
    found: &mut DependencyFindings,
    settings: &Settings,
    control: &Control,
    now: Timestamp,
) {
    if settings.values.audit_file.is_some() {
        check_lag(found, audit_file::find_oldest_unwritten(control).await, now);
    }
}

/// Whether this user can append to the file. Creates nothing.
pub(super) fn check_file(found: &mut DependencyFindings, path: Option<&Path>) {
    let Some(path) = path else { return };
    if path == Path::new(STANDARD_OUTPUT) {
        return found.ok(CHECK, "the audit log goes to standard output");
    }
    let name = path.display();
    let fix = "let the user that runs `longshored serve` create and write this file, \
               or correct SVC_AUDIT_FILE";
    let folder = path.parent().unwrap_or(path);
    let has_folder = folder.as_os_str().is_empty() || folder.is_dir();
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            found.wrong(CHECK, &format!("{name} is not a regular file"), fix);
        }
        Ok(_) => match OpenOptions::new().append(true).open(path) {
            Ok(_) => found.ok(CHECK, &format!("{name} can be written")),
            Err(error) => found.wrong(CHECK, &format!("{name}: {error}"), fix),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && has_folder => {
            found.ok(CHECK, &format!("{name} does not exist yet"));
        }
        Err(error) => found.wrong(CHECK, &format!("{name}: {error}"), fix),
    }
}

/// `oldest` is the time of the oldest entry that is not in the file.
fn check_lag(
    found: &mut DependencyFindings,
    oldest: Result<Option<Timestamp>, Error>,
    now: Timestamp,
) {
    match oldest {
        Ok(Some(oldest)) if oldest + MAX_LAG < now => {
            let text = format!("entries since {} are not written yet", to_wire(oldest));
            let fix = "start `longshored serve` with SVC_AUDIT_FILE, and read its log";
            found.warning(CHECK, &text, fix);
        }
        Ok(_) => found.ok(CHECK, "all entries of the audit log are written"),
        Err(error) => found.warning(CHECK, &error_chain::chain(&error), "run doctor again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::FindingState::{Ok as Good, Warning, Wrong};

    #[test]
    fn a_file_that_cannot_be_written_is_reported() {
        let folder = std::env::temp_dir();
        let mut found = DependencyFindings::new("this machine");
        let (missing, lost) = (folder.join("no-audit.jsonl"), folder.join("none/audit"));
        check_file(&mut found, None);
        check_file(&mut found, Some(Path::new("-")));
        for path in [&missing, &folder, &lost] {
            check_file(&mut found, Some(path));
        }
        let states: Vec<_> = found.list.iter().map(|finding| finding.state).collect();
        assert_eq!(states, [Good, Good, Wrong, Wrong]);
        assert!(!missing.exists());
    }

    #[test]
    fn a_file_that_no_process_writes_is_reported() {
        let mut found = DependencyFindings::new("control");
        let now = Timestamp::from_timestamp(1_767_268_800, 0).unwrap();
        for oldest in [None, Some(now), Some(now - TimeDelta::minutes(6))] {
            check_lag(&mut found, Ok(oldest), now);
        }
        let states: Vec<_> = found.list.iter().map(|finding| finding.state).collect();
        assert_eq!(states, [Good, Good, Warning]);
    }
}
