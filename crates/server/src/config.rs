//! `longshored config`: every setting with its value and who gave it.

use std::fmt::Write as _;

use serde::Serialize;

use crate::settings::{Fault, Origin, Reading};

/// For people: a setting a paragraph, what is wrong at the end.
pub fn text(reading: &Reading) -> String {
    let mut page = String::new();
    for row in &reading.rows {
        let declaration = row.declaration;
        let origin = match row.origin {
            Origin::Default if row.shown.is_empty() => "not set".to_owned(),
            Origin::Default => "default".to_owned(),
            Origin::Environment if declaration.default.is_empty() => "environment".to_owned(),
            Origin::Environment => format!("environment; default {}", declaration.default),
        };
        // Writing to a text cannot fail.
        let _written = write!(
            page,
            "{}={}  ({origin})\n    {}\n",
            declaration.name, row.shown, declaration.help
        );
    }
    for fault in &reading.faults {
        let _written = write!(page, "\nwrong: {}: {}", fault.name, fault.text);
    }
    page.trim_end().to_owned()
}

/// For programs: one object.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    settings: Vec<Setting<'a>>,
    faults: &'a [Fault],
}

#[derive(Debug, Serialize)]
struct Setting<'a> {
    name: &'static str,
    value: &'a str,
    origin: Origin,
    default: &'static str,
    help: &'static str,
}

pub fn document(reading: &Reading) -> Document<'_> {
    let settings = reading.rows.iter().map(|row| Setting {
        name: row.declaration.name,
        value: &row.shown,
        origin: row.origin,
        default: row.declaration.default,
        help: row.declaration.help,
    });
    Document {
        settings: settings.collect(),
        faults: &reading.faults,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::read;

    #[test]
    fn every_setting_is_shown_with_its_origin_and_without_secrets() {
        let given = [
            (
                "SVC_DATABASE_URL",
                "postgres://dock:hunter2@db.internal:5432/longshore",
            ),
            ("SVC_LISTEN", "0.0.0.0:80"),
            ("SVC_LOG_FORMAT", "yaml"),
            ("HOME", "/home/someone"),
        ];
        let reading = read(given.map(|(name, value)| (name.into(), value.into())));
        let page = text(&reading);
        assert!(!page.contains("hunter2"));
        insta::assert_snapshot!(page);
        let document = document(&reading);
        let whole = serde_json::to_string(&document).unwrap();
        assert!(!whole.contains("hunter2"));
        let mut settings = document.settings.iter();
        let listen = settings.find(|setting| setting.name == "SVC_LISTEN");
        let listen = serde_json::to_string_pretty(&listen).unwrap();
        insta::assert_snapshot!(listen, @r#"
        {
          "name": "SVC_LISTEN",
          "value": "0.0.0.0:80",
          "origin": "environment",
          "default": "127.0.0.1:8080",
          "help": "Where the API listens; port 0 takes any free one."
        }
        "#);
        insta::assert_snapshot!(serde_json::to_string(document.faults).unwrap(), @r#"[{"name":"SVC_LOG_FORMAT","message":"`yaml` is not json or text"}]"#);
    }
}
