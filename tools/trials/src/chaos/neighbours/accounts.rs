//! `providers.toml` and `models.toml` for accounts of which some are sick.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::catalogue::FREE;
use crate::failure::{During as _, Result};

/// An account; its model and its credential have the same name.
#[derive(Debug)]
pub struct Account {
    pub name: &'static str,
    pub kind: &'static str,
    pub base_url: String,
    /// As in `providers.toml`.
    pub limits: &'static str,
}

/// Writes the files, with the mock's free model beside the accounts; says which settings name them.
pub fn write(folder: &Path, accounts: &[Account]) -> Result<[(&'static str, String); 2]> {
    let mut providers = String::new();
    let mut models =
        format!("[[model]]\nid = \"{FREE}\"\nprovider = \"mock\"\nkind = \"chat\"\n\n");
    for account in accounts {
        let Account {
            name,
            kind,
            base_url,
            limits,
        } = account;
        let credential = folder.join(format!("{name}.key"));
        fs::write(&credential, name).during("writing a credential")?;
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
        fs::write(&file, text).during(format!("writing {name}"))?;
        Ok(file.display().to_string())
    };
    Ok([
        ("PROVIDERS_FILE", file("providers.toml", providers)?),
        ("MODELS_FILE", file("neighbours-models.toml", models)?),
    ])
}
