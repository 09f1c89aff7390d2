//! What only a few files may touch: the clock, the environment, the database.

use crate::lexer::Kind;
use crate::lexer::lex;
use crate::paths::paths;
use crate::tree::File;
use crate::tree::Finding;
use crate::tree::Tree;

/// A name in code, the files that may use it, and what to do instead.
struct Border {
    names: &'static [&'static [&'static str]],
    allowed: &'static [&'static str],
    tests_may: bool,
    instead: &'static str,
}

const BORDERS: &[Border] = &[
    Border {
        names: &[&["SystemTime", "now"], &["Utc", "now"], &["Local", "now"]],
        // The simulator is a program of its own, with a clock of its own.
        allowed: &[
            "crates/server/src/clock",
            "crates/simulator/src/clock",
            "tools/trials/",
        ],
        tests_may: false,
        instead: "time is an argument; only server::clock reads the clock",
    },
    Border {
        names: &[
            &["env", "var"],
            &["env", "var_os"],
            &["env", "vars"],
            &["env", "vars_os"],
        ],
        // A build script is told by cargo(1) in no other way.
        allowed: &[
            "crates/server/src/settings",
            "crates/dashboard/build.rs",
            "tools/trials/",
        ],
        tests_may: true,
        instead: "only server::settings reads the environment",
    },
    Border {
        names: &[&["sqlx"]],
        allowed: &["crates/store/", "tools/trials/"],
        tests_may: true,
        instead: "only crate store knows the database",
    },
];

/// The database's own clock, in SQL.
const SQL_CLOCKS: &[&str] = &[
    "now()",
    "clock_timestamp()",
    "statement_timestamp()",
    "transaction_timestamp()",
    "timeofday()",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtimestamp",
    "localtime",
];

/// Where SQL may read it, and why.
const SQL_CLOCK_READERS: &[&str] = &[
    // Leases live by the database's clock: nodes need not agree on the time.
    "crates/store/src/shard/node",
    // A claim is made only while the lease of its node lasts.
    "crates/store/src/shard/lane",
    "crates/store/src/shard/batch/claim",
    "crates/store/src/shard/delivery",
    "crates/store/src/shard/file/claim",
    "crates/store/src/control/node",
    "crates/store/src/view/operations/nodes",
    // The pulse, and the lock that opens a group of loads, tell the offset to the shard,
    "crates/store/src/shard/pulse",
    "crates/store/src/shard/account",
    // and the feed of changes the one to control.
    "crates/store/src/control/change",
    // The doctor compares clocks.
    "crates/store/src/doctor",
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let tokens = lex(&file.text);
        let named = paths(&tokens);
        for border in BORDERS.iter().filter(|border| !border.opens_to(file)) {
            for path in &named {
                if border.names.iter().any(|name| path.names(name)) {
                    let what = format!("`{}`: {}", path.words.join("::"), border.instead);
                    findings.push(file.finding(path.line, what));
                }
            }
        }
    }
    findings
}

impl Border {
    fn opens_to(&self, file: &File) -> bool {
        (self.tests_may && file.is_test())
            || self
                .allowed
                .iter()
                .any(|start| file.path.starts_with(start))
    }
}

/// SQL takes the time as an argument, except where leases and offsets are made.
pub fn sql_clocks(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let bound = |file: &&File| {
        !SQL_CLOCK_READERS
            .iter()
            .any(|start| file.path.starts_with(start))
    };
    for file in tree.ending(".sql").filter(bound) {
        findings.extend(clocks_in(file, 1, &file.text));
    }
    let store = tree
        .rust()
        .filter(|file| file.path.starts_with("crates/store/src/"));
    for file in store.filter(|file| !file.is_test()).filter(bound) {
        for token in lex(&file.text) {
            if let Kind::Text(text) = token.kind {
                findings.extend(clocks_in(file, token.line, text));
            }
        }
    }
    findings
}

fn clocks_in(file: &File, first_line: usize, sql: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in sql.lines().enumerate() {
        let code = line.split("--").next().unwrap_or_default().to_lowercase();
        for clock in SQL_CLOCKS.iter().filter(|clock| says(&code, clock)) {
            let what = format!("`{clock}` in SQL: pass `now` in");
            findings.push(file.finding(first_line + index, what));
        }
    }
    findings
}

/// Whether the word stands there on its own, not as a part of a longer one.
fn says(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(start, _)| {
        let before = code.get(..start).and_then(|it| it.chars().next_back());
        let after = code
            .get(start + word.len()..)
            .and_then(|it| it.chars().next());
        !before.is_some_and(is_part) && (word.ends_with(')') || !after.is_some_and(is_part))
    })
}

#[cfg(test)]
mod tests {
    use super::{check, sql_clocks};
    use crate::tree::Tree;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn the_clock_is_read_in_one_place() {
        let call = "fn f() { std::time::SystemTime::now(); chrono::Utc::now(); }";
        assert_eq!(found("crates/api/src/load.rs", call), 2);
        assert_eq!(found("crates/api/tests/it/load.rs", call), 2);
        assert_eq!(found("crates/server/src/clock.rs", call), 0);
        assert_eq!(
            found(
                "crates/api/src/load.rs",
                "// SystemTime::now()\nuse std::time::SystemTime;"
            ),
            0
        );
    }

    #[test]
    fn the_environment_is_read_in_one_place() {
        assert_eq!(
            found("crates/store/src/lib.rs", "use std::env::{self, var};"),
            1
        );
        assert_eq!(
            found(
                "crates/store/src/lib.rs",
                "fn f() { env::var_os(\"X\"); env!(\"Y\"); }"
            ),
            1
        );
        assert_eq!(
            found(
                "crates/server/src/settings/read.rs",
                "fn f() { env::vars(); }"
            ),
            0
        );
        assert_eq!(
            found(
                "crates/store/tests/it/main.rs",
                "fn f() { env::var(\"X\"); }"
            ),
            0
        );
    }

    #[test]
    fn the_database_is_known_in_one_crate() {
        assert_eq!(
            found(
                "crates/api/src/load.rs",
                "fn f() { sqlx::query!(\"select 1\"); }"
            ),
            1
        );
        assert_eq!(
            found(
                "crates/workers/src/gather.rs",
                "use ::sqlx::{PgPool, query};"
            ),
            2
        );
        assert_eq!(found("crates/store/src/lib.rs", "use sqlx::PgPool;"), 0);
        assert_eq!(
            found("crates/server/tests/it/support.rs", "use sqlx::PgPool;"),
            0
        );
    }

    #[test]
    fn sql_takes_the_time_as_an_argument() {
        let lines = |path, text| -> Vec<usize> {
            sql_clocks(&Tree::of(&[(path, text)]))
                .iter()
                .map(|finding| finding.line)
                .collect()
        };
        let query = "query!(\n\"select 1\n where at < now()\")";
        assert_eq!(lines("crates/store/src/shard/usage.rs", query), [3]);
        assert_eq!(lines("crates/store/src/shard/node.rs", query), [0; 0]);
        assert_eq!(
            lines(
                "crates/store/migrations/shard/1.sql",
                "-- now()\nat default CURRENT_TIMESTAMP,"
            ),
            [2]
        );
        assert_eq!(
            lines(
                "crates/store/src/lib.rs",
                "fn f() { clock.now(); \"by_now() snow()\"; }"
            ),
            [0; 0]
        );
    }
}
