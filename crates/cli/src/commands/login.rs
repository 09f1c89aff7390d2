//! `longshore login`, `logout` and `profiles`: the services and keys of this user.

use std::net::IpAddr;

use clap::Args;
use http::Uri;
use serde_json::json;

use crate::cli_error::{CliError, CliResult};
use crate::exit_status::ExitStatus;
use crate::json_fields::text_at;
use crate::printer;
use crate::profiles::ProfileEntry;
use crate::session::Session;
use crate::table::TextTable;
use crate::terminal;

const DEFAULT_PROFILE: &str = "default";

#[derive(Debug, Clone, Copy, Args)]
pub struct LoginOptions {
    /// Use this profile when none is named.
    #[arg(long)]
    pub make_default: bool,
}

/// Asks for the address and the key, tries them, and stores them.
pub async fn login(session: &Session, options: LoginOptions) -> CliResult<ExitStatus> {
    let mut folder = session.profiles()?;
    let name = session.profile_name().unwrap_or(DEFAULT_PROFILE).to_owned();
    let base_url = base_url(session).await?;
    if sends_key_in_plain(&base_url) {
        session.printer.note(
            "Warning: this address begins with http://, so everyone on the way to the service can \
             read your API key. Use https:// if the service has it.",
        );
    }
    let api_key = match &session.options.key_file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| CliError::file(path, &error))?;
            text.trim().to_owned()
        }
        None => terminal::ask_secret("API key (not shown): ").await?,
    };
    let client = Session::client_for(base_url.clone(), api_key.clone())?;
    let identity = client.whoami().await?;
    let project = text_at(&identity, "/project/slug");
    let entry = ProfileEntry {
        base_url,
        project: Some(project.clone()),
    };
    folder.config.profiles.insert(name.clone(), entry);
    folder.credentials.keys.insert(name.clone(), api_key);
    if options.make_default || folder.config.profiles.len() == 1 {
        folder.config.default = Some(name.clone());
    }
    folder.write()?;
    let path = folder.credentials_path().display().to_string();
    let value = json!({"profile": name, "project": project, "credentials": path});
    session.printer.result(&value, |_| {
        format!(
            "Signed in to project {project} as profile {name}.\nThe key is in {path}, which only \
             you can read."
        )
    })?;
    Ok(ExitStatus::Done)
}

/// Whether the key would leave this machine without TLS.
fn sends_key_in_plain(base_url: &str) -> bool {
    let Ok(uri) = base_url.parse::<Uri>() else {
        return false;
    };
    if uri.scheme_str() != Some("http") {
        return false;
    }
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address.parse().is_ok_and(|it: IpAddr| it.is_loopback());
    let is_localhost = host == "localhost" || host.ends_with(".localhost");
    !is_loopback && !is_localhost
}

async fn base_url(session: &Session) -> CliResult<String> {
    let given = session.options.base_url.clone();
    let given = given.or_else(|| session.environment.base_url.clone());
    if let Some(url) = given {
        return Ok(url);
    }
    if !printer::is_interactive() {
        let message = "The address of the service is not known.";
        return Err(CliError::new(ExitStatus::Usage, "no_base_url", message)
            .with_next("Add --base-url URL."));
    }
    terminal::ask("Address of the service (https://…): ").await
}

/// Forgets a profile and its key. The key itself stays valid.
pub fn logout(session: &Session) -> CliResult<ExitStatus> {
    let mut folder = session.profiles()?;
    let chosen = folder.choose(session.profile_name());
    let Some(name) = chosen.map(|(name, _)| name.to_owned()) else {
        let message = "There is no such profile.";
        return Err(CliError::new(ExitStatus::NotFound, "no_profile", message)
            .with_next("`longshore profiles` lists them."));
    };
    folder.config.profiles.remove(&name);
    folder.credentials.keys.remove(&name);
    if folder.config.default.as_deref() == Some(name.as_str()) {
        folder.config.default = None;
    }
    folder.write()?;
    let value = json!({"profile": name});
    session.printer.result(&value, |_| {
        format!("Profile {name} and its key are removed.")
    })?;
    Ok(ExitStatus::Done)
}

pub fn list_profiles(session: &Session) -> CliResult<ExitStatus> {
    let folder = session.profiles()?;
    let chosen = folder.choose(session.profile_name()).map(|(name, _)| name);
    if session.printer.is_json() {
        for (name, entry) in &folder.config.profiles {
            session.printer.json(&json!({
                "profile": name,
                "base_url": entry.base_url,
                "project": entry.project,
                "is_used": chosen == Some(name),
            }))?;
        }
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(&["", "profile", "service", "project"]);
    for (name, entry) in &folder.config.profiles {
        let mark = if chosen == Some(name) { "*" } else { "" };
        table.push(vec![
            mark.to_owned(),
            name.clone(),
            entry.base_url.clone(),
            entry.project.clone().unwrap_or_default(),
        ]);
    }
    session.printer.table(&table)?;
    Ok(ExitStatus::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_to_another_machine_is_warned_about() {
        for (url, is_warned) in [
            ("http://longshore.example.com", true),
            ("HTTP://10.0.0.7:8080/api", true),
            ("http://[2001:db8::7]:8080", true),
            ("http://localhost.example.com", true),
            ("https://longshore.example.com", false),
            ("http://127.0.0.1:8080", false),
            ("http://127.8.8.8", false),
            ("http://[::1]:8080", false),
            ("http://localhost:8080", false),
            ("longshore.example.com", false),
        ] {
            assert_eq!(sends_key_in_plain(url), is_warned, "{url}");
        }
    }
}
