//! The unpacker: its pace, its place, cancelling, and what survives a crash.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use store::control::api_key;
use store::control::audit_log::Actor;
use store::shard::dropin::{self, UnpackLease};
use uuid::Uuid;

use super::{BATCHES, id_of, item};
use crate::support::test_limits::TestLimits;
use crate::support::{MOCK_DELAY, TestService};

#[tokio::test]
async fn items_are_loaded_at_the_pace_of_the_plan() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate.burst = 2;
    limits.plan_limits.pro.rate.per_minute = 60;
    let mut service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let requests: Vec<Value> = (0..5).map(|n| item(&n.to_string(), "svc-mock")).collect();
    let id = id_of(
        &service
            .create_batch(&customer, &json!({"requests": requests}))
            .await,
    );
    service.unpack().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 2);
    // The bucket refills one token per second, and the unpacker comes back when it has one.
    for _ in 0..3 {
        service.clock.advance(std::time::Duration::from_secs(1));
        service.unpack().await;
    }
    assert_eq!(service.count_stored_cargo(&customer).await, 5);
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["request_counts"]["succeeded"], 5);
}

#[tokio::test]
async fn a_cancelled_batch_has_a_result_for_every_item() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let requests: Vec<Value> = (0..3).map(|n| item(&n.to_string(), "svc-mock")).collect();
    let id = id_of(
        &service
            .create_batch(&customer, &json!({"requests": requests}))
            .await,
    );
    // Nothing is loaded yet.
    let cancelled = service
        .act_on_batch(&customer, "POST", &format!("{id}/cancel"))
        .await;
    assert_eq!(
        cancelled.body["processing_status"], "canceling",
        "{cancelled}"
    );
    assert!(cancelled.body["cancel_initiated_at"].is_string());
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended");
    assert_eq!(ended["request_counts"]["canceled"], 3);
    let results = service.batch_results(&customer, &id).await;
    assert_eq!(results.len(), 3);
    assert!(
        results
            .iter()
            .all(|it| it["result"] == json!({"type": "canceled"}))
    );
    let again = service
        .act_on_batch(&customer, "POST", &format!("{id}/cancel"))
        .await;
    assert_eq!(again.body["processing_status"], "ended");
}

#[tokio::test]
async fn a_cancelled_batch_completes_its_group_with_its_last_item() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate.burst = 1;
    limits.plan_limits.pro.rate.per_minute = 2;
    let mut service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let requests: Vec<Value> = (0..3).map(|n| item(&n.to_string(), "svc-mock")).collect();
    let body = json!({"requests": requests});
    let id = id_of(&service.create_batch(&customer, &body).await);
    let group = format!("/groups/{}", id.replace("msgbatch_", "grp_"));
    service.unpack().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 1);
    // The one item that is loaded ends before the unpacker stores the others.
    service
        .act_on_batch(&customer, "POST", &format!("{id}/cancel"))
        .await;
    service.run_until_idle().await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let open = service.get(&customer, &group).await;
    assert_eq!(open.body["counts"]["unfinished"], 0, "{open}");
    assert_eq!(open.body["status"], "cancelling", "{open}");
    service.finish_batches().await;
    let ended = service.get(&customer, &group).await;
    assert_eq!(ended.body["status"], "cancelled", "{ended}");
    assert_eq!(ended.body["counts"]["total"], 3, "{ended}");
}

#[tokio::test]
async fn a_batch_that_is_cancelled_before_its_first_item_is_not_completed_yet() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    let group = format!("/groups/{}", id.replace("msgbatch_", "grp_"));
    service
        .act_on_batch(&customer, "POST", &format!("{id}/cancel"))
        .await;
    let open = service.get(&customer, &group).await;
    assert_eq!(open.body["status"], "cancelling", "{open}");
    service.finish_batches().await;
    let ended = service.get(&customer, &group).await;
    assert_eq!(ended.body["status"], "cancelled", "{ended}");
}

