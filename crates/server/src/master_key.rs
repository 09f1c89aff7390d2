//! The master keys of this process, as the settings name them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use domain::master_key::MasterKeys;
use outbound::master_key::{CommandMasterKeys, FileMasterKeys, MasterKeyFileFault};

use crate::settings::table::SettingValues;

#[derive(Debug, thiserror::Error)]
pub enum MasterKeySetupFailure {
    #[error("SVC_MASTER_KEY_FILE {} cannot be read", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("SVC_MASTER_KEY_FILE {} is invalid", .path.display())]
    Invalid {
        path: PathBuf,
        source: MasterKeyFileFault,
    },
}

/// None if this process has no master key.
pub fn from_settings(
    values: &SettingValues,
) -> Result<Option<Arc<dyn MasterKeys>>, MasterKeySetupFailure> {
    if let Some(path) = &values.master_key_file {
        return Ok(Some(Arc::new(read_file(path.clone())?)));
    }
    let command = values.master_key_command.clone();
    let keys = command.zip(values.master_key_id.clone());
    Ok(keys.map(|(command, id)| -> Arc<dyn MasterKeys> {
        Arc::new(CommandMasterKeys::new(command, id))
    }))
}

fn read_file(path: PathBuf) -> Result<FileMasterKeys, MasterKeySetupFailure> {
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(MasterKeySetupFailure::Unreadable { path, source }),
    };
    FileMasterKeys::parse(&text).map_err(|source| MasterKeySetupFailure::Invalid { path, source })
}
