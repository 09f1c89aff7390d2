//! One result as one line.

use store::shard::group::GroupResultRow;
use wire::completion::UsageBody;
use wire::group::{GroupResultCost, GroupResultLine};
use wire::timestamp::WireTimestamp;
use wire::tracking::raw_json;

/// What some readers take for the end of a line, and what is written instead. A line break is never
/// part of a JSON string; the other characters are.
const LINE_BREAKS: [(&str, &str); 5] = [
    ("\n", " "),
    ("\r", " "),
    ("\u{85}", "\\u0085"),
    ("\u{2028}", "\\u2028"),
    ("\u{2029}", "\\u2029"),
];

/// None if the cargo is not completed.
pub(super) fn result_line(row: GroupResultRow) -> Option<GroupResultLine> {
    let (number, completed_at, outcome) = (row.number?, row.completed_at?, row.outcome?);
    let (position, success) = (row.position, outcome.success);
    let body = row.erased_at.is_none().then_some(outcome.body);
    let (response, error) = if success { (body, None) } else { (None, body) };
    Some(GroupResultLine {
        number,
        position,
        custom_id: row.custom_id.unwrap_or_else(|| position.to_string()),
        cargo_id: row.cargo.to_string(),
        success,
        response: response.and_then(raw_json),
        error: error.map(|text| String::from_utf8_lossy(&text).into_owned()),
        error_code: outcome.failure_code.filter(|_| !success),
        usage: UsageBody::from(outcome.usage),
        cost: GroupResultCost::from(outcome.charged),
        model: row.model,
        created_at: WireTimestamp(row.created_at),
        completed_at: WireTimestamp(completed_at),
        metadata: row.metadata.and_then(raw_json),
        erased_at: row.erased_at.map(WireTimestamp),
        params: row.params.and_then(raw_json),
    })
}

/// Adds JSON as one line.
pub(super) fn push_line(json: &[u8], lines: &mut Vec<u8>) {
    let is_suspect = |byte: &u8| matches!(*byte, b'\n' | b'\r' | 0xC2 | 0xE2);
    let mut rest = json;
    while let Some(at) = rest.iter().position(is_suspect) {
        let (plain, suspect) = rest.split_at(at);
        lines.extend_from_slice(plain);
        let found = LINE_BREAKS.iter().find_map(|(found, replacement)| {
            let after = suspect.strip_prefix(found.as_bytes())?;
            Some((replacement.as_bytes(), after))
        });
        let (written, after) = found.unwrap_or_else(|| suspect.split_at(1));
        lines.extend_from_slice(written);
        rest = after;
    }
    lines.extend_from_slice(rest);
    lines.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_for_every_reader() {
        let json = "{\"a\":\r\n \"x\u{85}y\u{2028}z\u{2029} ü… é\u{2027}\"}";
        let mut lines = Vec::new();
        push_line(json.as_bytes(), &mut lines);
        let text = String::from_utf8(lines).unwrap();
        let expected = "{\"a\":   \"x\\u0085y\\u2028z\\u2029 ü… é\u{2027}\"}\n";
        assert_eq!(text, expected);
        let before: serde_json::Value = serde_json::from_str(json).unwrap();
        let after: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(before, after);
    }
}