#[tokio::test]
async fn items_that_are_not_loaded_within_the_window_expire() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate.burst = 1;
    limits.plan_limits.pro.rate.per_minute = 2;
    let mut service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let requests: Vec<Value> = (0..3).map(|n| item(&n.to_string(), "svc-mock")).collect();
    let body = json!({"requests": requests});
    let id = id_of(&service.create_batch(&customer, &body).await);
    service.finish_batches().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 1);
    service.clock.advance(std::time::Duration::from_hours(24));
    service.unpack().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended", "{ended}");
    assert_eq!(ended["request_counts"]["succeeded"], 1, "{ended}");
    assert_eq!(ended["request_counts"]["expired"], 2, "{ended}");
    let results = service.batch_results(&customer, &id).await;
    assert_eq!(results[2]["result"]["type"], "expired", "{results:?}");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn an_item_that_no_load_can_store_ends_with_an_error() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    // Loads have their metadata, and items that have ended do not.
    let refuse = "create function refuse() returns trigger language plpgsql as $$ begin
                      if new.metadata is not null then raise exception 'refused'; end if;
                      return new;
                  end $$";
    let trigger = "create trigger refuse before insert on shard.request
                   for each row execute function refuse()";
    for statement in [refuse, trigger] {
        let done = sqlx::query(statement).execute(&service.north.pool).await;
        done.unwrap();
    }
    let mut refused = item("b", "svc-mock");
    refused["params"]["metadata"] = json!({"user_id": "u"});
    let body = json!({"requests": [item("a", "svc-mock"), refused]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    for _ in 0..3 {
        service.unpack().await;
        service.clock.advance(std::time::Duration::from_secs(20));
    }
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended", "{ended}");
    assert_eq!(ended["request_counts"]["succeeded"], 1, "{ended}");
    assert_eq!(ended["request_counts"]["errored"], 1, "{ended}");
}

#[tokio::test]
async fn items_that_have_a_field_twice_do_not_hold_up_their_batch() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let twice = |name: &str| {
        let params = &item(name, "svc-mock")["params"];
        format!(r#"{{"custom_id": "{name}", "params": {{}}, "params": {params}}}"#)
    };
    let body = format!(r#"{{"requests": [{}, {}]}}"#, twice("a"), twice("b"));
    let request = Request::post(BATCHES).header("x-api-key", &customer.key);
    let created = service.send(request.body(Body::from(body)).unwrap()).await;
    let id = id_of(&created);
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended", "{ended}");
    assert_eq!(ended["request_counts"]["succeeded"], 2, "{ended}");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn an_item_that_the_database_refuses_does_not_hold_up_its_batch() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let refuse = "create function refuse() returns trigger language plpgsql as $$ begin
                      if position('poison' in encode(new.body, 'escape')) > 0 then
                          raise exception 'refused';
                      end if;
                      return new;
                  end $$";
    let trigger = "create trigger refuse before insert on shard.request
                   for each row execute function refuse()";
    for statement in [refuse, trigger] {
        let done = sqlx::query(statement).execute(&service.north.pool).await;
        done.unwrap();
    }
    let requests = ["a", "poison", "c"].map(|word| {
        // Short, so that it is stored as it is. The model makes it a fault.
        json!({"custom_id": word, "params": {"model": "none", "x": word}})
    });
    let body = json!({"requests": requests});
    let id = id_of(&service.create_batch(&customer, &body).await);
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended", "{ended}");
    assert_eq!(ended["request_counts"]["errored"], 3, "{ended}");
    assert_eq!(service.batch_results(&customer, &id).await.len(), 3);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn a_batch_that_was_unpacked_twice_has_each_item_once() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let requests = [
        item("a", "svc-mock"),
        item("b", "none"),
        item("c", "svc-mock"),
    ];
    let id = id_of(
        &service
            .create_batch(&customer, &json!({"requests": requests}))
            .await,
    );
    service.unpack().await;
    // As after a crash before the place was stored: the group is open and nothing is unpacked.
    let undo = "with batch as (
                    update shard.dropin_batch set unpacked = 0, unpacked_at = null)
                update shard.cargo_group set sealed_at = null, completed_at = null";
    sqlx::query(undo)
        .execute(&service.north.pool)
        .await
        .unwrap();
    service.unpack().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 3);
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["request_counts"]["succeeded"], 2);
    assert_eq!(ended["request_counts"]["errored"], 1);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn another_process_continues_when_the_lease_has_ended() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    let statement = "update shard.dropin_batch set lease = gen_random_uuid(), leased_until = $1";
    let until = service.now() + chrono::TimeDelta::seconds(60);
    let held = sqlx::query(statement)
        .bind(until)
        .execute(&service.north.pool)
        .await;
    held.unwrap();
    service.unpack().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 0);
    service.clock.advance(std::time::Duration::from_secs(61));
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended");
}

