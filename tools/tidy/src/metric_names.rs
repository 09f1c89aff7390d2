//! Metrics: what the code emits is in the catalogue, and has the kind and the labels of its page.
//!
//! A test of the server compares the catalogue with the page.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer::RustToken;
use crate::lexer::TokenKind;
use crate::lexer::lex;
use crate::lexer::without_tests;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

const CATALOGUE_FOLDER: &str = "crates/server/src/metrics/catalogue/";
/// It registers metrics, so a metric in it is not emitted yet.
const REGISTRY_PATH: &str = "crates/server/src/metrics/catalogue.rs";
const PAGE_PATH: &str = "docs/metrics.md";
const PREFIX: &str = "longshore_";
/// The macros are called like the types of metrics.
const MACROS: &[&str] = &["counter", "gauge", "histogram"];

/// A call such as `counter!("longshore_files_ready_total", "shard" => name)`.
struct EmittedMetric<'text> {
    line: usize,
    kind: &'text str,
    /// None: neither a literal nor a constant of the file.
    name: Option<&'text str>,
    labels: BTreeSet<&'text str>,
}

/// A row of the page.
struct DocumentedMetric<'text> {
    kind: &'text str,
    labels: BTreeSet<&'text str>,
}

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let page = tree.files.iter().find(|file| file.path == PAGE_PATH);
    let page = parse_page(page.map_or("", |file| &file.text));
    let code = tree.rust_files().filter(|file| {
        file.path.starts_with("crates/") && file.path.contains("/src/") && !file.is_test()
    });
    let (catalogue, code): (Vec<&SourceFile>, Vec<&SourceFile>) =
        code.partition(|file| file.path.starts_with(CATALOGUE_FOLDER));
    let mut listed = Vec::new();
    for file in catalogue {
        let names = metric_literals(&lex(&file.text)).into_iter();
        listed.extend(names.map(|(line, name)| (file, line, name)));
    }
    let names: BTreeSet<&str> = listed.iter().map(|(_, _, name)| *name).collect();
    let mut findings = Vec::new();
    let mut emitted_names = BTreeSet::new();
    for file in code {
        let (tokens, _) = without_tests(&lex(&file.text));
        for (line, name) in metric_literals(&tokens) {
            if !names.contains(name) {
                findings.push(file.violation(line, format!("{name} is not in the catalogue")));
            }
        }
        for metric in emitted_metrics(&tokens) {
            findings.extend(check_metric(file, &metric, &page));
            if file.path != REGISTRY_PATH {
                emitted_names.extend(metric.name);
            }
        }
    }
    for (file, line, name) in listed {
        if !emitted_names.contains(name) {
            findings.push(file.violation(line, format!("{name} is never emitted")));
        }
    }
    findings
}

fn check_metric(
    file: &SourceFile,
    metric: &EmittedMetric<'_>,
    page: &BTreeMap<&str, DocumentedMetric<'_>>,
) -> Option<RuleViolation> {
    let Some(name) = metric.name else {
        if file.path == REGISTRY_PATH {
            return None;
        }
        let what = "the name of a metric is a literal, or a constant of the file";
        return Some(file.violation(metric.line, what));
    };
    let what = match page.get(name) {
        None => format!("{name} is not in {PAGE_PATH}"),
        Some(documented) if documented.kind != metric.kind => {
            format!("{name} is a {} in {PAGE_PATH}", documented.kind)
        }
        Some(documented) if documented.labels != metric.labels => {
            let labels = &documented.labels;
            format!("{name} has the labels {labels:?} in {PAGE_PATH}")
        }
        Some(_) => return None,
    };
    Some(file.violation(metric.line, what))
}

/// A line such as "| `longshore_cargo_loaded_total` | counter | `shard` | Accepted cargo. |".
fn parse_page(text: &str) -> BTreeMap<&str, DocumentedMetric<'_>> {
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, kind, labels, ..] = *cells.as_slice() else {
            return None;
        };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let labels = labels
            .split(',')
            .map(|label| label.trim().trim_matches('`'));
        let labels = labels.filter(|label| !label.is_empty()).collect();
        Some((name, DocumentedMetric { kind, labels }))
    });
    rows.filter(|(name, _)| name.starts_with(PREFIX)).collect()
}

