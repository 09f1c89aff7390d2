//! Checks of the object store, the scanner and the sandboxed parser.

use std::sync::Arc;
use std::time::Duration;

use domain::error_chain;
use domain::time::{Timestamp, to_wire};
use outbound::malware_scanner::ScannerProbeFailure;
use outbound::object_store::ObjectStoreProbeFailure;
use outbound::probe::Prober;
use outbound::role_credentials::RoleCredentialFailure;
use tokio::time::timeout;
use uuid::Uuid;

use crate::clock::DatabaseClock;
use crate::doctor::DependencyFindings;
use crate::files::{self, FileBackends};
use crate::settings::table::SettingValues;
use crate::work;

/// A healthy backend passes all probes in a second or two.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

/// `installation` is the id from control; none if control did not answer.
pub(super) async fn examine(
    values: &SettingValues,
    installation: Option<Uuid>,
) -> [DependencyFindings; 2] {
    let mut store = DependencyFindings::new("object store");
    let mut scanner = DependencyFindings::new("scanner");
    match files::open_backends(values, Arc::new(DatabaseClock::new())) {
        Ok(Some(backends)) => {
            check_store(&mut store, &backends, installation).await;
            let probed = timeout(PROBE_TIMEOUT, backends.scanner.probe()).await;
            report_scanner(&mut scanner, probed.ok());
            check_sandbox(&mut scanner, &work::prober(values)).await;
        }
        Ok(None) => {
            let text = "no, files are disabled; set SVC_OBJECTS_URL to enable them";
            store.ok("configured", text);
        }
        Err(unusable) => {
            let fix = "correct the SVC_OBJECTS_… settings; `longshored config` shows them";
            store.wrong("configured", &error_chain::chain(&unusable), fix);
        }
    }
    [store, scanner]
}

async fn check_store(
    found: &mut DependencyFindings,
    backends: &FileBackends,
    installation: Option<Uuid>,
) {
    if let Some(source) = backends.objects.credential_source() {
        let fetched = backends.objects.refresh_credentials().await;
        report_credentials(found, &source.to_string(), fetched);
    }
    let Some(installation) = installation else {
        let text = "not checked: the id of this installation cannot be read from control";
        found.warning("probes", text, "see the errors of control");
        return;
    };
    let probed = timeout(PROBE_TIMEOUT, backends.objects.probe(installation)).await;
    report_store(found, probed.ok());
}

/// None with static keys.
fn report_credentials(
    found: &mut DependencyFindings,
    source: &str,
    fetched: Option<Result<Timestamp, RoleCredentialFailure>>,
) {
    const CHECK: &str = "credentials";
    match fetched {
        Some(Ok(expires_at)) => {
            let until = to_wire(expires_at);
            found.ok(CHECK, &format!("from {source}, valid until {until}"));
        }
        Some(Err(failure)) => {
            found.wrong(CHECK, &format!("from {source}: {failure}"), CREDENTIALS_FIX);
        }
        None => {}
    }
}

/// No answer means a timeout.
fn report_store(
    found: &mut DependencyFindings,
    answer: Option<Result<(), ObjectStoreProbeFailure>>,
) {
    const CHECK: &str = "probes";
    match answer {
        Some(Ok(())) => found.ok(
            CHECK,
            "uploads, multipart uploads, copies, listings and CORS work",
        ),
        Some(Err(failure)) => {
            found.wrong(CHECK, &failure.to_string(), store_fix(&failure));
        }
        None => found.wrong(CHECK, "no answer within a minute", STORE_UNREACHABLE_FIX),
    }
}

const CREDENTIALS_FIX: &str = "give this process a role: annotate its service account and let the \
     role trust it (EKS), or attach a role to the task (ECS) or the instance (EC2); then restart";

const STORE_UNREACHABLE_FIX: &str =
    "start the object store, or correct SVC_OBJECTS_URL; until then files wait, loads continue";

