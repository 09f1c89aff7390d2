//! `GET /cargo`: every filter, walking with cursors, and what other projects see.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::time::to_wire;
use serde_json::{Value, json};
use test_support::callback_receiver::CallbackReceiver;

use crate::support::credit::{ONE_DOLLAR, model_chat_request};
use crate::support::http::chat_request;
use crate::support::{Customer, MOCK_DELAY, TestService};

const SECOND: Duration = Duration::from_secs(1);

fn ids(page: &Value) -> Vec<String> {
    let cargo = page["cargo"].as_array().unwrap().iter();
    cargo
        .map(|it| it["cargo_id"].as_str().unwrap().to_owned())
        .collect()
}

impl TestService {
    async fn list_cargo(&self, customer: &Customer, query: &str) -> Value {
        let answer = self.get(customer, &format!("/cargo?{query}")).await;
        assert_eq!(answer.status, 200, "{query} {answer}");
        answer.body
    }

    async fn listed(&self, customer: &Customer, query: &str) -> Vec<String> {
        ids(&self.list_cargo(customer, query).await)
    }

    /// Follows the cursors to the end. Returns the ids and the sizes of the pages.
    async fn walk(&self, customer: &Customer, query: &str) -> (Vec<String>, Vec<usize>) {
        let (mut all, mut sizes, mut cursor) = (Vec::new(), Vec::new(), String::new());
        loop {
            let page = self
                .list_cargo(customer, &format!("{query}&cursor={cursor}"))
                .await;
            let found = ids(&page);
            sizes.push(found.len());
            all.extend(found);
            assert!(sizes.len() < 100, "the list has no end");
            match page["next_cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return (all, sizes),
            }
        }
    }

    /// Loads cargo one second after the last.
    async fn load_later(&self, customer: &Customer, body: &Value) -> String {
        self.clock.advance(SECOND);
        self.load(customer, body).await
    }
}

#[tokio::test]
async fn a_list_shows_what_is_known_without_the_answer() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let mut body = model_chat_request("priced", "Hello.", 64);
    body["metadata"] = json!({"order": 7});
    let done = service.load_later(&customer, &body).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let open = service
        .load_later(&customer, &chat_request("Later.", None))
        .await;
    let page = service.list_cargo(&customer, "").await;
    assert_eq!(page["next_cursor"], Value::Null);
    assert_eq!(page["looked_until"], Value::Null);
    assert_eq!(ids(&page), [open, done.clone()]);
    let (pending, completed) = (&page["cargo"][0], &page["cargo"][1]);
    assert_eq!(pending["status"], "PENDING");
    for unknown in ["success", "error", "usage", "completed_at", "callback"] {
        assert_eq!(pending[unknown], Value::Null, "{unknown}");
    }
    // The same values as in tracking.
    let record = service.track(&customer, &done).await;
    for field in [
        "cargo_id",
        "status",
        "model",
        "kind",
        "attempt",
        "created_at",
        "completed_at",
        "success",
        "error",
        "error_code",
        "usage",
        "cost",
        "metadata",
    ] {
        assert_eq!(completed[field], record[field], "{field}");
    }
    assert_eq!(completed["metadata"], json!({"order": 7}));
    assert!(completed.get("response").is_none());
    assert_eq!(completed["group_id"], Value::Null);
    assert_eq!(completed["custom_id"], Value::Null);
}

#[tokio::test]
async fn each_filter_finds_its_cargo() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let receiver = CallbackReceiver::new().await;
    let host = receiver.url().trim_start_matches("http://");
    let host = host.split('/').next().unwrap().to_owned();
    let plain = service
        .load_later(&customer, &chat_request("Hello.", None))
        .await;
    let delivered = service
        .load_later(&customer, &chat_request("Hello.", Some(receiver.url())))
        .await;
    let failing = model_chat_request("failing", "Hello.", 64);
    let failed = service.load_later(&customer, &failing).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let pending = service
        .load_later(&customer, &chat_request("Hello.", None))
        .await;
    let created = |record: &Value| record["created_at"].as_str().unwrap().to_owned();
    let middle = created(&service.track(&customer, &delivered).await);
    let everything = [&pending, &failed, &delivered, &plain];
    for (query, expected) in [
        ("limit=200".to_owned(), everything.to_vec()),
        ("status=PENDING".to_owned(), vec![&pending]),
        ("status=COMPLETED".to_owned(), vec![&failed, &plain]),
        (
            "status=COMPLETED&status=PENDING".to_owned(),
            vec![&pending, &failed, &plain],
        ),
        ("status=callback_delivered".to_owned(), vec![&delivered]),
        ("status=callback_failed".to_owned(), vec![]),
        ("success=true".to_owned(), vec![&delivered, &plain]),
        ("success=false".to_owned(), vec![&failed]),
        ("success=false&model=svc-mock".to_owned(), vec![]),
        ("model=failing".to_owned(), vec![&failed]),
        (format!("callback_host={host}"), vec![&delivered]),
        ("callback_host=other.example".to_owned(), vec![]),
        (
            format!("created_after={middle}"),
            vec![&pending, &failed, &delivered],
        ),
        (format!("created_before={middle}"), vec![&plain]),
        (
            format!("group_id=grp_{}", "0".repeat(32)),
            Vec::<&String>::new(),
        ),
        (
            format!("group_id=grp_{}&custom_id=a", "0".repeat(32)),
            vec![],
        ),
        ("other=ignored&limit=1".to_owned(), vec![&pending]),
    ] {
        let found = service.listed(&customer, &query).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    let page = service.list_cargo(&customer, "success=false").await;
    assert_eq!(page["cargo"][0]["error"], "the provider said no");
    assert_eq!(page["cargo"][0]["error_code"], "request_rejected");
    let page = service
        .list_cargo(&customer, "status=callback_delivered")
        .await;
    let callback = json!({"host": host, "status": "delivered"});
    assert_eq!(page["cargo"][0]["callback"], callback);
}

