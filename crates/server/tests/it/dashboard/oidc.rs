//! Sign-in with OIDC.

use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::person::Role;
use domain::time::Timestamp;
use serde_json::json;
use store::control::audit_log;

use crate::dashboard::browser::{Browser, PageResponse, create_person};
use crate::dashboard::oidc_server::{OidcServer, browser_with_oidc};
use crate::dashboard::people::PASSWORD;
use crate::support::TestService;

#[tokio::test]
async fn an_invited_person_signs_in_with_oidc_and_again_later() {
    let service = TestService::new().await;
    let (provider, customer) = (OidcServer::start().await, service.create_customer().await);
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "Grace@idp.example"), ("role", "developer")];
    let page = owner
        .post_form(&format!("{members}/invite"), &invite)
        .await
        .html;
    let at = page.find("invitation?pass=").unwrap() + "invitation?pass=".len();
    let pass = page[at..at + 64].to_owned();

    // Without an invitation the sign-in fails.
    let mut grace = browser_with_oidc(&service, &provider);
    let url = grace.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.status, 422);

    // It also fails with an invitation for another address.
    let url = grace
        .get(&format!("/dashboard/oidc?pass={pass}"))
        .await
        .location;
    let callback = provider.complete_login(&url, "8", "mallory@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.status, 422);

    let url = grace
        .get(&format!("/dashboard/oidc?pass={pass}"))
        .await
        .location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.location, "/dashboard");
    assert_eq!(grace.get(&members).await.status, 200);

    // From now on she is known by her subject, even with another address.
    let mut again = browser_with_oidc(&service, &provider);
    let url = again.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace.new@idp.example", service.now());
    assert_eq!(again.get(&callback).await.location, "/dashboard");
    assert_eq!(again.get(&members).await.status, 200);
}

#[tokio::test]
async fn m2_the_first_single_sign_on_removes_a_password_that_an_inviter_set() {
    let service = TestService::new().await;
    let (provider, customer) = (OidcServer::start().await, service.create_customer().await);
    let mut mallory = Browser::member(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "grace@idp.example"), ("role", "viewer")];
    let page = mallory
        .post_form(&format!("{members}/invite"), &invite)
        .await
        .html;
    let at = page.find("invitation?pass=").unwrap() + "invitation?pass=".len();
    let pass = &page[at..at + 64];
    // The inviter keeps the link and chooses the password of an address that is not theirs.
    let mut planted = Browser::new(&service);
    let account = [("pass", pass), ("name", "Grace"), ("password", PASSWORD)];
    planted.post_form("/dashboard/invitation", &account).await;
    let known = [("email", "grace@idp.example"), ("password", PASSWORD)];
    let seen = planted.post_form("/dashboard/sign-in", &known).await;
    assert_eq!(seen.status, 303);

    let mut grace = browser_with_oidc(&service, &provider);
    let url = grace.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.location, "/dashboard");
    assert_eq!(grace.get("/dashboard/account").await.status, 200);
    assert_eq!(planted.get("/dashboard/account").await.status, 303);
    let seen = planted.post_form("/dashboard/sign-in", &known).await;
    assert_eq!(seen.status, 401);
    let log = Browser::operator(&service)
        .await
        .get("/dashboard/operations/audit")
        .await;
    assert!(log.html.contains("person.password_removed"));

    // A password that she sets afterwards is hers: the next sign-in keeps it.
    let own = [("password", "another long one")];
    let seen = grace.post_form("/dashboard/account/password", &own).await;
    assert_eq!(seen.status, 200);
    let url = grace.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "7", "grace@idp.example", service.now());
    assert_eq!(grace.get(&callback).await.location, "/dashboard");
    let known = [
        ("email", "grace@idp.example"),
        ("password", "another long one"),
    ];
    let seen = planted.post_form("/dashboard/sign-in", &known).await;
    assert_eq!(seen.status, 303);
}

/// Signs in from this path, with this `auth_time` in the ID token.
async fn sign_in(
    browser: &mut Browser,
    provider: &OidcServer,
    path: &str,
    email: &str,
    auth_time: Option<Timestamp>,
    now: Timestamp,
) -> PageResponse {
    let url = browser.get(path).await.location;
    let is_fresh = url.contains("&prompt=login&max_age=0");
    assert_eq!(is_fresh, path.contains("again=true"), "{url}");
    let callback = provider.complete_login(&url, "7", email, now);
    let auth_time = json!(auth_time.map(|at| at.timestamp()));
    provider.claims.lock().unwrap()["auth_time"] = auth_time;
    browser.get(&callback).await
}

/// Changes of the second factor need a recent proof.
async fn has_recent_proof(browser: &mut Browser) -> bool {
    let start = "/dashboard/second-factor/start";
    let seen = browser.post_form(start, &[]).await;
    let is_asked_again = seen.location.starts_with("/dashboard/confirm?next=");
    assert!(seen.status == 200 || is_asked_again, "{}", seen.status);
    seen.status == 200
}

