//! Words that no name, comment, text or document may use.

use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

/// Whole words and phrases, in two halves so that a search for them does not find this file.
const BANNED_WORDS: &[(&str, &str)] = &[
    ("who", "ever"),
    ("some", "body"),
    ("no", "body"),
    ("a", "new"),
    ("me", "nd"),
    ("me", "nds"),
    ("me", "nded"),
    ("in ", "vain"),
    ("by ", "itself"),
    ("what ", "waits"),
    ("in ", "peace"),
    ("desk", ""),
    ("cre", "w"),
    ("qu", "ay"),
    ("har", "bour"),
    ("sto", "wed"),
];

const TEXT_FILE_ENDINGS: &[&str] = &[
    ".rs", ".md", ".html", ".js", ".mjs", ".css", ".py", ".sh", ".sql", ".toml", ".lua", ".yml",
];

/// Migrations that were released with such words. A released migration never changes.
const FROZEN_MIGRATIONS: &[&str] = &[
    "control/0001_control.sql",
    "control/0002_node.sql",
    "control/0004_people.sql",
    "shard/0001_shard.sql",
    "shard/0004_providers.sql",
    "shard/0005_pages.sql",
];

pub fn find_banned_words(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_checked(file)) {
        for (index, line) in file.text.lines().enumerate() {
            let words = split_into_words(line);
            for (start, rest) in BANNED_WORDS {
                if words.contains(&format!(" {start}{rest} ")) {
                    let what =
                        format!("\"{start}{rest}\" is not a plain word: see CONTRIBUTING.md");
                    findings.push(file.violation(index + 1, what));
                }
            }
        }
    }
    findings
}

/// The conformance tests are an unchanged copy.
fn is_checked(file: &SourceFile) -> bool {
    let is_text = TEXT_FILE_ENDINGS
        .iter()
        .any(|ending| file.path.ends_with(ending));
    let is_ours = !file.path.starts_with("conformance/") && file.path != "tools/tidy/src/words.rs";
    let migration = file.path.strip_prefix("crates/store/migrations/");
    let is_frozen = migration.is_some_and(|it| FROZEN_MIGRATIONS.contains(&it));
    is_ours && !is_frozen && (is_text || file.path == "dev" || file.path == ".ci/run")
}

/// A line as lower-case words with one space around each. Names are split into words.
pub(crate) fn split_into_words(line: &str) -> String {
    let mut words = String::from(" ");
    let mut after_small = false;
    for character in line.chars() {
        if after_small && character.is_uppercase() {
            words.push(' ');
        }
        after_small = character.is_lowercase();
        if character.is_alphanumeric() {
            words.extend(character.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{BANNED_WORDS, find_banned_words, split_into_words};
    use crate::source_tree::SourceTree;

    #[test]
    fn every_banned_word_is_found_in_prose_and_in_names() {
        for (start, rest) in BANNED_WORDS {
            let word = format!("{start}{rest}");
            let prose = format!("It goes, {word}, and ends.");
            let name = format!("fn go_{}_home() {{}}", word.replace(' ', "_"));
            let tree = SourceTree::from_files(&[
                ("README.md", &prose),
                ("a.rs", &name),
                ("conformance/a.py", &prose),
                ("crates/store/migrations/shard/0001_shard.sql", &prose),
                ("crates/store/migrations/shard/0009_callbacks.sql", &prose),
            ]);
            let paths: Vec<String> = find_banned_words(&tree)
                .into_iter()
                .map(|it| it.path)
                .collect();
            let unreleased = "crates/store/migrations/shard/0009_callbacks.sql";
            assert_eq!(paths, ["README.md", "a.rs", unreleased], "{word}");
        }
    }

    #[test]
    fn a_word_inside_another_is_no_finding() {
        let tree =
            SourceTree::from_files(&[("a.md", "recommend, amendment, screwdriver, desktop")]);
        assert_eq!(find_banned_words(&tree), []);
    }

    #[test]
    fn a_name_is_split_into_words() {
        assert_eq!(
            split_into_words("fn findNext_lane(x)"),
            " fn find next lane x "
        );
    }
}
