//! `providers.toml`, `models.toml` and credentials for accounts at the simulator.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::harness::failure::{FailureContext as _, Result};

/// An account at a provider; its credential is its name.
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

/// The accounts, their limits, and the models that use them.
#[derive(Debug, Clone, Copy)]
pub struct TrialAccounts<'a> {
    pub accounts: &'a [TrialAccount],
    /// Of each account, as in `providers.toml`.
    pub limits: &'a str,
    /// `trial-KIND` uses the accounts whose names begin with KIND.
    pub models: &'a [&'a str],
}

impl TrialAccounts<'_> {
    /// Writes the files; returns the settings that name them.
    pub fn write_files(
        &self,
        folder: &Path,
        simulator: SocketAddr,
    ) -> Result<Vec<(&'static str, String)>> {
        let written = [
            (
                "PROVIDERS_FILE",
                "providers.toml",
                self.providers_toml(folder, simulator)?,
            ),
            ("MODELS_FILE", "trial-models.toml", self.models_toml()),
        ];
        let mut settings = Vec::new();
        for (setting, name, text) in written {
            let file = folder.join(name);
            fs::write(&file, text).context(format!("writing {name}"))?;
            settings.push((setting, file.display().to_string()));
        }
        Ok(settings)
    }

    fn providers_toml(&self, folder: &Path, simulator: SocketAddr) -> Result<String> {
        let mut providers = String::new();
        for account in self.accounts {
            let TrialAccount {
                name,
                kind,
                base_path: base,
                ..
            } = account;
            let secret = folder.join(format!("{name}.key"));
            fs::write(&secret, name).context("writing a credential")?;
            let shards = account
                .shard
                .map(|shard| format!("shards = {{ {shard} = 1 }}\n"));
            // Writing to a string cannot fail.
            let _ = write!(
                providers,
                "[[provider]]\nname = \"{name}\"\nkind = \"{kind}\"\n\
                 base_url = \"http://{simulator}/{base}\"\ncredential_file = \"{}\"\n{}\
                 limits = {{ {} }}\n\n",
                secret.display(),
                shards.unwrap_or_default(),
                self.limits,
            );
        }
        Ok(providers)
    }

    fn models_toml(&self) -> String {
        let mut models = String::new();
        for model in self.models {
            let kind = model.trim_start_matches("trial-");
            let serving = self.accounts.iter().filter(|it| it.name.starts_with(kind));
            let routes: Vec<String> = serving
                .map(|it| format!("{{ provider = \"{}\", upstream = \"{model}\" }}", it.name))
                .collect();
            // Writing to a string cannot fail.
            let _ = write!(
                models,
                "[[model]]\nid = \"{model}\"\nkind = \"chat\"\nroutes = [{}]\n\
                 price = {{ batch = {{ input = \"0.10\", output = \"0.40\" }} }}\n\n",
                routes.join(", ")
            );
        }
        models
    }
}
