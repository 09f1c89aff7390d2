//! The list of reason codes in the guide, made from the codes themselves.

use domain::reason_code::{FailureCode, WaitingCode};

/// Markdown for the end of the guide.
pub(super) fn reason_code_list() -> String {
    let waiting = WaitingCode::ALL.iter();
    let waiting = list_items(waiting.map(|it| (it.as_str(), it.description())));
    let failures = FailureCode::ALL.iter();
    let failures = list_items(failures.map(|it| (it.as_str(), it.description())));
    format!(
        "\n### Codes\n\n\
         Let programs compare codes: a code keeps its name and its meaning, while the text beside \
         it may change. New codes may be added. Show the text for a code that you do not know.\n\n\
         `waiting.code` in tracking says what a cargo waits for. Do not load the cargo again: it \
         is processed when that is over, or fails at its deadline.\n\n{waiting}\n\n\
         `error_code` in tracking and in the callback says why a cargo failed. A failed cargo \
         costs nothing. A cargo that failed before codes existed has no code.\n\n{failures}\n"
    )
}

fn list_items<'a>(codes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let items = codes.map(|(code, description)| format!("- `{code}`: {description}"));
    items.collect::<Vec<_>>().join("\n")
}
