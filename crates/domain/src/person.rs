//! A person: who may look, who may change, and for how long somebody who guesses is kept out.

use std::fmt;
use std::str::FromStr;

use chrono::TimeDelta;

/// What a member may do in an organization; each may what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sees everything but keys.
    Viewer,
    /// Loads cargo, uploads files, makes keys, sends callbacks again.
    Developer,
    /// Members, projects, and what concerns money.
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
pub struct NotARole;

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Self, NotARole> {
        let role = Self::ALL.into_iter().find(|role| role.as_str() == text);
        role.ok_or(NotARole)
    }
}

/// An address as it was typed. Who may read its mail is for others to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an e-mail address looks like name@host, with at most 254 characters")]
pub struct NotAnEmail;

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same for every spelling of one address.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

impl FromStr for Email {
    type Err = NotAnEmail;

    fn from_str(text: &str) -> Result<Self, NotAnEmail> {
        let text = text.trim();
        let (name, host) = text.rsplit_once('@').ok_or(NotAnEmail)?;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        let good = !name.is_empty() && !host.is_empty() && text.len() <= 254 && !text.contains(odd);
        good.then(|| Self(text.to_owned())).ok_or(NotAnEmail)
    }
}

pub const SHORTEST_PASSWORD: usize = 12;
/// Beyond it nobody types; hashing it would only cost.
pub const LONGEST_PASSWORD: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")]
pub struct NotAPassword;

/// Length is all that is asked: rules about letters make passwords worse.
pub fn check_password(text: &str) -> Result<(), NotAPassword> {
    let length = text.chars().count();
    let good = (SHORTEST_PASSWORD..=LONGEST_PASSWORD).contains(&length);
    good.then_some(()).ok_or(NotAPassword)
}

/// For how long nobody may try again, after so many failures within [`FORGOTTEN_AFTER`].
///
/// `free` failures cost nothing; then each doubles the wait, to a quarter of an hour at most.
pub fn kept_out(failures: u32, free: u32) -> Option<TimeDelta> {
    let beyond = failures.checked_sub(free)?;
    Some(TimeDelta::seconds(2_i64.pow(beyond.min(10))).min(TimeDelta::minutes(15)))
}

pub const FORGOTTEN_AFTER: TimeDelta = TimeDelta::hours(1);

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
        assert_eq!(typed.folded(), "ada@example.org");
    }

    #[test]
    fn who_guesses_waits_longer_each_time() {
        let waits: Vec<_> = (0..=16)
            .map(|failures| kept_out(failures, 5).map_or(0, |wait| wait.num_seconds()))
            .collect();
        assert_eq!(
            waits,
            [
                0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900
            ]
        );
    }

    #[test]
    fn passwords_are_long() {
        assert_eq!(check_password("eleven char"), Err(NotAPassword));
        assert_eq!(check_password("twelve chars"), Ok(()));
        assert_eq!(check_password(&"x".repeat(257)), Err(NotAPassword));
    }
}
