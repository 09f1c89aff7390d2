//! The name of one item inside a provider's job: its cargo and which attempt it is.
//!
//! Results come back in any order, so the name alone says whose they are. It fits the
//! narrowest alphabet there is: at most 64 of letters, digits, `-` and `_`.

use std::fmt;
use std::str::FromStr;

use domain::id::CargoId;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemKey {
    pub cargo: CargoId,
    pub attempt: u32,
}

/// Not a name that we gave; what it was is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an item")]
pub struct NotAKey;

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-a{}", self.cargo, self.attempt)
    }
}

impl FromStr for ItemKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let (cargo, attempt) = text.split_once("-a").ok_or(NotAKey)?;
        // One name, one spelling: no sign and no zero before the number.
        if !attempt.bytes().all(|byte| byte.is_ascii_digit())
            || (attempt.len() > 1 && attempt.starts_with('0'))
        {
            return Err(NotAKey);
        }
        Ok(Self {
            cargo: cargo.parse().map_err(|_| NotAKey)?,
            attempt: attempt.parse().map_err(|_| NotAKey)?,
        })
    }
}

impl Serialize for ItemKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use domain::id::CargoId;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    proptest! {
        #[test]
        fn a_name_says_whose_it_is_within_the_narrowest_alphabet(uuid: u128, attempt: u32) {
            let key = ItemKey { cargo: CargoId::from_uuid(Uuid::from_u128(uuid)), attempt };
            let name = key.to_string();
            prop_assert!(name.len() <= 64);
            let narrow = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            prop_assert!(name.bytes().all(narrow));
            prop_assert_eq!(name.parse(), Ok(key));
        }

        #[test]
        fn whatever_is_read_as_a_name_is_written_the_same(text in "crg_[0-9a-f]{31,33}-?a?[+0-9]{0,12}") {
            if let Ok(key) = text.parse::<ItemKey>() {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }

    #[test]
    fn other_names_are_not_ours() {
        let cargo = "crg_019b76daa87b774b805000000000002a";
        assert!(format!("{cargo}-a1").parse::<ItemKey>().is_ok());
        for text in [
            String::new(),
            cargo.to_owned(),
            format!("{cargo}-a"),
            format!("{cargo}-a01"),
            format!("{cargo}-a+1"),
            format!("{cargo}-a4294967296"),
            format!("{cargo}-a1-a2"),
            format!("{}-a1", cargo.to_uppercase()),
        ] {
            assert_eq!(text.parse::<ItemKey>(), Err(NotAKey), "{text}");
        }
    }
}