fn store_fix(failure: &ObjectStoreProbeFailure) -> &'static str {
    let (check, why) = (failure.check, failure.why.as_str());
    if why.starts_with("no valid credentials") {
        CREDENTIALS_FIX
    } else if failure.is_unreachable {
        STORE_UNREACHABLE_FIX
    } else if why.contains("NoSuchBucket") {
        "create the bucket, or correct SVC_OBJECTS_BUCKET"
    } else if why.contains("AccessKey") || why.contains("Signature") || why.contains("AccessDenied")
    {
        "correct SVC_OBJECTS_ACCESS_KEY and SVC_OBJECTS_SECRET_KEY (and SVC_OBJECTS_REGION), or \
         allow this key to read, write, list and delete in the bucket"
    } else if why.contains("another installation") {
        "give this installation a separate bucket or SVC_OBJECTS_PREFIX; if the other installation \
         no longer exists, delete the object named owner under the prefix"
    } else if check.contains("browser") || check.contains("CORS") {
        "allow this key to set the bucket's CORS rules, or set them yourself: POST, PUT and GET \
         from SVC_OBJECTS_CORS_ORIGINS with every header, ETag exposed"
    } else {
        "this object store lacks a required feature: use another one, or a newer version"
    }
}

fn report_scanner(found: &mut DependencyFindings, answer: Option<Result<(), ScannerProbeFailure>>) {
    const CHECK: &str = "probes";
    match answer {
        Some(Ok(())) => found.ok(
            CHECK,
            "finds test files and reports files that it cannot scan",
        ),
        Some(Err(failure)) => {
            found.wrong(CHECK, &failure.to_string(), scanner_fix(&failure));
        }
        None => found.wrong(CHECK, "no answer within a minute", SCANNER_UNREACHABLE_FIX),
    }
}

const SCANNER_UNREACHABLE_FIX: &str =
    "start clamd, or correct SVC_SCANNER; until then files wait to be scanned";

fn scanner_fix(failure: &ScannerProbeFailure) -> &'static str {
    let check = failure.check;
    if failure.is_unreachable {
        SCANNER_UNREACHABLE_FIX
    } else if check.contains("AlertExceedsMax") {
        "set AlertExceedsMax yes in clamd.conf and restart clamd"
    } else if check.contains("StreamMaxLength") {
        "set StreamMaxLength and MaxFileSize to 1100M and MaxScanSize to 4000M in clamd.conf and \
         restart clamd"
    } else if check.contains("archives") {
        "set ScanArchive yes in clamd.conf and restart clamd"
    } else {
        "update its signatures (freshclam), check clamd.conf and restart clamd"
    }
}

