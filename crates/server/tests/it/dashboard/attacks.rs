//! Attacks on the dashboard. Each test is named after the finding of the security review that it repeats.

use std::time::Duration;

use axum::extract::Request;
use chrono::TimeDelta;
use dashboard::SignInPolicy;
use domain::forwarded_for::ClientAddress;
use domain::id::{OneTimeLinkId, PersonId};
use domain::person::Role;
use domain::secret_token::SecretToken;
use futures::future::join_all;
use http::header::CONTENT_TYPE;
use store::control::audit_log::Actor;
use store::control::one_time_link::{self, LinkPurpose, OneTimeLink};

use crate::dashboard::browser::{Browser, create_person, project_path};
use crate::dashboard::people::{PASSWORD, find_link, set_up_operator};
use crate::support::http::chat_request;
use crate::support::server_process::run_until_logged;
use crate::support::{Customer, TestService};

/// The address of the operator that `set_up_operator` creates.
const VICTIM: &str = "ada@example.example";

/// An owner invites this address and keeps the link.
async fn invite(owner: &mut Browser, customer: &Customer, email: &str) -> String {
    let path = format!(
        "/dashboard/organization/{}/members/invite",
        customer.organization
    );
    let invite = [("email", email), ("role", "viewer")];
    let page = owner.post_form(&path, &invite).await;
    let link = find_link(&page.html, "/dashboard/invitation?pass=");
    link.split_once("pass=").unwrap().1.to_owned()
}

#[tokio::test]
async fn h1_an_invitation_never_asks_an_existing_person_for_a_password() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let customer = service.create_customer().await;
    let mut mallory = Browser::member(&service, &customer, Role::Owner).await;
    let pass = invite(&mut mallory, &customer, VICTIM).await;

    // The right password of the victim gives no session, and does not spend the link.
    let mut guesser = Browser::new(&service);
    for password in ["guess guess guess", PASSWORD] {
        let guess = [("pass", &*pass), ("name", "Ada"), ("password", password)];
        let seen = guesser.post_form("/dashboard/invitation", &guess).await;
        assert!(seen.location.starts_with("/dashboard/sign-in?next="));
        assert!(guesser.token.is_none(), "{password}");
    }
    // Nor does it change the victim's password.
    let mut victim = Browser::new(&service);
    let right = [("email", VICTIM), ("password", PASSWORD)];
    let seen = victim.post_form("/dashboard/sign-in", &right).await;
    assert_eq!(seen.status, 303);

    // Another signed-in person cannot join in the victim's place.
    let join = [("pass", &*pass)];
    let refused = mallory.post_form("/dashboard/invitation/join", &join).await;
    assert_eq!(refused.status, 403);
    let joined = victim.post_form("/dashboard/invitation/join", &join).await;
    assert_eq!(joined.location, "/dashboard");
}

#[tokio::test]
async fn h1_an_invitation_does_not_reveal_who_has_an_account() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let customer = service.create_customer().await;
    let mut mallory = Browser::member(&service, &customer, Role::Owner).await;
    let unknown_address = "eve@example.example";
    let (known, unknown) = (
        invite(&mut mallory, &customer, VICTIM).await,
        invite(&mut mallory, &customer, unknown_address).await,
    );
    let mut browser = Browser::new(&service);
    let mut answers = Vec::new();
    for (pass, email) in [(&known, VICTIM), (&unknown, unknown_address)] {
        let page = browser
            .get(&format!("/dashboard/invitation?pass={pass}"))
            .await;
        let form = [
            ("pass", pass.as_str()),
            ("name", "Anyone"),
            ("password", "another long one"),
        ];
        let created = browser.post_form("/dashboard/invitation", &form).await;
        let without = |text: &str| text.replace(pass, "PASS").replace(email, "EMAIL");
        answers.push((
            page.status,
            without(&page.html),
            created.status,
            without(&created.location),
        ));
    }
    assert_eq!(answers[0], answers[1]);
}

/// Tries to sign in from this client address, and returns the status.
async fn sign_in_from(browser: &mut Browser, source: &str, password: &str) -> u16 {
    let source = ClientAddress(source.parse().unwrap());
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs([("email", VICTIM), ("password", password)]);
    let request = Request::post("/dashboard/sign-in")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .extension(source);
    browser.request(request, form.finish()).await.status
}

