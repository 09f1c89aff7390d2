//! A person: roles, e-mail addresses, passwords, and the lockout after failed sign-ins.

use std::fmt;
use std::str::FromStr;

use chrono::TimeDelta;

/// What rows say instead of the name of an erased person.
pub const ERASED_PERSON: &str = "erased person";

/// What a member may do in an organization. Each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sees everything but keys.
    Viewer,
    /// Loads cargo, uploads files, creates keys, resends callbacks.
    Developer,
    /// Manages members, projects and money.
    Owner,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Developer, Self::Owner];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Developer => "developer",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a role is viewer, developer or owner")]
pub struct InvalidRole;

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        let role = Self::ALL.into_iter().find(|role| role.as_str() == text);
        role.ok_or(InvalidRole)
    }
}

/// An e-mail address as it was typed. Ownership is not verified here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an e-mail address looks like name@host, with at most 254 characters")]
pub struct InvalidEmail;

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same for every spelling of one address.
    pub fn normalized(&self) -> String {
        self.0.to_lowercase()
    }
}

impl FromStr for Email {
    type Err = InvalidEmail;

    fn from_str(text: &str) -> Result<Self, InvalidEmail> {
        let text = text.trim();
        let (name, host) = text.rsplit_once('@').ok_or(InvalidEmail)?;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        let good = !name.is_empty() && !host.is_empty() && text.len() <= 254 && !text.contains(odd);
        good.then(|| Self(text.to_owned())).ok_or(InvalidEmail)
    }
}

pub const MIN_PASSWORD_CHARS: usize = 12;
/// People do not type longer ones, and hashing them would only cost time.
pub const MAX_PASSWORD_CHARS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a password has {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters")]
pub struct InvalidPassword;

/// Checks the length alone: rules about characters make passwords worse.
pub fn check_password(text: &str) -> Result<(), InvalidPassword> {
    let length = text.chars().count();
    let good = (MIN_PASSWORD_CHARS..=MAX_PASSWORD_CHARS).contains(&length);
    good.then_some(()).ok_or(InvalidPassword)
}

/// How long sign-in is locked after so many failures within [`SIGN_IN_FAILURE_WINDOW`].
///
/// `free` failures cost nothing. Then each doubles the lockout, up to a quarter of an hour.
pub fn sign_in_lockout(failures: u32, free: u32) -> Option<TimeDelta> {
    let beyond = failures.checked_sub(free)?;
    Some(TimeDelta::seconds(2_i64.pow(beyond.min(10))).min(TimeDelta::minutes(15)))
}

/// The lockout in seconds after the first failure, the second, and so on. After the last entry it
/// stays the same.
pub fn sign_in_lockouts(free: u32) -> Vec<i64> {
    let seconds = |failures| sign_in_lockout(failures, free).map_or(0, |wait| wait.num_seconds());
    (1..=free.saturating_add(10)).map(seconds).collect()
}

pub const SIGN_IN_FAILURE_WINDOW: TimeDelta = TimeDelta::hours(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emails() {
        for good in ["a@b", " Ada@Example.ORG ", "x+y@z.example"] {
            assert!(good.parse::<Email>().is_ok(), "{good}");
        }
        for bad in ["", "@", "a@", "@b", "a b@c", "a@b\n c", &"x@y".repeat(100)] {
            assert!(bad.parse::<Email>().is_err(), "{bad}");
        }
        let typed: Email = "Ada@Example.ORG".parse().unwrap();
        assert_eq!(typed.normalized(), "ada@example.org");
    }

    #[test]
    fn each_failed_sign_in_doubles_the_lockout() {
        let waits: Vec<_> = (0..=16)
            .map(|failures| sign_in_lockout(failures, 5).map_or(0, |wait| wait.num_seconds()))
            .collect();
        assert_eq!(
            waits,
            [
                0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900
            ]
        );
    }

    #[test]
    fn the_table_of_lockouts_ends_with_the_longest() {
        let table = sign_in_lockouts(3);
        assert_eq!(table, [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900]);
        let last = sign_in_lockout(u32::MAX, 3).unwrap().num_seconds();
        assert_eq!(table.last(), Some(&last));
    }

    #[test]
    fn passwords_are_long() {
        assert_eq!(check_password("eleven char"), Err(InvalidPassword));
        assert_eq!(check_password("twelve chars"), Ok(()));
        assert_eq!(check_password(&"x".repeat(257)), Err(InvalidPassword));
    }
}
