//! Settings that are one of a few words.

/// What can be chosen, and how each is written.
pub(super) trait Choice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($word:literal $variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($variant,)* }
        impl Choice for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant),)*];
        }
    )*};
}

choices! {
    /// How strict we are with callers.
    Environment { "production" Production, "development" Development, }
    /// Who runs this install.
    Deployment { "self_hosted" SelfHosted, "cloud" Cloud, }
    /// How log lines look.
    LogFormat { "json" Json, "text" Text, }
    /// Where the name of a bucket stands in an address.
    Style { "path" Path, "virtual" Virtual, }
}

pub(super) fn choice<T: Choice>(text: &str) -> Result<T, String> {
    let found = T::WORDS
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value);
    found.ok_or_else(|| {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        words.join(" or ")
    })
}
