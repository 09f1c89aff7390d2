//! The code rules that no compiler checks, one module each.
//!
//! A rule is a function from the files of the checkout to its violations. `tests/code_rules.rs`
//! applies all rules to the real checkout. Each module has unit tests with files that break its
//! rule, so that no rule silently stops working.

pub mod source_tree;

pub mod lexer;

pub mod code_paths;

pub mod crate_dependencies;

pub mod import_cycles;

pub mod source_files;

pub mod restricted_apis;

pub mod machine_locations;

pub mod links;

pub mod docs_index;

pub mod names;

pub mod words;

pub mod glossary;

pub mod runbooks;

pub mod runbook_commands;

pub mod metric_names;
