//! `docs/README.md`: the index links to every document, so that a reader and the guide find it.

use std::collections::BTreeSet;

use crate::links::list_links;
use crate::links::resolve;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceTree;

const INDEX_PATH: &str = "docs/README.md";
const DOCS_FOLDER: &str = "docs/";

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let listed = linked_paths(tree, INDEX_PATH);
    let documents = tree.files_ending_with(".md");
    let mut findings = Vec::new();
    for file in documents.filter(|file| file.path.starts_with(DOCS_FOLDER)) {
        if file.path == INDEX_PATH || listed.contains(&file.path) {
            continue;
        }
        // A folder of many pages, such as runbooks, has an index of its own.
        let own_index = resolve(&file.path, "README.md").filter(|path| listed.contains(path));
        let is_listed =
            own_index.is_some_and(|path| linked_paths(tree, &path).contains(&file.path));
        if !is_listed {
            findings.push(file.violation(1, format!("{INDEX_PATH} does not link to it")));
        }
    }
    findings
}

/// The files that a document links to, as paths from the root.
fn linked_paths(tree: &SourceTree, from: &str) -> BTreeSet<String> {
    let document = tree.files.iter().find(|file| file.path == from);
    let links = document.map(|file| list_links(&file.text));
    let targets = links.unwrap_or_default().into_iter();
    targets
        .filter_map(|(_, target)| resolve(from, target.split('#').next()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source_tree::SourceTree;

    fn missing(files: &[(&str, &str)]) -> Vec<String> {
        let violations = check(&SourceTree::from_files(files));
        violations.into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn a_page_without_a_link_is_found() {
        let index = "| [A](a.md#part) | about a |\n[one](decisions/0001.md)\n";
        let found = missing(&[
            ("docs/README.md", index),
            ("docs/a.md", ""),
            ("docs/b.md", "[c](c.md)"),
            ("docs/c.md", ""),
            ("docs/decisions/0001.md", ""),
            ("docs/decisions/0002.md", ""),
            ("README.md", ""),
            ("docs/pictures/a.png", ""),
        ]);
        assert_eq!(found, ["docs/b.md", "docs/c.md", "docs/decisions/0002.md"]);
    }

    #[test]
    fn a_folder_may_have_its_own_index() {
        let with_index = |index| {
            missing(&[
                ("docs/README.md", index),
                ("docs/runbooks/README.md", "[a](a.md)"),
                ("docs/runbooks/a.md", ""),
                ("docs/runbooks/b.md", ""),
            ])
        };
        let found = with_index("[runbooks](runbooks/README.md)");
        assert_eq!(found, ["docs/runbooks/b.md"]);
        // An index that is not listed itself lists nothing.
        assert_eq!(with_index("").len(), 3);
    }
}
