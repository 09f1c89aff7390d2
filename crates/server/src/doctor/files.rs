//! The object store, the scanner and the probe: do they keep what files are promised?

use std::sync::Arc;
use std::time::Duration;

use outbound::objects::ProbeFailure;
use outbound::probe::Prober;
use outbound::scanner::ScannerProbeFailure;
use tokio::time::timeout;
use uuid::Uuid;

use crate::clock::SystemClock;
use crate::doctor::Findings;
use crate::failure;
use crate::files::{self, Harbour};
use crate::settings::table::Values;
use crate::work;

/// A store that is well passes in a second or two.
const PATIENCE: Duration = Duration::from_mins(1);

/// `installation` is what control says that we are; nothing when it did not answer.
pub(super) async fn examine(values: &Values, installation: Option<Uuid>) -> [Findings; 2] {
    let mut store = Findings::of("object store");
    let mut scanner = Findings::of("scanner");
    match files::harbour(values, Arc::new(SystemClock::new())) {
        Ok(Some(harbour)) => {
            objects(&mut store, &harbour, installation).await;
            let probed = timeout(PATIENCE, harbour.scanner.probe()).await;
            judge_scanner(&mut scanner, probed.ok());
            reader(&mut scanner, &work::prober(values)).await;
        }
        Ok(None) => {
            let text = "there is none, and so there are no files: set SVC_OBJECTS_URL to have them";
            store.ok("configured", text);
        }
        Err(unusable) => {
            let mend = "correct the SVC_OBJECTS_… settings; see: longshored config";
            store.wrong("configured", &failure::chain(&unusable), mend);
        }
    }
    [store, scanner]
}

async fn objects(found: &mut Findings, harbour: &Harbour, installation: Option<Uuid>) {
    let Some(installation) = installation else {
        let text = "not asked: control did not say who we are to a store";
        found.warning("keeps its promises", text, "mend control first");
        return;
    };
    let probed = timeout(PATIENCE, harbour.objects.probe(installation)).await;
    judge_store(found, probed.ok());
}

/// Nothing is an answer that did not come.
fn judge_store(found: &mut Findings, answer: Option<Result<(), ProbeFailure>>) {
    const CHECK: &str = "keeps its promises";
    match answer {
        Some(Ok(())) => found.ok(
            CHECK,
            "yes: uploads, parts, copies, lists, pages of browsers",
        ),
        Some(Err(failure)) => {
            found.wrong(CHECK, &failure.to_string(), store_mend(&failure));
        }
        None => found.wrong(CHECK, "it did not answer in a minute", STORE_AWAY),
    }
}

const STORE_AWAY: &str =
    "start the store there, or correct SVC_OBJECTS_URL; until then files wait and loads go on";

fn store_mend(failure: &ProbeFailure) -> &'static str {
    let (check, why) = (failure.check, failure.why.as_str());
    if failure.away {
        STORE_AWAY
    } else if why.contains("NoSuchBucket") {
        "create the bucket, or correct SVC_OBJECTS_BUCKET"
    } else if why.contains("AccessKey") || why.contains("Signature") || why.contains("AccessDenied")
    {
        "correct SVC_OBJECTS_ACCESS_KEY and SVC_OBJECTS_SECRET_KEY (and SVC_OBJECTS_REGION), or \
         let this key read, write, list and delete in the bucket"
    } else if why.contains("another installation") {
        "give this installation a bucket or a SVC_OBJECTS_PREFIX of its own; if the other one is \
         gone for good, delete the object named owner under the prefix"
    } else if check.contains("browser") || check.contains("CORS") {
        "let this key set the bucket's CORS, or set it yourself: POST, PUT and GET from \
         SVC_OBJECTS_CORS_ORIGINS with every header, ETag exposed"
    } else {
        "this store cannot keep what callers are promised: use another, or a newer one"
    }
}

fn judge_scanner(found: &mut Findings, answer: Option<Result<(), ScannerProbeFailure>>) {
    const CHECK: &str = "finds what it must";
    match answer {
        Some(Ok(())) => found.ok(CHECK, "yes, and owns up to what it does not look at"),
        Some(Err(failure)) => {
            found.wrong(CHECK, &failure.to_string(), scanner_mend(&failure));
        }
        None => found.wrong(CHECK, "it did not answer in a minute", SCANNER_AWAY),
    }
}

const SCANNER_AWAY: &str =
    "start clamd there, or correct SVC_SCANNER; until then files wait to be scanned";

fn scanner_mend(failure: &ScannerProbeFailure) -> &'static str {
    let check = failure.check;
    if failure.away {
        SCANNER_AWAY
    } else if check.contains("AlertExceedsMax") {
        "set AlertExceedsMax yes in clamd.conf and restart clamd"
    } else if check.contains("StreamMaxLength") {
        "set StreamMaxLength and MaxFileSize to 1100M and MaxScanSize to 4000M in clamd.conf and \
         restart clamd"
    } else if check.contains("archives") {
        "set ScanArchive yes in clamd.conf and restart clamd"
    } else {
        "load its signatures (freshclam), look at clamd.conf and restart clamd"
    }
}

