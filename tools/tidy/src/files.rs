//! What every source file looks like: short, introduced, and one module per import.

use crate::lexer::Kind;
use crate::lexer::lex;
use crate::tree::File;
use crate::tree::Finding;
use crate::tree::Tree;

/// Lines that a reader can hold; most files stay near a hundred.
const LONGEST: usize = 400;

pub fn too_long(tree: &Tree) -> Vec<Finding> {
    let hand_written = tree.files.iter().filter(|file| is_code(&file.path));
    hand_written
        .filter_map(|file| {
            let lines = file.text.lines().count();
            (lines > LONGEST)
                .then(|| file.finding(lines, format!("{lines} lines; split it at {LONGEST}")))
        })
        .collect()
}

/// The conformance tests are a copy that we do not change.
fn is_code(path: &str) -> bool {
    let is_script = path.starts_with("scripts/") || path == "dev" || path == ".ci/run";
    !path.starts_with("conformance/")
        && (is_script
            || [".rs", ".sql", ".py", ".sh"]
                .iter()
                .any(|ending| path.ends_with(ending)))
}

/// `cargo.rs` beside `cargo/`, never `cargo/mod.rs`: a tab's name says which file it is.
pub fn named_mod(tree: &Tree) -> Vec<Finding> {
    let named = tree.rust().filter(|file| file.path.ends_with("/mod.rs"));
    named
        .map(|file| file.finding(1, "a module is named after what it holds, not mod.rs"))
        .collect()
}

/// A file opens with one sentence: what this is.
pub fn without_introduction(tree: &Tree) -> Vec<Finding> {
    let introduced = |file: &&File| {
        let first = file.text.lines().next().unwrap_or_default();
        first
            .strip_prefix("//!")
            .is_some_and(|sentence| !sentence.trim().is_empty())
    };
    let bare = tree.rust().filter(|file| !introduced(file));
    bare.map(|file| file.finding(1, "the first line is not `//!` and a sentence"))
        .collect()
}

/// One module per line, so that an unwanted arrow is seen in a diff.
pub fn grouped_imports(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for window in lex(&file.text).windows(4) {
            if let [import, root, mark, open] = window
                && import.kind == Kind::Word("use")
                && root.kind == Kind::Word("crate")
                && mark.kind == Kind::PathMark
                && open.is('{')
            {
                findings.push(file.finding(import.line, "one module per `use crate::…;` line"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, grouped_imports, named_mod, too_long, without_introduction};
    use crate::tree::Tree;

    #[test]
    fn a_file_beyond_the_limit_is_found_and_one_at_it_is_not() {
        let at = "x\n".repeat(LONGEST);
        let beyond = "x\n".repeat(LONGEST + 1);
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", &at),
            ("crates/b/src/lib.rs", &beyond),
            ("scripts/up.sh", &beyond),
            ("dev", &beyond),
            ("conformance/conftest.py", &beyond),
            ("Cargo.lock", &beyond),
        ]);
        let paths: Vec<String> = too_long(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        assert_eq!(paths, ["crates/b/src/lib.rs", "scripts/up.sh", "dev"]);
    }

    #[test]
    fn a_mod_file_is_found() {
        let tree = Tree::of(&[("crates/a/src/b/mod.rs", ""), ("crates/a/src/cmod.rs", "")]);
        assert_eq!(named_mod(&tree).len(), 1);
    }

    #[test]
    fn a_file_without_an_introduction_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "//! What this is.\nfn f() {}"),
            ("b.rs", "// What this is.\n"),
            ("c.rs", ""),
            ("d.rs", "//!\nfn f() {}"),
        ]);
        let paths: Vec<String> = without_introduction(&tree)
            .into_iter()
            .map(|it| it.path)
            .collect();
        assert_eq!(paths, ["b.rs", "c.rs", "d.rs"]);
    }

    #[test]
    fn a_grouped_import_is_found_over_lines_too() {
        let tree = Tree::of(&[(
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
