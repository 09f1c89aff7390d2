//! `providers.toml`, `models.toml` and credentials for accounts at the simulator.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::failure::{During as _, Result};

/// An account at a provider; its credential is its name.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub name: &'static str,
    /// What the simulator calls its provider.
    pub kind: &'static str,
    /// The only shard that it serves; none: all share it.
    pub shard: Option<&'static str>,
    /// Where the simulator has it.
    pub base: &'static str,
}

impl Account {
    /// Whether its jobs carry a label of ours.
    pub fn is_labelled(&self) -> bool {
        self.kind != "anthropic"
    }

    /// Its place in the simulator's administration.
    pub fn path(&self, what: &str) -> String {
        format!("{}/{}/{what}", self.kind, self.name)
    }
}

/// The accounts, what each may take, and the models that go to them.
#[derive(Debug, Clone, Copy)]
pub struct Accounts<'a> {
    pub accounts: &'a [Account],
    /// Of each account, as in `providers.toml`.
    pub limits: &'a str,
    /// `trial-KIND` goes to the accounts whose names begin with KIND.
    pub models: &'a [&'a str],
}

impl Accounts<'_> {
    /// Writes the files; says which settings name them.
    pub fn write(
        &self,
        folder: &Path,
        simulator: SocketAddr,
    ) -> Result<Vec<(&'static str, String)>> {
        let written = [
            (
                "PROVIDERS_FILE",
                "providers.toml",
                self.providers(folder, simulator)?,
            ),
            ("MODELS_FILE", "trial-models.toml", self.catalogue()),
        ];
        let mut settings = Vec::new();
        for (setting, name, text) in written {
            let file = folder.join(name);
            fs::write(&file, text).during(format!("writing {name}"))?;
            settings.push((setting, file.display().to_string()));
        }
        Ok(settings)
    }

    fn providers(&self, folder: &Path, simulator: SocketAddr) -> Result<String> {
        let mut providers = String::new();
        for account in self.accounts {
            let Account {
                name, kind, base, ..
            } = account;
            let secret = folder.join(format!("{name}.key"));
            fs::write(&secret, name).during("writing a credential")?;
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

    fn catalogue(&self) -> String {
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
