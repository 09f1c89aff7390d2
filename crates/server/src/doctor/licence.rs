//! The licence: in force, missing, refused or about to end.

use chrono::TimeDelta;
use domain::limit::PlanLimits;
use domain::time::{Timestamp, to_wire};

use crate::doctor::Findings;
use crate::licence::{self, Licence, LicenceFailure, Source};
use crate::settings::choice::Deployment;
use crate::settings::table::Values;

const CHECK: &str = "file";
/// Somebody has to buy and install the next one in this time.
const SOON: TimeDelta = TimeDelta::days(30);

pub(super) fn examine(values: &Values, now: Timestamp) -> Findings {
    let mut found = Findings::of("licence");
    if values.deployment == Deployment::Cloud {
        if values.licence_file.is_some() {
            found.warning(
                CHECK,
                "SVC_LICENCE_FILE is set, but on cloud no licence is read",
                "unset it, or set SVC_DEPLOYMENT=self_hosted",
            );
        }
        return found;
    }
    let read = Source::of(values).read();
    judge(&mut found, read, licence::plans(values).enterprise, now);
    found
}

pub(super) fn judge(
    found: &mut Findings,
    read: Result<Option<Licence>, LicenceFailure>,
    defaults: PlanLimits,
    now: Timestamp,
) {
    let in_force = read.and_then(|read| read.map(|licence| licence.at(now)).transpose());
    let entitled = match in_force {
        Ok(Some(licence)) => {
            let until = to_wire(licence.expires_at);
            let text = format!("in force for {} until {until}", licence.licensee);
            let left = licence.expires_at - now;
            if left < SOON {
                let text = format!("{text}: {} days are left", left.num_days());
                let mend = "ask for the next one, put it in its place and send SIGHUP";
                found.warning(CHECK, &text, mend);
            } else {
                found.ok(CHECK, &text);
            }
            licence.limits
        }
        Ok(None) => {
            found.ok(CHECK, "there is none: the enterprise plan has its defaults");
            defaults
        }
        Err(failure) => {
            found.wrong(CHECK, &failure.to_string(), mend(&failure));
            defaults
        }
    };
    limits(found, entitled);
}

fn limits(found: &mut Findings, limits: PlanLimits) {
    let tokens = limits
        .monthly_tokens
        .map_or_else(|| "unlimited".to_owned(), |tokens| tokens.to_string());
    let rate = limits.rate;
    let text = format!(
        "burst {}, {} per minute, monthly tokens {tokens}",
        rate.burst, rate.per_minute
    );
    found.ok("enterprise", &text);
}

const fn mend(failure: &LicenceFailure) -> &'static str {
    match failure {
        LicenceFailure::Unread { .. } => {
            "put the licence there and let this user read it, or correct SVC_LICENCE_FILE"
        }
        LicenceFailure::KeyMissing => "set it to the public key that came with the licence",
        LicenceFailure::Signature => {
            "correct SVC_LICENCE_PUBLIC_KEY, or ask for the licence once more"
        }
        LicenceFailure::NotJson(_)
        | LicenceFailure::NotBase64(_)
        | LicenceFailure::Entitlements(_) => "ask for the licence once more: this file is damaged",
        LicenceFailure::Expired(_) => "ask for the next one, put it in its place and send SIGHUP",
    }
}
