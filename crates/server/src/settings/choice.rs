//! Settings with a fixed set of words.

use domain::callback_url::AllowedSchemes;
use domain::durability::DurabilityPolicy;

/// The words of such a setting and their values.
pub(super) trait SettingChoice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($word:literal $variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($variant,)* }
        impl SettingChoice for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant),)*];
        }
    )*};
}

choices! {
    /// How strict the checks of callers are.
    Environment { "production" Production, "development" Development, }
    /// Who runs this installation.
    Deployment { "self_hosted" SelfHosted, "cloud" Cloud, }
    /// How people sign in to the dashboard.
    SignInMethods { "password_and_sso" PasswordAndSso, "sso" SsoOnly, }
    /// Who must sign in with a second factor.
    SecondFactor { "optional" Optional, "operators" Operators, "everyone" Everyone, }
    /// Whether callbacks can go to programs that listen under a name.
    ListenTunnelSwitch { "on" On, "off" Off, }
    /// The format of log lines.
    LogFormat { "json" Json, "text" Text, }
    /// What happens in production with an address whose connections may be unencrypted.
    PlaintextConnections { "refuse" Refuse, "allow" Allow, }
    /// Whether a provider must say when a person entered their credentials.
    AuthTime { "required" Required, "optional" Optional, }
    /// Whether the formats of other providers are served.
    Dropins { "on" On, "off" Off, }
    /// Where the bucket name goes in a URL of the object store.
    BucketStyle { "path" Path, "virtual" Virtual, }
    /// Where the credentials of the object store come from.
    ObjectCredentials { "static" Static, "environment" Environment, }
}

impl SettingChoice for DurabilityPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("replicated", Self::Replicated),
        ("one-server", Self::OneServer),
        ("managed", Self::Managed),
    ];
}

impl From<Environment> for AllowedSchemes {
    fn from(environment: Environment) -> Self {
        match environment {
            Environment::Production => Self::HttpsOnly,
            Environment::Development => Self::HttpAndHttps,
        }
    }
}

pub(super) fn choice<T: SettingChoice>(text: &str) -> Result<T, String> {
    let found = T::WORDS
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value);
    found.ok_or_else(|| {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        words.join(" or ")
    })
}
