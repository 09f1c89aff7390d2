//! Runbooks: every alert has its page, every page has its parts and is in the index, and every
//! command is run by `./dev docs-test` or says why not.

use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

const RULES_FOLDER: &str = "monitoring/rules/";
const RUNBOOKS_FOLDER: &str = "docs/runbooks/";
const INDEX_PATH: &str = "docs/runbooks/README.md";
const FENCE: &str = "```";
const RUN_FENCE: &str = "```sh";
pub(crate) const REASON_START: &str = "<!-- not run: ";
const REASON_END: &str = " -->";
const REQUIRED_HEADINGS: &[&str] = &["## What it means", "## Look", "## Fix", "## Verify"];

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = check_alerts(tree);
    findings.extend(check_pages(tree));
    findings.extend(check_named_pages(tree));
    findings.extend(check_blocks(tree));
    findings
}

/// The page of an alert exists and names the alert, so that a search for the alert finds it.
fn check_alerts(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    let is_rules = |file: &&SourceFile| file.path.starts_with(RULES_FOLDER);
    for file in tree.files.iter().filter(is_rules) {
        let mut alert = None;
        for (index, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            if let Some(name) = line.strip_prefix("- alert: ") {
                if let Some((at, name)) = alert.replace((index + 1, unquote(name))) {
                    findings.push(file.violation(at, format!("{name} has no runbook_url")));
                }
            } else if let Some(path) = line.strip_prefix("runbook_url: ") {
                let path = unquote(path);
                let Some((_, name)) = alert.take() else {
                    continue;
                };
                let page = tree.files.iter().find(|page| page.path == path);
                if !page.is_some_and(|page| page.text.contains(name)) {
                    let what = format!("{path} does not exist, or does not name {name}");
                    findings.push(file.violation(index + 1, what));
                }
            }
        }
        if let Some((at, name)) = alert {
            findings.push(file.violation(at, format!("{name} has no runbook_url")));
        }
    }
    findings
}

/// A page has its parts in their order, and the index links to it.
fn check_pages(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    let index = tree.files.iter().find(|file| file.path == INDEX_PATH);
    let index = index.map_or("", |file| file.text.as_str());
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix(RUNBOOKS_FOLDER) else {
            continue;
        };
        if file.path == INDEX_PATH {
            continue;
        }
        if !index.contains(&format!("]({name})")) {
            findings.push(file.violation(1, format!("{INDEX_PATH} does not link to it")));
        }
        let headings: Vec<&str> = file
            .text
            .lines()
            .filter(|line| REQUIRED_HEADINGS.contains(line))
            .collect();
        if headings != REQUIRED_HEADINGS {
            let what = format!("needs these headings: {}", REQUIRED_HEADINGS.join(", "));
            findings.push(file.violation(1, what));
        }
    }
    findings
}

/// `./dev docs-test` runs blocks of shell commands. A block that it does not run has a reason.
fn check_blocks(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    let is_page = |file: &&SourceFile| file.path.starts_with(RUNBOOKS_FOLDER);
    for file in tree.files.iter().filter(is_page) {
        let (mut is_inside, mut line_before) = (false, "");
        for (index, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            if line.starts_with(FENCE) {
                if !is_inside && line != RUN_FENCE && !has_reason(line_before) {
                    let what = format!(
                        "docs-test does not run this block: begin it with {RUN_FENCE}, or write \
                         {REASON_START}REASON{REASON_END} above it"
                    );
                    findings.push(file.violation(index + 1, what));
                }
                is_inside = !is_inside;
            } else if line.starts_with(REASON_START.trim_end()) && !has_reason(line) {
                findings.push(file.violation(index + 1, "a block that is not run needs a reason"));
            }
            if !line.is_empty() {
                line_before = line;
            }
        }
    }
    findings
}

fn has_reason(line: &str) -> bool {
    let reason = line.strip_prefix(REASON_START);
    let reason = reason.and_then(|it| it.strip_suffix(REASON_END));
    reason.is_some_and(|it| !it.trim().is_empty())
}

