//! The kind of statement in a message.

use std::collections::HashMap;

use crate::harness::relays::pgwire::{PgMessage, split_strings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    Begin,
    Commit,
    Rollback,
    Other,
}

impl StatementKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Other => "other",
        }
    }

    fn classify(sql: &[u8]) -> Self {
        let text = String::from_utf8_lossy(sql).to_ascii_lowercase();
        let mut words = text.split(|letter: char| !letter.is_ascii_alphabetic());
        let first = words.find(|word| !word.is_empty()).unwrap_or_default();
        let is_last = |word: &str| text.trim_end_matches([';', ' ', '\n']).ends_with(word);
        match first {
            // Statements about a savepoint leave the transaction open.
            "rollback" if text.contains(" to ") => Self::Other,
            "rollback" | "abort" => Self::Rollback,
            "begin" | "start" if !is_last("commit") => Self::Begin,
            _ if is_last("commit") || first == "end" => Self::Commit,
            _ => Self::Other,
        }
    }
}

/// The statements that a session has prepared, and the one to be executed.
#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    prepared: HashMap<Vec<u8>, StatementKind>,
    bound: Option<StatementKind>,
    executed: Option<StatementKind>,
}

impl PreparedStatements {
    /// Reads a message; returns the executed statement once its group is complete.
    pub(super) fn observe(&mut self, message: &PgMessage) -> Option<StatementKind> {
        let mut words = split_strings(message.content());
        let (first, second) = (words.next(), words.next());
        let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
        match message.tag {
            b'Q' => return Some(StatementKind::classify(first)),
            b'P' => {
                let kind = StatementKind::classify(second);
                self.prepared.insert(first.to_vec(), kind);
            }
            b'B' => {
                let kind = self.prepared.get(second).copied();
                self.bound = Some(kind.unwrap_or(StatementKind::Other));
            }
            b'E' => self.executed = self.bound,
            b'S' => return self.executed.take(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::relays::pgwire;

    fn message(tag: u8, content: &[u8]) -> PgMessage {
        let bytes = pgwire::encode_message(tag, content);
        PgMessage { tag, bytes }
    }

    #[test]
    fn a_statement_is_known_by_its_first_word() {
        let of = |sql: &str| StatementKind::classify(sql.as_bytes());
        assert_eq!(of("BEGIN"), StatementKind::Begin);
        assert_eq!(
            of(" begin isolation level repeatable read"),
            StatementKind::Begin
        );
        assert_eq!(of("COMMIT"), StatementKind::Commit);
        assert_eq!(of("select 1; commit;"), StatementKind::Commit);
        assert_eq!(of("ROLLBACK"), StatementKind::Rollback);
        assert_eq!(of("rollback to savepoint one"), StatementKind::Other);
        assert_eq!(of("select 'beginning'"), StatementKind::Other);
    }

    #[test]
    fn a_prepared_statement_is_known_when_it_is_executed() {
        let mut statements = PreparedStatements::default();
        assert_eq!(
            statements.observe(&message(b'P', b"s1\0commit\0\0\0")),
            None
        );
        // Preparing executes nothing.
        assert_eq!(statements.observe(&message(b'S', b"")), None);
        assert_eq!(
            statements.observe(&message(b'B', b"\0s1\0\0\0\0\0\0\0")),
            None
        );
        assert_eq!(statements.observe(&message(b'E', b"\0\0\0\0\0")), None);
        let kind = statements.observe(&message(b'S', b""));
        assert_eq!(kind, Some(StatementKind::Commit));
    }
}
