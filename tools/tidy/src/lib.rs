//! The house rules that no compiler checks, one module each.
//!
//! A rule is a function from the tree of our files to what is wrong with it.
//! `tests/house.rs` holds the real tree against all of them; beside each rule
//! stand made-up trees that break it, so that no rule can fall asleep.

pub mod tree;

pub mod lexer;

pub mod paths;

pub mod arrows;

pub mod rings;

pub mod files;

pub mod borders;

pub mod places;

pub mod links;
