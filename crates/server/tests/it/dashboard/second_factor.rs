//! Second factors: enrolment, codes, and who requires them.

use std::time::Duration;

use dashboard::{SecondFactorPolicy, SignInPolicy};
use domain::person::Role;
use domain::time::Timestamp;
use ring::hmac;
use store::control::{person, second_factor};

use crate::dashboard::browser::{Browser, project_path};
use crate::dashboard::people::{PASSWORD, set_up_operator};
use crate::support::TestService;
use crate::support::signing::signing_roots;

const EMAIL: &str = "ada@example.example";
const ENROLMENT: &str = "/dashboard/second-factor";
const CODE: &str = "/dashboard/sign-in/code";

fn decode_base32(secret: &str) -> Vec<u8> {
    let values = secret.bytes().map(|letter| match letter {
        b'A'..=b'Z' => letter - b'A',
        _ => letter - b'2' + 26,
    });
    let bits: Vec<String> = values.map(|value| format!("{value:05b}")).collect();
    let bits = bits.concat();
    let bytes = bits.as_bytes().chunks_exact(8);
    bytes
        .map(|bits| u8::from_str_radix(std::str::from_utf8(bits).unwrap(), 2).unwrap())
        .collect()
}

/// The code that an authenticator app shows: RFC 6238.
fn totp(secret: &str, now: Timestamp) -> String {
    let secret = decode_base32(secret);
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let tag = hmac::sign(&key, &(now.timestamp() / 30).to_be_bytes());
    let tag = tag.as_ref();
    let at = usize::from(tag[19] & 0xf);
    let number = u32::from_be_bytes(tag[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

/// The text of the element with this id.
fn element_text(html: &str, id: &str) -> String {
    let begin = format!("id=\"{id}\">");
    let rest = &html[html.find(&begin).unwrap() + begin.len()..];
    rest[..rest.find('<').unwrap()].to_owned()
}

/// Turns the second factor on. Returns the secret and the recovery codes.
async fn enrol(service: &TestService, browser: &mut Browser) -> (String, Vec<String>) {
    let page = browser.post_form(&format!("{ENROLMENT}/start"), &[]).await;
    let secret = element_text(&page.html, "secret");
    assert!(element_text(&page.html, "uri").starts_with("otpauth://totp/Longshore:"));
    let confirm = format!("{ENROLMENT}/confirm");
    let wrong = browser.post_form(&confirm, &[("code", "000000")]).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(element_text(&wrong.html, "secret"), secret);
    let code = totp(&secret, service.now());
    let on = browser.post_form(&confirm, &[("code", &code)]).await;
    let codes = element_text(&on.html, "codes");
    let codes: Vec<String> = codes.split_whitespace().map(str::to_owned).collect();
    assert_eq!(codes.len(), 10);
    let again = browser.get(ENROLMENT).await.html;
    assert!(!again.contains(&codes[0]) && !again.contains(&secret));
    service.clock.advance(Duration::from_secs(30));
    (secret, codes)
}

/// A browser that has entered the right password, and no code.
async fn enter_password(service: &TestService) -> Browser {
    let mut browser = Browser::new(service);
    let right = [("email", EMAIL), ("password", PASSWORD)];
    let seen = browser.post_form("/dashboard/sign-in", &right).await;
    assert!(seen.location.starts_with(CODE), "{}", seen.location);
    assert!(browser.token.is_none());
    assert_eq!(browser.get("/dashboard/account").await.status, 303);
    browser
}

#[tokio::test]
async fn a_code_is_asked_for_after_the_password_and_works_once() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let (secret, recovery_codes) = enrol(&service, &mut ada).await;
    let code = totp(&secret, service.now());

    let mut browser = enter_password(&service).await;
    let wrong = browser.post_form(CODE, &[("code", "12345")]).await;
    assert_eq!(wrong.status, 401);
    let next = [("code", code.as_str()), ("next", "/dashboard/account")];
    let seen = browser.post_form(CODE, &next).await;
    assert_eq!(seen.location, "/dashboard/account");
    assert_eq!(browser.get("/dashboard/account").await.status, 200);

    // The same code, read over a shoulder.
    let mut thief = enter_password(&service).await;
    assert_eq!(thief.post_form(CODE, &next).await.status, 401);
    // A recovery code works once too, however it is typed.
    let typed = recovery_codes[3].to_lowercase().replace('-', " ");
    let recovery = [("code", typed.as_str())];
    assert_eq!(thief.post_form(CODE, &recovery).await.status, 303);
    let mut thief = enter_password(&service).await;
    assert_eq!(thief.post_form(CODE, &recovery).await.status, 401);
    let log = ada.get("/dashboard/operations/audit").await.html;
    for action in ["person.second_factor_added", "person.recovery_code_used"] {
        assert!(log.contains(action), "{action}");
    }
    // Without the cookie of its password, no code opens a session.
    service.clock.advance(Duration::from_secs(30));
    let code = totp(&secret, service.now());
    let mut other = Browser::new(&service);
    assert_eq!(other.post_form(CODE, &[("code", &code)]).await.status, 422);
}

#[tokio::test]
async fn a_totp_secret_is_stored_encrypted() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let (secret, _) = enrol(&service, &mut ada).await;
    let email = EMAIL.parse().unwrap();
    let credentials = person::find_credentials(&service.control, &email).await;
    let person = credentials.unwrap().unwrap().person.id;
    let stored = async || {
        let enrolment = second_factor::find(&service.control, person).await;
        enrolment.unwrap().unwrap().secret
    };
    let plain = decode_base32(&secret);
    assert_eq!(stored().await.len(), 48);
    assert_ne!(&stored().await[12..32], plain);

    // A server without a root stored it plain. The next one with a root encrypts it at its start.
    let control = &service.control;
    let encrypted = stored().await;
    let replaced = second_factor::replace_secret(control, person, &encrypted, &plain).await;
    replaced.unwrap();
    assert_eq!(stored().await, plain);
    for renewed in [1, 0] {
        let count = dashboard::renew_totp_secrets(control, &signing_roots()).await;
        assert_eq!(count.unwrap(), renewed);
    }
    assert_eq!(stored().await.len(), 48);
    let mut browser = enter_password(&service).await;
    let code = totp(&secret, service.now());
    let seen = browser.post_form(CODE, &[("code", &code)]).await;
    assert_eq!(seen.status, 303);
}

#[tokio::test]
async fn guesses_of_a_code_are_throttled() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let (secret, _) = enrol(&service, &mut ada).await;
    let mut thief = enter_password(&service).await;
    for _ in 0..5 {
        let seen = thief.post_form(CODE, &[("code", "000000")]).await;
        assert_eq!(seen.status, 401);
    }
    let code = totp(&secret, service.now());
    let right = [("code", code.as_str())];
    assert_eq!(thief.post_form(CODE, &right).await.status, 429);
}

