//! How people come in: the first start, invitations, passwords, sessions.

use std::time::Duration;

use domain::person::Role;
use domain::token::Token;

use crate::dashboard::browser::{Browser, PUBLIC};
use crate::support::Service;

const PASSWORD: &str = "correct horse battery";

/// The first operator, who has an organization and a project.
async fn first(service: &Service) -> Browser {
    let link = dashboard::offer_setup(&service.control, PUBLIC, service.now()).await;
    let link = link.unwrap().unwrap();
    let (path, pass) = link
        .strip_prefix(PUBLIC)
        .unwrap()
        .split_once("?pass=")
        .unwrap();
    assert_eq!(path, "/dashboard/setup");
    let mut browser = Browser::new(service);
    assert_eq!(
        browser.see(&format!("{path}?pass={pass}")).await.status,
        200
    );
    let fields = [
        ("pass", pass),
        ("name", "Ada <b>Harbour</b>"),
        ("email", "Ada@Harbour.example"),
        ("password", PASSWORD),
        ("organization", "<script>Harbour</script>"),
        ("project", "first"),
    ];
    let seen = browser.send(path, &fields).await;
    assert_eq!(
        (seen.status, seen.to.as_str()),
        (303, "/dashboard/project/first")
    );
    // The link is good once.
    let again = Browser::new(service).send(path, &fields).await;
    assert_eq!(again.status, 422);
    browser
}

#[tokio::test]
async fn the_first_start_makes_an_operator_once() {
    let service = Service::new().await;
    let mut ada = first(&service).await;
    let page = ada.see("/dashboard/organizations").await;
    assert_eq!(page.status, 200);
    assert!(
        page.html.contains("&#60;script&#62;Harbour"),
        "{}",
        page.html
    );
    assert!(!page.html.contains("<script>Harbour") && !page.html.contains("<b>Harbour"));
    let offer = dashboard::offer_setup(&service.control, PUBLIC, service.now()).await;
    assert_eq!(offer.unwrap(), None);
}

#[tokio::test]
async fn a_wrong_password_says_no_more_than_an_unknown_address() {
    let service = Service::new().await;
    first(&service).await;
    let mut browser = Browser::new(&service);
    let wrong = |email: &'static str| {
        [
            ("email", email),
            ("password", "something else"),
            ("next", ""),
        ]
    };
    let known = browser
        .send("/dashboard/sign-in", &wrong("ada@harbour.example"))
        .await;
    let unknown = browser
        .send("/dashboard/sign-in", &wrong("bob@harbour.example"))
        .await;
    assert_eq!((known.status, unknown.status), (401, 401));
    assert_eq!(known.html.replace("ada@", "bob@"), unknown.html);
    let right = [
        ("email", "ADA@harbour.example"),
        ("password", PASSWORD),
        ("next", "//evil.example"),
    ];
    let seen = browser.send("/dashboard/sign-in", &right).await;
    assert_eq!((seen.status, seen.to.as_str()), (303, "/dashboard"));
}

#[tokio::test]
async fn who_guesses_is_kept_out_for_a_while_and_so_is_nobody_else() {
    let service = Service::new().await;
    first(&service).await;
    let mut browser = Browser::new(&service);
    let wrong = [
        ("email", "ada@harbour.example"),
        ("password", "guess guess guess"),
    ];
    for _ in 0..5 {
        assert_eq!(browser.send("/dashboard/sign-in", &wrong).await.status, 401);
    }
    let right = [("email", "ada@harbour.example"), ("password", PASSWORD)];
    let kept_out = browser.send("/dashboard/sign-in", &right).await;
    assert_eq!(kept_out.status, 429);
    assert_eq!(kept_out.headers.get("retry-after").unwrap(), "2");
    service.clock.advance(Duration::from_secs(2));
    assert_eq!(browser.send("/dashboard/sign-in", &right).await.status, 303);
    // Who got in begins anew.
    assert_eq!(browser.send("/dashboard/sign-in", &wrong).await.status, 401);
}

