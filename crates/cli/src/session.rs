//! What a command works with: the options of all commands, the printer and the client.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use client::longshore_client::{ClientOptions, LongshoreClient};

use crate::cli_error::{CliError, CliResult};
use crate::environment::CallerEnvironment;
use crate::exit_status::ExitStatus;
use crate::printer::OutputPrinter;
use crate::profiles::ProfileFolder;

const RETRY_BUDGET: Duration = Duration::from_mins(2);
pub const USER_AGENT: &str = concat!("longshore-cli/", env!("CARGO_PKG_VERSION"));

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct GlobalOptions {
    /// The profile whose service and key are used.
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// The address of the service, such as <https://longshore.example.com>.
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// A file with the API key. A key is never an argument: other users would see it.
    #[arg(long, global = true, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Print JSON for programs instead of text for people. Errors are JSON, too.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no progress and no remarks.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Clone)]
pub struct Session {
    pub options: GlobalOptions,
    pub environment: CallerEnvironment,
    pub printer: OutputPrinter,
}

/// The service and the key of a command.
struct Access {
    base_url: String,
    api_key: String,
}

impl Session {
    pub fn new(options: GlobalOptions, environment: CallerEnvironment) -> Self {
        let printer = OutputPrinter::new(options.json, options.quiet);
        Self {
            options,
            environment,
            printer,
        }
    }

    pub fn client(&self) -> CliResult<LongshoreClient> {
        let access = self.access()?;
        Self::client_for(access.base_url, access.api_key)
    }

    pub fn client_for(base_url: String, api_key: String) -> CliResult<LongshoreClient> {
        let options = ClientOptions {
            base_url,
            api_key,
            user_agent: USER_AGENT.to_owned(),
            retry_for: Some(RETRY_BUDGET),
        };
        Ok(LongshoreClient::new(&options)?)
    }

    pub fn profiles(&self) -> CliResult<ProfileFolder> {
        let Some(folder) = &self.environment.config_folder else {
            let message = "There is no folder for the configuration: HOME is not set.";
            return Err(CliError::new(ExitStatus::Failed, "no_home", message)
                .with_next("Set HOME or XDG_CONFIG_HOME."));
        };
        ProfileFolder::read(folder)
    }

    pub fn profile_name(&self) -> Option<&str> {
        let named = self.options.profile.as_deref();
        named.or(self.environment.profile.as_deref())
    }

    /// The key of the environment, of the file or of the profile, in this order.
    fn access(&self) -> CliResult<Access> {
        let given_url = self.options.base_url.clone();
        let given_url = given_url.or_else(|| self.environment.base_url.clone());
        let given_key = match (&self.environment.api_key, &self.options.key_file) {
            (Some(key), _) => Some(key.clone()),
            (None, Some(path)) => {
                let text = fs::read_to_string(path);
                let text = text.map_err(|error| CliError::file(path, &error))?;
                Some(text.trim().to_owned())
            }
            (None, None) => None,
        };
        if let (Some(base_url), Some(api_key)) = (&given_url, &given_key) {
            return Ok(Access {
                base_url: base_url.clone(),
                api_key: api_key.clone(),
            });
        }
        let folder = self.profiles()?;
        let chosen = folder.choose(self.profile_name());
        let base_url = given_url.or_else(|| chosen.map(|(_, entry)| entry.base_url.clone()));
        let stored_key = || folder.credentials.keys.get(chosen?.0).cloned();
        // A stored key is for the service of its profile only.
        let is_other_service = chosen.is_some_and(|(_, entry)| {
            let trimmed = |url: &str| url.trim_end_matches('/').to_owned();
            base_url.as_deref().map(trimmed) != Some(trimmed(&entry.base_url))
        });
        let stored_key = if is_other_service { None } else { stored_key() };
        match (base_url, given_key.or(stored_key)) {
            (Some(base_url), Some(api_key)) => Ok(Access { base_url, api_key }),
            (None, _) => Err(not_signed_in("The address of the service is not known.")),
            (Some(base_url), None) => Err(not_signed_in(&format!(
                "There is no API key for {base_url}."
            ))),
        }
    }
}

fn not_signed_in(message: &str) -> CliError {
    CliError::new(ExitStatus::NotAllowed, "not_signed_in", message)
        .with_next("Run `longshore login`, or set LONGSHORE_BASE_URL and LONGSHORE_API_KEY.")
}