/// The sandboxed child process that parses untrusted bytes.
async fn check_sandbox(found: &mut DependencyFindings, prober: &Prober) {
    const CHECK: &str = "sandbox";
    match prober.check_sandbox().await {
        Ok(()) => found.ok(CHECK, "a child process with limits parses files"),
        Err(failure) => {
            let fix = "allow this program to start itself as a child process (`longshored probe`): \
                       check process limits, seccomp and container policies";
            found.wrong(CHECK, &error_chain::chain(&failure), fix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{DoctorReport, render_text};

    fn rendered(found: DependencyFindings) -> String {
        let (ok, findings) = (false, found.list);
        render_text(&DoctorReport { ok, findings })
    }

    #[test]
    fn a_store_that_fails_a_probe_is_reported_with_a_fix() {
        let mut store = DependencyFindings::new("object store");
        let failed = |check, why: &str, is_unreachable| {
            let why = why.to_owned();
            Some(Err(ObjectStoreProbeFailure {
                check,
                why,
                is_unreachable,
            }))
        };
        report_store(&mut store, Some(Ok(())));
        let owner = "the bucket must belong to this installation";
        for (why, is_unreachable) in [
            ("the bucket belongs to another installation", false),
            (
                "the object store refused to read the owner's mark: status 404 (NoSuchBucket)",
                false,
            ),
            (
                "the object store refused to read the owner's mark: status 403 (SignatureDoesNotMatch)",
                false,
            ),
            (
                "the object store cannot be reached: connection refused",
                true,
            ),
        ] {
            report_store(&mut store, failed(owner, why, is_unreachable));
        }
        let browsers = "the store must let browsers upload (CORS)";
        report_store(&mut store, failed(browsers, "the answer was 501", false));
        report_store(
            &mut store,
            failed("the store must list its objects", "nothing", false),
        );
        report_store(&mut store, None);
        insta::assert_snapshot!(rendered(store), @r"
        object store
          ok      probes              uploads, multipart uploads, copies, listings and CORS work
          ERROR   probes              the bucket must belong to this installation: the bucket belongs to another installation
                  fix: give this installation a separate bucket or SVC_OBJECTS_PREFIX; if the other installation no longer exists, delete the object named owner under the prefix
                  see docs/runbooks/object-store-away.md
          ERROR   probes              the bucket must belong to this installation: the object store refused to read the owner's mark: status 404 (NoSuchBucket)
                  fix: create the bucket, or correct SVC_OBJECTS_BUCKET
                  see docs/runbooks/object-store-away.md
          ERROR   probes              the bucket must belong to this installation: the object store refused to read the owner's mark: status 403 (SignatureDoesNotMatch)
                  fix: correct SVC_OBJECTS_ACCESS_KEY and SVC_OBJECTS_SECRET_KEY (and SVC_OBJECTS_REGION), or allow this key to read, write, list and delete in the bucket
                  see docs/runbooks/object-store-away.md
          ERROR   probes              the bucket must belong to this installation: the object store cannot be reached: connection refused
                  fix: start the object store, or correct SVC_OBJECTS_URL; until then files wait, loads continue
                  see docs/runbooks/object-store-away.md
          ERROR   probes              the store must let browsers upload (CORS): the answer was 501
                  fix: allow this key to set the bucket's CORS rules, or set them yourself: POST, PUT and GET from SVC_OBJECTS_CORS_ORIGINS with every header, ETag exposed
                  see docs/runbooks/object-store-away.md
          ERROR   probes              the store must list its objects: nothing
                  fix: this object store lacks a required feature: use another one, or a newer version
                  see docs/runbooks/object-store-away.md
          ERROR   probes              no answer within a minute
                  fix: start the object store, or correct SVC_OBJECTS_URL; until then files wait, loads continue
                  see docs/runbooks/object-store-away.md

        errors: 7
        ");
    }

    #[test]
    fn a_role_without_credentials_is_reported_with_a_fix() {
        let mut store = DependencyFindings::new("object store");
        let failure = RoleCredentialFailure::NoRole;
        report_credentials(&mut store, "EC2 instance metadata", Some(Err(failure)));
        let text = rendered(store);
        assert!(text.contains("from EC2 instance metadata: the EC2 instance has no role"));
        assert!(text.contains("fix: give this process a role"), "{text}");
        let mut store = DependencyFindings::new("object store");
        report_credentials(
            &mut store,
            "container credentials",
            Some(Ok(Timestamp::default())),
        );
        let until = "from container credentials, valid until 1970-01-01T00:00:00.000000Z";
        assert!(rendered(store).contains(until));
    }

    #[test]
    fn a_scanner_that_fails_a_probe_is_reported_with_a_fix() {
        let mut scanner = DependencyFindings::new("scanner");
        let failed = |check, why: &str, is_unreachable| {
            let why = why.to_owned();
            Some(Err(ScannerProbeFailure {
                check,
                why,
                is_unreachable,
            }))
        };
        report_scanner(&mut scanner, Some(Ok(())));
        for check in [
            "the scanner must report what exceeds its limits (AlertExceedsMax yes)",
            "the scanner must accept files of 1 GB (StreamMaxLength)",
            "the scanner must scan inside archives",
            "the scanner must find the EICAR test file",
        ] {
            report_scanner(&mut scanner, failed(check, "clean", false));
        }
        report_scanner(
            &mut scanner,
            failed("the scanner must answer", "refused", true),
        );
        report_scanner(&mut scanner, None);
        insta::assert_snapshot!(rendered(scanner), @r"
        scanner
          ok      probes              finds test files and reports files that it cannot scan
          ERROR   probes              the scanner must report what exceeds its limits (AlertExceedsMax yes): clean
                  fix: set AlertExceedsMax yes in clamd.conf and restart clamd
                  see docs/runbooks/scanner-down.md
          ERROR   probes              the scanner must accept files of 1 GB (StreamMaxLength): clean
                  fix: set StreamMaxLength and MaxFileSize to 1100M and MaxScanSize to 4000M in clamd.conf and restart clamd
                  see docs/runbooks/scanner-down.md
          ERROR   probes              the scanner must scan inside archives: clean
                  fix: set ScanArchive yes in clamd.conf and restart clamd
                  see docs/runbooks/scanner-down.md
          ERROR   probes              the scanner must find the EICAR test file: clean
                  fix: update its signatures (freshclam), check clamd.conf and restart clamd
                  see docs/runbooks/scanner-down.md
          ERROR   probes              the scanner must answer: refused
                  fix: start clamd, or correct SVC_SCANNER; until then files wait to be scanned
                  see docs/runbooks/scanner-down.md
          ERROR   probes              no answer within a minute
                  fix: start clamd, or correct SVC_SCANNER; until then files wait to be scanned
                  see docs/runbooks/scanner-down.md

        errors: 6
        ");
    }
}