/// Pages that the program names exist.
fn check_named_pages(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    let of_crates = |file: &&SourceFile| file.path.starts_with("crates/");
    for file in tree.rust_files().filter(of_crates) {
        for (index, line) in file.text.lines().enumerate() {
            for named in line.split(RUNBOOKS_FOLDER).skip(1) {
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
                let name = named.split(|c| !is_part(c)).next().unwrap_or_default();
                let path = format!("{RUNBOOKS_FOLDER}{name}");
                if name.rsplit_once('.').is_some_and(|(_, end)| end == "md")
                    && !tree.contains_path(&path)
                {
                    findings.push(file.violation(index + 1, format!("{path} does not exist")));
                }
            }
        }
    }
    findings
}

fn unquote(text: &str) -> &str {
    text.trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source_tree::SourceTree;

    const PAGE: &str = "# Loads fail\nLoadsFail\n## What it means\n## Look\n## Fix\n## Verify\n";
    const RULES: &str = "- alert: \"LoadsFail\"\n  annotations:\n    runbook_url: \"docs/runbooks/loads-fail.md\"\n";

    fn violations(rules: &str, page: &str, index: &str, code: &str) -> Vec<String> {
        let tree = SourceTree::from_files(&[
            ("monitoring/rules/a.yml", rules),
            ("docs/runbooks/loads-fail.md", page),
            ("docs/runbooks/README.md", index),
            ("crates/a/src/lib.rs", code),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_alert_with_its_page_passes() {
        let code = "//! See docs/runbooks/loads-fail.md.";
        let found = violations(RULES, PAGE, "[Loads fail](loads-fail.md)", code);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn an_alert_without_a_page_is_found() {
        let index = "[a](loads-fail.md)";
        let missing = RULES.replace("loads-fail", "loads-slow");
        let bare = format!("- alert: \"LoadsSlow\"\n{RULES}");
        let unnamed = PAGE.replace("LoadsFail", "");
        assert_eq!(violations(&missing, PAGE, index, "").len(), 1);
        assert_eq!(violations(&bare, PAGE, index, "").len(), 1);
        assert_eq!(violations(RULES, &unnamed, index, "").len(), 1);
    }

    #[test]
    fn a_page_without_its_parts_or_its_entry_is_found() {
        let index = "[a](loads-fail.md)";
        assert_eq!(violations(RULES, PAGE, "", "").len(), 1);
        let short = PAGE.replace("## Verify\n", "");
        assert_eq!(violations(RULES, &short, index, "").len(), 1);
    }

    #[test]
    fn a_block_is_run_or_has_a_reason() {
        let found = |block: &str| {
            let page = format!("{PAGE}{block}");
            violations(RULES, &page, "[a](loads-fail.md)", "").len()
        };
        assert_eq!(found("```sh\nlongshored doctor\n```\n"), 0);
        assert_eq!(found("```\nlongshored doctor\n```\n"), 1);
        assert_eq!(found("```console\nchronyc tracking\n```\n"), 1);
        // A block inside a list is indented.
        assert_eq!(found("   ```sh\n   longshored doctor\n   ```\n"), 0);
        assert_eq!(found("   ```\n   longshored doctor\n   ```\n"), 1);
        let reason = "<!-- not run: it needs the fault -->\n";
        assert_eq!(found(&format!("{reason}```\nreboot\n```\n")), 0);
        assert_eq!(found("<!-- not run: -->\n```sh\nreboot\n```\n"), 1);
    }

    #[test]
    fn a_page_that_code_names_exists() {
        let code = "const PAGE: &str = \"docs/runbooks/none.md\";";
        let found = violations(RULES, PAGE, "[a](loads-fail.md)", code);
        assert_eq!(
            found,
            ["crates/a/src/lib.rs:1: docs/runbooks/none.md does not exist"]
        );
    }
}