#[tokio::test]
async fn a_model_that_no_database_stores_fails_its_item_alone() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let requests = [item("nul", "a\u{0}b"), item("long", &"m".repeat(9_000))];
    let body = json!({"requests": requests});
    let id = id_of(&service.create_batch(&customer, &body).await);
    service.finish_batches().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended");
    assert_eq!(ended["request_counts"]["errored"], 2);
    let models = "select distinct model from shard.cargo";
    let models = sqlx::query_scalar::<_, String>(models).fetch_all(&service.north.pool);
    assert_eq!(models.await.unwrap(), ["unknown"]);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn a_batch_that_cannot_be_stored_fails_and_delays_no_other() {
    let mut service = TestService::new().await;
    let (customer, other) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    let requests = [item("a", "svc-mock"), item("b", "svc-mock")];
    let body = json!({"requests": requests});
    let stuck = id_of(&service.create_batch(&customer, &body).await);
    service.clock.advance(std::time::Duration::from_secs(1));
    let body = json!({"requests": [item("a", "svc-mock")]});
    let id = id_of(&service.create_batch(&other, &body).await);
    // The progress of batches with two items cannot be stored.
    let refuse = "alter table shard.dropin_batch
                  add constraint stuck check (unpacked = 0 or items = 1) not valid";
    let refused = sqlx::query(refuse).execute(&service.north.pool).await;
    refused.unwrap();
    service.finish_batches().await;
    let ended = service.find_batch(&other, &id).await;
    assert_eq!(ended["processing_status"], "ended");
    for _ in 0..4 {
        let waiting = service.find_batch(&customer, &stuck).await;
        assert_eq!(waiting["processing_status"], "in_progress");
        service.clock.advance(std::time::Duration::from_secs(61));
        service.unpack().await;
    }
    let failed = service.find_batch(&customer, &stuck).await;
    assert_eq!(failed["processing_status"], "ended");
}

#[tokio::test]
async fn a_revoked_key_loads_no_more_items() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let body = json!({"requests": [item("a", "svc-mock"), item("b", "svc-mock")]});
    let id = id_of(&service.create_batch(&customer, &body).await);
    let (control, key, now) = (&service.control, customer.key_id, service.now());
    let revoked = api_key::deactivate(control, key, &Actor::console(), now).await;
    assert!(revoked.unwrap().is_some());
    service.finish_batches().await;
    let by = Actor::console();
    let activated = api_key::activate(&service.control, key, &by, service.now());
    assert!(activated.await.unwrap().is_some());
    service.app.refresh_keys().await;
    let ended = service.find_batch(&customer, &id).await;
    assert_eq!(ended["processing_status"], "ended");
    assert_eq!(ended["request_counts"]["canceled"], 2);
}

#[tokio::test]
async fn faulted_items_take_tokens_of_the_plan() {
    let mut limits = TestLimits::default();
    limits.plan_limits.pro.rate.burst = 2;
    limits.plan_limits.pro.rate.per_minute = 60;
    let service = TestService::with_limits(limits).await;
    let customer = service.create_customer().await;
    let requests: Vec<Value> = (0..4).map(|n| item(&n.to_string(), "none")).collect();
    let body = json!({"requests": requests});
    id_of(&service.create_batch(&customer, &body).await);
    service.unpack().await;
    assert_eq!(service.count_stored_cargo(&customer).await, 2);
    for stored in 3..=4 {
        service.clock.advance(std::time::Duration::from_secs(1));
        service.unpack().await;
        assert_eq!(service.count_stored_cargo(&customer).await, stored);
    }
}

#[tokio::test]
async fn organizations_have_turns() {
    let service = TestService::new().await;
    let (many, one) = (
        service.create_customer().await,
        service.create_customer().await,
    );
    for (customer, name) in [(&many, "a"), (&many, "b"), (&many, "c"), (&one, "a")] {
        let body = json!({"requests": [item(name, "svc-mock")]});
        id_of(&service.create_batch(customer, &body).await);
        service.clock.advance(std::time::Duration::from_secs(1));
    }
    let now = service.now();
    let lease = UnpackLease {
        holder: Uuid::from_u128(1),
        until: now + chrono::TimeDelta::seconds(60),
    };
    let mut turns = Vec::new();
    for _ in 0..2 {
        let claimed = dropin::claim(&service.north, lease, turns.last().copied(), now).await;
        turns.push(claimed.unwrap().unwrap().organization);
    }
    assert!(turns.contains(&many.organization), "{turns:?}");
    assert!(turns.contains(&one.organization), "{turns:?}");
}
