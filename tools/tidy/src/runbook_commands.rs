//! Commands in the text of runbooks: what a page says to run is in a block, or in the list of commands that
//! `./dev docs-test` does not run.

use std::collections::BTreeSet;

use crate::runbooks::REASON_START;
use crate::source_tree::{RuleViolation, SourceFile, SourceTree};

const RUNBOOKS_FOLDER: &str = "docs/runbooks/";
const INDEX_PATH: &str = "docs/runbooks/README.md";
const LIST_HEADING: &str = "## What docs-test does not run";
const FENCE: &str = "```";
/// "Look" has its commands in blocks, and its text explains what they show.
const SECTIONS_WITH_STEPS: &[&str] = &["## Fix", "## Verify"];
/// Programs and SQL with arguments. Their names alone are words of a sentence.
const COMMAND_STARTS: &[&str] = &[
    "longshored ",
    "kill ",
    "psql ",
    "select ",
    "alter ",
    "df ",
    "curl ",
];
/// Programs that a page names only to run them.
const BARE_COMMANDS: &[&str] = &["pg_checksums"];
/// Kinds of processes. `./dev docs-test` runs one of each kind but the last, which is both in one.
const ROLES: &[&str] = &["longshored serve", "longshored work", "longshored all"];

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let pages: Vec<&SourceFile> = tree
        .files_ending_with(".md")
        .filter(|file| file.path.starts_with(RUNBOOKS_FOLDER))
        .collect();
    let run: Vec<&str> = pages.iter().flat_map(|page| run_lines(page)).collect();
    let list = pages.iter().find(|page| page.path == INDEX_PATH);
    let mut findings = Vec::new();
    let mut listed = BTreeSet::new();
    let mut used = BTreeSet::new();
    for (index, line) in list.iter().flat_map(|page| list_rows(page)) {
        if let Some(command) = read_row(line) {
            listed.insert((index, command));
        } else {
            let what = "a command that is not run needs a reason".to_owned();
            findings.push(violation(INDEX_PATH, index, what));
        }
    }
    for page in pages.iter().filter(|page| page.path != INDEX_PATH) {
        for (index, command) in commands(page) {
            used.insert(command);
            let is_listed = listed.iter().any(|(_, listed)| *listed == command);
            if !is_listed && !run.iter().any(|line| line.contains(command)) {
                let what = format!(
                    "`{command}` is in no block that docs-test runs: put it into one, or list it in {INDEX_PATH}"
                );
                findings.push(violation(&page.path, index, what));
            }
        }
    }
    for (index, command) in &listed {
        if !used.contains(command) {
            let what = format!("no page says to run `{command}`");
            findings.push(violation(INDEX_PATH, *index, what));
        }
    }
    findings
}

fn violation(path: &str, index: usize, message: String) -> RuleViolation {
    RuleViolation {
        path: path.to_owned(),
        line: index + 1,
        message,
    }
}

/// The lines of blocks that are run.
fn run_lines(page: &SourceFile) -> impl Iterator<Item = &str> {
    let (mut is_inside, mut is_run, mut before) = (false, false, "");
    page.text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with(FENCE);
        is_inside ^= is_fence;
        if is_fence {
            is_run = !before.starts_with(REASON_START);
        } else if !is_inside && !line.trim().is_empty() {
            before = line.trim_start();
        }
        is_inside && !is_fence && is_run
    })
}

/// The commands in the text of the steps of a page, with the index of their line.
fn commands(page: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let (mut is_inside, mut has_steps) = (false, false);
    let lines = page.text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with(FENCE);
        is_inside ^= is_fence;
        if !is_inside && line.starts_with("## ") {
            has_steps = SECTIONS_WITH_STEPS.contains(line);
        }
        has_steps && !is_inside && !is_fence
    });
    lines.flat_map(|(index, line)| {
        // Every second part is between backticks.
        let spans = line.split('`').skip(1).step_by(2);
        spans
            .filter(|span| is_command(span))
            .map(move |span| (index, span))
    })
}

fn is_command(span: &str) -> bool {
    let is_started = COMMAND_STARTS.iter().any(|start| span.starts_with(start));
    (is_started && !ROLES.contains(&span)) || BARE_COMMANDS.contains(&span)
}

/// The rows of the list, which is the first table below its heading.
fn list_rows(index: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let lines = index.text.lines().enumerate();
    lines
        .skip_while(|(_, line)| *line != LIST_HEADING)
        .skip_while(|(_, line)| !line.starts_with("|---"))
        .skip(1)
        .take_while(|(_, line)| line.starts_with('|'))
}

/// The command of a row such as "| `pg_checksums` | why |"; none without a reason.
fn read_row(line: &str) -> Option<&str> {
    let (command, reason) = line.strip_prefix("| `")?.split_once("` |")?;
    let reason = reason.trim_matches(['|', ' ']);
    (!reason.is_empty()).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source_tree::SourceTree;

    const LIST: &str = "# Runbooks\n## What docs-test does not run\n| Command | Why |\n|---|---|\n\
        | `pg_checksums` | it needs a standby |\n\n| Step | Trial |\n|---|---|\n| start it | `./dev chaos shard` |\n";
    const PAGE: &str = "# A\n## Look\n```sh\nlongshored doctor\n```\n`kill -9` is not for here\n\
        ## Fix\nUse `pg_checksums`, restart `longshored work`.\n\n   ```sh\n   longshored migrate --status\n   ```\n\
        ## Verify\n`longshored doctor` is well.\n";

    fn violations(page: &str, index: &str) -> Vec<String> {
        let tree = SourceTree::from_files(&[
            ("docs/runbooks/README.md", index),
            ("docs/runbooks/a.md", page),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn commands_that_are_run_or_listed_pass() {
        assert_eq!(violations(PAGE, LIST), Vec::<String>::new());
    }

    #[test]
    fn a_command_of_a_step_that_is_not_run_is_found() {
        let page = PAGE.replace("Use `pg", "Type `kill -HUP` and `pg");
        assert_eq!(
            violations(&page, LIST),
            [
                "docs/runbooks/a.md:8: `kill -HUP` is in no block that docs-test runs: put it into one, or list it in docs/runbooks/README.md"
            ]
        );
        let page = PAGE.replace(
            "`longshored doctor` is",
            "`longshored admin ledger check` is",
        );
        assert_eq!(violations(&page, LIST).len(), 1);
        // The block with the command is not run.
        let page = PAGE.replace(
            "```sh\nlongshored doctor",
            "<!-- not run: x -->\n```sh\nlongshored doctor",
        );
        assert_eq!(violations(&page, LIST).len(), 1);
    }

    #[test]
    fn a_row_of_the_list_needs_a_reason_and_a_page() {
        let bare = LIST.replace("it needs a standby", "");
        // The command is then not listed, either.
        assert_eq!(violations(PAGE, &bare).len(), 2);
        let unused = PAGE.replace("Use `pg_checksums`, restart", "Restart");
        assert_eq!(
            violations(&unused, LIST),
            ["docs/runbooks/README.md:5: no page says to run `pg_checksums`"]
        );
    }
}
