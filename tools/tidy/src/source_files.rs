//! Rules for every source file: its length, its introduction and its imports.

use crate::lexer::TokenKind;
use crate::lexer::lex;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

/// Most files have about a hundred lines.
const MAX_LINES: usize = 400;

pub fn long_files(tree: &SourceTree) -> Vec<RuleViolation> {
    let hand_written = tree.files.iter().filter(|file| is_code(&file.path));
    hand_written
        .filter_map(|file| {
            let lines = file.text.lines().count();
            (lines > MAX_LINES)
                .then(|| file.violation(lines, format!("{lines} lines; split it at {MAX_LINES}")))
        })
        .collect()
}

/// The conformance tests are an unchanged copy.
fn is_code(path: &str) -> bool {
    let is_script = path.starts_with("scripts/") || path == "dev" || path == ".ci/run";
    !path.starts_with("conformance/")
        && (is_script
            || [".rs", ".sql", ".py", ".sh"]
                .iter()
                .any(|ending| path.ends_with(ending)))
}

/// `cargo.rs` next to `cargo/`, never `cargo/mod.rs`, so that the file name shows the module.
pub fn mod_files(tree: &SourceTree) -> Vec<RuleViolation> {
    let named = tree
        .rust_files()
        .filter(|file| file.path.ends_with("/mod.rs"));
    named
        .map(|file| file.violation(1, "a module is named after what it holds, not mod.rs"))
        .collect()
}

/// A file begins with a sentence that says what it is.
pub fn files_without_introduction(tree: &SourceTree) -> Vec<RuleViolation> {
    let introduced = |file: &&SourceFile| {
        let first = file.text.lines().next().unwrap_or_default();
        first
            .strip_prefix("//!")
            .is_some_and(|sentence| !sentence.trim().is_empty())
    };
    let bare = tree.rust_files().filter(|file| !introduced(file));
    bare.map(|file| file.violation(1, "the first line is not `//!` and a sentence"))
        .collect()
}

/// One module per line, so that a diff shows an unwanted dependency.
pub fn grouped_imports(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        for window in lex(&file.text).windows(4) {
            if let [import, root, mark, open] = window
                && import.kind == TokenKind::Word("use")
                && root.kind == TokenKind::Word("crate")
                && mark.kind == TokenKind::PathSeparator
                && open.is_punctuation('{')
            {
                findings.push(file.violation(import.line, "one module per `use crate::…;` line"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINES, files_without_introduction, grouped_imports, long_files, mod_files};
    use crate::source_tree::SourceTree;

    #[test]
    fn a_file_beyond_the_limit_is_found_and_one_at_it_is_not() {
        let at = "x\n".repeat(MAX_LINES);
        let beyond = "x\n".repeat(MAX_LINES + 1);
        let tree = SourceTree::from_files(&[
            ("crates/a/src/lib.rs", &at),
            ("crates/b/src/lib.rs", &beyond),
            ("scripts/up.sh", &beyond),
            ("dev", &beyond),
            ("conformance/conftest.py", &beyond),
            ("Cargo.lock", &beyond),
        ]);
        let paths: Vec<String> = long_files(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(paths, ["crates/b/src/lib.rs", "scripts/up.sh", "dev"]);
    }

    #[test]
    fn a_mod_file_is_found() {
        let tree =
            SourceTree::from_files(&[("crates/a/src/b/mod.rs", ""), ("crates/a/src/cmod.rs", "")]);
        assert_eq!(mod_files(&tree).len(), 1);
    }

    #[test]
    fn a_file_without_an_introduction_is_found() {
        let tree = SourceTree::from_files(&[
            ("a.rs", "//! What this is.\nfn f() {}"),
            ("b.rs", "// What this is.\n"),
            ("c.rs", ""),
            ("d.rs", "//!\nfn f() {}"),
        ]);
        let paths: Vec<String> = files_without_introduction(&tree)
            .into_iter()
            .map(|it| it.path)
            .collect();
        assert_eq!(paths, ["b.rs", "c.rs", "d.rs"]);
    }

    #[test]
    fn a_grouped_import_is_found_over_lines_too() {
        let tree = SourceTree::from_files(&[(
            "a.rs",
            "// use crate::{a};\nuse crate::\n{b, c};\nuse crate::d::{E, F};",
        )]);
        let lines: Vec<usize> = grouped_imports(&tree)
            .iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(lines, [2]);
    }
}
