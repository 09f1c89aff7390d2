//! APIs that only a few files may use: the clock, the environment, the database.

use crate::code_paths::named_paths;
use crate::lexer::TokenKind;
use crate::lexer::lex;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

/// Names in code, the files that may use them, and what to do instead.
struct ApiRestriction {
    names: &'static [&'static [&'static str]],
    allowed_paths: &'static [&'static str],
    is_allowed_in_tests: bool,
    instead: &'static str,
}

const API_RESTRICTIONS: &[ApiRestriction] = &[
    ApiRestriction {
        names: &[&["SystemTime", "now"], &["Utc", "now"], &["Local", "now"]],
        // The simulator and the command line are separate programs with their own clocks.
        allowed_paths: &[
            "crates/cli/src/clock",
            "crates/server/src/clock",
            "crates/simulator/src/clock",
            "tools/trials/",
        ],
        is_allowed_in_tests: false,
        instead: "time is an argument; only server::clock reads the clock",
    },
    ApiRestriction {
        names: &[
            &["env", "var"],
            &["env", "var_os"],
            &["env", "vars"],
            &["env", "vars_os"],
        ],
        // cargo(1) passes its values to a build script only in this way.
        allowed_paths: &[
            "crates/cli/src/environment",
            "crates/cli/tests/it/environment",
            "crates/server/src/settings",
            "crates/dashboard/build.rs",
            "crates/test-support/src/environment",
            "tools/trials/",
        ],
        is_allowed_in_tests: false,
        instead: "only server::settings reads the environment, and test_support::environment in tests",
    },
    ApiRestriction {
        names: &[&["sqlx"]],
        allowed_paths: &[
            "crates/store/",
            "crates/test-support/src/database",
            "tools/trials/",
        ],
        is_allowed_in_tests: true,
        instead: "only the crate store uses the database",
    },
];

/// The database's own clock, in SQL.
const SQL_CLOCK_FUNCTIONS: &[&str] = &[
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

/// The files whose SQL may read it, with the reason.
const SQL_CLOCK_READERS: &[&str] = &[
    // Leases use the database's clock, so the clocks of nodes may differ.
    "crates/store/src/shard/node",
    // A claim checks that the lease of its node has not expired.
    "crates/store/src/shard/lane",
    "crates/store/src/shard/batch/claim",
    "crates/store/src/shard/delivery",
    // Readers of the feed look back from the time of its writers, whose clocks may differ.
    "crates/store/src/shard/feed",
    "crates/store/migrations/shard/0012_callers",
    // Workers and servers see whether a listener is alive, and their clocks may differ.
    "crates/store/src/shard/listener",
    "crates/store/src/shard/handover",
    "crates/store/src/shard/file/claim",
    "crates/store/src/control/node",
    "crates/store/src/view/operations/nodes",
    // These measure the clock offset to the shard,
    "crates/store/src/shard/clock",
    "crates/store/src/shard/account",
    // and this one the offset to control.
    "crates/store/src/control/change_feed",
    // The doctor compares clocks.
    "crates/store/src/doctor",
];

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let tokens = lex(&file.text);
        let named = named_paths(&tokens);
        for border in API_RESTRICTIONS
            .iter()
            .filter(|border| !border.allows(file))
        {
            for path in &named {
                if border.names.iter().any(|name| path.contains(name)) {
                    let what = format!("`{}`: {}", path.words.join("::"), border.instead);
                    findings.push(file.violation(path.line, what));
                }
            }
        }
    }
    findings
}

impl ApiRestriction {
    fn allows(&self, file: &SourceFile) -> bool {
        (self.is_allowed_in_tests && file.is_test())
            || self
                .allowed_paths
                .iter()
                .any(|start| file.path.starts_with(start))
    }
}

/// SQL takes the time as an argument, except for leases and clock offsets.
pub fn sql_clocks(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    let bound = |file: &&SourceFile| {
        !SQL_CLOCK_READERS
            .iter()
            .any(|start| file.path.starts_with(start))
    };
    for file in tree.files_ending_with(".sql").filter(bound) {
        findings.extend(find_clocks(file, 1, &file.text));
    }
    let store = tree
        .rust_files()
        .filter(|file| file.path.starts_with("crates/store/src/"));
    for file in store.filter(|file| !file.is_test()).filter(bound) {
        for token in lex(&file.text) {
            if let TokenKind::StringLiteral(text) = token.kind {
                findings.extend(find_clocks(file, token.line, text));
            }
        }
    }
    findings
}

fn find_clocks(file: &SourceFile, first_line: usize, sql: &str) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for (index, line) in sql.lines().enumerate() {
        let code = line.split("--").next().unwrap_or_default().to_lowercase();
        for clock in SQL_CLOCK_FUNCTIONS
            .iter()
            .filter(|clock| contains_word(&code, clock))
        {
            let what = format!("`{clock}` in SQL: pass `now` in");
            findings.push(file.violation(first_line + index, what));
        }
    }
    findings
}

/// Whether the word occurs as a whole, not as a part of a longer one.
fn contains_word(code: &str, word: &str) -> bool {
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
    use crate::source_tree::SourceTree;

    fn found(path: &str, text: &str) -> usize {
        check(&SourceTree::from_files(&[(path, text)])).len()
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
        let call = "fn f() { env::var(\"X\"); }";
        assert_eq!(found("crates/store/tests/it/main.rs", call), 1);
        assert_eq!(found("crates/test-support/src/environment.rs", call), 0);
    }

    #[test]
    fn the_database_is_used_in_one_crate() {
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
            sql_clocks(&SourceTree::from_files(&[(path, text)]))
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
