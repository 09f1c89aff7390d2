//! The environment variables of the command line. No other file reads the environment.

use std::env;
use std::fmt;
use std::path::PathBuf;

/// The variables that the command line knows. Empty ones count as absent.
#[derive(Clone, Default)]
pub struct CallerEnvironment {
    pub api_key: Option<String>,
    pub base_url: Option<String>,
    pub profile: Option<String>,
    /// The folder of the configuration.
    pub config_folder: Option<PathBuf>,
}

impl CallerEnvironment {
    pub fn read() -> Self {
        let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".config"));
        let config_home = env::var_os("XDG_CONFIG_HOME").filter(|it| !it.is_empty());
        let config_home = config_home.map(PathBuf::from).or_else(home);
        Self {
            api_key: variable("LONGSHORE_API_KEY"),
            base_url: variable("LONGSHORE_BASE_URL"),
            profile: variable("LONGSHORE_PROFILE"),
            config_folder: config_home.map(|folder| folder.join("longshore")),
        }
    }
}

/// Without the key: a session is printed with its environment.
impl fmt::Debug for CallerEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerEnvironment")
            .field("api_key", &self.api_key.as_ref().map(|_| "hidden"))
            .field("base_url", &self.base_url)
            .field("profile", &self.profile)
            .field("config_folder", &self.config_folder)
            .finish()
    }
}

/// The value of a variable whose name the caller gave, such as the secret of a receiver.
pub fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?.into_string().ok()?;
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_not_in_debug_output() {
        let environment = CallerEnvironment {
            api_key: Some("svc_sk_secret".to_owned()),
            base_url: Some("https://a.example".to_owned()),
            ..CallerEnvironment::default()
        };
        let text = format!("{environment:?}");
        assert!(text.contains("https://a.example"), "{text}");
        assert!(!text.contains("svc_sk_secret"), "{text}");
    }
}
