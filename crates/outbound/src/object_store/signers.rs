//! The signer of the store: with static keys, or with the credentials of a role, which are
//! refreshed before they expire.

use std::sync::Arc;
use std::time::Duration;

use domain::session_credentials::{
    FAILED_REFRESH_DELAY, SessionCredentials, grant_expires_at, seconds_until,
};
use domain::time::Timestamp;
use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio_rustls::rustls::RootCertStore;

use super::ObjectStoreCredentials;
use super::failure::{ObjectStoreFailure, ObjectStoreSetupFailure};
use super::sigv4::{SigV4Signer, UnsignedRequest};
use crate::role_credentials::{RoleCredentialFailure, RoleCredentialSource, RoleCredentialsClient};

const REMAINING_SECONDS: &str = "longshore_object_credentials_remaining_seconds";
const REFRESH_FAILURES: &str = "longshore_object_credentials_refresh_failures_total";

pub(super) enum StoreSigners {
    Static(Arc<ActiveSigner>),
    Role(Box<RoleSigners>),
}

pub(super) struct ActiveSigner {
    pub(super) signer: SigV4Signer,
    /// None: it never expires.
    expires_at: Option<Timestamp>,
}

/// Signs grants of one lifetime, as of one moment.
pub(super) struct GrantSigner {
    active: Arc<ActiveSigner>,
    pub(super) signed_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

impl GrantSigner {
    pub(super) fn new(active: Arc<ActiveSigner>, lifetime: Duration, now: Timestamp) -> Self {
        let expires_at = grant_expires_at(now, lifetime, active.expires_at);
        Self {
            active,
            signed_at: now,
            expires_at,
        }
    }

    pub(super) fn signer(&self) -> &SigV4Signer {
        &self.active.signer
    }

    pub(super) fn lifetime(&self) -> Duration {
        seconds_until(self.expires_at, self.signed_at)
    }

    pub(super) fn presign(&self, request: UnsignedRequest<'_>) -> String {
        self.active.signer.presign(request, self.signed_at)
    }
}

impl StoreSigners {
    pub(super) fn new(
        credentials: ObjectStoreCredentials,
        region: String,
        grant_lifetime: Duration,
        roots: RootCertStore,
    ) -> Result<Self, ObjectStoreSetupFailure> {
        match credentials {
            ObjectStoreCredentials::Static {
                access_key,
                secret_key,
            } => Ok(Self::Static(Arc::new(ActiveSigner {
                signer: SigV4Signer::new(access_key, &secret_key, region)?,
                expires_at: None,
            }))),
            ObjectStoreCredentials::Role(source) => Ok(Self::Role(Box::new(RoleSigners {
                client: RoleCredentialsClient::new(source, roots)?,
                region,
                grant_lifetime,
                state: Mutex::default(),
                in_flight: tokio::sync::Mutex::new(()),
            }))),
        }
    }

    /// The signer whose signatures stay valid as long as they say.
    pub(super) fn permanent(&self) -> Option<&SigV4Signer> {
        match self {
            Self::Static(active) => Some(&active.signer),
            Self::Role(_) => None,
        }
    }

    /// For grants, which are signed without waiting.
    pub(super) fn valid(&self, now: Timestamp) -> Result<Arc<ActiveSigner>, ObjectStoreFailure> {
        match self {
            Self::Static(active) => Ok(Arc::clone(active)),
            Self::Role(role) => role.valid(now),
        }
    }

    /// For our own calls. They fetch credentials if there are none, or none that are valid.
    pub(super) async fn valid_or_refreshed(
        &self,
        now: Timestamp,
    ) -> Result<Arc<ActiveSigner>, ObjectStoreFailure> {
        match self {
            Self::Static(active) => Ok(Arc::clone(active)),
            Self::Role(role) => {
                if let Ok(active) = role.valid(now) {
                    return Ok(active);
                }
                // The failure is in the state.
                let _result = role.refresh_if_due(now).await;
                role.valid(now)
            }
        }
    }

    pub(super) async fn refresh_if_due(
        &self,
        now: Timestamp,
    ) -> Option<Result<Timestamp, RoleCredentialFailure>> {
        match self {
            Self::Static(_) => None,
            Self::Role(role) => {
                let result = role.refresh_if_due(now).await;
                role.show_remaining(now);
                Some(result)
            }
        }
    }

