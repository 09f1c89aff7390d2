//! The page docs/settings.md: every setting, as `longshored config --markdown` prints it.

use std::fmt::Write as _;

use crate::settings::table::{SettingDeclaration, SettingDisplay, TABLE};

/// The title of each section and the setting that begins it, in the order of the table.
const SECTIONS: &[(&str, &str)] = &[
    ("Databases", "SVC_DATABASE_URL"),
    ("Encryption at rest", "SVC_MASTER_KEY_FILE"),
    ("Redis and encrypted connections", "SVC_REDIS_URL"),
    ("Clocks for tests", "SVC_LIMITER_CLOCK_MICROSECONDS"),
    ("Addresses, people and sign-in", "SVC_LISTEN"),
    ("Environment, licence and plans", "SVC_ENVIRONMENT"),
    ("Models and providers", "SVC_MODELS_FILE"),
    ("Callbacks", "SVC_CALLBACK_RETRY_DELAYS"),
    ("Files", "SVC_OBJECTS_URL"),
    ("Limits on requests", "SVC_MAX_BODY_BYTES"),
    ("Batches, retention and shutdown", "SVC_BATCH_MAX_ITEMS"),
    ("Logs", "SVC_LOG"),
    ("Tracing", "SVC_TRACING_ENDPOINT"),
];

const INTRODUCTION: &str = "# Settings

Longshore is configured with environment variables. This page lists all of them; `./dev settings-page` writes it from the \
table in the code. [Running Longshore](running.md) says which you need, and how they work together.

- `longshored config` prints every setting with its value, its origin and its meaning, and never a secret.
- A variable that is empty counts as not set. A variable that begins with `SVC_` and is not listed here is an error at start.
- All invalid settings are reported together, before anything starts.
- Values are read at start. The files of the catalogue and the licence are read again on SIGHUP.";

/// Settings of the chaos build, which is for tests.
const CHAOS_PREFIX: &str = "SVC_CHAOS_";

pub fn render_markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    let settings = TABLE.iter();
    for setting in settings.filter(|setting| !setting.name.starts_with(CHAOS_PREFIX)) {
        let section = SECTIONS.iter().find(|(_, first)| *first == setting.name);
        // Writing to a string cannot fail.
        if let Some((title, _)) = section {
            let _written = write!(
                page,
                "\n\n## {title}\n\n| Setting | Default | Meaning |\n|---|---|---|"
            );
        }
        let _written = write!(page, "\n{}", render_row(setting));
    }
    page
}

fn render_row(setting: &SettingDeclaration) -> String {
    let default = match setting.default {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    let note = match setting.display {
        SettingDisplay::Plain => "",
        SettingDisplay::Masked => " Its password is never shown.",
        SettingDisplay::Hidden => " It is never shown.",
    };
    let help = setting.help.replace('|', "\\|");
    format!("| `{}` | {default} | {help}{note} |", setting.name)
}

#[cfg(test)]
mod tests {
    use super::{SECTIONS, render_markdown};
    use crate::settings::table::TABLE;

    const PAGE: &str = include_str!("../../../docs/settings.md");

    #[test]
    fn the_page_is_current() {
        let page = render_markdown() + "\n";
        assert!(
            page == PAGE,
            "docs/settings.md is stale: ./dev settings-page"
        );
    }

    #[test]
    fn every_section_begins_with_a_setting_in_the_order_of_the_table() {
        let place = |name: &str| TABLE.iter().position(|setting| setting.name == name);
        let places: Vec<_> = SECTIONS.iter().map(|&(_, first)| place(first)).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(places.first(), Some(&Some(0)));
        assert!(places.iter().all(Option::is_some), "{places:?}");
    }
}
