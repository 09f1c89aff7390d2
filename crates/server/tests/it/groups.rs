//! Loads into groups: names, repeats, seals, and what callbacks and tracking show of them.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::cargo_group::{GroupName, GroupStatus};
use domain::id::GroupId;
use futures::future::join_all;
use rand::RngExt as _;
use serde_json::{Value, json};
use store::shard::group::{self, GroupCreation, GroupResultQuery, GroupRow, NewGroup, SealResult};
use test_support::callback_receiver::CallbackReceiver;

use crate::support::http::{AppResponse, chat_request};
use crate::support::{Customer, MOCK_DELAY, TestService};

mod feed_time;

mod model;

mod names_at_rest;

/// All results at once.
const ALL_RESULTS: GroupResultQuery = GroupResultQuery {
    after: None,
    limit: 1000,
    with_params: false,
};

async fn create_group(service: &TestService, customer: &Customer, name: &str) -> GroupRow {
    let berth = customer.organization.berth();
    let new = NewGroup {
        id: GroupId::new(service.now(), berth, rand::rng().random()),
        organization: customer.organization,
        project: customer.project,
        name: GroupName::new(name).unwrap(),
        metadata: None,
        callback: None,
    };
    let created = group::create(&service.north, &new, service.now()).await;
    assert!(matches!(created.unwrap(), GroupCreation::Created(_)));
    read_group(service, customer, new.id).await
}

async fn read_group(service: &TestService, customer: &Customer, id: GroupId) -> GroupRow {
    let found = group::find(&service.north, customer.project, id).await;
    found.unwrap().unwrap()
}

async fn seal(service: &TestService, customer: &Customer, id: GroupId) -> GroupRow {
    let now = service.now();
    let sealed = group::seal(&service.north, customer.project, id, None, now).await;
    assert!(matches!(sealed.unwrap(), SealResult::Sealed(_)));
    read_group(service, customer, id).await
}

/// A chat in a group, with more fields of the body.
fn grouped(text: &str, group: GroupId, more: &Value) -> Value {
    let mut body = chat_request(text, None);
    body["group_id"] = json!(group.to_string());
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

fn error_code(answer: &AppResponse) -> (u16, &str) {
    let code = answer.body["detail"]["error"].as_str();
    (answer.status, code.unwrap_or_default())
}

fn is_replay(answer: &AppResponse) -> bool {
    answer.headers.get("idempotent-replay").is_some()
}

#[tokio::test]
async fn the_same_custom_id_and_load_are_the_same_cargo_also_after_a_day_and_the_seal() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let body = grouped(
        "Once.",
        group,
        &json!({"custom_id": "row-1", "metadata": {"b": 1, "a": 2}}),
    );
    let first = service.post_load(&customer, &body).await;
    assert!(!is_replay(&first));
    service.clock.advance(Duration::from_hours(30));
    seal(&service, &customer, group).await;
    // The order of keys does not matter.
    let body = grouped(
        "Once.",
        group,
        &json!({"custom_id": "row-1", "metadata": {"a": 2, "b": 1}}),
    );
    let again = service.post_load(&customer, &body).await;
    assert!(is_replay(&again));
    assert_eq!(again.cargo_id(), first.cargo_id());
    assert_eq!(
        again.body["message"],
        "Cargo was already loaded with this custom_id."
    );
    let other = grouped("Twice.", group, &json!({"custom_id": "row-1"}));
    let other = service.post_load(&customer, &other).await;
    assert_eq!(error_code(&other), (409, "custom_id_reused"));
    let new = grouped("New.", group, &json!({"custom_id": "row-2"}));
    let new = service.post_load(&customer, &new).await;
    assert_eq!(error_code(&new), (409, "group_sealed"));
    assert_eq!(read_group(&service, &customer, group).await.counts.total, 1);
    assert_eq!(service.count_stored_cargo(&customer).await, 1);
}

