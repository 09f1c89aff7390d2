//! Where master keys are: in a file, or behind a command that calls a key management service.

mod command;
mod file;

pub use crate::master_key::command::{CommandMasterKeys, MasterKeyCommand};
pub use crate::master_key::file::{FileMasterKeys, MasterKeyFileFault};
