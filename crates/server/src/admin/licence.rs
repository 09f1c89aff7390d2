//! `longshored admin licence …`, which needs no database.

use std::path::PathBuf;

use clap::Subcommand;
use domain::plan_limits::PlanLimits;
use domain::time::{Timestamp, to_wire};
use serde::Serialize;

use crate::admin::AdminFailure;
use crate::admin::printer::{AdminView, Printer, or_dash};
use crate::licence::{self, Licence, LicenceSource};
use crate::settings::choice::Deployment;
use crate::settings::table::SettingValues;

#[derive(Debug, Subcommand)]
pub(super) enum LicenceCommand {
    /// Show the limits of the enterprise plan and the state of the licence.
    Show,
    /// Verify a licence; exit with 1 and say why if it is not valid.
    Verify {
        /// The licence file; `SVC_LICENCE_FILE`, if not given.
        file: Option<PathBuf>,
    },
}

pub(super) fn run(
    command: &LicenceCommand,
    values: &SettingValues,
    printer: Printer,
    now: Timestamp,
) -> Result<String, AdminFailure> {
    let view = match command {
        LicenceCommand::Show => show(values, now),
        LicenceCommand::Verify { file } => verify(file.as_ref(), values, now)?,
    };
    printer.render_one(&view)
}

fn show(values: &SettingValues, now: Timestamp) -> LicenceView {
    let source = LicenceSource::from_settings(values);
    let read = source.read();
    let in_force = read.and_then(|read| read.map(|licence| licence.valid_at(now)).transpose());
    let file = source.file;
    let defaults = licence::plan_limits(values).enterprise;
    match in_force {
        Ok(Some(licence)) => LicenceView::valid(licence, file),
        Ok(None) => {
            let state = match values.deployment {
                Deployment::SelfHosted => "none",
                Deployment::Cloud => "not_read",
            };
            LicenceView::with_limits(state, file, defaults)
        }
        Err(failure) => LicenceView {
            reason: Some(failure.to_string()),
            ..LicenceView::with_limits("refused", file, defaults)
        },
    }
}

/// Works for any file and deployment: the licence may be for another machine.
fn verify(
    file: Option<&PathBuf>,
    values: &SettingValues,
    now: Timestamp,
) -> Result<LicenceView, AdminFailure> {
    let named = file.or(values.licence_file.as_ref());
    let file = named.ok_or(AdminFailure::NoLicence)?;
    let licence = licence::read(file, values.licence_public_key)?.valid_at(now)?;
    Ok(LicenceView::valid(licence, Some(file.clone())))
}

#[derive(Debug, Serialize)]
pub(super) struct LicenceView {
    state: &'static str,
    reason: Option<String>,
    file: Option<PathBuf>,
    licensee: Option<String>,
    issued_at: Option<String>,
    expires_at: Option<String>,
    burst: u32,
    sustained_requests_per_minute: u32,
    /// None means no limit.
    monthly_tokens: Option<u64>,
}

impl LicenceView {
    fn valid(licence: Licence, file: Option<PathBuf>) -> Self {
        Self {
            licensee: Some(licence.licensee),
            issued_at: Some(to_wire(licence.issued_at)),
            expires_at: Some(to_wire(licence.expires_at)),
            ..Self::with_limits("valid", file, licence.limits)
        }
    }

    const fn with_limits(state: &'static str, file: Option<PathBuf>, limits: PlanLimits) -> Self {
        Self {
            state,
            reason: None,
            file,
            licensee: None,
            issued_at: None,
            expires_at: None,
            burst: limits.rate.burst,
            sustained_requests_per_minute: limits.rate.per_minute,
            monthly_tokens: limits.monthly_tokens,
        }
    }
}

