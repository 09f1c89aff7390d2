//! Single sign-on with OIDC.
//!
//! State, nonce and PKCE verifier of a login attempt derive from one random cookie that is valid
//! for ten minutes. The server stores nothing, and the callback works only in the same browser.

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use domain::id::{Berth, PersonId};
use domain::oidc::{ExternalIdentity, LoginAttempt};
use domain::person::Email;
use domain::secret_token::SecretToken;
use domain::time::Timestamp;
use http::header::SET_COOKIE;
use http::{HeaderMap, Uri};
use serde::Deserialize;
use store::control::audit_log::Actor;
use store::control::identity;
use store::control::one_time_link::{self, Invitee, LinkPurpose, LinkRedemption};
use store::control::person::{self, NewPerson, Person};
use store::control::session;

use crate::access::{ClientInfo, Visitor};
use crate::cookie;
use crate::page_error::PageError;
use crate::people::attempts::ThrottledAttempt;
use crate::people::invitation::invitation_path;
use crate::people::session_start::{IdentityProof, encode, start_session};
use crate::state::{DashboardState, IdentityProvider};

pub(crate) const CALLBACK_PATH: &str = "/dashboard/oidc/callback";
/// Its name before 0.1.0: identity providers may still have it registered.
pub(crate) const OLD_CALLBACK_PATH: &str = "/dashboard/elsewhere/back";

#[derive(Debug, Default, Deserialize)]
pub(crate) struct OidcStartQuery {
    /// The invitation to accept after signing in.
    #[serde(default)]
    pass: String,
    /// The page to open after signing in.
    #[serde(default)]
    next: String,
    /// The identity provider asks for the password again, even if the person is signed in there.
    #[serde(default)]
    again: bool,
}

fn login_attempt(
    state: &DashboardState,
    token: &SecretToken,
    callback_path: &str,
    fresh_since: Option<Timestamp>,
) -> LoginAttempt {
    LoginAttempt {
        redirect_uri: format!("{}{callback_path}", state.options.public_url),
        state: token.derive("state"),
        nonce: token.derive("nonce"),
        code_verifier: token.derive("verifier"),
        fresh_since,
    }
}

pub(crate) async fn start_login(
    State(state): State<DashboardState>,
    Query(start): Query<OidcStartQuery>,
) -> Result<Response, PageError> {
    let provider = state
        .identity_provider
        .as_ref()
        .ok_or(PageError::NotFound)?;
    let token = SecretToken::from_random(rand::random());
    let fresh_since = start.again.then(|| state.clock.now());
    let attempt = login_attempt(&state, &token, CALLBACK_PATH, fresh_since);
    let url = provider
        .authorization_url(&attempt)
        .await
        .map_err(PageError::Invalid)?;
    let invitation = SecretToken::parse(&start.pass);
    let invitation = invitation.as_ref().map_or("", SecretToken::reveal);
    let since = fresh_since.map(|since| since.timestamp().to_string());
    let (since, next) = (since.unwrap_or_default(), encode(&start.next));
    let attempt = format!("{}.{invitation}.{since}.{next}", token.reveal());
    let cookie =
        cookie::issue_login_attempt(&attempt, &state.options).ok_or(PageError::NotFound)?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&url)).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct OidcCallbackQuery {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
}

pub(crate) async fn callback(
    State(state): State<DashboardState>,
    client: ClientInfo,
    Visitor(visitor): Visitor,
    headers: HeaderMap,
    uri: Uri,
    Query(back): Query<OidcCallbackQuery>,
) -> Result<Response, PageError> {
    let provider = state
        .identity_provider
        .as_ref()
        .ok_or(PageError::NotFound)?;
    let expired = || {
        PageError::Invalid(
            "This sign-in attempt has expired or was started in another browser. Sign in again."
                .to_owned(),
        )
    };
    let stored = cookie::read_login_attempt(&headers, &state.options).ok_or_else(expired)?;
    let attempt = login_attempt(&state, &stored.token, uri.path(), stored.fresh_since);
    if back.state != attempt.state {
        return Err(expired());
    }
    let (invited, now) = (stored.invitation, state.clock.now());
    let identity = match exchange_code(provider.as_ref(), &back, &attempt, now).await {
        Ok(identity) => identity,
        Err(why) => return Err(refuse(&state, &client, "unknown person", why, now).await),
    };
    // Without a time, only a person who was asked for their credentials has a recent proof.
    let asked_at = attempt.fresh_since.and(Some(now));
    let proved_at = identity.authenticated_at.or(asked_at);
    let proof = IdentityProof {
        // The identity provider asks for its own second factor.
        has_second_factor: true,
        at: proved_at.unwrap_or(Timestamp::UNIX_EPOCH),
    };
    let subject = identity.email.clone();
    let person = match find_or_join(&state, &client, identity, invited.as_ref(), now).await {
        Ok(person) => person,
        Err(PageError::Invalid(why)) => {
            let subject = subject.unwrap_or_else(|| "unverified address".to_owned());
            return Err(refuse(&state, &client, &subject, why, now).await);
        }
        Err(failure) => return Err(failure),
    };
    // A person who had an account joins on the page of the invitation; a new one has joined.
    let next = match &invited {
        Some(pass) if is_open(&state, pass, now).await? => invitation_path(pass.reveal()),
        Some(_) | None => decode(&stored.next),
    };
    if let Some(old) = visitor.filter(|old| old.person.id == person.id) {
        session::end(
            &state.control,
            person.id,
            Some(old.session),
            &old.actor(),
            now,
        )
        .await?;
    }
    let mut response = start_session(&state, &person, &client, &next, proof, now).await?;
    if let Some(cleared) = cookie::clear_login_attempt(&state.options) {
        response.headers_mut().append(SET_COOKIE, cleared);
    }
    Ok(response)
}

