//! The scope of an API key: its rights, models and addresses, and its monthly spending cap.
//!
//! It is set when the key is created and never changes. Rotation keeps it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use crate::key_spending::SpendingCap;

/// What a request needs a key for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyRight {
    /// `POST /cargo/load`, `POST /cargo/estimate`, and every change of cargo and groups.
    Load,
    /// Every `GET` but those of files, and `POST /cargo/wait`. `GET /listen` also needs `Load`.
    Read,
    /// The Files API.
    Files,
}

impl KeyRight {
    pub const ALL: [Self; 3] = [Self::Load, Self::Read, Self::Files];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Read => "read",
            Self::Files => "files",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a right is load, read or files")]
pub struct UnknownKeyRight;

impl FromStr for KeyRight {
    type Err = UnknownKeyRight;

    fn from_str(text: &str) -> Result<Self, UnknownKeyRight> {
        let right = Self::ALL.into_iter().find(|right| right.as_str() == text);
        right.ok_or(UnknownKeyRight)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an address range is an IP address or a CIDR range, such as 192.0.2.7 or 10.0.0.0/8")]
pub struct InvalidAddressRange;

/// An address or a CIDR range. Bits of the host are cleared.
pub fn parse_address_range(text: &str) -> Result<IpNet, InvalidAddressRange> {
    let address = text.parse::<IpAddr>().map(|it| it.to_canonical().into());
    let range: Result<IpNet, _> = address.or_else(|_| text.parse());
    let range = range.map_err(|_| InvalidAddressRange)?.trunc();
    // Clients are compared in canonical form, so an IPv4-mapped range would contain none.
    if let IpNet::V6(mapped) = range
        && mapped.addr().to_ipv4_mapped().is_some()
    {
        return Err(InvalidAddressRange);
    }
    Ok(range)
}

/// None means no restriction. An empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyScope {
    pub rights: Option<Vec<KeyRight>>,
    pub models: Option<Vec<String>>,
    pub addresses: Option<Vec<IpNet>>,
    pub spending_cap: Option<SpendingCap>,
}

/// What a key's scope does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyScopeRefusal {
    /// None if the client's address is not known.
    Address(Option<IpAddr>),
    Right(KeyRight),
    Model {
        allowed: Vec<String>,
    },
}

impl KeyScope {
    pub fn is_unrestricted(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the key may be used for this, from this address. The model is known only once the
    /// body is read: see [`Self::allows_model`].
    pub fn allows(&self, right: KeyRight, address: Option<IpAddr>) -> Result<(), KeyScopeRefusal> {
        if let Some(ranges) = &self.addresses {
            let known = address.map(|address| address.to_canonical());
            if !known.is_some_and(|known| ranges.iter().any(|range| range.contains(&known))) {
                return Err(KeyScopeRefusal::Address(known));
            }
        }
        match &self.rights {
            Some(rights) if !rights.contains(&right) => Err(KeyScopeRefusal::Right(right)),
            Some(_) | None => Ok(()),
        }
    }

    pub fn allows_model(&self, model: &str) -> Result<(), KeyScopeRefusal> {
        match &self.models {
            Some(models) if !models.iter().any(|allowed| allowed == model) => {
                Err(KeyScopeRefusal::Model {
                    allowed: models.clone(),
                })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// `rights load, read; models svc-mock; addresses 10.0.0.0/8; cap 5.00 dollars per month`.
impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(rights) = &self.rights {
            let rights: Vec<_> = rights.iter().map(|right| right.as_str()).collect();
            parts.push(format!("rights {}", rights.join(", ")));
        }
        if let Some(models) = &self.models {
            parts.push(format!("models {}", models.join(", ")));
        }
        if let Some(ranges) = &self.addresses {
            let ranges: Vec<_> = ranges.iter().map(ToString::to_string).collect();
            parts.push(format!("addresses {}", ranges.join(", ")));
        }
        if let Some(cap) = &self.spending_cap {
            parts.push(format!("cap {} dollars per month", cap.monthly));
        }
        if parts.is_empty() {
            return f.write_str("unrestricted");
        }
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ApiKeyId;
    use crate::money::Money;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_without_a_scope_allows_everything() {
        let scope = KeyScope::default();
        assert!(scope.is_unrestricted());
        for right in KeyRight::ALL {
            assert_eq!(scope.allows(right, None), Ok(()));
            assert_eq!(right.as_str().parse(), Ok(right));
        }
        assert_eq!(scope.allows_model("svc-mock"), Ok(()));
        assert_eq!(scope.to_string(), "unrestricted");
    }

    #[test]
    fn each_part_of_a_scope_restricts_on_its_own() {
        let scope = KeyScope {
            rights: Some(vec![KeyRight::Load, KeyRight::Read]),
            models: Some(vec!["svc-mock".to_owned()]),
            addresses: Some(vec![
                parse_address_range("10.1.2.3/8").unwrap(),
                parse_address_range("2001:db8::7").unwrap(),
            ]),
            spending_cap: Some(SpendingCap {
                key: ApiKeyId::from_uuid(uuid::Uuid::nil()),
                monthly: Money(5_000_000_000),
            }),
        };
        assert_eq!(
            scope.to_string(),
            "rights load, read; models svc-mock; addresses 10.0.0.0/8, 2001:db8::7/128; \
             cap 5.00 dollars per month"
        );
        for inside in ["10.255.0.1", "::ffff:10.0.0.1", "2001:db8::7"] {
            assert_eq!(scope.allows(KeyRight::Load, Some(address(inside))), Ok(()));
        }
        for outside in [
            Some(address("11.0.0.1")),
            Some(address("2001:db8::8")),
            None,
        ] {
            assert_eq!(
                scope.allows(KeyRight::Load, outside),
                Err(KeyScopeRefusal::Address(outside))
            );
        }
        assert_eq!(
            scope.allows(KeyRight::Files, Some(address("10.0.0.1"))),
            Err(KeyScopeRefusal::Right(KeyRight::Files))
        );
        assert_eq!(scope.allows_model("svc-mock"), Ok(()));
        assert!(scope.allows_model("svc-mock-2").is_err());
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        let scope = KeyScope {
            rights: Some(Vec::new()),
            models: Some(Vec::new()),
            addresses: Some(Vec::new()),
            spending_cap: None,
        };
        assert!(
            scope
                .allows(KeyRight::Read, Some(address("10.0.0.1")))
                .is_err()
        );
        assert!(scope.allows_model("svc-mock").is_err());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0",
            "example.com",
            "10.0.0.0-10.0.0.9",
            "::ffff:10.0.0.0/104",
        ] {
            assert_eq!(
                parse_address_range(text),
                Err(InvalidAddressRange),
                "{text}"
            );
        }
    }
}
