//! Every route that needs a key has a limit. All of them are sent in a loop: the operations of
//! `openapi.json`, and the routes in the formats of other providers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use api::rate_limit::RouteLimits;
use axum::body::Body;
use axum::http::Request;
use domain::plan_limits::Backstop;
use serde_json::{Value, json};

use crate::support::TestService;
use crate::support::test_limits::TestLimits;

const DESCRIPTION: &str = include_str!("../../../../../openapi.json");
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// The pages of these routes describe them, not `openapi.json`.
const DROPIN_ROUTES: [(&str, &str); 18] = [
    ("POST", "/anthropic/v1/messages/batches"),
    ("GET", "/anthropic/v1/messages/batches"),
    ("GET", "/anthropic/v1/messages/batches/{batch_id}"),
    ("DELETE", "/anthropic/v1/messages/batches/{batch_id}"),
    ("POST", "/anthropic/v1/messages/batches/{batch_id}/cancel"),
    ("GET", "/anthropic/v1/messages/batches/{batch_id}/results"),
    ("GET", "/anthropic/v1/models"),
    ("POST", "/openai/v1/files"),
    ("GET", "/openai/v1/files"),
    ("GET", "/openai/v1/files/{file_id}"),
    ("DELETE", "/openai/v1/files/{file_id}"),
    ("GET", "/openai/v1/files/{file_id}/content"),
    ("POST", "/openai/v1/batches"),
    ("GET", "/openai/v1/batches"),
    ("GET", "/openai/v1/batches/{batch_id}"),
    ("POST", "/openai/v1/batches/{batch_id}/cancel"),
    ("GET", "/openai/v1/models"),
    ("GET", "/openai/v1/models/{model}"),
];
/// The documentation of the API. Everyone may read it, and it reads no database.
const DOCUMENTATION_ROUTES: [(&str, &str); 4] = [
    ("GET", "/docs"),
    ("GET", "/docs/"),
    ("GET", "/docs/{file}"),
    ("GET", "/openapi.json"),
];
/// What they match is not served: the answer is 404, and no key is read.
const UNSERVED_PATHS: [&str; 2] = ["/anthropic/{*path}", "/openai/{*rest}"];

const READS_PER_MINUTE: u32 = 6;
const WRITES_PER_MINUTE: u32 = 3;
const LOADS_PER_MINUTE: u32 = 5;
/// No setting changes it.
const AUDIT_READS_PER_MINUTE: u32 = 60;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ApiRoute {
    method: String,
    path: String,
}

impl ApiRoute {
    fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
        }
    }

    /// A path that the route matches. Ids have their form, and name nothing.
    fn filled_path(&self) -> String {
        let steps = self.path.split('/').map(|step| match step {
            "{cargo_id}" => id_with_prefix("crg"),
            "{group_id}" => id_with_prefix("grp"),
            "{file_id}" if self.path.starts_with("/files/") => id_with_prefix("file"),
            "{listener_id}" => id_with_prefix("lsn"),
            step if step.starts_with('{') => "x".to_owned(),
            step => step.to_owned(),
        });
        steps.collect::<Vec<_>>().join("/")
    }
}

fn id_with_prefix(prefix: &str) -> String {
    format!("{prefix}_{}", "0".repeat(32))
}

fn routes_of(table: &[(&str, &str)]) -> BTreeSet<ApiRoute> {
    let routes = table.iter();
    routes
        .map(|(method, path)| ApiRoute::new(method, path))
        .collect()
}

/// The operations of `openapi.json`, with or without a key.
fn described_routes(with_key: bool) -> BTreeSet<ApiRoute> {
    let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
    let mut routes = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            // An operation without a key says so. The others have that of the whole description.
            let has_key = operation.get("security") != Some(&json!([]));
            let route = ApiRoute::new(method, path);
            assert!(METHODS.contains(&route.method.as_str()), "{method} {path}");
            if has_key == with_key {
                routes.insert(route);
            }
        }
    }
    routes
}

/// The paths that the sources of the API give to its routers.
fn served_paths() -> BTreeSet<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/src")];
    let mut paths = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            if file.is_dir() {
                folders.push(file);
            } else if !file.ends_with("tests.rs") {
                let source = fs::read_to_string(&file).unwrap();
                for call in source.split(".route(").skip(1) {
                    let literal = call.trim_start().strip_prefix('"');
                    let literal = literal.and_then(|rest| rest.split_once('"'));
                    // The path of a route is a literal, or this test does not see it.
                    let (path, _) = literal.unwrap();
                    paths.insert(path.to_owned());
                }
            }
        }
    }
    paths
}

async fn service() -> TestService {
    TestService::with_limits(TestLimits {
        route_limits: RouteLimits {
            reads_per_minute: READS_PER_MINUTE,
            file_writes_per_minute: WRITES_PER_MINUTE,
        },
        backstop: Backstop {
            per_minute: LOADS_PER_MINUTE,
            per_hour: 1_000,
        },
        ..TestLimits::default()
    })
    .await
}

/// The routes of all these lists.
fn listed_routes() -> BTreeSet<ApiRoute> {
    let mut listed = routes_of(&DROPIN_ROUTES);
    listed.extend(routes_of(&DOCUMENTATION_ROUTES));
    listed.extend(described_routes(true));
    listed.extend(described_routes(false));
    listed
}

/// How many requests were answered before the first 429. None: more than the largest limit.
async fn count_until_refused(service: &TestService, route: &ApiRoute) -> Option<u32> {
    let mut customer = service.create_customer().await;
    let mut largest = READS_PER_MINUTE;
    if route.path == "/audit" {
        let organization = Some(customer.organization);
        customer.key = service.create_audit_token(organization).await;
        largest = AUDIT_READS_PER_MINUTE;
    }
    let path = route.filled_path();
    for count in 0..=largest {
        let answer = service
            .send_json(&customer, &route.method, &path, &json!({}))
            .await;
        assert!(![401, 403, 405].contains(&answer.status), "{route:?}");
        if answer.status == 429 {
            let wait = answer.headers.get("retry-after");
            // The backstop has no time after which the next load is accepted.
            assert!(wait.is_some() || count == LOADS_PER_MINUTE, "{route:?}");
            return Some(count);
        }
    }
    None
}

#[tokio::test]
async fn m8_every_route_with_a_key_has_a_limit() {
    let service = service().await;
    let mut routes = described_routes(true);
    assert!(routes.len() > 20, "{routes:?}");
    routes.extend(routes_of(&DROPIN_ROUTES));
    let mut unlimited = Vec::new();
    for route in &routes {
        let count = count_until_refused(&service, route).await;
        if count.is_none_or(|count| count == 0) {
            unlimited.push(route);
        }
    }
    assert_eq!(unlimited, Vec::<&ApiRoute>::new());
}

#[test]
fn m8_every_path_of_the_api_is_in_these_lists() {
    let mut paths: BTreeSet<String> = listed_routes()
        .into_iter()
        .map(|route| route.path)
        .collect();
    paths.extend(UNSERVED_PATHS.map(str::to_owned));
    assert_eq!(served_paths(), paths);
}

#[tokio::test]
async fn m8_a_path_has_no_other_methods() {
    let service = service().await;
    let listed = listed_routes();
    let paths: BTreeSet<&String> = listed.iter().map(|route| &route.path).collect();
    for path in paths {
        for method in METHODS {
            let route = ApiRoute::new(method, path);
            if listed.contains(&route) {
                continue;
            }
            let request = Request::builder().method(method).uri(route.filled_path());
            let answer = service.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 405, "{method} {path}");
        }
    }
}
