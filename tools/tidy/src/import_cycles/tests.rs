//! Crates with import cycles of every kind, and crates that only look like it.

use super::check;
use crate::source_tree::SourceTree;

fn find_cycle_in(files: &[(&str, &str)]) -> Option<String> {
    let findings = check(&SourceTree::from_files(files));
    findings.first().map(|finding| finding.message.clone())
}

#[test]
fn two_modules_that_import_each_other_are_a_cycle() {
    let told = find_cycle_in(&[
        ("crates/x/src/lib.rs", "mod a; mod b;"),
        ("crates/x/src/a.rs", "use crate::b::B;"),
        ("crates/x/src/b.rs", "\nuse crate::a::A;"),
    ]);
    let expected = "modules of the crate import each other: \
        a -> b (crates/x/src/a.rs:1), b -> a (crates/x/src/b.rs:2)";
    assert_eq!(told.as_deref(), Some(expected));
}

#[test]
fn a_cycle_of_three_through_children_super_and_expressions_is_found() {
    let told = find_cycle_in(&[
        ("crates/x/src/main.rs", ""),
        ("crates/x/src/a/deep.rs", "use super::super::b;"),
        ("crates/x/src/b.rs", "fn f() { crate::c::g() }"),
        ("crates/x/src/c.rs", "use super::{a::A, d};"),
    ]);
    assert!(
        told.is_some_and(|it| it.contains("a -> b")
            && it.contains("b -> c")
            && it.contains("c -> a"))
    );
}

#[test]
fn a_cycle_through_a_reexport_of_the_root_is_found() {
    let told = find_cycle_in(&[
        (
            "crates/x/src/lib.rs",
            "mod a; mod b; pub use a::Thing as Renamed;",
        ),
        ("crates/x/src/a.rs", "use crate::b;"),
        ("crates/x/src/b.rs", "use crate::Renamed;"),
    ]);
    assert!(told.is_some());
}

#[test]
fn a_cycle_among_the_children_of_one_module_is_found() {
    let told = find_cycle_in(&[
        ("crates/x/src/lib.rs", ""),
        ("crates/x/src/a.rs", ""),
        ("crates/x/src/a/one.rs", "use super::two;"),
        ("crates/x/src/a/two.rs", "use crate::a::one;"),
    ]);
    assert!(told.is_some_and(|it| it.starts_with("modules of a import")));
}

#[test]
fn code_that_only_looks_like_a_cycle_passes() {
    let files = [
        ("crates/x/src/lib.rs", "mod a; mod b;"),
        (
            "crates/x/src/a.rs",
            "use crate::b::B;\nuse self::deep::D;\npub struct A;",
        ),
        ("crates/x/src/a/deep.rs", "use super::A;"),
        // Comments, strings, tests and another crate of the same name.
        (
            "crates/x/src/b.rs",
            "/// See [crate::a].\nconst TEXT: &str = \"crate::a\";\n#[cfg(test)] mod tests;",
        ),
        ("crates/x/src/b/tests.rs", "use crate::a::A;"),
        ("crates/y/src/lib.rs", ""),
        ("crates/y/src/b.rs", "use crate::a::A;"),
        ("crates/y/src/a.rs", ""),
    ];
    assert_eq!(find_cycle_in(&files), None);
}
