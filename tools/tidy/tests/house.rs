//! The checkout, held against every rule of the house.

#![expect(
    clippy::expect_used,
    reason = "without the checkout there is nothing to hold"
)]

use std::path::Path;

use tidy::tree::{Finding, Tree};
use tidy::{arrows, borders, files, links, places, rings};

fn hold(rule: impl Fn(&Tree) -> Vec<Finding>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Tree::read(&root).expect("git lists the files of the checkout");
    assert!(tree.holds("Cargo.toml"), "the checkout was not read");
    let told: Vec<String> = rule(&tree).iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "\n{}\n", told.join("\n"));
}

#[test]
fn crates_depend_one_way() {
    hold(arrows::check);
}

#[test]
fn modules_of_a_crate_import_one_way() {
    hold(rings::check);
}

#[test]
fn imports_name_one_module_each() {
    hold(files::grouped_imports);
}

#[test]
fn no_file_outgrows_its_reader() {
    hold(files::too_long);
}

#[test]
fn no_module_is_called_mod() {
    hold(files::named_mod);
}

#[test]
fn every_file_says_what_it_is() {
    hold(files::without_introduction);
}

#[test]
fn clock_environment_and_database_are_touched_where_they_may_be() {
    hold(borders::check);
}

#[test]
fn sql_is_told_the_time() {
    hold(borders::sql_clocks);
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    hold(places::check);
}

#[test]
fn links_lead_somewhere() {
    hold(links::check);
}