#[tokio::test]
async fn m1_parallel_guesses_do_not_pass_the_limit() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let mut browsers: Vec<Browser> = (0..30).map(|_| Browser::new(&service)).collect();
    let guess = [("email", VICTIM), ("password", "guess guess guess")];
    let guesses = browsers
        .iter_mut()
        .map(|browser| browser.post_form("/dashboard/sign-in", &guess));
    let answers = join_all(guesses).await;
    let checked = answers.iter().filter(|seen| seen.status == 401).count();
    let refused = answers.iter().filter(|seen| seen.status == 429).count();
    assert_eq!((checked, refused), (5, 25));
}

#[tokio::test]
async fn m1_a_stranger_does_not_lock_an_owner_out() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let mut browser = Browser::new(&service);
    // All addresses of an IPv6 network are one source.
    let mut statuses = Vec::new();
    for host in 1..=40 {
        let source = format!("2001:db8::{host:x}");
        statuses.push(sign_in_from(&mut browser, &source, "guess guess guess").await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 5);
    let own = "192.0.2.1";
    assert_eq!(sign_in_from(&mut browser, own, PASSWORD).await, 303);

    // From many sources together, the account has its own bound; it ends.
    for host in 1..=30 {
        let source = format!("198.51.100.{host}");
        for _ in 0..5 {
            sign_in_from(&mut browser, &source, "guess guess guess").await;
        }
    }
    assert_eq!(sign_in_from(&mut browser, own, PASSWORD).await, 429);
    service.clock.advance(Duration::from_mins(15));
    assert_eq!(sign_in_from(&mut browser, own, PASSWORD).await, 303);
}

#[tokio::test]
async fn m3_a_session_in_use_ends_at_its_lifetime() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    for day in 1..30 {
        service.clock.advance(Duration::from_hours(24));
        assert_eq!(ada.get("/dashboard/account").await.status, 200, "{day}");
    }
    service.clock.advance(Duration::from_hours(24));
    assert_eq!(ada.get("/dashboard/account").await.status, 303);

    // A shorter lifetime holds for sessions that began before.
    let right = [("email", VICTIM), ("password", PASSWORD)];
    let seen = ada.post_form("/dashboard/sign-in", &right).await;
    assert_eq!(seen.status, 303);
    service.clock.advance(Duration::from_hours(2));
    assert_eq!(ada.get("/dashboard/account").await.status, 200);
    let policy = SignInPolicy {
        session_lifetime: TimeDelta::hours(1),
        ..SignInPolicy::default()
    };
    let mut ada = ada.with_sign_in_policy(&service, policy);
    assert_eq!(ada.get("/dashboard/account").await.status, 303);
}

#[tokio::test]
async fn m3_with_single_sign_on_only_no_password_opens_a_session() {
    let service = TestService::new().await;
    let ada = set_up_operator(&service).await;
    let customer = service.create_customer().await;
    let policy = SignInPolicy {
        is_sso_only: true,
        ..SignInPolicy::default()
    };
    let mut ada = ada.with_sign_in_policy(&service, policy);
    let pass = invite(&mut ada, &customer, "bob@people.example").await;

    let mut browser = Browser::new(&service).with_sign_in_policy(&service, policy);
    let page = browser.get("/dashboard/sign-in").await.html;
    assert!(!page.contains("type=\"password\""), "{page}");
    let right = [("email", VICTIM), ("password", PASSWORD)];
    let new = [("pass", &*pass), ("name", "Bob"), ("password", PASSWORD)];
    for (path, form) in [
        ("/dashboard/sign-in", &right[..]),
        ("/dashboard/invitation", &new[..]),
    ] {
        assert_eq!(browser.post_form(path, form).await.status, 403, "{path}");
    }
    let own = [("current", PASSWORD), ("password", "another long one")];
    let seen = ada.post_form("/dashboard/account/password", &own).await;
    assert_eq!(seen.status, 403);
    let bob = create_person(&service, false).await.to_string();
    let reset = [("person", bob.as_str())];
    let link = "/dashboard/operations/people/link";
    assert_eq!(ada.post_form(link, &reset).await.status, 403);
}

/// A password reset link, as `longshored admin person link` or as an operator makes it.
async fn reset_link(service: &TestService, person: PersonId, by: Option<PersonId>) -> String {
    let token = SecretToken::from_random(rand::random());
    let now = service.now();
    let link = OneTimeLink {
        id: OneTimeLinkId::new(now, person.berth(), rand::random()),
        purpose: LinkPurpose::PasswordReset { person },
        created_by: by,
        created_at: now,
        expires_at: now + TimeDelta::hours(24),
    };
    one_time_link::create(&service.control, token.digest(), &link, &Actor::console())
        .await
        .unwrap();
    token.reveal().to_owned()
}

