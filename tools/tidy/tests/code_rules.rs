//! Applies all code rules to the checkout.

#![expect(
    clippy::expect_used,
    reason = "without the checkout there is nothing to check"
)]

use std::path::Path;

use tidy::source_tree::{RuleViolation, SourceTree};
use tidy::{
    crate_dependencies, docs_index, glossary, import_cycles, links, machine_locations,
    metric_names, names, restricted_apis, runbook_commands, runbooks, source_files, words,
};

fn assert_rule(rule: impl Fn(&SourceTree) -> Vec<RuleViolation>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = SourceTree::read(&root).expect("git lists the files of the checkout");
    assert!(
        tree.contains_path("Cargo.toml"),
        "the checkout was not read"
    );
    let violations: Vec<String> = rule(&tree).iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn crates_depend_one_way() {
    assert_rule(crate_dependencies::check);
}

#[test]
fn modules_of_a_crate_import_in_one_direction() {
    assert_rule(import_cycles::check);
}

#[test]
fn imports_name_one_module_each() {
    assert_rule(source_files::grouped_imports);
}

#[test]
fn no_file_is_too_long() {
    assert_rule(source_files::long_files);
}

#[test]
fn no_module_is_called_mod() {
    assert_rule(source_files::mod_files);
}

#[test]
fn every_file_says_what_it_is() {
    assert_rule(source_files::files_without_introduction);
}

#[test]
fn clock_environment_and_database_are_used_in_allowed_files() {
    assert_rule(restricted_apis::check);
}

#[test]
fn sql_takes_the_time_as_an_argument() {
    assert_rule(restricted_apis::sql_clocks);
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    assert_rule(machine_locations::check);
}

#[test]
fn links_are_valid() {
    assert_rule(links::check);
}

#[test]
fn every_document_is_in_the_index() {
    assert_rule(docs_index::check);
}

#[test]
fn public_types_have_unique_names() {
    assert_rule(names::repeated_types);
}

#[test]
fn types_are_nouns_and_constants_say_what_they_bound() {
    assert_rule(names::vague_names);
}

#[test]
fn words_are_plain() {
    assert_rule(words::find_banned_words);
}

#[test]
fn the_glossary_links_to_files() {
    assert_rule(glossary::check);
}

#[test]
fn every_alert_has_its_runbook() {
    assert_rule(runbooks::check);
}

#[test]
fn commands_of_runbooks_are_run_or_listed() {
    assert_rule(runbook_commands::check);
}

#[test]
fn metrics_are_in_the_catalogue_and_have_the_labels_of_their_page() {
    assert_rule(metric_names::check);
}
