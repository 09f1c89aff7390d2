//! Links between our documents: the file and the heading exist.

use crate::source_tree::RuleViolation;
use crate::source_tree::SourceTree;

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for file in tree.files_ending_with(".md") {
        for (line, target) in list_links(&file.text) {
            if let Some(what) = find_fault(tree, &file.path, &target) {
                findings.push(file.violation(line, format!("`{target}`: {what}")));
            }
        }
    }
    findings
}

fn find_fault(tree: &SourceTree, from: &str, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let resolved = if path.is_empty() {
        Some(from.to_owned())
    } else {
        resolve(from, path)
    };
    let Some(resolved) = resolved.filter(|path| tree.contains_path(path)) else {
        return Some("there is no such file");
    };
    let document = tree
        .files_ending_with(".md")
        .find(|file| file.path == resolved);
    let has_heading =
        document.is_none_or(|file| list_anchors(&file.text).iter().any(|it| it == heading));
    (!heading.is_empty() && !has_heading).then_some("there is no such heading")
}

/// A relative path as seen from the root; none when it leaves the checkout.
pub(crate) fn resolve(from: &str, path: &str) -> Option<String> {
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    for step in path.trim_end_matches('/').split('/') {
        match step {
            "." => {}
            ".." => {
                folders.pop()?;
            }
            name => folders.push(name),
        }
    }
    Some(folders.join("/"))
}

/// The lines of a document outside its fenced code.
fn lines_outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((index + 1, line))
    })
}

/// The targets of `[text](target)` and `[text]: target`.
pub(crate) fn list_links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in lines_outside_code(text) {
        // Every second piece is between backticks.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
        for after in plain.split("](").skip(1) {
            let target = after.split([')', ' ']).next().unwrap_or_default();
            found.push((number, target.to_owned()));
        }
        if let Some((label, target)) = plain.split_once("]: ")
            && label.starts_with('[')
            && !label.starts_with("[^")
        {
            found.push((number, target.trim().to_owned()));
        }
    }
    found
}

/// The anchors of a document's headings.
fn list_anchors(text: &str) -> Vec<String> {
    let titles = lines_outside_code(text).filter(|(_, line)| line.starts_with('#'));
    titles
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source_tree::SourceTree;

    fn broken_links_in(readme: &str) -> Vec<String> {
        let tree = SourceTree::from_files(&[
            ("docs/README.md", readme),
            (
                "docs/decisions/0001-engine.md",
                "# Why PostgreSQL?\n## The `queue`, too\n",
            ),
            ("LICENSE", ""),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn broken_links_are_found() {
        let found = broken_links_in(
            "[a](missing.md) [b](decisions/0001-engine.md#who) [c](../../outside) [d](#nothing)\n\
             [e]: decisions/0002.md\n",
        );
        assert_eq!(found.len(), 5, "{found:?}");
    }

    #[test]
    fn valid_links_pass() {
        let found = broken_links_in(
            "# Top\n[a](decisions/0001-engine.md) [b](decisions/) [c](../LICENSE) [d](#top)\n\
             [e](decisions/0001-engine.md#why-postgresql) [f](./decisions/0001-engine.md#the-queue-too)\n\
             [g](https://example.com/x) `[h](nowhere)`\n```\n[i](nowhere)\n```\n",
        );
        assert_eq!(found, Vec::<String>::new());
    }
}
