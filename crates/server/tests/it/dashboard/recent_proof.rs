//! The confirmation before changes that a stolen session must not make: every form of the dashboard
//! asks for a recent password or code, or a reason is written here why it does not.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;

use crate::dashboard::browser::{fill_path, project_slug};
use crate::dashboard::people::{PASSWORD, set_up_operator};
use crate::support::TestService;

/// Changes of keys, members, people, factors, secrets, policies and retention, and resends.
const ROUTES_WITH_RECENT_PROOF: [&str; 26] = [
    "/dashboard/account/password",
    "/dashboard/operations/people/active",
    "/dashboard/operations/people/link",
    "/dashboard/operations/people/operator",
    "/dashboard/organization/{organization}/audit/tokens",
    "/dashboard/organization/{organization}/audit/tokens/revoke",
    "/dashboard/organization/{organization}/key-lifetime",
    "/dashboard/organization/{organization}/members/change",
    "/dashboard/organization/{organization}/members/invite",
    "/dashboard/organization/{organization}/members/withdraw",
    "/dashboard/organization/{organization}/second-factor",
    "/dashboard/project/{project}/callbacks/resend",
    "/dashboard/project/{project}/cargo/{cargo}/resend",
    "/dashboard/project/{project}/keys",
    "/dashboard/project/{project}/keys/activate",
    "/dashboard/project/{project}/keys/rotate",
    "/dashboard/project/{project}/settings/activate",
    "/dashboard/project/{project}/settings/callbacks/disable",
    "/dashboard/project/{project}/settings/callbacks/enable",
    "/dashboard/project/{project}/settings/callbacks/end-previous",
    "/dashboard/project/{project}/settings/callbacks/rotate",
    "/dashboard/project/{project}/settings/callbacks/secret",
    "/dashboard/project/{project}/settings/deactivate",
    "/dashboard/project/{project}/settings/retention",
    "/dashboard/second-factor/remove",
    "/dashboard/second-factor/start",
];

/// The other changes, each with the reason why it does not ask.
const ROUTES_WITHOUT_RECENT_PROOF: [(&str, &str); 25] = [
    ("/dashboard/sign-in", "it takes the password"),
    ("/dashboard/sign-in/code", "it takes the code"),
    ("/dashboard/confirm", "it takes the password or the code"),
    ("/dashboard/setup", "a one-time link is its proof"),
    ("/dashboard/invitation", "a one-time link is its proof"),
    ("/dashboard/invitation/join", "a one-time link is its proof"),
    ("/dashboard/reset", "a one-time link is its proof"),
    (
        "/dashboard/second-factor/confirm",
        "it takes a code of the secret that the start has shown, and the start asks",
    ),
    ("/dashboard/sign-out", "it only ends sessions"),
    ("/dashboard/account/sessions/end", "it only ends sessions"),
    (
        "/dashboard/organizations",
        "a new organization has no members, keys or credit",
    ),
    (
        "/dashboard/organization/{organization}/projects",
        "a new project has no keys",
    ),
    (
        "/dashboard/project/{project}/keys/deactivate",
        "a leaked key is stopped without a further question",
    ),
    (
        "/dashboard/project/{project}/cargo/new",
        "credit and the limits of the plan bound it, and it is the daily work of developers",
    ),
    (
        "/dashboard/project/{project}/cargo/{cargo}/cancel",
        "unwanted work is stopped without a further question",
    ),
    (
        "/dashboard/project/{project}/groups/{group}/cancel",
        "unwanted work is stopped without a further question",
    ),
    (
        "/dashboard/project/{project}/callbacks/stop",
        "unwanted resends are stopped without a further question",
    ),
    (
        "/dashboard/project/{project}/settings/callbacks/metadata",
        "the receivers stay the same, and the metadata is what the callers sent",
    ),
    (
        "/dashboard/project/{project}/files/{file}/change",
        "it changes how long one file is kept",
    ),
    (
        "/dashboard/project/{project}/files/{file}/delete",
        "the API deletes files with a key of the project, too",
    ),
    (
        "/dashboard/project/{project}/api/files",
        "the storage quota bounds it, and a script of the page sends it",
    ),
    (
        "/dashboard/project/{project}/api/files/{file}/parts",
        "it continues an upload that has begun",
    ),
    (
        "/dashboard/project/{project}/api/files/{file}/complete",
        "it continues an upload that has begun",
    ),
    (
        "/dashboard/operations/pause",
        "an operator stops a faulty provider without a further question",
    ),
    (
        "/dashboard/operations/resume",
        "it ends a pause, and the audit log names who did it",
    ),
];

#[test]
fn every_change_asks_for_a_recent_proof_or_says_why_not() {
    let asking: BTreeSet<_> = dashboard::list_routes_with_recent_proof()
        .into_iter()
        .collect();
    assert_eq!(asking, BTreeSet::from(ROUTES_WITH_RECENT_PROOF));
    let routes = dashboard::list_routes().into_iter();
    let changes = routes.filter(|(method, _, _)| *method != Method::GET);
    let others: BTreeSet<_> = changes
        .map(|(_, path, _)| path)
        .filter(|path| !asking.contains(path))
        .collect();
    let excused = ROUTES_WITHOUT_RECENT_PROOF.map(|(path, _)| path);
    assert_eq!(others, BTreeSet::from(excused));
}

#[tokio::test]
async fn sensitive_changes_ask_for_the_password_again() {
    let service = TestService::new().await;
    let mut ada = set_up_operator(&service).await;
    let customer = service.create_customer().await;
    let slug = project_slug(&service, &customer).await;
    let fill = |path: &str| fill_path(path, customer.organization, &slug);
    service.clock.advance(Duration::from_mins(11));
    for path in ROUTES_WITH_RECENT_PROOF {
        let seen = ada.post_form(&fill(path), &[]).await;
        assert!(
            seen.location.starts_with("/dashboard/confirm?next="),
            "{path}"
        );
    }
    let wrong = [
        ("proof", "guess guess guess"),
        ("next", "/dashboard/account"),
    ];
    let seen = ada.post_form("/dashboard/confirm", &wrong).await;
    assert_eq!(seen.status, 401);
    let right = [("proof", PASSWORD), ("next", "//evil.example")];
    let seen = ada.post_form("/dashboard/confirm", &right).await;
    assert_eq!(seen.location, "/dashboard");
    let keys = fill("/dashboard/project/{project}/keys");
    let made = ada.post_form(&keys, &[("name", "robot")]).await;
    assert_eq!(made.status, 200);
    // Reading stays possible without it.
    service.clock.advance(Duration::from_mins(11));
    assert_eq!(ada.get(&keys).await.status, 200);
    // So does stopping a leaked key.
    let id = customer.key_id.to_string();
    let deactivate = format!("{keys}/deactivate");
    let seen = ada.post_form(&deactivate, &[("key", &id)]).await;
    assert_eq!((seen.status, seen.location), (303, keys));
}
