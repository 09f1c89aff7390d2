//! Committed files name no machine of ours and no package registry's host.
//!
//! A build that works only here, or a link that only some can follow, must not
//! hide in a script, a lock file aside: that one is written by cargo(1).

use crate::tree::Finding;
use crate::tree::Tree;

/// Hosts, spelled in two halves so that this file passes its own rule.
const HOSTS: &[(&str, &str)] = &[
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

/// The beginnings of paths on a machine that builds this.
const PATHS: &[(&str, &str)] = &[("/wo", "rk/"), ("/tmp/ta", "rget")];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| !file.path.ends_with("Cargo.lock"))
    {
        for (index, line) in file.text.lines().enumerate() {
            for (name, ending) in HOSTS {
                if line.to_lowercase().contains(&format!("{name}{ending}")) {
                    findings.push(file.finding(index + 1, "names the host of a package registry"));
                }
            }
            for (start, ending) in PATHS {
                if begins_a_path(line, &format!("{start}{ending}")) {
                    findings.push(file.finding(index + 1, "names a path of one machine"));
                }
            }
        }
    }
    findings
}

/// `crates/server/src/work/` holds the letters, but not where a path begins.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line.get(..start).and_then(|it| it.chars().next_back());
        !before.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | '$' | '>')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{HOSTS, PATHS, check};
    use crate::tree::Tree;

    #[test]
    fn every_host_is_found_and_the_lock_file_may_name_it() {
        for (name, ending) in HOSTS {
            let line = format!("see https://{name}{ending}/thing");
            let tree = Tree::of(&[("README.md", &line), ("Cargo.lock", &line)]);
            assert_eq!(check(&tree).len(), 1, "{line}");
        }
    }

    #[test]
    fn every_machine_path_is_found_where_a_path_begins() {
        for (start, ending) in PATHS {
            let absolute = format!("cd {start}{ending}/thing && \"{start}{ending}\"");
            let inside = format!(
                "crates/server/src{start}{ending} $DIR{start}{ending} ~{{x}}{start}{ending}"
            );
            let tree = Tree::of(&[("a.sh", &absolute), ("b.sh", &inside)]);
            let paths: Vec<String> = check(&tree)
                .into_iter()
                .map(|finding| finding.path)
                .collect();
            assert_eq!(paths, ["a.sh"]);
        }
    }
}
