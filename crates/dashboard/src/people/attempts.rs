//! The throttle of guesses: each attempt is counted before the secret is checked.
//!
//! An attempt is counted under the account and the source together, under the source, and under the
//! account. A stranger who guesses from one source locks out that source, and not the owner.

use std::net::IpAddr;

use domain::api_key::SecretDigest;
use domain::forwarded_for::customer_of;
use domain::time::Timestamp;
use store::control::audit_log::{self, AuditEvent};
use store::control::person::Person;
use store::control::sign_in_throttle::{self, ThrottleSubject};

use crate::access::ClientInfo;
use crate::page_error::PageError;
use crate::state::DashboardState;

/// Failures in an hour that block nothing: of an account from one source, of a source, and of an
/// account from all sources.
const FREE_FAILURES_PER_ACCOUNT_AND_SOURCE: u32 = 5;
const FREE_FAILURES_PER_SOURCE: u32 = 50;
const FREE_FAILURES_PER_ACCOUNT: u32 = 100;

/// An attempt to prove an identity, by password or by code.
#[derive(Debug)]
pub(crate) struct ThrottledAttempt {
    account_and_source: ThrottleSubject,
    source: ThrottleSubject,
    account: ThrottleSubject,
}

impl ThrottledAttempt {
    /// `account` is an e-mail address as it was typed, known or not.
    pub(crate) fn new(account: &str, client_address: &str) -> Self {
        let account = account.trim().to_lowercase();
        let source = source_of(client_address);
        Self {
            account_and_source: ThrottleSubject {
                digest: SecretDigest::of(&format!("account and source {account} {source}")),
                free: FREE_FAILURES_PER_ACCOUNT_AND_SOURCE,
            },
            source: ThrottleSubject {
                digest: SecretDigest::of(&format!("source {source}")),
                free: FREE_FAILURES_PER_SOURCE,
            },
            account: ThrottleSubject {
                digest: SecretDigest::of(&format!("account {account}")),
                free: FREE_FAILURES_PER_ACCOUNT,
            },
        }
    }

    /// Counts the attempt as a failure, or refuses it. A refused attempt stops at the first subject
    /// that is blocked, so that one source alone never fills the count of an account.
    pub(crate) async fn admit(
        &self,
        state: &DashboardState,
        now: Timestamp,
    ) -> Result<(), PageError> {
        for subject in [self.account_and_source, self.source, self.account] {
            let blocked = sign_in_throttle::count_attempt(&state.control, subject, now).await?;
            if let Some(until) = blocked {
                return Err(PageError::RateLimited {
                    what: "attempts",
                    seconds: (until - now).num_seconds() + 1,
                });
            }
        }
        Ok(sign_in_throttle::delete_expired(&state.control, now).await?)
    }

    /// Writes the failure to the audit log. An unknown address is not written: it may be a password
    /// in the wrong field.
    pub(crate) async fn fail(
        state: &DashboardState,
        person: Option<&Person>,
        client: &ClientInfo,
        proof: &str,
        now: Timestamp,
    ) -> Result<(), PageError> {
        let subject = person.map_or("unknown address", |it| &it.email);
        record_refusal(state, client, subject, format!("wrong {proof}"), now).await
    }

    /// Writes a failed single sign-on to the audit log. Anyone can cause such failures, so those of
    /// one source are counted, and not written while it has too many.
    pub(crate) async fn fail_single_sign_on(
        state: &DashboardState,
        client: &ClientInfo,
        subject: &str,
        why: &str,
        now: Timestamp,
    ) -> Result<(), PageError> {
        let source = ThrottleSubject {
            digest: SecretDigest::of(&format!("single sign-on {}", source_of(&client.address))),
            free: FREE_FAILURES_PER_SOURCE,
        };
        let blocked = sign_in_throttle::count_attempt(&state.control, source, now).await?;
        sign_in_throttle::delete_expired(&state.control, now).await?;
        if blocked.is_some() {
            return Ok(());
        }
        let detail = format!("single sign-on: {why}");
        record_refusal(state, client, subject, detail, now).await
    }

    /// Takes the count back after the secret was correct.
    pub(crate) async fn succeed(&self, state: &DashboardState) -> Result<(), PageError> {
        sign_in_throttle::clear(&state.control, self.account_and_source).await?;
        sign_in_throttle::forgive_attempt(&state.control, self.source).await?;
        Ok(sign_in_throttle::forgive_attempt(&state.control, self.account).await?)
    }
}

async fn record_refusal(
    state: &DashboardState,
    client: &ClientInfo,
    subject: &str,
    detail: String,
    now: Timestamp,
) -> Result<(), PageError> {
    let by = client.actor(None, "not signed in");
    let event = AuditEvent {
        action: "session.refused",
        subject: subject.to_owned(),
        detail,
        ..AuditEvent::default()
    };
    Ok(audit_log::record(&state.control, &by, event, now).await?)
}

fn source_of(client_address: &str) -> String {
    let address = client_address.parse::<IpAddr>();
    address.map_or(client_address.to_owned(), |it| customer_of(it).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_source() {
        assert_eq!(source_of("2001:db8::1"), source_of("2001:db8::ffff:2"));
        assert_ne!(source_of("2001:db8::1"), source_of("2001:db8:0:1::1"));
        assert_eq!(source_of("::ffff:192.0.2.1"), source_of("192.0.2.1"));
        assert_ne!(source_of("192.0.2.2"), source_of("192.0.2.1"));
        assert_eq!(source_of("unknown"), "unknown");
    }
}