/// All literals that are the name of a metric, with their lines.
fn metric_literals<'text>(tokens: &[RustToken<'text>]) -> Vec<(usize, &'text str)> {
    let is_name = |text: &str| {
        let mut rest = text.chars();
        text.starts_with(PREFIX) && rest.all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    let literals = tokens.iter().filter_map(|token| match token.kind {
        TokenKind::StringLiteral(text) if is_name(text) => Some((token.line, text)),
        TokenKind::StringLiteral(_)
        | TokenKind::Word(_)
        | TokenKind::Punctuation(_)
        | TokenKind::PathSeparator => None,
    });
    literals.collect()
}

fn emitted_metrics<'text>(tokens: &[RustToken<'text>]) -> Vec<EmittedMetric<'text>> {
    let constants = string_constants(tokens);
    let mut found = Vec::new();
    for (index, window) in tokens.windows(3).enumerate() {
        let [called, bang, open] = window else {
            continue;
        };
        let TokenKind::Word(kind) = called.kind else {
            continue;
        };
        if !MACROS.contains(&kind) || !bang.is_punctuation('!') || !open.is_punctuation('(') {
            continue;
        }
        let arguments = tokens.get(index + 3..).unwrap_or_default();
        let name = match arguments {
            [name, next, ..] if next.is_punctuation(',') || next.is_punctuation(')') => {
                resolve_name(name, &constants)
            }
            _ => None,
        };
        found.push(EmittedMetric {
            line: called.line,
            kind,
            name,
            labels: label_keys(arguments),
        });
    }
    found
}

fn resolve_name<'text>(
    token: &RustToken<'text>,
    constants: &BTreeMap<&'text str, &'text str>,
) -> Option<&'text str> {
    match token.kind {
        TokenKind::StringLiteral(name) => Some(name),
        TokenKind::Word(constant) => constants.get(constant).copied(),
        TokenKind::Punctuation(_) | TokenKind::PathSeparator => None,
    }
}

/// `const NAME: &str = "value";` and the like.
fn string_constants<'text>(tokens: &[RustToken<'text>]) -> BTreeMap<&'text str, &'text str> {
    let mut found = BTreeMap::new();
    for (index, window) in tokens.windows(2).enumerate() {
        let [keyword, name] = window else { continue };
        let TokenKind::Word(name) = name.kind else {
            continue;
        };
        if keyword.kind != TokenKind::Word("const") {
            continue;
        }
        let mut rest = tokens
            .iter()
            .skip(index)
            .take_while(|it| !it.is_punctuation(';'));
        if let Some(value) = rest.find_map(|token| match token.kind {
            TokenKind::StringLiteral(value) => Some(value),
            TokenKind::Word(_) | TokenKind::Punctuation(_) | TokenKind::PathSeparator => None,
        }) {
            found.insert(name, value);
        }
    }
    found
}