    pub(super) fn source(&self) -> Option<&RoleCredentialSource> {
        match self {
            Self::Static(_) => None,
            Self::Role(role) => Some(role.client.source()),
        }
    }
}

pub(super) struct RoleSigners {
    client: RoleCredentialsClient,
    region: String,
    grant_lifetime: Duration,
    state: Mutex<RefreshState>,
    /// One refresh at a time: the others wait for it and use its result.
    in_flight: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct RefreshState {
    current: Option<CurrentSigner>,
    /// Why the last refresh failed. None: it succeeded, or there was none.
    failure: Option<RoleCredentialFailure>,
    /// None: at once.
    refresh_at: Option<Timestamp>,
}

struct CurrentSigner {
    active: Arc<ActiveSigner>,
    expires_at: Timestamp,
}

impl RoleSigners {
    fn valid(&self, now: Timestamp) -> Result<Arc<ActiveSigner>, ObjectStoreFailure> {
        let state = self.state.lock();
        let valid = state
            .current
            .as_ref()
            .filter(|current| now < current.expires_at);
        match (valid, &state.failure) {
            (Some(current), _) => Ok(Arc::clone(&current.active)),
            (None, Some(failure)) => Err(ObjectStoreFailure::NoCredentials(failure.to_string())),
            (None, None) => {
                let why = "they have not been fetched yet";
                Err(ObjectStoreFailure::NoCredentials(why.to_owned()))
            }
        }
    }

    async fn refresh_if_due(&self, now: Timestamp) -> Result<Timestamp, RoleCredentialFailure> {
        if let Some(last) = self.last_result(now) {
            return last;
        }
        let _one_at_a_time = self.in_flight.lock().await;
        // Another task may have refreshed meanwhile.
        if let Some(last) = self.last_result(now) {
            return last;
        }
        let fetched = self.client.fetch(now).await;
        self.store(fetched, now)
    }

    /// None: a refresh is due.
    fn last_result(&self, now: Timestamp) -> Option<Result<Timestamp, RoleCredentialFailure>> {
        let state = self.state.lock();
        state.refresh_at.filter(|at| now < *at)?;
        match (&state.failure, &state.current) {
            (Some(failure), _) => Some(Err(failure.clone())),
            (None, Some(current)) => Some(Ok(current.expires_at)),
            (None, None) => None,
        }
    }

    /// A failure keeps the old credentials: they are valid until they expire.
    fn store(
        &self,
        fetched: Result<SessionCredentials, RoleCredentialFailure>,
        now: Timestamp,
    ) -> Result<Timestamp, RoleCredentialFailure> {
        let stored = fetched.and_then(|credentials| {
            let refresh_at = credentials.next_refresh_at(self.grant_lifetime, now);
            Ok((self.signer(credentials)?, refresh_at))
        });
        let mut state = self.state.lock();
        match stored {
            Ok((current, refresh_at)) => {
                let expires_at = current.expires_at;
                state.current = Some(current);
                state.failure = None;
                state.refresh_at = Some(refresh_at);
                Ok(expires_at)
            }
            Err(failure) => {
                counter!(REFRESH_FAILURES).increment(1);
                state.failure = Some(failure.clone());
                state.refresh_at = Some(now + FAILED_REFRESH_DELAY);
                Err(failure)
            }
        }
    }

    fn signer(
        &self,
        credentials: SessionCredentials,
    ) -> Result<CurrentSigner, RoleCredentialFailure> {
        let SessionCredentials {
            access_key,
            secret_key,
            session_token,
            expires_at,
        } = credentials;
        let signer = SigV4Signer::new(access_key, &secret_key, self.region.clone());
        let signer = signer.map_err(|_| RoleCredentialFailure::Unreadable("the source"))?;
        let active = ActiveSigner {
            signer: signer.with_session_token(session_token),
            expires_at: Some(expires_at),
        };
        Ok(CurrentSigner {
            active: Arc::new(active),
            expires_at,
        })
    }

    fn show_remaining(&self, now: Timestamp) {
        let state = self.state.lock();
        let expires_at = state.current.as_ref().map(|current| current.expires_at);
        let remaining = expires_at.map(|at| (at - now).to_std().unwrap_or_default());
        gauge!(REMAINING_SECONDS).set(remaining.unwrap_or_default().as_secs_f64());
    }
}
