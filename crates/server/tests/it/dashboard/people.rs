//! Sign-in: first setup, invitations, passwords, sessions.

use std::time::Duration;

use domain::person::Role;
use domain::secret_token::SecretToken;

use crate::dashboard::browser::{Browser, PUBLIC_URL};
use crate::support::TestService;

pub(super) const PASSWORD: &str = "correct horse battery";

/// Creates the first operator, with an organization and a project.
pub(super) async fn set_up_operator(service: &TestService) -> Browser {
    let link = dashboard::offer_setup(&service.control, PUBLIC_URL, service.now()).await;
    let link = link.unwrap().unwrap();
    let (path, pass) = link
        .strip_prefix(PUBLIC_URL)
        .unwrap()
        .split_once("?pass=")
        .unwrap();
    assert_eq!(path, "/dashboard/setup");
    let mut browser = Browser::new(service);
    assert_eq!(
        browser.get(&format!("{path}?pass={pass}")).await.status,
        200
    );
    let fields = [
        ("pass", pass),
        ("name", "Ada <b>Example</b>"),
        ("email", "Ada@Example.example"),
        ("password", PASSWORD),
        ("organization", "<script>Example</script>"),
        ("project", "first"),
    ];
    let seen = browser.post_form(path, &fields).await;
    assert_eq!(
        (seen.status, seen.location.as_str()),
        (303, "/dashboard/project/first")
    );
    // The setup link works once.
    let again = Browser::new(service).post_form(path, &fields).await;
    assert_eq!(again.status, 422);
    browser
}

#[tokio::test]
async fn the_first_start_makes_an_operator_once() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let page = ada.get("/dashboard/organizations").await;
    assert_eq!(page.status, 200);
    assert!(
        page.html.contains("&#60;script&#62;Example"),
        "{}",
        page.html
    );
    assert!(!page.html.contains("<script>Example") && !page.html.contains("<b>Example"));
    let offer = dashboard::offer_setup(&service.control, PUBLIC_URL, service.now()).await;
    assert_eq!(offer.unwrap(), None);
}

#[tokio::test]
async fn a_wrong_password_says_no_more_than_an_unknown_address() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let mut browser = Browser::new(&service);
    let wrong = |email: &'static str| {
        [
            ("email", email),
            ("password", "something else"),
            ("next", ""),
        ]
    };
    let known = browser
        .post_form("/dashboard/sign-in", &wrong("ada@example.example"))
        .await;
    let unknown = browser
        .post_form("/dashboard/sign-in", &wrong("bob@example.example"))
        .await;
    assert_eq!((known.status, unknown.status), (401, 401));
    assert_eq!(known.html.replace("ada@", "bob@"), unknown.html);
    let right = [
        ("email", "ADA@example.example"),
        ("password", PASSWORD),
        ("next", "//evil.example"),
    ];
    let seen = browser.post_form("/dashboard/sign-in", &right).await;
    assert_eq!((seen.status, seen.location.as_str()), (303, "/dashboard"));
}

#[tokio::test]
async fn repeated_wrong_passwords_lock_sign_in_for_a_while() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let mut browser = Browser::new(&service);
    let wrong = [
        ("email", "ada@example.example"),
        ("password", "guess guess guess"),
    ];
    for _ in 0..5 {
        assert_eq!(
            browser.post_form("/dashboard/sign-in", &wrong).await.status,
            401
        );
    }
    let right = [("email", "ada@example.example"), ("password", PASSWORD)];
    let locked_out = browser.post_form("/dashboard/sign-in", &right).await;
    assert_eq!(locked_out.status, 429);
    assert_eq!(locked_out.headers.get("retry-after").unwrap(), "2");
    service.clock.advance(Duration::from_secs(2));
    assert_eq!(
        browser.post_form("/dashboard/sign-in", &right).await.status,
        303
    );
    // A successful sign-in resets the count of failures.
    assert_eq!(
        browser.post_form("/dashboard/sign-in", &wrong).await.status,
        401
    );
}

#[tokio::test]
async fn a_session_is_new_at_every_sign_in_and_ends_at_sign_out() {
    let service = TestService::new().await;
    set_up_operator(&service).await;
    let mut browser = Browser::new(&service);
    // Session fixation: an attacker put a known token into the browser.
    let planted = SecretToken::from_random([7; 32]);
    browser.token = Some(planted.clone());
    let right = [("email", "ada@example.example"), ("password", PASSWORD)];
    assert_eq!(
        browser.post_form("/dashboard/sign-in", &right).await.status,
        303
    );
    let given = browser.token.clone().unwrap();
    assert_ne!(given, planted);
    let mut attacker = Browser::new(&service);
    attacker.token = Some(planted);
    assert_eq!(attacker.get("/dashboard/account").await.status, 303);
    assert_eq!(browser.get("/dashboard/account").await.status, 200);
    let mut thief = Browser::new(&service);
    thief.token = Some(given);
    assert_eq!(
        browser.post_form("/dashboard/sign-out", &[]).await.location,
        "/dashboard/sign-in"
    );
    assert_eq!(thief.get("/dashboard/account").await.status, 303);
}