/// The keys before `=>`, up to the end of the call. Keys in its arguments are not its own.
fn label_keys<'text>(arguments: &[RustToken<'text>]) -> BTreeSet<&'text str> {
    let mut keys = BTreeSet::new();
    let mut depth = 1_usize;
    for window in arguments.windows(3) {
        let [first, equals, arrow] = window else {
            continue;
        };
        match first.kind {
            TokenKind::Punctuation('(' | '[' | '{') => depth += 1,
            TokenKind::Punctuation(')' | ']' | '}') => depth -= 1,
            TokenKind::StringLiteral(key)
                if depth == 1 && equals.is_punctuation('=') && arrow.is_punctuation('>') =>
            {
                keys.insert(key);
            }
            TokenKind::StringLiteral(_)
            | TokenKind::Word(_)
            | TokenKind::Punctuation(_)
            | TokenKind::PathSeparator => {}
        }
        if depth == 0 {
            break;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::{CATALOGUE_FOLDER, PAGE_PATH, REGISTRY_PATH, check};
    use crate::source_tree::SourceTree;

    const PAGE: &str = "\
        | `longshore_cargo_total` | counter | `shard`, `stage` | Cargo. |\n\
        | `longshore_listeners` | gauge |  | Listeners. |\n";
    const CATALOGUE: &str = r#"&[(Counter, "longshore_cargo_total", "Cargo."),
        (Gauge, "longshore_listeners", "Listeners.")]"#;
    const CORRECT: &str = r#"
        const LISTENERS: &str = "longshore_listeners";
        fn emit() {
            metrics::counter!("longshore_cargo_total", "stage" => name(match x { "a" => 1 }), "shard" => shard)
                .increment(1);
            gauge!(LISTENERS).set(1.0);
        }"#;

    fn violations(code: &str) -> Vec<String> {
        let catalogue = format!("{CATALOGUE_FOLDER}work.rs");
        let tree = SourceTree::from_files(&[
            (PAGE_PATH, PAGE),
            (&catalogue, CATALOGUE),
            (
                REGISTRY_PATH,
                r#"fn start() { gauge!("longshore_listeners"); counter!(*name); }"#,
            ),
            ("crates/a/src/b.rs", code),
            (
                "crates/a/tests/c.rs",
                r#"const X: &str = "longshore_test_total";"#,
            ),
            (
                "tools/a/src/c.rs",
                r#"const X: &str = "longshore_tool_total";"#,
            ),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    fn assert_found(code: &str, expected: &str) {
        assert_eq!(violations(code), [expected], "{code}");
    }

    #[test]
    fn metrics_as_on_their_page_are_no_finding() {
        assert_eq!(violations(CORRECT), [""; 0]);
        let tested = r#"#[cfg(test)] mod tests { const X: &str = "longshore_test_total"; }"#;
        assert_eq!(violations(&format!("{CORRECT}\n{tested}")), [""; 0]);
        let database = r#"format!("longshore_test_{number}")"#;
        assert_eq!(violations(&format!("{CORRECT}\n{database}")), [""; 0]);
    }

    #[test]
    fn a_name_outside_the_catalogue_is_found() {
        let planted = format!("{CORRECT}\nconst X: &str = \"longshore_planted_total\";");
        assert_found(
            &planted,
            "crates/a/src/b.rs:8: longshore_planted_total is not in the catalogue",
        );
    }

    #[test]
    fn a_listed_metric_that_is_only_registered_is_found() {
        let catalogue = format!("{CATALOGUE_FOLDER}work.rs");
        assert_found(
            &CORRECT.replace("gauge!(LISTENERS)", "listeners()"),
            &format!("{catalogue}:2: longshore_listeners is never emitted"),
        );
    }

    #[test]
    fn other_labels_and_kinds_than_on_the_page_are_found() {
        assert_found(
            &CORRECT.replace(r#", "shard" => shard"#, ""),
            "crates/a/src/b.rs:4: longshore_cargo_total has the labels {\"shard\", \"stage\"} in docs/metrics.md",
        );
        assert_found(
            &CORRECT.replace(
                "gauge!(LISTENERS)",
                r#"gauge!(LISTENERS, "shard" => shard)"#,
            ),
            "crates/a/src/b.rs:6: longshore_listeners has the labels {} in docs/metrics.md",
        );
        assert_found(
            &CORRECT.replace("gauge!(LISTENERS)", "counter!(LISTENERS)"),
            "crates/a/src/b.rs:6: longshore_listeners is a gauge in docs/metrics.md",
        );
    }

    #[test]
    fn a_name_that_cannot_be_read_is_found() {
        let passed = format!("{CORRECT}\nfn set(name: &'static str) {{ gauge!(name); }}");
        assert_found(
            &passed,
            "crates/a/src/b.rs:8: the name of a metric is a literal, or a constant of the file",
        );
    }
}
