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

/// What is not checked. A path that ends in `/` is a folder.
const UNCHECKED_PATHS: &[&str] = &[
    // An unchanged copy.
    "conformance/",
    // Texts of others.
    "LICENSE",
    "NOTICE",
    // The list above.
    "tools/tidy/src/words.rs",
    // Copies of queries, which are checked where they are written.
    "crates/store/.sqlx/",
    // Recorded requests, with prompts as callers write them, and recorded answers.
    "superset/corpus/anthropic.jsonl",
    "superset/corpus/gemini.jsonl",
    "superset/corpus/openai.jsonl",
    "superset/corpus/server.jsonl",
    "superset/plain_requests.jsonl",
    // A released description and a released migration never change.
    "openapi.released.json",
    "crates/store/migrations/control/0001_control.sql",
    "crates/store/migrations/control/0002_node.sql",
    "crates/store/migrations/control/0004_people.sql",
    "crates/store/migrations/shard/0001_shard.sql",
    "crates/store/migrations/shard/0004_providers.sql",
    "crates/store/migrations/shard/0005_pages.sql",
];

/// Names that package managers write.
const LOCK_FILES: &[&str] = &["Cargo.lock", "package-lock.json"];

pub fn find_banned_words(tree: &SourceTree) -> Vec<RuleViolation> {
    let words = BANNED_WORDS.iter();
    let words: Vec<String> = words
        .map(|(start, rest)| format!(" {start}{rest} "))
        .collect();
    let files = tree.files.iter().filter(|file| is_checked(file));
    files.flat_map(|file| check_file(file, &words)).collect()
}

/// A phrase can be broken over two lines, so each line is also read together with the next one.
fn check_file(file: &SourceFile, banned: &[String]) -> Vec<RuleViolation> {
    let lines: Vec<String> = file.text.lines().map(split_into_words).collect();
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).map_or(" ", String::as_str);
        let wrapped = format!("{}{next}", line.trim_end());
        for word in banned {
            let is_wrapped = || wrapped.contains(word) && !next.contains(word);
            if line.contains(word) || is_wrapped() {
                let what = format!(
                    "\"{}\" is not a plain word: see CONTRIBUTING.md",
                    word.trim()
                );
                findings.push(file.violation(index + 1, what));
            }
        }
    }
    findings
}

/// Files that are not UTF-8 have no text.
fn is_checked(file: &SourceFile) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let is_unchecked =
        |path: &&str| file.path == **path || (path.ends_with('/') && file.path.starts_with(*path));
    !LOCK_FILES.contains(&name) && !UNCHECKED_PATHS.iter().any(is_unchecked)
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
    use super::{BANNED_WORDS, UNCHECKED_PATHS, find_banned_words, split_into_words};
    use crate::source_tree::SourceTree;

    fn find_paths(files: &[(&str, &str)]) -> Vec<String> {
        let found = find_banned_words(&SourceTree::from_files(files));
        found.into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn every_banned_word_is_found_in_prose_and_in_names() {
        for (start, rest) in BANNED_WORDS {
            let word = format!("{start}{rest}");
            let prose = format!("It goes, {word}, and ends.");
            let name = format!("fn go_{}_home() {{}}", word.replace(' ', "_"));
            let unreleased = "crates/store/migrations/shard/0009_callbacks.sql";
            let paths = find_paths(&[
                ("README.md", &prose),
                ("a.rs", &name),
                ("conformance/a.py", &prose),
                ("crates/store/migrations/shard/0001_shard.sql", &prose),
                (unreleased, &prose),
            ]);
            assert_eq!(paths, ["README.md", "a.rs", unreleased], "{word}");
        }
    }

    #[test]
    fn files_of_every_kind_are_checked() {
        let (start, rest) = BANNED_WORDS.first().unwrap();
        let text = format!("# {start}{rest}");
        let checked = [
            ".ci/run",
            "chart/templates/_helpers.tpl",
            "chart/values.yaml",
            "clients/typescript/src/client.ts",
            "compose/start",
            "crates/dashboard/web/page.tsx",
            "docs/receiver.go",
            "llms.txt",
            "monitoring/grafana/money.json",
            "openapi.json",
            "packaging/debian/longshored.env",
            "packaging/debian/longshored.service.in",
            "packaging/image/Dockerfile",
            "tools/browser/bench.mjs",
        ];
        let files = checked.map(|path| (path, text.as_str()));
        assert_eq!(find_paths(&files), checked);
        let unchecked = UNCHECKED_PATHS.iter().map(|path| match *path {
            folder if folder.ends_with('/') => format!("{folder}a.json"),
            file => (*file).to_owned(),
        });
        for path in unchecked.chain(["fuzz/Cargo.lock".to_owned()]) {
            assert_eq!(find_paths(&[(&path, &text)]), [""; 0], "{path}");
        }
    }

    #[test]
    fn a_phrase_that_is_broken_over_two_lines_is_found_once() {
        let phrases = BANNED_WORDS
            .iter()
            .filter(|(start, _)| start.ends_with(' '));
        for (start, rest) in phrases {
            let wrapped = format!("/// It ends {start}\n/// {rest}.\n");
            let paragraphs = format!("It ends {start}\n\n{rest}.\n");
            let second = format!("It ends.\n{start}{rest}.\n");
            let files = [("a.rs", wrapped), ("b.md", paragraphs), ("c.ts", second)];
            let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
            let found = find_banned_words(&SourceTree::from_files(&files)).into_iter();
            let places: Vec<(String, usize)> = found.map(|it| (it.path, it.line)).collect();
            let expected = [("a.rs".to_owned(), 1), ("c.ts".to_owned(), 2)];
            assert_eq!(places, expected, "{start}{rest}");
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
