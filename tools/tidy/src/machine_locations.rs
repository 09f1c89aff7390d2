//! Committed files contain no host of a package registry and no path of a build machine.
//!
//! A script must not work on one machine only. Lock files are exempt, because cargo(1) writes
//! them.

use crate::source_tree::RuleViolation;
use crate::source_tree::SourceTree;

/// Hosts, in two halves so that this file passes its own rule.
const REGISTRY_HOSTS: &[(&str, &str)] = &[
    ("crates", ".io"),
    ("pypi", ".org"),
    ("pythonhosted", ".org"),
    ("npmjs", ".org"),
    ("npmjs", ".com"),
    ("deb.debian", ".org"),
    ("ftp.debian", ".org"),
    ("security.debian", ".org"),
    ("archive.ubuntu", ".com"),
];

/// Prefixes of paths on a build machine.
const MACHINE_PATHS: &[(&str, &str)] = &[("/wo", "rk/"), ("/tmp/ta", "rget")];

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| !file.path.ends_with("Cargo.lock"))
    {
        for (index, line) in file.text.lines().enumerate() {
            for (name, ending) in REGISTRY_HOSTS {
                if line.to_lowercase().contains(&format!("{name}{ending}")) {
                    findings
                        .push(file.violation(index + 1, "names the host of a package registry"));
                }
            }
            for (start, ending) in MACHINE_PATHS {
                if is_path_start(line, &format!("{start}{ending}")) {
                    findings.push(file.violation(index + 1, "names a path of one machine"));
                }
            }
        }
    }
    findings
}

/// `crates/server/src/work/` contains the letters, but not at the start of a path.
fn is_path_start(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line.get(..start).and_then(|it| it.chars().next_back());
        !before.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | '$' | '>')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{MACHINE_PATHS, REGISTRY_HOSTS, check};
    use crate::source_tree::SourceTree;

    #[test]
    fn every_host_is_found_and_the_lock_file_may_name_it() {
        for (name, ending) in REGISTRY_HOSTS {
            let line = format!("see https://{name}{ending}/thing");
            let tree = SourceTree::from_files(&[("README.md", &line), ("Cargo.lock", &line)]);
            assert_eq!(check(&tree).len(), 1, "{line}");
        }
    }

    #[test]
    fn every_machine_path_is_found_where_a_path_begins() {
        for (start, ending) in MACHINE_PATHS {
            let absolute = format!("cd {start}{ending}/thing && \"{start}{ending}\"");
            let inside = format!(
                "crates/server/src{start}{ending} $DIR{start}{ending} ~{{x}}{start}{ending}"
            );
            let tree = SourceTree::from_files(&[("a.sh", &absolute), ("b.sh", &inside)]);
            let paths: Vec<String> = check(&tree)
                .into_iter()
                .map(|finding| finding.path)
                .collect();
            assert_eq!(paths, ["a.sh"]);
        }
    }
}
