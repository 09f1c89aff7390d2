//! A project owns cargo, files and API keys.

use std::fmt;
use std::str::FromStr;

/// The name of a project in URLs: 1 to 63 of `a-z 0-9 -`, without `-` at either end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slug(String);

impl Slug {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a slug is 1 to 63 characters of a-z, 0-9 and -, and neither begins nor ends with -")]
pub struct InvalidSlug;

impl FromStr for Slug {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let good = (1..=63).contains(&text.len())
            && text.bytes().all(allowed)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if good {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSlug)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for good in ["a", "a1", "north-demo", &"x".repeat(63)] {
            assert!(good.parse::<Slug>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a b", &"x".repeat(64)] {
            assert!(bad.parse::<Slug>().is_err(), "{bad}");
        }
    }
}
