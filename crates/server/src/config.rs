//! `longshored config`: every setting with its value and its origin.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::settings::secret_file;
use crate::settings::table::SettingDeclaration;
use crate::settings::{InvalidSetting, ParsedSettings, SettingOrigin};

/// For people: one paragraph per setting, invalid settings at the end.
pub fn render_text(reading: &ParsedSettings) -> String {
    let mut page = String::new();
    for row in &reading.rows {
        let declaration = row.declaration;
        let origin = match &row.origin {
            SettingOrigin::Default if row.display_value.is_empty() => "not set".to_owned(),
            SettingOrigin::Default => "default".to_owned(),
            SettingOrigin::Environment if declaration.default.is_empty() => {
                "environment".to_owned()
            }
            SettingOrigin::Environment => format!("environment; default {}", declaration.default),
            SettingOrigin::File(path) => format!("file {}", path.display()),
        };
        // Writing to a string cannot fail.
        let _written = write!(
            page,
            "{}={}  ({origin})\n    {}\n",
            declaration.name, row.display_value, declaration.help
        );
        if let Some(variable) = file_variable(declaration) {
            let _written = writeln!(page, "    {variable} names a file with the value instead.");
        }
    }
    for fault in &reading.faults {
        let _written = write!(page, "\ninvalid: {}: {}", fault.name, fault.text);
    }
    page.trim_end().to_owned()
}

fn file_variable(declaration: &SettingDeclaration) -> Option<String> {
    let is_secret = declaration.display.is_secret();
    is_secret.then(|| secret_file::variable(declaration.name))
}

/// For scripts: one JSON object.
#[derive(Debug, Serialize)]
pub struct ConfigReport<'a> {
    settings: Vec<ConfigSetting<'a>>,
    faults: &'a [InvalidSetting],
}

#[derive(Debug, Serialize)]
struct ConfigSetting<'a> {
    name: &'static str,
    value: &'a str,
    origin: &'static str,
    /// The file that the value was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
    /// The variable that can name such a file: for secrets only.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_variable: Option<String>,
    default: &'static str,
    help: &'static str,
}

pub fn build_report(reading: &ParsedSettings) -> ConfigReport<'_> {
    let settings = reading.rows.iter().map(|row| ConfigSetting {
        name: row.declaration.name,
        value: &row.display_value,
        origin: row.origin.as_str(),
        file: row.origin.file(),
        file_variable: file_variable(row.declaration),
        default: row.declaration.default,
        help: row.declaration.help,
    });
    ConfigReport {
        settings: settings.collect(),
        faults: &reading.faults,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::read_variables;

    #[test]
    fn every_setting_is_shown_with_its_origin_and_without_secrets() {
        let given = [
            (
                "SVC_DATABASE_URL",
                "postgres://dock:hunter2@db.internal:5432/longshore?sslmode=verify-full",
            ),
            ("SVC_LISTEN", "0.0.0.0:80"),
            ("SVC_LOG_FORMAT", "yaml"),
            ("HOME", "/home/ada"),
        ];
        let reading = read_variables(given.map(|(name, value)| (name.into(), value.into())));
        let page = render_text(&reading);
        assert!(!page.contains("hunter2"));
        insta::assert_snapshot!(page);
        let document = build_report(&reading);
        let json = serde_json::to_string(&document).unwrap();
        assert!(!json.contains("hunter2"));
        let mut settings = document.settings.iter();
        let listen = settings.find(|setting| setting.name == "SVC_LISTEN");
        let listen = serde_json::to_string_pretty(&listen).unwrap();
        insta::assert_snapshot!(listen, @r#"
        {
          "name": "SVC_LISTEN",
          "value": "0.0.0.0:80",
          "origin": "environment",
          "default": "127.0.0.1:8080",
          "help": "Address and port of the API and the dashboard. Port 0 picks a free port."
        }
        "#);
        insta::assert_snapshot!(serde_json::to_string(document.faults).unwrap(), @r#"[{"name":"SVC_LOG_FORMAT","message":"`yaml` is not json or text"}]"#);
    }
}
