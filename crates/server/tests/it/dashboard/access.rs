//! Access control: every route of the table, requested by everyone it must refuse.

use axum::extract::Request;
use dashboard::RequiredAccess;
use domain::authentication_flag::AuthenticationFlag;
use domain::person::Role;
use http::Method;
use http::header::CONTENT_TYPE;

use crate::dashboard::browser::{Browser, fill_path, project_slug};
use crate::support::{Customer, TestService};

struct AccessFixture {
    service: TestService,
    customer: Customer,
    slug: String,
}

impl AccessFixture {
    async fn new() -> Self {
        let service = TestService::new().await;
        let customer = service.create_customer().await;
        let slug = project_slug(&service, &customer).await;
        Self {
            service,
            customer,
            slug,
        }
    }

    async fn request_status(&self, by: &mut Browser, method: &Method, path: &str) -> u16 {
        let path = fill_path(path, self.customer.organization, &self.slug);
        if *method == Method::GET {
            let seen = by.get(&path).await;
            assert!(
                seen.status != 303 || seen.location.starts_with("/dashboard/sign-in?next="),
                "{path} → {}",
                seen.location
            );
            seen.status
        } else {
            by.post_form(&path, &[]).await.status
        }
    }
}

#[tokio::test]
async fn without_a_session_every_protected_route_is_refused() {
    let fixture = AccessFixture::new().await;
    let mut anonymous = Browser::new(&fixture.service);
    for (method, path, needs) in dashboard::list_routes() {
        let status = fixture.request_status(&mut anonymous, &method, path).await;
        let expected = if method == Method::GET { 303 } else { 401 };
        if needs != RequiredAccess::Public {
            assert_eq!(status, expected, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn only_a_session_marks_its_connection_as_authenticated() {
    let service = TestService::new().await;
    let mut anonymous = Browser::new(&service);
    let mut operator = Browser::operator(&service).await;
    for (browser, expected) in [(&mut anonymous, false), (&mut operator, true)] {
        let flag = AuthenticationFlag::default();
        let request = Request::get("/dashboard/sign-in").extension(flag.clone());
        browser.request(request, String::new()).await;
        assert_eq!(flag.is_set(), expected);
    }
}

#[tokio::test]
async fn another_organization_sees_nothing_not_even_that_it_exists() {
    let fixture = AccessFixture::new().await;
    let other = fixture.service.create_customer().await;
    let mut outsider = Browser::member(&fixture.service, &other, Role::Owner).await;
    for (method, path, needs) in dashboard::list_routes() {
        // Routes that concern only the user are open to every user.
        if matches!(needs, RequiredAccess::AnyUser | RequiredAccess::Public) {
            continue;
        }
        let status = fixture.request_status(&mut outsider, &method, path).await;
        assert_eq!(status, 404, "{method} {path}");
    }
}

#[tokio::test]
async fn too_low_a_role_is_refused() {
    let fixture = AccessFixture::new().await;
    for role in [Role::Viewer, Role::Developer] {
        let mut member = Browser::member(&fixture.service, &fixture.customer, role).await;
        for (method, path, needs) in dashboard::list_routes() {
            let (RequiredAccess::Project(least) | RequiredAccess::Organization(least)) = needs
            else {
                continue;
            };
            if role < least {
                let status = fixture.request_status(&mut member, &method, path).await;
                assert_eq!(status, 403, "{role}: {method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_viewer_may_change_nothing() {
    // Every change requires more than the role of a viewer; so must new routes.
    for (method, path, needs) in dashboard::list_routes() {
        let is_for_viewers = matches!(
            needs,
            RequiredAccess::Project(Role::Viewer) | RequiredAccess::Organization(Role::Viewer)
        );
        assert!(method == Method::GET || !is_for_viewers, "{method} {path}");
    }
}

#[tokio::test]
async fn a_form_without_its_csrf_token_changes_nothing() {
    let fixture = AccessFixture::new().await;
    let mut owner = Browser::operator(&fixture.service).await;
    let mut tried = 0;
    for (method, path, needs) in dashboard::list_routes() {
        if method == Method::GET || needs == RequiredAccess::Public {
            continue;
        }
        let path = fill_path(path, fixture.customer.organization, &fixture.slug);
        for body in ["", "csrf=", "csrf=0000", "seal=0000", "other=1"] {
            let request = Request::post(&path)
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header("sec-fetch-site", "same-origin");
            assert_eq!(
                owner.request(request, body.to_owned()).await.status,
                403,
                "{path}"
            );
        }
        let json = Request::post(&path).header(CONTENT_TYPE, "application/json");
        assert_eq!(
            owner.request(json, "{}".to_owned()).await.status,
            403,
            "{path}"
        );
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    let fixture = AccessFixture::new().await;
    let mut owner = Browser::operator(&fixture.service).await;
    let csrf_token = owner.token.as_ref().unwrap().csrf_token();
    for (method, path, _) in dashboard::list_routes() {
        if method == Method::GET {
            continue;
        }
        let path = fill_path(path, fixture.customer.organization, &fixture.slug);
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
            let seen = owner.request(request, format!("csrf={csrf_token}")).await;
            assert_eq!(seen.status, 403, "{path} {name}: {value}");
        }
    }
}

#[tokio::test]
async fn every_response_forbids_foreign_content() {
    let fixture = AccessFixture::new().await;
    let mut owner = Browser::operator(&fixture.service).await;
    for path in [
        "/dashboard/sign-in",
        "/dashboard/account",
        "/dashboard/project/none",
    ] {
        let seen = owner.get(path).await;
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

#[tokio::test]
async fn low_hsts_is_sent_with_every_response() {
    let service = TestService::new().await;
    let mut owner = Browser::operator(&service).await;
    for path in [
        "/dashboard/sign-in",
        "/dashboard/account",
        "/dashboard/project/none",
    ] {
        let seen = owner.get(path).await;
        let hsts = seen.headers.get("strict-transport-security").unwrap();
        assert_eq!(hsts, "max-age=31536000", "{path}");
    }
}
