//! Entries of the audit log as JSON lines.

use store::control::audit_log::AuditLogEntry;
use wire::audit::{AuditOutcome, AuditRecord};
use wire::timestamp::WireTimestamp;

/// One line per entry, each with a line feed at its end.
pub fn encode_lines(entries: Vec<AuditLogEntry>) -> serde_json::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut lines, &audit_record(entry))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn audit_record(entry: AuditLogEntry) -> AuditRecord {
    let is_refused = entry.action.ends_with(".refused");
    AuditRecord {
        id: entry.id,
        time: WireTimestamp(entry.at),
        outcome: if is_refused {
            AuditOutcome::Failure
        } else {
            AuditOutcome::Success
        },
        action: entry.action,
        actor: entry.actor,
        actor_id: entry.person.map(|id| id.to_string()),
        target: entry.subject,
        detail: entry.detail,
        organization_id: entry.organization.map(|id| id.to_string()),
        project_id: entry.project.map(|id| id.to_string()),
        address: entry.address,
        user_agent: entry.user_agent,
    }
}

#[cfg(test)]
mod tests {
    use domain::time::Timestamp;

    use super::*;

    fn entry(id: i64, action: &str) -> AuditLogEntry {
        AuditLogEntry {
            id,
            at: Timestamp::from_timestamp_micros(1_767_225_600_000_001).unwrap(),
            person: "usr_019b76da807b774b805000000000002a".parse().ok(),
            actor: "ada@example.com".to_owned(),
            address: Some("203.0.113.9".to_owned()),
            user_agent: None,
            organization: None,
            project: None,
            action: action.to_owned(),
            subject: "two\nlines".to_owned(),
            detail: String::new(),
        }
    }

    #[test]
    fn an_entry_is_one_line() {
        let lines = encode_lines(vec![entry(7, "key.created"), entry(9, "session.refused")]);
        let lines = String::from_utf8(lines.unwrap()).unwrap();
        insta::assert_snapshot!(lines, @r#"
        {"id":7,"time":"2026-01-01T00:00:00.000001Z","action":"key.created","outcome":"success","actor":"ada@example.com","actor_id":"usr_019b76da807b774b805000000000002a","target":"two\nlines","detail":"","organization_id":null,"project_id":null,"address":"203.0.113.9","user_agent":null}
        {"id":9,"time":"2026-01-01T00:00:00.000001Z","action":"session.refused","outcome":"failure","actor":"ada@example.com","actor_id":"usr_019b76da807b774b805000000000002a","target":"two\nlines","detail":"","organization_id":null,"project_id":null,"address":"203.0.113.9","user_agent":null}
        "#);
    }
}