#[tokio::test]
async fn repeats_that_arrive_together_are_one_cargo() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let body = grouped("Together.", group, &json!({"custom_id": "row-1"}));
    let loads = (0..20).map(|_| service.post_load(&customer, &body));
    let answers = join_all(loads).await;
    let ids: BTreeSet<_> = answers.iter().map(AppResponse::cargo_id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(answers.iter().filter(|it| !is_replay(it)).count(), 1);
    assert_eq!(read_group(&service, &customer, group).await.counts.total, 1);
}

#[tokio::test]
async fn loads_without_names_get_the_next_positions() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let body = grouped("Same.", group, &json!({}));
    let loads = (0..10).map(|_| service.post_load(&customer, &body));
    let ids: BTreeSet<_> = join_all(loads)
        .await
        .iter()
        .map(AppResponse::cargo_id)
        .collect();
    assert_eq!(ids.len(), 10);
    let rows = group::results_by_position(&service.north, customer.project, group, ALL_RESULTS);
    let rows = rows.await.unwrap();
    let positions: Vec<u64> = rows.iter().map(|row| row.position).collect();
    assert_eq!(positions, (0..10).collect::<Vec<_>>());
    assert!(
        rows.iter()
            .all(|row| row.outcome.is_none() && row.custom_id.is_none())
    );
}

#[tokio::test]
async fn a_position_is_used_once_and_is_a_name() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let at = |text: &str, more: Value| grouped(text, group, &more);
    let first = service
        .load(&customer, &at("One.", json!({"position": 7})))
        .await;
    let again = service
        .post_load(&customer, &at("One.", json!({"position": 7})))
        .await;
    assert!(is_replay(&again));
    assert_eq!(again.cargo_id(), first);
    // The position is its custom id.
    let again = service
        .post_load(&customer, &at("One.", json!({"custom_id": "7"})))
        .await;
    assert_eq!(again.cargo_id(), first);
    for more in [
        json!({"position": 7}),
        json!({"position": 7, "custom_id": "b"}),
    ] {
        let taken = service.post_load(&customer, &at("Two.", more)).await;
        assert_eq!(error_code(&taken), (409, "position_taken"));
    }
    // The next position is 8, but its text is a custom id already.
    service
        .load(
            &customer,
            &at("Two.", json!({"position": 3, "custom_id": "8"})),
        )
        .await;
    let unnamed = service.load(&customer, &at("Three.", json!({}))).await;
    let record = service.track(&customer, &unnamed).await;
    assert_eq!(record["position"], 9);
    assert_eq!(record["group_id"], group.to_string());
    assert_eq!(record.get("custom_id"), None);
}

#[tokio::test]
async fn a_load_without_names_is_stored_also_if_the_next_positions_are_custom_ids() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    for name in ["4", "5", "6", "7"] {
        let named = grouped("Named.", group, &json!({"custom_id": name}));
        service.load(&customer, &named).await;
    }
    let unnamed = grouped("Unnamed.", group, &json!({}));
    let mut places = Vec::new();
    for _ in 0..5 {
        let cargo = service.load(&customer, &unnamed).await;
        let record = service.track(&customer, &cargo).await;
        assert_eq!(record.get("custom_id"), None);
        places.push(record["position"].as_u64().unwrap());
    }
    assert_eq!(places, [4, 5, 6, 8, 9]);
    // The texts of their positions still name the members that had them first.
    let named = grouped("Named.", group, &json!({"position": 4}));
    assert!(is_replay(&service.post_load(&customer, &named).await));
}

#[tokio::test]
async fn a_group_belongs_to_its_project() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    let group = create_group(&service, &customer, "run").await.id;
    let body = grouped("Mine.", group, &json!({"custom_id": "row-1"}));
    service.load(&customer, &body).await;
    let refused = service.post_load(&sibling, &body).await;
    assert_eq!(error_code(&refused), (404, "group_not_found"));
    for id in ["grp_1", "grp_019b76da807b774b805000000000002a", ""] {
        let mut body = chat_request("Nowhere.", None);
        body["group_id"] = json!(id);
        let refused = service.post_load(&customer, &body).await;
        assert_eq!(error_code(&refused), (404, "group_not_found"), "{id}");
    }
    assert_eq!(service.count_stored_cargo(&customer).await, 1);
}

