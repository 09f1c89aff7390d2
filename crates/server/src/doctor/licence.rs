//! Checks of the licence: in force, missing, invalid or about to expire.

use chrono::TimeDelta;
use domain::plan_limits::PlanLimits;
use domain::time::{Timestamp, to_wire};

use crate::doctor::DependencyFindings;
use crate::licence::{self, Licence, LicenceFailure, LicenceSource};
use crate::settings::choice::Deployment;
use crate::settings::table::SettingValues;

const CHECK: &str = "file";
/// Time for the operator to buy and install the next licence.
const RENEWAL_NOTICE: TimeDelta = TimeDelta::days(30);

pub(super) fn examine(values: &SettingValues, now: Timestamp) -> DependencyFindings {
    let mut found = DependencyFindings::new("licence");
    if values.deployment == Deployment::Cloud {
        if values.licence_file.is_some() {
            found.warning(
                CHECK,
                "SVC_LICENCE_FILE is set, but SVC_DEPLOYMENT=cloud ignores licences",
                "unset it, or set SVC_DEPLOYMENT=self_hosted",
            );
        }
        return found;
    }
    let read = LicenceSource::from_settings(values).read();
    check_licence(
        &mut found,
        read,
        licence::plan_limits(values).enterprise,
        now,
    );
    found
}

pub(super) fn check_licence(
    found: &mut DependencyFindings,
    read: Result<Option<Licence>, LicenceFailure>,
    defaults: PlanLimits,
    now: Timestamp,
) {
    let in_force = read.and_then(|read| read.map(|licence| licence.valid_at(now)).transpose());
    let entitled = match in_force {
        Ok(Some(licence)) => {
            let until = to_wire(licence.expires_at);
            let text = format!("in force for {} until {until}", licence.licensee);
            let left = licence.expires_at - now;
            if left < RENEWAL_NOTICE {
                let text = format!("{text}: {} days left", left.num_days());
                let fix = "request a new licence, replace the file and send SIGHUP";
                found.warning(CHECK, &text, fix);
            } else {
                found.ok(CHECK, &text);
            }
            licence.limits
        }
        Ok(None) => {
            found.ok(CHECK, "none: the enterprise plan uses its default limits");
            defaults
        }
        Err(failure) => {
            found.wrong(CHECK, &failure.to_string(), licence_fix(&failure));
            defaults
        }
    };
    report_limits(found, entitled);
}

fn report_limits(found: &mut DependencyFindings, limits: PlanLimits) {
    let tokens = limits
        .monthly_tokens
        .map_or_else(|| "unlimited".to_owned(), |tokens| tokens.to_string());
    let rate = limits.rate;
    let text = format!(
        "burst {}, {} loads per minute, monthly tokens {tokens}",
        rate.burst, rate.per_minute
    );
    found.ok("enterprise", &text);
}

const fn licence_fix(failure: &LicenceFailure) -> &'static str {
    match failure {
        LicenceFailure::Unreadable { .. } => {
            "put the licence there and make it readable for this user, or correct SVC_LICENCE_FILE"
        }
        LicenceFailure::PublicKeyMissing => {
            "set SVC_LICENCE_PUBLIC_KEY to the public key that came with the licence"
        }
        LicenceFailure::InvalidSignature => {
            "correct SVC_LICENCE_PUBLIC_KEY, or request the licence file again"
        }
        LicenceFailure::NotJson(_)
        | LicenceFailure::NotBase64(_)
        | LicenceFailure::InvalidEntitlements(_) => {
            "request the licence file again: this one is damaged"
        }
        LicenceFailure::Expired(_) => "request a new licence, replace the file and send SIGHUP",
    }
}

#[cfg(test)]
mod tests;
