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
    /// The folder of interrupted uploads.
    pub upload_folder: Option<PathBuf>,
}

impl CallerEnvironment {
    pub fn read() -> Self {
        let folder = |variable: &str, default: &str| {
            let home = || Some(PathBuf::from(env::var_os("HOME")?).join(default));
            let given = env::var_os(variable).filter(|it| !it.is_empty());
            given.map(PathBuf::from).or_else(home)
        };
        let config_home = folder("XDG_CONFIG_HOME", ".config");
        let cache_home = folder("XDG_CACHE_HOME", ".cache");
        Self {
            api_key: variable("LONGSHORE_API_KEY"),
            base_url: variable("LONGSHORE_BASE_URL"),
            profile: variable("LONGSHORE_PROFILE"),
            config_folder: config_home.map(|folder| folder.join("longshore")),
            upload_folder: cache_home.map(|folder| folder.join("longshore").join("uploads")),
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
            .field("upload_folder", &self.upload_folder)
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