#[tokio::test]
async fn an_organization_can_require_a_second_factor() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let mut member = Browser::member(&service, &customer, Role::Viewer).await;
    let organization = format!("/dashboard/organization/{}", customer.organization);
    let policy = format!("{organization}/second-factor");
    let required = [("required", "true")];
    let refused = owner.post_form(&policy, &required).await;
    assert_eq!(refused.status, 422, "it would lock the owner out");
    enrol(&service, &mut owner).await;
    assert_eq!(owner.post_form(&policy, &required).await.status, 303);
    assert_eq!(owner.get(&organization).await.status, 200);
    let project = project_path(&service, &customer, "").await;
    for path in [&organization, &project] {
        let sent_away = member.get(path).await;
        assert_eq!(sent_away.location, "/dashboard/second-factor?required=true");
    }
    // Their own pages stay open, so that they can turn it on.
    enrol(&service, &mut member).await;
    assert_eq!(member.get(&organization).await.status, 200);
}

#[tokio::test]
async fn the_service_can_require_a_second_factor_of_operators() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let policy = SignInPolicy {
        second_factor: SecondFactorPolicy::Operators,
        ..SignInPolicy::default()
    };
    let organization = format!("/dashboard/organization/{}", customer.organization);
    let operator = Browser::operator(&service).await;
    let mut operator = operator.with_sign_in_policy(&service, policy);
    for path in ["/dashboard/operations", organization.as_str()] {
        assert_eq!(operator.get(path).await.status, 303, "{path}");
    }
    enrol(&service, &mut operator).await;
    assert_eq!(operator.get("/dashboard/operations").await.status, 200);
    let member = Browser::member(&service, &customer, Role::Viewer).await;
    let mut member = member.with_sign_in_policy(&service, policy);
    assert_eq!(member.get(&organization).await.status, 200);
}