#[tokio::test]
async fn a_recent_proof_is_a_recent_login_at_the_identity_provider() {
    const AGAIN: &str = "/dashboard/oidc?again=true&next=%2Fdashboard%2Faccount";
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let email = format!("{}@people.example", create_person(&service, false).await);
    let mut grace = browser_with_oidc(&service, &provider);
    let (now, minute) = (service.now(), Duration::from_mins(1));
    // She is signed in at the provider, which asks for nothing: that proves nothing new.
    for (auth_time, is_recent) in [
        (None, false),
        (Some(now - 11 * minute), false),
        (Some(now - minute), true),
    ] {
        let start = "/dashboard/oidc";
        let seen = sign_in(&mut grace, &provider, start, &email, auth_time, now).await;
        assert_eq!(seen.location, "/dashboard");
        assert_eq!(has_recent_proof(&mut grace).await, is_recent);
    }
    // The confirmation asks the provider for a new login, and refuses anything else.
    let now = service.clock.advance(11 * minute);
    assert!(!has_recent_proof(&mut grace).await);
    for auth_time in [None, Some(now - 2 * minute)] {
        let seen = sign_in(&mut grace, &provider, AGAIN, &email, auth_time, now).await;
        assert_eq!(seen.status, 422);
        assert!(seen.html.contains("did not sign in again"), "{}", seen.html);
    }
    assert!(!has_recent_proof(&mut grace).await);
    let seen = sign_in(&mut grace, &provider, AGAIN, &email, Some(now), now).await;
    assert_eq!(seen.location, "/dashboard/account");
    assert!(has_recent_proof(&mut grace).await);
}

#[tokio::test]
async fn failed_single_sign_ons_are_in_the_audit_log() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut mallory = browser_with_oidc(&service, &provider);
    let url = mallory.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    assert_eq!(mallory.get(&callback).await.status, 422);
    // A callback that no browser has started is not written: anyone can send it.
    let strange = "/dashboard/oidc/callback?code=good&state=none";
    assert_eq!(mallory.get(strange).await.status, 422);
    let rejected = callback.replace("code=good", "error=access_denied");
    assert_eq!(mallory.get(&rejected).await.status, 422);
    let mut operator = Browser::operator(&service).await;
    let log = operator.get("/dashboard/operations/audit").await.html;
    assert_eq!(log.matches("session.refused").count(), 2);
    assert!(log.contains("mallory@idp.example"));
    assert!(log.contains("The identity provider rejected the sign-in."));

    // One source cannot fill the log.
    for _ in 0..60 {
        mallory.get(&rejected).await;
    }
    let log = audit_log::list(&service.control, None, None, 1000).await;
    let refused = log.unwrap().into_iter();
    let refused = refused.filter(|entry| entry.action == "session.refused");
    assert_eq!(refused.count(), 50);
}

#[tokio::test]
async fn low_anonymous_visits_do_not_call_the_identity_provider() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut browser = browser_with_oidc(&service, &provider);
    for _ in 0..20 {
        assert_eq!(browser.get("/dashboard/oidc").await.status, 303);
    }
    assert_eq!(provider.discoveries.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn low_another_host_of_the_domain_cannot_plant_a_login_attempt() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut attacker = browser_with_oidc(&service, &provider);
    let url = attacker.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    // Any host of the domain can set a cookie without the prefix.
    let mut victim = browser_with_oidc(&service, &provider);
    let page = victim.get_with_planted_attempt(&callback, &attacker).await;
    assert!(
        page.html.contains("was started in another browser"),
        "{}",
        page.html
    );
}

#[tokio::test]
async fn a_sign_in_is_completed_at_the_callback_path_of_earlier_versions() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut browser = browser_with_oidc(&service, &provider);
    let url = browser.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    let callback = callback.replace("/oidc/callback", "/elsewhere/back");
    let page = browser.get(&callback).await;
    // The sign-in itself is complete; this person was not invited.
    assert!(
        page.html.contains("No active user has your e-mail address"),
        "{}",
        page.html
    );
}

#[tokio::test]
async fn an_oidc_callback_needs_the_login_attempt_of_its_browser() {
    let service = TestService::new().await;
    let provider = OidcServer::start().await;
    let mut victim = browser_with_oidc(&service, &provider);
    let mut attacker = browser_with_oidc(&service, &provider);
    let url = attacker.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    // The attacker's callback in the victim's browser: without a login attempt, and with another.
    assert_eq!(victim.get(&callback).await.status, 422);
    victim.get("/dashboard/oidc").await;
    assert_eq!(victim.get(&callback).await.status, 422);
    // A code that the provider does not know.
    let url = victim.get("/dashboard/oidc").await.location;
    let callback = provider.complete_login(&url, "1", "mallory@idp.example", service.now());
    let page = victim.get(&callback.replace("code=good", "code=bad")).await;
    assert_eq!(page.status, 422);
    assert!(victim.token.is_none());
}
