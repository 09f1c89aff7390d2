//! The name under which a program listens for callbacks: `listen://NAME`.

use std::fmt;
use std::str::FromStr;

const MAX_NAME_CHARS: usize = 32;

/// 1 to 32 lowercase letters, digits and hyphens. Unique in its project while it listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 32 lowercase letters, digits and hyphens")]
pub struct InvalidListenerName;

impl ListenerName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ListenerName {
    type Err = InvalidListenerName;

    fn from_str(text: &str) -> Result<Self, InvalidListenerName> {
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = (1..=MAX_NAME_CHARS).contains(&text.len()) && text.bytes().all(is_allowed);
        is_name
            .then(|| Self(text.to_owned()))
            .ok_or(InvalidListenerName)
    }
}

impl fmt::Display for ListenerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_few_and_plain_characters() {
        for name in ["a", "anna-1", "-", "00000000000000000000000000000000"] {
            assert_eq!(name.parse::<ListenerName>().unwrap().as_str(), name);
        }
        for name in [
            "",
            "A",
            "a b",
            "a/b",
            "\u{e9}",
            "000000000000000000000000000000000",
        ] {
            assert_eq!(name.parse::<ListenerName>(), Err(InvalidListenerName));
        }
    }
}
