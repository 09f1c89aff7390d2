//! Links between our documents lead somewhere: to a file, and to a heading in it.

use crate::tree::Finding;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        for (line, target) in links(&file.text) {
            if let Some(what) = broken(tree, &file.path, &target) {
                findings.push(file.finding(line, format!("`{target}`: {what}")));
            }
        }
    }
    findings
}

fn broken(tree: &Tree, from: &str, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let resolved = if path.is_empty() {
        Some(from.to_owned())
    } else {
        resolve(from, path)
    };
    let Some(resolved) = resolved.filter(|path| tree.holds(path)) else {
        return Some("there is no such file");
    };
    let document = tree.ending(".md").find(|file| file.path == resolved);
    let has_heading =
        document.is_none_or(|file| headings(&file.text).iter().any(|it| it == heading));
    (!heading.is_empty() && !has_heading).then_some("there is no such heading")
}

/// A relative path as seen from the root; none when it leaves the checkout.
fn resolve(from: &str, path: &str) -> Option<String> {
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
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
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
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second piece stands between backticks.
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

/// The anchors that a document's headings get.
fn headings(text: &str) -> Vec<String> {
    let titles = prose(text).filter(|(_, line)| line.starts_with('#'));
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
    use crate::tree::Tree;

    fn broken_in(readme: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/README.md", readme),
            (
                "docs/decisions/0001-engine.md",
                "# Why PostgreSQL?\n## The `queue`, too\n",
            ),
            ("LICENSE", ""),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let found = broken_in(
            "[a](missing.md) [b](decisions/0001-engine.md#who) [c](../../outside) [d](#nothing)\n\
             [e]: decisions/0002.md\n",
        );
        assert_eq!(found.len(), 5, "{found:?}");
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let found = broken_in(
            "# Top\n[a](decisions/0001-engine.md) [b](decisions/) [c](../LICENSE) [d](#top)\n\
             [e](decisions/0001-engine.md#why-postgresql) [f](./decisions/0001-engine.md#the-queue-too)\n\
             [g](https://example.com/x) `[h](nowhere)`\n```\n[i](nowhere)\n```\n",
        );
        assert_eq!(found, Vec::<String>::new());
    }
}
