//! `docs/glossary.md`: every term links to a file that has its name.

use std::collections::BTreeSet;

use crate::lexer::lex;
use crate::names::list_public_items;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceTree;
use crate::words::split_into_words;

const GLOSSARY_PATH: &str = "docs/glossary.md";
const MIN_TERMS: usize = 45;

/// One row of the table: `| term | meaning | [file](path) |`.
struct GlossaryTerm<'text> {
    line: usize,
    /// In snake case: `password_reset`.
    name: String,
    path: &'text str,
}

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let Some(glossary) = tree.files.iter().find(|file| file.path == GLOSSARY_PATH) else {
        return vec![RuleViolation {
            path: GLOSSARY_PATH.to_owned(),
            line: 1,
            message: "is missing".to_owned(),
        }];
    };
    let terms = parse_terms(&glossary.text);
    let mut findings = Vec::new();
    let distinct = terms.iter().map(|term| &term.name).collect::<BTreeSet<_>>();
    if distinct.len() < MIN_TERMS {
        let count = distinct.len();
        let what = format!("has {count} different terms, at least {MIN_TERMS} are wanted");
        findings.push(glossary.violation(1, what));
    }
    for GlossaryTerm { line, name, path } in terms {
        let Some(file) = tree.files.iter().find(|file| file.path == path) else {
            findings.push(glossary.violation(line, format!("{path} does not exist")));
            continue;
        };
        let is_in_path = path.replace('-', "_").contains(&name);
        if !is_in_path && !public_names(&file.text).iter().any(|it| it.contains(&name)) {
            let what = format!("neither {path} nor a public item in it is named {name}");
            findings.push(glossary.violation(line, what));
        }
    }
    findings
}

fn parse_terms(text: &str) -> Vec<GlossaryTerm<'_>> {
    let rows = text.lines().enumerate().filter_map(|(index, line)| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let (term, place) = (cells.first()?, cells.get(2)?);
        let path = place.split_once("](")?.1.split(')').next()?;
        let name = term
            .trim_matches('`')
            .to_lowercase()
            .replace([' ', '-'], "_");
        let path = path.strip_prefix("../").unwrap_or(path);
        Some(GlossaryTerm {
            line: index + 1,
            name,
            path,
        })
    });
    rows.collect()
}

/// The names of public items of a file, in snake case.
fn public_names(text: &str) -> Vec<String> {
    let items = list_public_items(&lex(text)).into_iter();
    items.map(|item| to_snake_case(item.name)).collect()
}

fn to_snake_case(name: &str) -> String {
    split_into_words(name).trim().replace(' ', "_")
}

#[cfg(test)]
mod tests {
    use super::{GLOSSARY_PATH, MIN_TERMS, check};
    use crate::source_tree::SourceTree;

    fn violations(rows: &str, code: &str) -> Vec<String> {
        let numbers = || 0..MIN_TERMS;
        let filler = numbers().map(|it| format!("| cargo {it} | | [lib](../src/cargo.rs) |\n"));
        let filler = filler.collect::<Vec<_>>().concat();
        let items = numbers().map(|it| format!("pub fn cargo_{it}() {{}}\n"));
        let items = items.collect::<Vec<_>>().concat();
        let tree = SourceTree::from_files(&[
            (GLOSSARY_PATH, &format!("{rows}{filler}")),
            ("src/cargo.rs", &items),
            ("src/form.rs", code),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_term_is_in_the_path_or_in_a_public_name() {
        let rows = "| Password reset | words | [form](../src/form.rs) |\n";
        let none: [&str; 0] = [];
        assert_eq!(violations(rows, "pub fn start_password_reset() {}"), none);
        assert_eq!(
            violations(rows, "pub(crate) struct PasswordResetForm;"),
            none
        );
        let expected = "docs/glossary.md:1: neither src/form.rs nor a public item in it is named password_reset";
        assert_eq!(violations(rows, "fn password_reset() {}"), [expected]);
    }

    #[test]
    fn a_file_that_does_not_exist_is_found() {
        let rows = "| lease | words | [lease](../src/lease.rs) |\n";
        assert_eq!(
            violations(rows, ""),
            ["docs/glossary.md:1: src/lease.rs does not exist"]
        );
    }

    #[test]
    fn a_missing_or_short_glossary_is_found() {
        let missing = SourceTree::from_files(&[("README.md", "")]);
        assert_eq!(check(&missing).len(), 1);
        let one = "| cargo | | [a](../src/cargo.rs) |\n";
        for short in [one.to_owned(), one.repeat(MIN_TERMS)] {
            let short = SourceTree::from_files(&[(GLOSSARY_PATH, &short), ("src/cargo.rs", "")]);
            let found = check(&short).into_iter().map(|it| it.message);
            let expected = format!("has 1 different terms, at least {MIN_TERMS} are wanted");
            assert_eq!(found.collect::<Vec<_>>(), [expected]);
        }
    }
}
