//! Cargo that came back after a request to cancel it.

use axum::body::Body;
use axum::http::Request;
use domain::id::CargoId;
use serde_json::{Value, json};
use store::shard::cancel::cancel_returned;

use super::assert_settled;
use crate::support::TestService;
use crate::support::http::chat_request;

#[tokio::test]
async fn much_returned_cargo_is_cancelled_in_several_transactions() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let items: Vec<Value> = (0..501).map(|_| chat_request("Hi.", None)).collect();
    let request = Request::post("/cargo/bulk").header("X-API-Key", &customer.key);
    let request = request.header("Content-Type", "application/json");
    let body = Body::from(json!({ "cargo": items }).to_string());
    let loaded = service.send(request.body(body).unwrap()).await;
    assert_eq!(loaded.body["accepted"], 501);
    let pool = &service.north.pool;
    let request = sqlx::raw_sql("update shard.cargo set cancel_requested_at = now()");
    request.execute(pool).await.unwrap();
    let ids = sqlx::query_scalar::<_, uuid::Uuid>("select id from shard.cargo");
    let ids = ids.fetch_all(pool).await.unwrap();
    let cargo: Vec<CargoId> = ids.into_iter().map(Into::into).collect();
    let cancelled = cancel_returned(&service.north, &cargo, service.now()).await;
    assert_eq!(cancelled.unwrap(), 501);
    // Each transaction has one entry.
    let entries = "select cardinality(cargo) from shard.feed order by id";
    let entries = sqlx::query_scalar::<_, i32>(entries);
    assert_eq!(entries.fetch_all(pool).await.unwrap(), [500, 1]);
    assert_settled(&service, &customer).await;
}
