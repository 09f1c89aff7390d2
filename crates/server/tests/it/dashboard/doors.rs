//! Every route of the table, tried by everybody whom it should not let in.

use axum::extract::Request;
use dashboard::Needs;
use domain::person::Role;
use http::Method;
use http::header::CONTENT_TYPE;

use crate::dashboard::browser::{Browser, path_of, slug};
use crate::support::{Customer, Service};

struct Doors {
    service: Service,
    customer: Customer,
    slug: String,
}

impl Doors {
    async fn new() -> Self {
        let service = Service::new().await;
        let customer = service.customer().await;
        let slug = slug(&service, &customer).await;
        Self {
            service,
            customer,
            slug,
        }
    }

    async fn knock(&self, by: &mut Browser, method: &Method, path: &str) -> u16 {
        let path = path_of(path, self.customer.organization, &self.slug);
        if *method == Method::GET {
            let seen = by.see(&path).await;
            assert!(
                seen.status != 303 || seen.to.starts_with("/dashboard/sign-in?next="),
                "{path} → {}",
                seen.to
            );
            seen.status
        } else {
            by.send(&path, &[]).await.status
        }
    }
}

#[tokio::test]
async fn without_a_session_every_door_is_closed() {
    let doors = Doors::new().await;
    let mut nobody = Browser::new(&doors.service);
    for (method, path, needs) in dashboard::listed() {
        let status = doors.knock(&mut nobody, &method, path).await;
        let wanted = if method == Method::GET { 303 } else { 401 };
        if needs != Needs::Nobody {
            assert_eq!(status, wanted, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn another_organization_sees_nothing_not_even_that_it_exists() {
    let doors = Doors::new().await;
    let other = doors.service.customer().await;
    let mut stranger = Browser::of(&doors.service, &other, Role::Owner).await;
    for (method, path, needs) in dashboard::listed() {
        // What concerns nobody but oneself is open to everybody.
        if matches!(needs, Needs::Person | Needs::Nobody) {
            continue;
        }
        let status = doors.knock(&mut stranger, &method, path).await;
        assert_eq!(status, 404, "{method} {path}");
    }
}

#[tokio::test]
async fn too_low_a_role_is_refused() {
    let doors = Doors::new().await;
    for role in [Role::Viewer, Role::Developer] {
        let mut member = Browser::of(&doors.service, &doors.customer, role).await;
        for (method, path, needs) in dashboard::listed() {
            let (Needs::Project(least) | Needs::Organization(least)) = needs else {
                continue;
            };
            if role < least {
                let status = doors.knock(&mut member, &method, path).await;
                assert_eq!(status, 403, "{role}: {method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn whoever_looks_may_change_nothing() {
    // Every change asks for more than looking; a new route must be thought about.
    for (method, path, needs) in dashboard::listed() {
        let looks = matches!(
            needs,
            Needs::Project(Role::Viewer) | Needs::Organization(Role::Viewer)
        );
        assert!(method == Method::GET || !looks, "{method} {path}");
    }
}

#[tokio::test]
async fn a_form_without_its_seal_changes_nothing() {
    let doors = Doors::new().await;
    let mut owner = Browser::operator(&doors.service).await;
    let mut tried = 0;
    for (method, path, needs) in dashboard::listed() {
        if method == Method::GET || needs == Needs::Nobody {
            continue;
        }
        let path = path_of(path, doors.customer.organization, &doors.slug);
        for seal in ["", "seal=", "seal=0000", "other=1"] {
            let request = Request::post(&path)
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header("sec-fetch-site", "same-origin");
            assert_eq!(
                owner.ask(request, seal.to_owned()).await.status,
                403,
                "{path}"
            );
        }
        let json = Request::post(&path).header(CONTENT_TYPE, "application/json");
        assert_eq!(owner.ask(json, "{}".to_owned()).await.status, 403, "{path}");
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    let doors = Doors::new().await;
    let mut owner = Browser::operator(&doors.service).await;
    let seal = owner.token.as_ref().unwrap().seal();
    for (method, path, _) in dashboard::listed() {
        if method == Method::GET {
            continue;
        }
        let path = path_of(path, doors.customer.organization, &doors.slug);
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
        ] {
            let request = Request::post(&path)
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header("host", "dash.example")
                .header(name, value);
            let seen = owner.ask(request, format!("seal={seal}")).await;
            assert_eq!(seen.status, 403, "{path} {name}: {value}");
        }
    }
}

#[tokio::test]
async fn every_answer_forbids_what_is_not_ours() {
    let doors = Doors::new().await;
    let mut owner = Browser::operator(&doors.service).await;
    for path in [
        "/dashboard/sign-in",
        "/dashboard/account",
        "/dashboard/project/none",
    ] {
        let seen = owner.see(path).await;
        let header = |name: &str| seen.headers.get(name).unwrap().to_str().unwrap().to_owned();
        insta::allow_duplicates! {
            insta::assert_snapshot!(header("content-security-policy"), @"default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: https://store.example; connect-src 'self' https://store.example; worker-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'");
        }
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(
            !seen.html.contains("<script>") && !seen.html.contains(" style="),
            "{path}"
        );
    }
}