#[tokio::test]
async fn callbacks_carry_the_names_that_the_load_gave() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    let receiver = CallbackReceiver::new().await;
    // The retry sends the same bytes as the first attempt.
    receiver.queue_statuses([500]);
    let names = json!({"custom_id": "row \"1\"", "callback_url": receiver.url()});
    let cargo = service
        .load(&customer, &grouped("Named.", group, &names))
        .await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(Duration::from_secs(30));
    service.run_until_idle().await;
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
    let body = String::from_utf8(requests[0].body.clone()).unwrap();
    let end = format!(r#","error":null,"custom_id":"row \"1\"","group_id":"{group}"}}"#);
    assert!(body.ends_with(&end), "{body}");
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["custom_id"], "row \"1\"");

    // Without names, the payload is the contract's.
    let plain = chat_request("Plain.", Some(receiver.url()));
    let plain = service.load(&customer, &plain).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let callback = receiver.callbacks().pop().unwrap();
    let fields: Vec<&String> = callback.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["cargo_id", "success", "response", "error"]);
    let record = service.track(&customer, &plain).await;
    for field in ["group_id", "custom_id", "position"] {
        assert_eq!(record.get(field), None);
    }
}

#[tokio::test]
async fn a_sealed_group_is_completed_with_its_last_cargo() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let group = create_group(&service, &customer, "run").await.id;
    for text in ["One.", "Two.", "[mock:fail=storm 1]", "[mock:fail=storm 2]"] {
        service
            .load(&customer, &grouped(text, group, &json!({})))
            .await;
    }
    let (project, now) = (customer.project, service.now());
    let sealed = group::seal(&service.north, project, group, Some(3), now).await;
    assert_eq!(sealed.unwrap(), SealResult::OtherTotal { total: 4 });
    let sealed = group::seal(&service.north, project, group, Some(4), now).await;
    assert!(
        matches!(sealed.unwrap(), SealResult::Sealed(group) if group.status() == GroupStatus::Sealed)
    );
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let row = read_group(&service, &customer, group).await;
    assert_eq!(row.status(), GroupStatus::Completed);
    let counts = row.counts;
    assert_eq!(
        (counts.succeeded, counts.failed, counts.unfinished()),
        (2, 2, 0)
    );
    let failures = group::failures(&service.north, group, 10).await.unwrap();
    assert_eq!(failures.iter().map(|it| it.count).sum::<u64>(), 2);
    let results = group::results_by_number(&service.north, project, group, ALL_RESULTS);
    let results = results.await.unwrap();
    let numbers: Vec<_> = results.iter().map(|row| row.number).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3), Some(4)]);
    assert!(results.iter().all(|row| row.outcome.is_some()));
}

#[tokio::test]
async fn an_empty_group_is_completed_by_its_seal_and_cancelled_at_once() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let empty = create_group(&service, &customer, "empty").await.id;
    let sealed = seal(&service, &customer, empty).await;
    assert_eq!(sealed.status(), GroupStatus::Completed);
    let unwanted = create_group(&service, &customer, "unwanted").await.id;
    let (project, now) = (customer.project, service.now());
    let cancelled = group::request_cancel(&service.north, project, unwanted, now).await;
    assert_eq!(cancelled.unwrap().unwrap().status(), GroupStatus::Cancelled);
    // A completed group stays as it is.
    let late = group::request_cancel(&service.north, project, empty, now).await;
    assert_eq!(late.unwrap().unwrap().status(), GroupStatus::Completed);
}

#[tokio::test]
async fn a_name_finds_its_group() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    let first = create_group(&service, &customer, "run").await;
    create_group(&service, &sibling, "run").await;
    let again = NewGroup {
        id: GroupId::new(service.now(), customer.organization.berth(), 7),
        organization: customer.organization,
        project: customer.project,
        name: GroupName::new("run").unwrap(),
        metadata: Some(b"{}".to_vec()),
        callback: None,
    };
    let found = group::create(&service.north, &again, service.now()).await;
    assert_eq!(found.unwrap(), GroupCreation::Existing(first));
}
