//! The commands, one file each.

pub mod cancel;

pub mod check;

pub mod completions;

pub mod estimate;

pub mod list;

pub mod listen;

pub mod load;

pub mod login;

pub mod receiver;

pub mod run_file;

pub mod run_report;

pub mod tail;

pub mod track;

pub mod upload;

pub mod whoami;
