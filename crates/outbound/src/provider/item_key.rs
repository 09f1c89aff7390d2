//! The key of one item inside a provider's job: the cargo id and the attempt number.
//!
//! Results arrive in any order, so only the key identifies their item. Keys satisfy the strictest
//! provider: at most 64 letters, digits, `-` and `_`.

use std::fmt;
use std::str::FromStr;

use domain::id::CargoId;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemKey {
    pub cargo: CargoId,
    pub attempt: u32,
}

/// The error does not repeat the text, which may hold anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an item key")]
pub struct InvalidItemKey;

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-a{}", self.cargo, self.attempt)
    }
}

impl FromStr for ItemKey {
    type Err = InvalidItemKey;

    fn from_str(text: &str) -> Result<Self, InvalidItemKey> {
        let (cargo, attempt) = text.split_once("-a").ok_or(InvalidItemKey)?;
        // Each key has one spelling: no sign and no leading zero.
        if !attempt.bytes().all(|byte| byte.is_ascii_digit())
            || (attempt.len() > 1 && attempt.starts_with('0'))
        {
            return Err(InvalidItemKey);
        }
        Ok(Self {
            cargo: cargo.parse().map_err(|_| InvalidItemKey)?,
            attempt: attempt.parse().map_err(|_| InvalidItemKey)?,
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
        fn a_key_round_trips_and_fits_the_strictest_alphabet(uuid: u128, attempt: u32) {
            let key = ItemKey { cargo: CargoId::from_uuid(Uuid::from_u128(uuid)), attempt };
            let name = key.to_string();
            prop_assert!(name.len() <= 64);
            let narrow = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            prop_assert!(name.bytes().all(narrow));
            prop_assert_eq!(name.parse(), Ok(key));
        }

        #[test]
        fn a_key_that_parses_is_written_the_same(text in "crg_[0-9a-f]{31,33}-?a?[+0-9]{0,12}") {
            if let Ok(key) = text.parse::<ItemKey>() {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }

    #[test]
    fn other_texts_are_not_keys() {
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
            assert_eq!(text.parse::<ItemKey>(), Err(InvalidItemKey), "{text}");
        }
    }
}