#[tokio::test]
async fn a_failed_callback_is_found_by_its_status_and_host() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = service
        .load_later(&customer, &chat_request("Hello.", Some(receiver.url())))
        .await;
    receiver.queue_statuses([500; 6]);
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    for wait in [30, 120, 600, 1800, 3600] {
        service.clock.advance(Duration::from_secs(wait));
        service.run_until_idle().await;
    }
    let failed = service
        .listed(&customer, "status=callback_failed&success=true")
        .await;
    assert_eq!(failed, [cargo]);
    let elsewhere = "status=callback_failed&callback_host=other.example";
    assert_eq!(
        service.listed(&customer, elsewhere).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn cursors_lead_through_every_cargo_once() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let mut loaded = Vec::new();
    for _ in 0..7 {
        let body = chat_request("Hello.", None);
        loaded.push(service.load_later(&customer, &body).await);
    }
    loaded.reverse();
    for (limit, sizes) in [(3, vec![3, 3, 1]), (7, vec![7]), (1, vec![1; 7])] {
        let (all, pages) = service.walk(&customer, &format!("limit={limit}")).await;
        assert_eq!(all, loaded, "{limit}");
        assert_eq!(pages, sizes, "{limit}");
    }
    // New cargo does not move the pages behind a cursor.
    let first = service.list_cargo(&customer, "limit=3").await;
    service
        .load_later(&customer, &chat_request("New.", None))
        .await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let next = service
        .listed(&customer, &format!("limit=3&cursor={cursor}"))
        .await;
    assert_eq!(next, loaded[3..6]);
}

/// A page of one examines at most twenty rows: ten reads of the page and one row more.
#[tokio::test]
async fn a_rare_cargo_is_found_in_bounded_steps() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let rare = model_chat_request("small", "Hi", 10);
    let rare = service.load_later(&customer, &rare).await;
    for _ in 0..45 {
        service
            .load_later(&customer, &chat_request("Hello.", None))
            .await;
    }
    let page = service.list_cargo(&customer, "model=small&limit=1").await;
    assert_eq!(ids(&page), Vec::<String>::new());
    assert!(page["next_cursor"].is_string());
    let looked_until = page["looked_until"].as_str().unwrap();
    assert!(looked_until < to_wire(service.now()).as_str());
    let (found, pages) = service.walk(&customer, "model=small&limit=1").await;
    assert_eq!(found, [rare]);
    assert_eq!(pages, [0, 0, 1]);
}

#[tokio::test]
async fn other_projects_see_none_of_it() {
    let service = TestService::with_second_shard().await;
    let customer = service.create_customer().await;
    let ours = service
        .load_later(&customer, &chat_request("Hello.", None))
        .await;
    let sibling = service.create_sibling_project(&customer).await;
    let south = service.create_customer_on("south").await;
    for other in [&sibling, &south] {
        assert_eq!(service.listed(other, "").await, Vec::<String>::new());
        for path in ["attempts", "tracking"] {
            let path = format!("/cargo/{ours}/{path}");
            let answer = service.get(other, &path).await;
            assert_eq!(answer.status, 404, "{path}");
            assert_eq!(answer.body["detail"], "Cargo not found");
        }
    }
    assert_eq!(service.listed(&customer, "").await, [ours]);
}

/// A page of one examines at most twenty rows, and the group has more: a cursor into it would tell
/// when its cargo was loaded.
#[tokio::test]
async fn a_group_of_another_project_is_empty_and_has_no_cursor() {
    let service = TestService::with_second_shard().await;
    let customer = service.create_customer().await;
    let group = Request::post("/groups").header("X-API-Key", &customer.key);
    let group = service.send(group.body(Body::from("{}")).unwrap()).await;
    let group = group.body["group_id"].as_str().unwrap().to_owned();
    for place in 0..25 {
        let mut body = chat_request("Hello.", None);
        body["group_id"] = json!(group);
        body["custom_id"] = json!(format!("item-{place}"));
        service.load_later(&customer, &body).await;
    }
    let query = format!("group_id={group}&limit=1");
    let own = service.list_cargo(&customer, &query).await;
    assert_eq!(ids(&own).len(), 1);
    assert!(own["next_cursor"].is_string());
    let sibling = service.create_sibling_project(&customer).await;
    let neighbour = service.create_customer().await;
    let south = service.create_customer_on("south").await;
    for other in [&sibling, &neighbour, &south] {
        for query in [query.clone(), format!("{query}&custom_id=item-7")] {
            let page = service.list_cargo(other, &query).await;
            let empty = json!({"cargo": [], "next_cursor": null, "looked_until": null});
            assert_eq!(page, empty, "{query}");
        }
    }
}

#[tokio::test]
async fn a_wrong_query_is_refused_at_its_fields() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let query = "/cargo?status=lost&limit=201&cursor=x&created_after=yesterday";
    let refused = service.get(&customer, query).await;
    assert_eq!(refused.status, 422);
    let errors = refused.body["detail"].as_array().unwrap();
    let places: Vec<_> = errors.iter().map(|it| it["loc"].clone()).collect();
    let expected =
        ["status", "limit", "cursor", "created_after"].map(|field| json!(["query", field]));
    assert_eq!(places, expected);
    assert_eq!(
        errors[1]["msg"],
        "limit should be a whole number from 1 to 200"
    );
    let refused = service.get(&customer, "/cargo?custom_id=a").await;
    assert_eq!(refused.status, 422);
}