impl AdminView for LicenceView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let tokens = self.monthly_tokens.map(|tokens| tokens.to_string());
        let mut fields = vec![("state", self.state.to_owned())];
        if let Some(reason) = &self.reason {
            fields.push(("reason", reason.clone()));
        }
        fields.extend([
            ("file", or_dash(file.as_ref())),
            ("licensee", or_dash(self.licensee.as_ref())),
            ("issued", or_dash(self.issued_at.as_ref())),
            ("expires", or_dash(self.expires_at.as_ref())),
            ("burst", self.burst.to_string()),
            (
                "sustained per minute",
                self.sustained_requests_per_minute.to_string(),
            ),
            (
                "monthly tokens",
                tokens.unwrap_or_else(|| "unlimited".to_owned()),
            ),
        ]);
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::read_variables;

    fn values(more: &[(&str, &str)]) -> SettingValues {
        let given = more.iter();
        let given = given.map(|(name, value)| (name.into(), value.into()));
        read_variables(given).values().unwrap().clone()
    }

    fn view() -> LicenceView {
        let expires_at = "2027-01-01T00:00:00Z".parse().unwrap();
        let licence = Licence {
            licensee: "Example Ltd".to_owned(),
            issued_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires_at,
            limits: domain::plan_limits::LimitsByPlan::default().enterprise,
        };
        LicenceView::valid(licence, Some("licence.json".into()))
    }

    #[test]
    fn a_licence_is_shown_to_people_and_scripts() {
        insta::assert_snapshot!(Printer::Text.render_one(&view()).unwrap(), @r"
        state                 valid
        file                  licence.json
        licensee              Example Ltd
        issued                2026-01-01T00:00:00.000000Z
        expires               2027-01-01T00:00:00.000000Z
        burst                 10000
        sustained per minute  60000
        monthly tokens        unlimited
        ");
        insta::assert_snapshot!(Printer::Json.render_one(&view()).unwrap(), @r#"{"state":"valid","reason":null,"file":"licence.json","licensee":"Example Ltd","issued_at":"2026-01-01T00:00:00.000000Z","expires_at":"2027-01-01T00:00:00.000000Z","burst":10000,"sustained_requests_per_minute":60000,"monthly_tokens":null}"#);
    }

    #[test]
    fn without_a_licence_the_defaults_are_shown_and_why() {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let shown = |more: &[(&str, &str)]| {
            let command = LicenceCommand::Show;
            run(&command, &values(more), Printer::Text, now).unwrap()
        };
        let file = ("SVC_LICENCE_FILE", "/nowhere/licence.json");
        insta::assert_snapshot!(shown(&[]), @r"
        state                 none
        file                  -
        licensee              -
        issued                -
        expires               -
        burst                 10000
        sustained per minute  60000
        monthly tokens        unlimited
        ");
        insta::assert_snapshot!(shown(&[file]), @r"
        state                 refused
        reason                the licence file /nowhere/licence.json cannot be read: No such file or directory (os error 2)
        file                  /nowhere/licence.json
        licensee              -
        issued                -
        expires               -
        burst                 10000
        sustained per minute  60000
        monthly tokens        unlimited
        ");
        insta::assert_snapshot!(shown(&[file, ("SVC_DEPLOYMENT", "cloud")]), @r"
        state                 not_read
        file                  -
        licensee              -
        issued                -
        expires               -
        burst                 10000
        sustained per minute  60000
        monthly tokens        unlimited
        ");
    }

    #[test]
    fn what_cannot_be_verified_says_why() {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let failed = |file: Option<&str>| {
            let file = file.map(PathBuf::from);
            let command = LicenceCommand::Verify { file };
            run(&command, &values(&[]), Printer::Json, now).unwrap_err()
        };
        insta::assert_snapshot!(failed(None), @"there is no licence to verify: give a file, or set SVC_LICENCE_FILE");
        insta::assert_snapshot!(failed(Some("/nowhere/licence.json")), @"the licence file /nowhere/licence.json cannot be read: No such file or directory (os error 2)");
        insta::assert_snapshot!(failed(Some(env!("CARGO_MANIFEST_PATH"))), @"the licence is not a JSON object with `entitlements` and `signature`: expected value at line 1 column 2");
    }
}