#[tokio::test]
async fn a_session_is_new_at_every_sign_in_and_ends_when_told() {
    let service = Service::new().await;
    first(&service).await;
    let mut browser = Browser::new(&service);
    // Somebody put a token of their own into the browser.
    let planted = Token::of([7; 32]);
    browser.token = Some(planted.clone());
    let right = [("email", "ada@harbour.example"), ("password", PASSWORD)];
    assert_eq!(browser.send("/dashboard/sign-in", &right).await.status, 303);
    let given = browser.token.clone().unwrap();
    assert_ne!(given, planted);
    let mut attacker = Browser::new(&service);
    attacker.token = Some(planted);
    assert_eq!(attacker.see("/dashboard/account").await.status, 303);
    assert_eq!(browser.see("/dashboard/account").await.status, 200);
    let mut thief = Browser::new(&service);
    thief.token = Some(given);
    assert_eq!(
        browser.send("/dashboard/sign-out", &[]).await.to,
        "/dashboard/sign-in"
    );
    assert_eq!(thief.see("/dashboard/account").await.status, 303);
}

#[tokio::test]
async fn a_session_ends_after_a_week_of_silence() {
    let service = Service::new().await;
    let mut ada = first(&service).await;
    service.clock.advance(Duration::from_hours(24 * 6));
    assert_eq!(ada.see("/dashboard/account").await.status, 200);
    service.clock.advance(Duration::from_hours(24 * 6));
    assert_eq!(ada.see("/dashboard/account").await.status, 200);
    service.clock.advance(Duration::from_hours(24 * 7));
    assert_eq!(ada.see("/dashboard/account").await.status, 303);
}

#[tokio::test]
async fn a_new_password_ends_every_other_session() {
    let service = Service::new().await;
    let mut ada = first(&service).await;
    let mut elsewhere = Browser::new(&service);
    let right = [("email", "ada@harbour.example"), ("password", PASSWORD)];
    assert_eq!(
        elsewhere.send("/dashboard/sign-in", &right).await.status,
        303
    );
    let wrong = [
        ("current", "not this one"),
        ("password", "another long one"),
    ];
    assert_eq!(
        ada.send("/dashboard/account/password", &wrong).await.status,
        422
    );
    let new = [("current", PASSWORD), ("password", "another long one")];
    assert_eq!(
        ada.send("/dashboard/account/password", &new).await.status,
        200
    );
    assert_eq!(elsewhere.see("/dashboard/account").await.status, 303);
    assert_eq!(ada.see("/dashboard/account").await.status, 200);
    assert_eq!(
        elsewhere.send("/dashboard/sign-in", &right).await.status,
        401
    );
}

/// The one link in a page.
fn link(html: &str, path: &str) -> String {
    let at = html.find(path).unwrap();
    let rest = &html[at..];
    rest[..rest.find('<').unwrap()].to_owned()
}

#[tokio::test]
async fn an_invitation_makes_one_member_with_its_role() {
    let service = Service::new().await;
    let customer = service.customer().await;
    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "bob@people.example"), ("role", "viewer")];
    let page = owner.send(&format!("{members}/invite"), &invite).await;
    let link = link(&page.html, "/dashboard/invitation?pass=");
    let pass = link.split_once("pass=").unwrap().1;
    // Shown once.
    assert!(!owner.see(&members).await.html.contains(pass));
    let mut bob = Browser::new(&service);
    assert!(bob.see(&link).await.html.contains("bob@people.example"));
    let short = [("pass", pass), ("name", "Bob"), ("password", "short")];
    assert_eq!(bob.send("/dashboard/invitation", &short).await.status, 422);
    let good = [("pass", pass), ("name", "Bob"), ("password", PASSWORD)];
    assert_eq!(
        bob.send("/dashboard/invitation", &good).await.to,
        "/dashboard"
    );
    assert_eq!(bob.see(&members).await.status, 200);
    assert_eq!(
        bob.send(&format!("{members}/invite"), &invite).await.status,
        403
    );
    assert_eq!(
        Browser::new(&service)
            .send("/dashboard/invitation", &good)
            .await
            .status,
        422
    );
    // The log knows.
    let log = owner
        .see(&format!(
            "/dashboard/organization/{}/audit",
            customer.organization
        ))
        .await;
    for action in ["member.invited", "member.added"] {
        assert!(log.html.contains(action), "{action}");
    }
}

#[tokio::test]
async fn the_last_owner_stays() {
    let service = Service::new().await;
    let customer = service.customer().await;
    let mut owner = Browser::of(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let page = owner.see(&members).await.html;
    let at = page.find("value=\"usr_").unwrap() + "value=\"".len();
    let person = &page[at..at + 36];
    for role in ["viewer", "none"] {
        let change = [("person", person), ("role", role)];
        let seen = owner.send(&format!("{members}/change"), &change).await;
        assert_eq!(seen.status, 422, "{role}");
    }
    assert_eq!(owner.see(&members).await.status, 200);
}
