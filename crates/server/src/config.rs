//! `longshored config`: every setting with its value and its origin.

use std::fmt::Write as _;

use serde::Serialize;

use crate::settings::{InvalidSetting, ParsedSettings, SettingOrigin};

/// For people: one paragraph per setting, invalid settings at the end.
pub fn render_text(reading: &ParsedSettings) -> String {
    let mut page = String::new();
    for row in &reading.rows {
        let declaration = row.declaration;
        let origin = match row.origin {
            SettingOrigin::Default if row.display_value.is_empty() => "not set".to_owned(),
            SettingOrigin::Default => "default".to_owned(),
            SettingOrigin::Environment if declaration.default.is_empty() => {
                "environment".to_owned()
            }
            SettingOrigin::Environment => format!("environment; default {}", declaration.default),
        };
        // Writing to a string cannot fail.
        let _written = write!(
            page,
            "{}={}  ({origin})\n    {}\n",
            declaration.name, row.display_value, declaration.help
        );
    }
    for fault in &reading.faults {
        let _written = write!(page, "\ninvalid: {}: {}", fault.name, fault.text);
    }
    page.trim_end().to_owned()
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
    origin: SettingOrigin,
    default: &'static str,
    help: &'static str,
}

pub fn build_report(reading: &ParsedSettings) -> ConfigReport<'_> {
    let settings = reading.rows.iter().map(|row| ConfigSetting {
        name: row.declaration.name,
        value: &row.display_value,
        origin: row.origin,
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
