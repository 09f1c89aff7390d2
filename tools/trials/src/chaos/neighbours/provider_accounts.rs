//! `providers.toml` and `models.toml` for accounts of which some are faulty.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::longshored::catalogue::FREE_MODEL;

/// An account; its model and its credential have the same name.
#[derive(Debug)]
pub struct NeighbourAccount {
    pub name: &'static str,
    pub kind: &'static str,
    pub base_url: String,
    /// As in `providers.toml`.
    pub limits: &'static str,
}

/// Writes the files for these accounts and the mock's free model; returns the settings that
/// name them.
pub fn write_provider_files(
    folder: &Path,
    accounts: &[NeighbourAccount],
) -> Result<[(&'static str, String); 2]> {
    let mut providers = String::new();
    let mut models =
        format!("[[model]]\nid = \"{FREE_MODEL}\"\nprovider = \"mock\"\nkind = \"chat\"\n\n");
    for account in accounts {
        let NeighbourAccount {
            name,
            kind,
            base_url,
            limits,
        } = account;
        let credential = folder.join(format!("{name}.key"));
        fs::write(&credential, name).context("writing a credential")?;
        // Writing to a string cannot fail.
        let _ = write!(
            providers,
            "[[provider]]\nname = \"{name}\"\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\n\
             credential_file = \"{}\"\nlimits = {{ {limits} }}\n\n",
            credential.display()
        );
        let _ = write!(
            models,
            "[[model]]\nid = \"{name}\"\nprovider = \"{name}\"\nupstream = \"{name}\"\n\
             kind = \"chat\"\n\n"
        );
    }
    let file = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).context(format!("writing {name}"))?;
        Ok(file.display().to_string())
    };
    Ok([
        ("PROVIDERS_FILE", file("providers.toml", providers)?),
        ("MODELS_FILE", file("neighbours-models.toml", models)?),
    ])
}