#[tokio::test]
async fn m3_while_single_sign_on_is_down_a_console_link_lets_an_operator_in() {
    let service = TestService::new().await;
    let policy = SignInPolicy {
        is_sso_only: true,
        ..SignInPolicy::default()
    };
    let (operator, person) = (
        create_person(&service, true).await,
        create_person(&service, false).await,
    );
    let links = [
        (reset_link(&service, person, None).await, 403),
        (reset_link(&service, operator, Some(operator)).await, 403),
        (reset_link(&service, operator, None).await, 303),
    ];
    for (pass, status) in &links {
        let mut browser = Browser::new(&service).with_sign_in_policy(&service, policy);
        let form = [("pass", pass.as_str())];
        let seen = browser.post_form("/dashboard/reset", &form).await;
        assert_eq!(seen.status, *status);
        assert_eq!(browser.token.is_some(), *status == 303);
    }
    // It works once.
    let mut browser = Browser::new(&service).with_sign_in_policy(&service, policy);
    let form = [("pass", links[2].0.as_str())];
    let seen = browser.post_form("/dashboard/reset", &form).await;
    assert_eq!(seen.status, 422);
}

#[tokio::test]
async fn m8_a_loop_of_pages_is_refused_and_other_people_continue() {
    let service = TestService::new().await;
    let person = Browser::operator(&service).await;
    let mut person = person.with_request_limit(&service, 3);
    let mut other = Browser::operator(&service).await.at_dashboard_of(&person);
    let page = "/dashboard/account";
    for _ in 0..3 {
        assert_eq!(person.get(page).await.status, 200);
    }
    let refused = person.get(page).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers.get("retry-after").unwrap(), "20");
    let text = "Too many requests. Wait 20 seconds and try again.";
    assert!(refused.html.contains(text), "{}", refused.html);
    let form = person.post_form("/dashboard/sign-out", &[]).await;
    assert_eq!(form.status, 429);
    assert_eq!(other.get(page).await.status, 200);

    service.clock.advance(Duration::from_secs(20));
    assert_eq!(person.get(page).await.status, 200);
    assert_eq!(person.get(page).await.status, 429);
}

#[tokio::test]
async fn low_failed_sign_ins_are_in_the_audit_log() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let mut browser = Browser::new(&service);
    let secret = "my own secret password";
    for email in [VICTIM, secret] {
        let wrong = [("email", email), ("password", "guess guess guess")];
        let seen = browser.post_form("/dashboard/sign-in", &wrong).await;
        assert_eq!(seen.status, 401);
    }
    let log = ada.get("/dashboard/operations/audit").await.html;
    assert_eq!(log.matches("session.refused").count(), 2);
    // A password in the wrong field is not kept.
    assert!(log.contains("unknown address") && !log.contains(secret));
}

#[tokio::test]
async fn low_reads_of_operators_and_exports_are_in_the_audit_log() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request("secret", None)).await;
    let project = project_path(&service, &customer, "").await;
    let organization = format!("/dashboard/organization/{}", customer.organization);
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let detail = format!("{project}/cargo/{cargo}");
    assert_eq!(owner.get(&detail).await.status, 200);
    let audit = format!("{organization}/audit");
    assert!(!owner.get(&audit).await.html.contains("cargo.read"));

    let mut operator = Browser::operator(&service).await;
    assert_eq!(operator.get(&detail).await.status, 200);
    let copy = format!("{project}/cargo/new?like={cargo}");
    assert_eq!(operator.get(&copy).await.status, 200);
    let log = owner.get(&audit).await.html;
    assert_eq!(log.matches("cargo.read").count(), 2);
    for (path, action) in [
        (format!("{detail}/input.json"), "cargo.input_exported"),
        (format!("{project}/usage.csv"), "usage.exported"),
        (format!("{organization}/balance.csv"), "statement.exported"),
    ] {
        assert_eq!(owner.get(&path).await.status, 200, "{path}");
        assert!(owner.get(&audit).await.html.contains(action), "{action}");
    }
}

#[tokio::test]
async fn low_a_start_without_a_terminal_logs_no_setup_link() {
    let written = run_until_logged("No users exist yet").await;
    assert!(
        written.contains("longshored admin person setup"),
        "{written}"
    );
    assert!(!written.contains("pass="), "{written}");
}
