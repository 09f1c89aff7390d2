//! `longshored admin licence …`: it needs no database.

use std::path::PathBuf;

use clap::Subcommand;
use domain::limit::PlanLimits;
use domain::time::{Timestamp, to_wire};
use serde::Serialize;

use crate::admin::AdminFailure;
use crate::admin::printer::{Printer, Shown, or_dash};
use crate::licence::{self, Licence, Source};
use crate::settings::choice::Deployment;
use crate::settings::table::Values;

#[derive(Debug, Subcommand)]
pub(super) enum LicenceCommand {
    /// Show what the enterprise plan allows with the licence as it is, and why.
    Show,
    /// Say whether a licence is good; if not, exit with 1 and say why.
    Verify {
        /// The licence; the one that the settings name, if not given.
        file: Option<PathBuf>,
    },
}

pub(super) fn run(
    command: &LicenceCommand,
    values: &Values,
    printer: Printer,
    now: Timestamp,
) -> Result<String, AdminFailure> {
    let view = match command {
        LicenceCommand::Show => show(values, now),
        LicenceCommand::Verify { file } => verify(file.as_ref(), values, now)?,
    };
    printer.one(&view)
}

fn show(values: &Values, now: Timestamp) -> View {
    let source = Source::of(values);
    let read = source.read();
    let in_force = read.and_then(|read| read.map(|licence| licence.at(now)).transpose());
    let file = source.file;
    let defaults = licence::plans(values).enterprise;
    match in_force {
        Ok(Some(licence)) => View::valid(licence, file),
        Ok(None) => {
            let state = match values.deployment {
                Deployment::SelfHosted => "none",
                Deployment::Cloud => "not_read",
            };
            View::without(state, file, defaults)
        }
        Err(failure) => View {
            reason: Some(failure.to_string()),
            ..View::without("refused", file, defaults)
        },
    }
}

/// Any file, on any deployment: it may be meant for another machine.
fn verify(file: Option<&PathBuf>, values: &Values, now: Timestamp) -> Result<View, AdminFailure> {
    let named = file.or(values.licence_file.as_ref());
    let file = named.ok_or(AdminFailure::NoLicence)?;
    let licence = licence::read(file, values.licence_public_key)?.at(now)?;
    Ok(View::valid(licence, Some(file.clone())))
}

#[derive(Debug, Serialize)]
pub(super) struct View {
    state: &'static str,
    reason: Option<String>,
    file: Option<PathBuf>,
    licensee: Option<String>,
    issued_at: Option<String>,
    expires_at: Option<String>,
    burst: u32,
    sustained_requests_per_minute: u32,
    /// Nothing is no limit.
    monthly_tokens: Option<u64>,
}

impl View {
    fn valid(licence: Licence, file: Option<PathBuf>) -> Self {
        Self {
            licensee: Some(licence.licensee),
            issued_at: Some(to_wire(licence.issued_at)),
            expires_at: Some(to_wire(licence.expires_at)),
            ..Self::without("valid", file, licence.limits)
        }
    }

    const fn without(state: &'static str, file: Option<PathBuf>, limits: PlanLimits) -> Self {
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

impl Shown for View {
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
    use crate::settings::read;

    fn values(more: &[(&str, &str)]) -> Values {
        let given = more.iter();
        let given = given.map(|(name, value)| (name.into(), value.into()));
        read(given).values().unwrap().clone()
    }

    fn view() -> View {
        let expires_at = "2027-01-01T00:00:00Z".parse().unwrap();
        let licence = Licence {
            licensee: "Harbour Ltd".to_owned(),
            issued_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires_at,
            limits: domain::limit::Limits::default().enterprise,
        };
        View::valid(licence, Some("licence.json".into()))
    }

    #[test]
    fn a_licence_is_shown_to_people_and_scripts() {
        insta::assert_snapshot!(Printer::Text.one(&view()).unwrap(), @r"
        state                 valid
        file                  licence.json
        licensee              Harbour Ltd
        issued                2026-01-01T00:00:00.000000Z
        expires               2027-01-01T00:00:00.000000Z
        burst                 10000
        sustained per minute  60000
        monthly tokens        unlimited
        ");
        insta::assert_snapshot!(Printer::Json.one(&view()).unwrap(), @r#"{"state":"valid","reason":null,"file":"licence.json","licensee":"Harbour Ltd","issued_at":"2026-01-01T00:00:00.000000Z","expires_at":"2027-01-01T00:00:00.000000Z","burst":10000,"sustained_requests_per_minute":60000,"monthly_tokens":null}"#);
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
        reason                the licence /nowhere/licence.json cannot be read: No such file or directory (os error 2)
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
        insta::assert_snapshot!(failed(None), @"there is no licence to verify: name a file, or set SVC_LICENCE_FILE");
        insta::assert_snapshot!(failed(Some("/nowhere/licence.json")), @"the licence /nowhere/licence.json cannot be read: No such file or directory (os error 2)");
        insta::assert_snapshot!(failed(Some(env!("CARGO_MANIFEST_PATH"))), @"the licence is not JSON with the texts `entitlements` and `signature`: expected value at line 1 column 2");
    }
}
