//! Input files: uploaded in any order of fields, given back as they came, listed and deleted.

use serde_json::json;

use super::{call, content, field, file_part, id_of, line, upload};
use crate::support::TestService;

#[tokio::test]
async fn a_file_is_given_back_as_it_came() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let text = format!(
        "\r\n{}\r\n\n{}",
        line("a", "svc-mock"),
        line("b", "svc-mock")
    );
    // The purpose may follow the file.
    let parts = [file_part(&text), field("purpose", "batch")];
    let stored = upload(&service, &customer, &parts).await;
    let id = id_of(&stored);
    assert!(id.starts_with("file-"));
    assert_eq!(stored.body["object"], "file");
    assert_eq!(stored.body["bytes"], text.len());
    assert_eq!(stored.body["filename"], "in.jsonl");
    assert_eq!(stored.body["purpose"], "batch");
    assert_eq!(stored.body["status"], "processed");
    assert_eq!(content(&service, &customer, &id).await, (200, text));
    let found = call(&service, &customer, "GET", &format!("/files/{id}")).await;
    assert_eq!(found.body, stored.body);
    let other = service.create_customer().await;
    let hidden = call(&service, &other, "GET", &format!("/files/{id}")).await;
    assert_eq!(hidden.status, 404);
}

#[tokio::test]
async fn only_input_files_of_batches_are_accepted() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    for (parts, param) in [
        (
            vec![field("purpose", "vision"), file_part(&lines)],
            "purpose",
        ),
        (
            vec![file_part(&lines), field("purpose", "assistants")],
            "purpose",
        ),
        (vec![file_part(&lines)], "purpose"),
        (vec![field("purpose", "batch")], "file"),
        (
            vec![
                field("purpose", "batch"),
                field("expires_after[anchor]", "created_at"),
                field("expires_after[seconds]", "60"),
                file_part(&lines),
            ],
            "expires_after",
        ),
    ] {
        let refused = upload(&service, &customer, &parts).await;
        assert_eq!(refused.status, 400, "{refused}");
        assert_eq!(refused.body["error"]["param"], param, "{refused}");
    }
    // What was stored of them does not count.
    let listed = call(&service, &customer, "GET", "/files").await;
    assert_eq!(listed.body["data"], json!([]));
}

#[tokio::test]
async fn files_expire_are_listed_and_are_deleted() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let mut ids = Vec::new();
    for _ in 0..3 {
        service.clock.advance(std::time::Duration::from_secs(1));
        let parts = [
            field("purpose", "batch"),
            field("expires_after[anchor]", "created_at"),
            field("expires_after[seconds]", "3600"),
            file_part(&lines),
        ];
        let stored = upload(&service, &customer, &parts).await;
        let (created, expires) = (&stored.body["created_at"], &stored.body["expires_at"]);
        assert_eq!(expires.as_i64(), created.as_i64().map(|at| at + 3600));
        ids.push(id_of(&stored));
    }
    let page = call(&service, &customer, "GET", "/files?limit=2&purpose=batch").await;
    assert_eq!(page.body["has_more"], true);
    assert_eq!(
        (&page.body["first_id"], &page.body["last_id"]),
        (&json!(ids[2]), &json!(ids[1]))
    );
    let next = format!("/files?limit=2&after={}", ids[1]);
    let page = call(&service, &customer, "GET", &next).await;
    assert_eq!(
        (&page.body["has_more"], &page.body["last_id"]),
        (&json!(false), &json!(ids[0]))
    );
    let path = format!("/files/{}", ids[0]);
    let deleted = call(&service, &customer, "DELETE", &path).await;
    assert_eq!(
        deleted.body,
        json!({"id": ids[0], "object": "file", "deleted": true})
    );
    assert_eq!(call(&service, &customer, "GET", &path).await.status, 404);
    service.clock.advance(std::time::Duration::from_hours(1));
    let path = format!("/files/{}", ids[2]);
    assert_eq!(call(&service, &customer, "GET", &path).await.status, 404);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn files_of_an_organization_have_a_quota() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    id_of(&upload(&service, &customer, &parts).await);
    // One byte is left.
    let fill = "update shard.parcel set bytes = (2::bigint << 30) - 1 where organization = $1";
    let filled = sqlx::query(fill).bind(customer.organization.uuid());
    filled.execute(&service.north.pool).await.unwrap();
    let refused = upload(&service, &customer, &parts).await;
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(refused.body["error"]["code"], "storage_limit_exceeded");
    let other = service.create_customer().await;
    id_of(&upload(&service, &other, &parts).await);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "only this test runs this query")]
async fn few_uploads_of_a_project_are_incomplete() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let statement =
        "insert into shard.parcel (id, organization, project, facade, created_at, expires_at)
                 select gen_random_uuid(), $1, $2, 2, $3, $3::timestamptz + interval '1 hour'
                 from generate_series(1, 20)";
    let begun = sqlx::query(statement)
        .bind(customer.organization.uuid())
        .bind(customer.project.uuid())
        .bind(service.now());
    begun.execute(&service.north.pool).await.unwrap();
    let lines = line("a", "svc-mock").to_string();
    let parts = [field("purpose", "batch"), file_part(&lines)];
    let refused = upload(&service, &customer, &parts).await;
    assert_eq!(refused.status, 429, "{refused}");
    assert_eq!(refused.body["error"]["code"], "too_many_uploads");
    // Those that failed do not count.
    let fail = "update shard.parcel set expires_at = $1";
    let failed = sqlx::query(fail).bind(service.now());
    failed.execute(&service.north.pool).await.unwrap();
    id_of(&upload(&service, &customer, &parts).await);
}
