//! Which crate may depend on which.

use std::collections::BTreeSet;

use crate::tree::File;
use crate::tree::Finding;
use crate::tree::Tree;

/// Every crate of the house, and the crates of the house it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("wire", &["domain"]),
    ("store", &["domain"]),
    // Its tests alone call the simulator, over the wire, as they would call the others.
    ("outbound", &["domain", "simulator"]),
    // What it reads was made by strangers: nothing of ours but the child may call it.
    ("probe", &["domain"]),
    ("api", &["domain", "wire", "store", "outbound"]),
    ("dashboard", &["domain", "wire", "store"]),
    ("workers", &["domain", "wire", "store", "outbound"]),
    (
        "server",
        &[
            "domain",
            "wire",
            "store",
            "outbound",
            "probe",
            "api",
            "dashboard",
            "workers",
            // Its tests alone.
            "simulator",
        ],
    ),
    // It stands where other companies stand: it knows us no better than they do.
    ("simulator", &[]),
    // Tools see the product as its callers do, from outside.
    ("tidy", &[]),
    ("trials", &[]),
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let manifests: Vec<(&str, &File)> = tree
        .ending("/Cargo.toml")
        .filter_map(|file| Some((crate_of(&file.path)?, file)))
        .collect();
    let ours: BTreeSet<&str> = manifests.iter().map(|(name, _)| *name).collect();

    let mut findings = Vec::new();
    for (name, manifest) in manifests {
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            findings.push(manifest.finding(1, format!("{name} has no row in the table of arrows")));
            continue;
        };
        for (line, to) in dependencies(&manifest.text) {
            if ours.contains(to.as_str()) && !allowed.contains(&to.as_str()) {
                findings.push(manifest.finding(line, format!("{name} may not depend on {to}")));
            }
        }
        if !manifest.text.contains("[lints]\nworkspace = true") {
            findings.push(manifest.finding(1, "the lints of the workspace are not inherited"));
        }
    }
    findings
}

/// `crates/api/Cargo.toml` is the manifest of `api`.
fn crate_of(path: &str) -> Option<&str> {
    let inside = path
        .strip_prefix("crates/")
        .or_else(|| path.strip_prefix("tools/"))?;
    inside.strip_suffix("/Cargo.toml")
}

/// What a manifest depends on in any way: normal, dev, build or for one target.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_section = section.ends_with("dependencies");
            // `[dependencies.NAME]` is a dependency with a section of its own.
            if let Some((table, name)) = section.rsplit_once('.')
                && table.ends_with("dependencies")
            {
                found.push((index + 1, unquoted(name)));
            }
        } else if let Some((name, value)) = line.split_once(['.', '='])
            && in_section
            && !line.starts_with('#')
        {
            found.push((index + 1, renamed(value).unwrap_or_else(|| unquoted(name))));
        } else if line.starts_with("package") {
            // The real name in a section of its own.
            found.extend(renamed(line).map(|name| (index + 1, name)));
        }
    }
    found
}

/// The crate behind `alias = { package = "name" }`.
fn renamed(value: &str) -> Option<String> {
    let (_, after) = value.split_once("package")?;
    let after = after.trim_start().strip_prefix('=')?;
    after.split('"').nth(1).map(str::to_owned)
}

fn unquoted(name: &str) -> String {
    name.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::Tree;

    const HEAD: &str = "[lints]\nworkspace = true\n";

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let with_head: Vec<(&str, String)> = files
            .iter()
            .map(|(path, text)| (*path, format!("{HEAD}{text}")))
            .collect();
        let borrowed: Vec<(&str, &str)> = with_head
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        check(&Tree::of(&borrowed))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn an_arrow_against_the_table_is_refused_however_it_is_spelled() {
        let spellings = [
            "[dependencies]\nworkers.workspace = true",
            "[dependencies]\nworkers = { path = \"../workers\" }",
            "[dev-dependencies]\nworkers.workspace = true",
            "[target.'cfg(unix)'.build-dependencies]\n\"workers\" = \"1\"",
            "[dependencies.workers]\npath = \"../workers\"",
            "[dependencies]\nother = { package = \"workers\", path = \"x\" }",
            "[dependencies.other]\npackage = \"workers\"",
        ];
        for spelling in spellings {
            let found = complaints(&[
                ("crates/api/Cargo.toml", spelling),
                ("crates/workers/Cargo.toml", ""),
            ]);
            assert!(
                found
                    .iter()
                    .any(|it| it.ends_with("api may not depend on workers")),
                "{spelling}: {found:?}"
            );
        }
    }

    #[test]
    fn tools_may_depend_on_nothing_of_ours() {
        let found = complaints(&[
            (
                "tools/trials/Cargo.toml",
                "[dependencies]\ndomain.workspace = true",
            ),
            ("crates/domain/Cargo.toml", ""),
        ]);
        assert_eq!(
            found,
            ["tools/trials/Cargo.toml:4: trials may not depend on domain"]
        );
    }

    #[test]
    fn a_crate_that_the_table_does_not_know_is_refused() {
        let found = complaints(&[("crates/util/Cargo.toml", "")]);
        assert_eq!(
            found,
            ["crates/util/Cargo.toml:1: util has no row in the table of arrows"]
        );
    }

    #[test]
    fn a_crate_that_escapes_the_lints_is_refused() {
        let found = check(&Tree::of(&[("crates/wire/Cargo.toml", "[dependencies]")]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn arrows_of_the_table_pass() {
        let found = complaints(&[
            (
                "crates/server/Cargo.toml",
                "[dependencies]\napi.workspace = true\naxum.workspace = true",
            ),
            (
                "crates/api/Cargo.toml",
                "[features]\nworkers = []\n[dependencies]\ndomain.workspace = true",
            ),
            ("crates/domain/Cargo.toml", ""),
            ("crates/workers/Cargo.toml", ""),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }
}