/// The child that reads untrusted bytes.
async fn reader(found: &mut Findings, prober: &Prober) {
    const CHECK: &str = "files can be read";
    match prober.rehearse().await {
        Ok(()) => found.ok(CHECK, "yes, by a child process with limits"),
        Err(failure) => {
            let mend = "let this program start itself as a child (`longshored probe`): look at \
                        limits on processes and at what confines it";
            found.wrong(CHECK, &failure::chain(&failure), mend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{Report, text};

    fn told(found: Findings) -> String {
        let (ok, findings) = (false, found.list);
        text(&Report { ok, findings })
    }

    #[test]
    fn a_store_that_fails_a_probe_is_told_verbatim_and_how_to_mend_it() {
        let mut store = Findings::of("object store");
        let failed = |check, why: &str, away| {
            let why = why.to_owned();
            Some(Err(ProbeFailure { check, why, away }))
        };
        judge_store(&mut store, Some(Ok(())));
        let owner = "the bucket must belong to this installation";
        for (why, away) in [
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
            judge_store(&mut store, failed(owner, why, away));
        }
        let browsers = "the store must let browsers upload (CORS)";
        judge_store(&mut store, failed(browsers, "the answer was 501", false));
        judge_store(
            &mut store,
            failed("the store must list what lies in it", "nothing", false),
        );
        judge_store(&mut store, None);
        insta::assert_snapshot!(told(store), @r"
        object store
          ok      keeps its promises  yes: uploads, parts, copies, lists, pages of browsers
          WRONG   keeps its promises  the bucket must belong to this installation: the bucket belongs to another installation
                  to mend it: give this installation a bucket or a SVC_OBJECTS_PREFIX of its own; if the other one is gone for good, delete the object named owner under the prefix
          WRONG   keeps its promises  the bucket must belong to this installation: the object store refused to read the owner's mark: status 404 (NoSuchBucket)
                  to mend it: create the bucket, or correct SVC_OBJECTS_BUCKET
          WRONG   keeps its promises  the bucket must belong to this installation: the object store refused to read the owner's mark: status 403 (SignatureDoesNotMatch)
                  to mend it: correct SVC_OBJECTS_ACCESS_KEY and SVC_OBJECTS_SECRET_KEY (and SVC_OBJECTS_REGION), or let this key read, write, list and delete in the bucket
          WRONG   keeps its promises  the bucket must belong to this installation: the object store cannot be reached: connection refused
                  to mend it: start the store there, or correct SVC_OBJECTS_URL; until then files wait and loads go on
          WRONG   keeps its promises  the store must let browsers upload (CORS): the answer was 501
                  to mend it: let this key set the bucket's CORS, or set it yourself: POST, PUT and GET from SVC_OBJECTS_CORS_ORIGINS with every header, ETag exposed
          WRONG   keeps its promises  the store must list what lies in it: nothing
                  to mend it: this store cannot keep what callers are promised: use another, or a newer one
          WRONG   keeps its promises  it did not answer in a minute
                  to mend it: start the store there, or correct SVC_OBJECTS_URL; until then files wait and loads go on

        7 wrong
        ");
    }

    #[test]
    fn so_is_a_scanner() {
        let mut scanner = Findings::of("scanner");
        let failed = |check, why: &str, away| {
            let why = why.to_owned();
            Some(Err(ScannerProbeFailure { check, why, away }))
        };
        judge_scanner(&mut scanner, Some(Ok(())));
        for check in [
            "the scanner must report what exceeds its limits (AlertExceedsMax yes)",
            "the scanner must take files of 1 GB (StreamMaxLength)",
            "the scanner must look into archives",
            "the scanner must find the test file that every scanner knows",
        ] {
            judge_scanner(&mut scanner, failed(check, "clean", false));
        }
        judge_scanner(
            &mut scanner,
            failed("the scanner must answer", "refused", true),
        );
        judge_scanner(&mut scanner, None);
        insta::assert_snapshot!(told(scanner), @r"
        scanner
          ok      finds what it must  yes, and owns up to what it does not look at
          WRONG   finds what it must  the scanner must report what exceeds its limits (AlertExceedsMax yes): clean
                  to mend it: set AlertExceedsMax yes in clamd.conf and restart clamd
          WRONG   finds what it must  the scanner must take files of 1 GB (StreamMaxLength): clean
                  to mend it: set StreamMaxLength and MaxFileSize to 1100M and MaxScanSize to 4000M in clamd.conf and restart clamd
          WRONG   finds what it must  the scanner must look into archives: clean
                  to mend it: set ScanArchive yes in clamd.conf and restart clamd
          WRONG   finds what it must  the scanner must find the test file that every scanner knows: clean
                  to mend it: load its signatures (freshclam), look at clamd.conf and restart clamd
          WRONG   finds what it must  the scanner must answer: refused
                  to mend it: start clamd there, or correct SVC_SCANNER; until then files wait to be scanned
          WRONG   finds what it must  it did not answer in a minute
                  to mend it: start clamd there, or correct SVC_SCANNER; until then files wait to be scanned

        6 wrong
        ");
    }
}
