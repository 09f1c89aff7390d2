//! The allowed dependencies between our crates.

use std::collections::BTreeSet;

use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

/// Each of our crates, and the ones of our crates that it may depend on, apart from
/// [`TEST_CRATES`].
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("wire", &["domain"]),
    ("store", &["domain"]),
    ("outbound", &["domain"]),
    // It parses untrusted files: only the child process may call it.
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
        ],
    ),
    // Callers use the service over HTTP: they know its bodies, not its insides.
    ("client", &["wire"]),
    ("cli", &["client", "domain"]),
    // It simulates the providers, so it must not know our types.
    ("simulator", &[]),
    ("test-support", &["domain", "store", "outbound"]),
    // Tools use the product from outside, as callers do.
    ("tidy", &[]),
    ("trials", &[]),
];

/// The crates that are for tests only, and the crates whose tests may use each.
const TEST_CRATES: &[(&str, &[&str])] = &[
    // Over HTTP, like a real provider.
    ("simulator", &["outbound", "server"]),
    (
        "test-support",
        &["store", "outbound", "probe", "api", "server"],
    ),
];

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let manifests: Vec<(&str, &SourceFile)> = tree
        .files_ending_with("/Cargo.toml")
        .filter_map(|file| Some((crate_name(&file.path)?, file)))
        .collect();
    let ours: BTreeSet<&str> = manifests.iter().map(|(name, _)| *name).collect();

    let mut findings = Vec::new();
    for (name, manifest) in manifests {
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES
            .iter()
            .find(|(known, _)| *known == name)
        else {
            findings.push(manifest.violation(
                1,
                format!("{name} has no row in the table of allowed dependencies"),
            ));
            continue;
        };
        for Dependency {
            line,
            name: to,
            is_for_tests,
        } in list_dependencies(&manifest.text)
        {
            let is_allowed = match TEST_CRATES.iter().find(|(known, _)| *known == to) {
                Some((_, users)) => is_for_tests && users.contains(&name),
                None => allowed.contains(&to.as_str()),
            };
            if ours.contains(to.as_str()) && !is_allowed {
                findings.push(manifest.violation(line, format!("{name} may not depend on {to}")));
            }
        }
        if !manifest.text.contains("[lints]\nworkspace = true") {
            findings.push(manifest.violation(
                1,
                "the manifest does not inherit the lints of the workspace",
            ));
        }
    }
    findings
}

/// `crates/api/Cargo.toml` is the manifest of `api`.
fn crate_name(path: &str) -> Option<&str> {
    let inside = path
        .strip_prefix("crates/")
        .or_else(|| path.strip_prefix("tools/"))?;
    inside.strip_suffix("/Cargo.toml")
}

struct Dependency {
    line: usize,
    name: String,
    /// Whether it is in `[dev-dependencies]`.
    is_for_tests: bool,
}

/// All dependencies of a manifest: normal, dev, build and for one target.
fn list_dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut in_section = false;
    let mut is_for_tests = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let name = if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_section = section.ends_with("dependencies");
            is_for_tests = section.contains("dev-dependencies");
            // `[dependencies.NAME]` is a dependency in a separate section.
            let separate = section.rsplit_once('.');
            separate
                .filter(|(table, _)| table.ends_with("dependencies"))
                .map(|(_, name)| unquote(name))
        } else if let Some((name, value)) = line.split_once(['.', '='])
            && in_section
            && !line.starts_with('#')
        {
            Some(find_package_name(value).unwrap_or_else(|| unquote(name)))
        } else if line.starts_with("package") {
            // The real name, in such a section.
            find_package_name(line)
        } else {
            None
        };
        found.extend(name.map(|name| Dependency {
            line: index + 1,
            name,
            is_for_tests,
        }));
    }
    found
}

/// The crate behind `alias = { package = "name" }`.
fn find_package_name(value: &str) -> Option<String> {
    let (_, after) = value.split_once("package")?;
    let after = after.trim_start().strip_prefix('=')?;
    after.split('"').nth(1).map(str::to_owned)
}

fn unquote(name: &str) -> String {
    name.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source_tree::SourceTree;

    const HEAD: &str = "[lints]\nworkspace = true\n";

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        let with_head: Vec<(&str, String)> = files
            .iter()
            .map(|(path, text)| (*path, format!("{HEAD}{text}")))
            .collect();
        let borrowed: Vec<(&str, &str)> = with_head
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        check(&SourceTree::from_files(&borrowed))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_forbidden_dependency_is_found_in_every_notation() {
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
            let found = violations(&[
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
    fn a_test_crate_is_a_dev_dependency_or_none() {
        let found = |manifest| {
            violations(&[
                ("crates/store/Cargo.toml", manifest),
                ("crates/test-support/Cargo.toml", ""),
                ("crates/simulator/Cargo.toml", ""),
            ])
        };
        let of_tests = "[dev-dependencies]\ntest-support.workspace = true";
        assert_eq!(found(of_tests), [""; 0]);
        let of_product = "[dev-dependencies]\n[dependencies]\ntest-support.workspace = true";
        assert_eq!(
            found(of_product),
            ["crates/store/Cargo.toml:5: store may not depend on test-support"]
        );
        assert_eq!(
            found("[dev-dependencies]\nsimulator.workspace = true"),
            ["crates/store/Cargo.toml:4: store may not depend on simulator"]
        );
    }

    #[test]
    fn tools_may_not_depend_on_our_crates() {
        let found = violations(&[
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
    fn a_crate_that_is_not_in_the_table_is_refused() {
        let found = violations(&[("crates/util/Cargo.toml", "")]);
        assert_eq!(
            found,
            ["crates/util/Cargo.toml:1: util has no row in the table of allowed dependencies"]
        );
    }

    #[test]
    fn a_crate_that_does_not_inherit_the_lints_is_refused() {
        let found = check(&SourceTree::from_files(&[(
            "crates/wire/Cargo.toml",
            "[dependencies]",
        )]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn allowed_dependencies_pass() {
        let found = violations(&[
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
