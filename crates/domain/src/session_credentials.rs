//! Temporary credentials of a role: when they are refreshed, and how long a grant that they sign
//! may live.

use std::fmt;
use std::time::Duration;

use chrono::{SubsecRound as _, TimeDelta};

use crate::time::Timestamp;

/// Credentials are refreshed at least this long before they expire. AWS has new ones by then.
pub const REFRESH_MARGIN: TimeDelta = TimeDelta::minutes(5);
/// Time to the next attempt after a failed refresh.
pub const FAILED_REFRESH_DELAY: TimeDelta = TimeDelta::seconds(5);
/// Least time between two refreshes. A source may keep returning the old credentials until shortly
/// before they expire.
pub const REPEATED_REFRESH_DELAY: TimeDelta = TimeDelta::minutes(1);

/// The access key, the secret and the session token of a role, until they expire.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionCredentials {
    pub access_key: String,
    pub secret_key: String,
    pub session_token: String,
    pub expires_at: Timestamp,
}

impl fmt::Debug for SessionCredentials {
    /// Without the keys and the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionCredentials")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Why credentials cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCredentials {
    #[error("an access key, a secret key or a session token is missing")]
    Incomplete,
    #[error("they have expired already")]
    Expired,
}

impl SessionCredentials {
    /// What a source returned must be complete and valid now.
    pub fn check(self, now: Timestamp) -> Result<Self, InvalidCredentials> {
        let texts = [&self.access_key, &self.secret_key, &self.session_token];
        if texts.into_iter().any(String::is_empty) {
            return Err(InvalidCredentials::Incomplete);
        }
        if self.is_expired(now) {
            return Err(InvalidCredentials::Expired);
        }
        Ok(self)
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    /// When credentials that were fetched at `now` are refreshed. A new grant should get its whole
    /// lifetime, so grants that live longer than the margin make the refresh earlier; but at least
    /// half of the time that is left passes before it.
    pub fn next_refresh_at(&self, grant_lifetime: Duration, now: Timestamp) -> Timestamp {
        let lifetime = TimeDelta::from_std(grant_lifetime).unwrap_or(REFRESH_MARGIN);
        let half_of_remaining = (self.expires_at - now) / 2;
        let margin = lifetime.max(REFRESH_MARGIN).min(half_of_remaining);
        let refresh_at = (self.expires_at - margin).max(now + REPEATED_REFRESH_DELAY);
        refresh_at.min(self.expires_at)
    }
}

/// When a grant of this lifetime ends, in whole seconds. The store refuses a signature whose
/// credentials have expired, so a grant ends with its credentials at the latest.
pub fn grant_expires_at(
    now: Timestamp,
    lifetime: Duration,
    credentials_expire_at: Option<Timestamp>,
) -> Timestamp {
    let wanted = now + lifetime;
    let end = credentials_expire_at.map_or(wanted, |end| end.min(wanted));
    end.trunc_subsecs(0)
}

/// `X-Amz-Expires` of a presigned URL: whole seconds, counted from the whole second of `now`, so
/// that the URL ends at `expires_at`.
pub fn seconds_until(expires_at: Timestamp, now: Timestamp) -> Duration {
    let left = expires_at - now.trunc_subsecs(0);
    left.to_std().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    fn credentials(expires_at: Timestamp) -> SessionCredentials {
        SessionCredentials {
            access_key: "ASIAEXAMPLE".to_owned(),
            secret_key: "secret".to_owned(),
            session_token: "token".to_owned(),
            expires_at,
        }
    }

    #[test]
    fn credentials_are_refreshed_five_minutes_before_they_expire() {
        let next = credentials(at(3600)).next_refresh_at(Duration::from_mins(1), at(0));
        assert_eq!(next, at(3300));
    }

    #[test]
    fn long_grants_make_the_refresh_earlier() {
        let valid_for_an_hour = credentials(at(3600));
        let next = |grant| valid_for_an_hour.next_refresh_at(grant, at(0));
        assert_eq!(next(Duration::from_mins(15)), at(2700));
        // A grant that would live longer than any credentials does not cause a refresh at once.
        assert_eq!(next(Duration::from_hours(24)), at(1800));
    }

    #[test]
    fn a_source_that_repeats_old_credentials_is_asked_again_soon() {
        let old = credentials(at(900));
        let next = |now| old.next_refresh_at(Duration::from_mins(15), at(now));
        assert_eq!([next(0), next(450), next(880)], [at(450), at(675), at(900)]);
    }

    #[test]
    fn incomplete_and_expired_credentials_are_refused() {
        assert!(credentials(at(10)).check(at(9)).is_ok());
        let expired = credentials(at(10)).check(at(10));
        assert_eq!(expired, Err(InvalidCredentials::Expired));
        let without_token = SessionCredentials {
            session_token: String::new(),
            ..credentials(at(10))
        };
        let refused = without_token.check(at(9));
        assert_eq!(refused, Err(InvalidCredentials::Incomplete));
    }

    #[test]
    fn a_grant_never_outlives_its_credentials() {
        let (now, lifetime) = (at(1000), Duration::from_mins(15));
        assert_eq!(grant_expires_at(now, lifetime, None), at(1900));
        assert_eq!(grant_expires_at(now, lifetime, Some(at(9999))), at(1900));
        let capped = grant_expires_at(now, lifetime, Some(at(1300)));
        assert_eq!(capped, at(1300));
        assert_eq!(seconds_until(capped, now), Duration::from_mins(5));
    }

    #[test]
    fn the_end_of_a_link_is_its_start_plus_its_seconds() {
        let now = at(1000) + TimeDelta::milliseconds(700);
        let end = grant_expires_at(now, Duration::from_mins(15), None);
        // The date in a signature has no fraction.
        assert_eq!(at(1000) + seconds_until(end, now), end);
    }

    #[test]
    fn nothing_shows_the_keys() {
        let shown = format!("{:?}", credentials(at(0)));
        for hidden in ["ASIA", "secret", "token"] {
            assert!(!shown.contains(hidden), "{shown}");
        }
    }
}
