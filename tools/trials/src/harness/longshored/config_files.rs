//! `providers.toml`, `models.toml` and credentials of a trial.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::harness::longshored::catalogue::PRICE;
use crate::harness::{FailureContext as _, Result};

/// A provider's account.
#[derive(Debug)]
pub struct TrialProviderAccount {
    pub name: &'static str,
    pub kind: &'static str,
    pub base_url: String,
    /// The only shard that it serves; without it, all shards share it.
    pub shard: Option<&'static str>,
    /// As in `providers.toml`.
    pub limits: String,
    /// Whether it has a credential, which is its name.
    pub has_credential: bool,
}

/// A model that some accounts serve.
#[derive(Debug)]
pub struct TrialProviderModel {
    pub id: &'static str,
    pub providers: Vec<&'static str>,
    /// Its name at the accounts.
    pub upstream: &'static str,
    pub is_priced: bool,
    /// As in `models.toml`; none for plain text chat.
    pub features: &'static str,
}

/// Writes the files and the credentials; returns the settings that name the files.
pub fn write_config_files(
    folder: &Path,
    accounts: &[TrialProviderAccount],
    models: &[TrialProviderModel],
) -> Result<[(&'static str, String); 2]> {
    let mut providers = String::new();
    for account in accounts {
        write_account(folder, account, &mut providers)?;
    }
    let models: String = models.iter().map(model_toml).collect();
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).context(format!("writing {name}"))?;
        Ok(file.display().to_string())
    };
    Ok([
        ("PROVIDERS_FILE", write("providers.toml", &providers)?),
        ("MODELS_FILE", write("provider-models.toml", &models)?),
    ])
}

fn write_account(
    folder: &Path,
    account: &TrialProviderAccount,
    providers: &mut String,
) -> Result<()> {
    let TrialProviderAccount {
        name,
        kind,
        base_url,
        limits,
        ..
    } = account;
    // Writing to a string cannot fail.
    let _ = write!(
        providers,
        "[[provider]]\nname = \"{name}\"\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\n\
         limits = {{ {limits} }}\n"
    );
    if account.has_credential {
        let file = folder.join(format!("{name}.key"));
        fs::write(&file, name).context("writing a credential")?;
        let _ = writeln!(providers, "credential_file = \"{}\"", file.display());
    }
    if let Some(shard) = account.shard {
        let _ = writeln!(providers, "shards = {{ {shard} = 1 }}");
    }
    providers.push('\n');
    Ok(())
}

fn model_toml(model: &TrialProviderModel) -> String {
    let TrialProviderModel { id, upstream, .. } = model;
    let route = |it| format!("{{ provider = \"{it}\", upstream = \"{upstream}\" }}");
    let routes = match *model.providers {
        // The mock has no other name for a model.
        ["mock"] => "provider = \"mock\"".to_owned(),
        ref accounts => {
            let routes: Vec<_> = accounts.iter().map(route).collect();
            format!("routes = [{}]", routes.join(", "))
        }
    };
    let price = if model.is_priced { PRICE } else { "" };
    let features = model.features;
    format!(
        "[[model]]\nid = \"{id}\"\nkind = \"chat\"\n{routes}\n{price}\nfeatures = {{ {features} }}\n"
    )
}

/// An account at the simulator; its credential is its name.
#[derive(Debug, Clone, Copy)]
pub struct TrialAccount {
    pub name: &'static str,
    /// The provider's name in the simulator.
    pub kind: &'static str,
    /// The only shard that it serves; without it, all shards share it.
    pub shard: Option<&'static str>,
    /// Its base path at the simulator.
    pub base_path: &'static str,
}

impl TrialAccount {
    /// Whether its jobs carry the service's label.
    pub fn is_labelled(&self) -> bool {
        self.kind != "anthropic"
    }

    /// Its path in the simulator's admin API.
    pub fn admin_path(&self, what: &str) -> String {
        format!("{}/{}/{what}", self.kind, self.name)
    }
}

/// Accounts at the simulator, their limits, and the models that use them.
#[derive(Debug, Clone, Copy)]
pub struct TrialAccounts<'a> {
    pub accounts: &'a [TrialAccount],
    /// Of each account, as in `providers.toml`.
    pub limits: &'a str,
    /// `trial-KIND` uses the accounts whose names begin with KIND.
    pub models: &'a [&'static str],
}

impl TrialAccounts<'_> {
    /// Writes the files; returns the settings that name them.
    pub fn write_files(
        &self,
        folder: &Path,
        simulator: SocketAddr,
    ) -> Result<[(&'static str, String); 2]> {
        let accounts = self.accounts.iter().map(|account| TrialProviderAccount {
            name: account.name,
            kind: account.kind,
            base_url: format!("http://{simulator}/{}", account.base_path),
            shard: account.shard,
            limits: self.limits.to_owned(),
            has_credential: true,
        });
        let models = self.models.iter().map(|model| {
            let kind = model.trim_start_matches("trial-");
            let names = self.accounts.iter().map(|account| account.name);
            TrialProviderModel {
                id: model,
                providers: names.filter(|name| name.starts_with(kind)).collect(),
                upstream: model,
                is_priced: true,
                features: "",
            }
        });
        let (accounts, models): (Vec<_>, Vec<_>) = (accounts.collect(), models.collect());
        write_config_files(folder, &accounts, &models)
    }
}