#[tokio::test]
async fn a_session_ends_after_a_week_without_requests() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    service.clock.advance(Duration::from_hours(24 * 6));
    assert_eq!(ada.get("/dashboard/account").await.status, 200);
    service.clock.advance(Duration::from_hours(24 * 6));
    assert_eq!(ada.get("/dashboard/account").await.status, 200);
    service.clock.advance(Duration::from_hours(24 * 7));
    assert_eq!(ada.get("/dashboard/account").await.status, 303);
}

#[tokio::test]
async fn a_new_password_ends_every_other_session() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let mut second = Browser::new(&service);
    let right = [("email", "ada@example.example"), ("password", PASSWORD)];
    assert_eq!(
        second.post_form("/dashboard/sign-in", &right).await.status,
        303
    );
    let wrong = [
        ("current", "not this one"),
        ("password", "another long one"),
    ];
    assert_eq!(
        ada.post_form("/dashboard/account/password", &wrong)
            .await
            .status,
        422
    );
    let new = [("current", PASSWORD), ("password", "another long one")];
    assert_eq!(
        ada.post_form("/dashboard/account/password", &new)
            .await
            .status,
        200
    );
    assert_eq!(second.get("/dashboard/account").await.status, 303);
    assert_eq!(ada.get("/dashboard/account").await.status, 200);
    assert_eq!(
        second.post_form("/dashboard/sign-in", &right).await.status,
        401
    );
}

/// The only link to this path in a page.
pub(super) fn find_link(html: &str, path: &str) -> String {
    let at = html.find(path).unwrap();
    let rest = &html[at..];
    rest[..rest.find('<').unwrap()].to_owned()
}

#[tokio::test]
async fn an_invitation_makes_one_member_with_its_role() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let invite = [("email", "bob@people.example"), ("role", "viewer")];
    let page = owner.post_form(&format!("{members}/invite"), &invite).await;
    let link = find_link(&page.html, "/dashboard/invitation?pass=");
    let pass = link.split_once("pass=").unwrap().1;
    // The link is shown once.
    assert!(!owner.get(&members).await.html.contains(pass));
    let mut bob = Browser::new(&service);
    assert!(bob.get(&link).await.html.contains("bob@people.example"));
    let short = [("pass", pass), ("name", "Bob"), ("password", "short")];
    assert_eq!(
        bob.post_form("/dashboard/invitation", &short).await.status,
        422
    );
    let good = [("pass", pass), ("name", "Bob"), ("password", PASSWORD)];
    let created = bob.post_form("/dashboard/invitation", &good).await;
    assert!(created.location.starts_with("/dashboard/sign-in?next="));
    // The account exists; he joins when he is signed in with it.
    let right = [
        ("email", "bob@people.example"),
        ("password", PASSWORD),
        ("next", link.as_str()),
    ];
    let signed_in = bob.post_form("/dashboard/sign-in", &right).await;
    assert_eq!(signed_in.location, link);
    assert_eq!(bob.get(&members).await.status, 404);
    assert!(bob.get(&link).await.html.contains("Join as Bob"));
    let join = [("pass", pass)];
    let joined = bob.post_form("/dashboard/invitation/join", &join).await;
    assert_eq!(joined.location, "/dashboard");
    assert_eq!(bob.get(&members).await.status, 200);
    assert_eq!(
        bob.post_form(&format!("{members}/invite"), &invite)
            .await
            .status,
        403
    );
    // The link works once.
    let again = Browser::new(&service)
        .post_form("/dashboard/invitation", &good)
        .await;
    assert_eq!(again.status, 422);
    let again = bob.post_form("/dashboard/invitation/join", &join).await;
    assert_eq!(again.status, 422);
    // The audit log has both actions.
    let log = owner
        .get(&format!(
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
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut owner = Browser::member(&service, &customer, Role::Owner).await;
    let members = format!("/dashboard/organization/{}/members", customer.organization);
    let page = owner.get(&members).await.html;
    let at = page.find("value=\"usr_").unwrap() + "value=\"".len();
    let person = &page[at..at + 36];
    for role in ["viewer", "none"] {
        let change = [("person", person), ("role", role)];
        let seen = owner.post_form(&format!("{members}/change"), &change).await;
        assert_eq!(seen.status, 422, "{role}");
    }
    assert_eq!(owner.get(&members).await.status, 200);
}