/// The identity for which the code stands, or a message for the user.
async fn exchange_code(
    provider: &dyn IdentityProvider,
    back: &OidcCallbackQuery,
    attempt: &LoginAttempt,
    now: Timestamp,
) -> Result<ExternalIdentity, String> {
    if !back.error.is_empty() || back.code.is_empty() {
        return Err("The identity provider rejected the sign-in.".to_owned());
    }
    provider.exchange_code(&back.code, attempt, now).await
}

/// Writes a failed sign-in to the audit log, and returns what the person sees.
async fn refuse(
    state: &DashboardState,
    client: &ClientInfo,
    subject: &str,
    why: String,
    now: Timestamp,
) -> PageError {
    match ThrottledAttempt::fail_single_sign_on(state, client, subject, &why, now).await {
        Ok(()) => PageError::Invalid(why),
        Err(failure) => failure,
    }
}

fn decode(next: &str) -> String {
    let pairs = url::form_urlencoded::parse(next.as_bytes());
    pairs.map(|(text, _)| text.into_owned()).collect()
}

async fn is_open(
    state: &DashboardState,
    pass: &SecretToken,
    now: Timestamp,
) -> Result<bool, PageError> {
    let found = one_time_link::find(&state.control, pass.digest(), now).await?;
    Ok(found.is_some())
}

/// Finds the user by identity, then by verified e-mail address, then by invitation.
async fn find_or_join(
    state: &DashboardState,
    client: &ClientInfo,
    identity: ExternalIdentity,
    invited: Option<&SecretToken>,
    now: Timestamp,
) -> Result<Person, PageError> {
    let (issuer, subject) = (&identity.issuer, &identity.subject);
    if let Some(person) = identity::find_person(&state.control, issuer, subject).await? {
        return Some(person)
            .filter(|person| person.is_active)
            .ok_or_else(not_invited);
    }
    let email = identity
        .email
        .as_deref()
        .and_then(|email| email.parse::<Email>().ok());
    let email = email.ok_or_else(|| {
        PageError::Invalid("The identity provider has not verified your e-mail address.".to_owned())
    })?;
    let by = |id: PersonId| client.actor(Some(id), email.as_str());
    let person = match person::find_credentials(&state.control, &email).await? {
        Some(credentials) if credentials.person.is_active => credentials.person,
        Some(_) => return Err(not_invited()),
        None => {
            let invited = invited.ok_or_else(not_invited)?;
            accept_invitation(state, &identity, &email, invited, &by, now).await?
        }
    };
    identity::link(
        &state.control,
        person.id,
        issuer,
        subject,
        &by(person.id),
        now,
    )
    .await?;
    Ok(person)
}

fn not_invited() -> PageError {
    PageError::Invalid(
        "No active user has your e-mail address. Ask an owner of your organization to invite you."
            .to_owned(),
    )
}

/// The invitation must be for the e-mail address that the identity provider verified.
async fn accept_invitation(
    state: &DashboardState,
    identity: &ExternalIdentity,
    email: &Email,
    invited: &SecretToken,
    by: &(dyn Fn(PersonId) -> Actor + Sync),
    now: Timestamp,
) -> Result<Person, PageError> {
    let found = one_time_link::find(&state.control, invited.digest(), now).await?;
    let is_for_email = matches!(
        found.map(|pass| pass.purpose),
        Some(LinkPurpose::Invitation { email: invited, .. }) if invited.to_lowercase() == email.normalized()
    );
    if !is_for_email {
        return Err(not_invited());
    }
    let berth = Berth::new(0).ok_or(PageError::NotFound)?;
    let name = identity
        .name
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let new = NewPerson {
        id: PersonId::new(now, berth, rand::random()),
        name: name.unwrap_or(email.as_str()).chars().take(200).collect(),
        email: email.clone(),
        password: None,
        is_operator: false,
    };
    let (digest, author) = (invited.digest(), by(new.id));
    match one_time_link::redeem_invitation(&state.control, digest, Invitee::New(&new), &author, now)
        .await?
    {
        LinkRedemption::Redeemed(_) => person::find(&state.control, new.id)
            .await?
            .ok_or(PageError::NotFound),
        LinkRedemption::Invalid => Err(not_invited()),
    }
}
