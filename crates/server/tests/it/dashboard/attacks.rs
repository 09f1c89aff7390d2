//! Attacks on sign-in. Each test is named after the finding of the security review that it repeats.

use domain::person::Role;

use crate::dashboard::browser::Browser;
use crate::dashboard::people::{PASSWORD, find_link, set_up_operator};
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
