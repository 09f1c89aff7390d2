//! Encryption at rest: contents are nowhere in the databases, and every reader sees them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::master_key::MasterKeys;
use domain::model::{MockBehaviour, Model, ModelKind};
use domain::person::Role;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use store::Shard;
use store::shard::project_keys::{self, ProjectKeyRotation};
use test_support::callback_receiver::CallbackReceiver;
use test_support::database::TestDatabase;
use test_support::scripted_receiver::{ScriptedReceiver, plain_reply};
use workers::stage::Stage as _;

use crate::dashboard::browser::{Browser, project_path};
use crate::support::encryption::{FailingMasterKeys, command_master_keys, file_master_keys};
use crate::support::files::{TestFileBackends, create_file_request_of_size};
use crate::support::http::chat_request;
use crate::support::server_process::{run_admin, run_command};
use crate::support::{Customer, MOCK_DELAY, TestService};

mod erasure;

const PROMPT: &str = "marker-prompt";
const METADATA: &str = "marker-metadata";
const URL_QUERY: &str = "marker-query";
const CALLBACK_ANSWER: &str = "marker-callback-answer";
const PROVIDER_ERROR: &str = "marker-provider-error";
const FILE_METADATA: &str = "marker-file-metadata";
const FILENAME: &str = "marker-filename";
const MARKERS: [&str; 7] = [
    PROMPT,
    METADATA,
    URL_QUERY,
    CALLBACK_ANSWER,
    PROVIDER_ERROR,
    FILE_METADATA,
    FILENAME,
];

/// After this time, processes see a change of the keys.
const CHECK_INTERVAL: Duration = Duration::from_secs(11);
/// After this time, a process asks the master key again.
const UNWRAPPED_AGE: Duration = Duration::from_secs(3601);
/// After this time, a master key that failed is called again.
const FAILURE_PAUSE: Duration = Duration::from_secs(6);
const FIRST_RETRY: Duration = Duration::from_secs(30);

/// What a test has stored with the markers in it.
struct MarkedContents {
    cargo: String,
    failed: String,
    file: String,
}

/// Loads a cargo that is answered, one that fails, and a file. Both cargo are called back.
async fn load_markers(service: &mut TestService, customer: &Customer, url: &str) -> MarkedContents {
    let url = format!("{url}?token={URL_QUERY}");
    let mut body = chat_request(PROMPT, Some(&url));
    body["metadata"] = json!({ "note": METADATA });
    let cargo = service.load(customer, &body).await;
    service.add_model(Model {
        mock_behaviour: MockBehaviour::Fail(format!("{PROVIDER_ERROR} was said")),
        ..Model::plain("refusing", "mock", ModelKind::Chat)
    });
    let mut body = chat_request("No.", Some(&url));
    body["params"]["model"] = json!("refusing");
    let failed = service.load(customer, &body).await;
    let mut body = create_file_request_of_size(100);
    body["filename"] = json!(format!("{FILENAME}.txt"));
    body["metadata"] = json!({ "note": FILE_METADATA });
    let file = service.post_file(customer, &body).await.body;
    let file = file["id"].as_str().unwrap().to_owned();
    MarkedContents {
        cargo,
        failed,
        file,
    }
}

/// It refuses the first callback of each cargo, and acknowledges the second one.
async fn start_receiver() -> ScriptedReceiver {
    let statuses = [500, 500, 200, 200];
    ScriptedReceiver::start(statuses.map(|status| plain_reply(status, CALLBACK_ANSWER))).await
}

/// Loads contents, until both callbacks are acknowledged.
async fn store_markers(service: &mut TestService, customer: &Customer) -> MarkedContents {
    let receiver = start_receiver().await;
    let stored = load_markers(service, customer, &receiver.url()).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.clock.advance(FIRST_RETRY);
    service.run_until_idle().await;
    let now = service.now();
    service.worker_sets[0].sweep.step(now).await.unwrap();
    stored
}

async fn assert_readable(service: &TestService, customer: &Customer, stored: &MarkedContents) {
    let record = service.track(customer, &stored.cargo).await;
    assert_eq!(record["status"], "callback_delivered");
    assert_eq!(record["callback"]["attempts"], 2);
    assert_eq!(record["metadata"]["note"], METADATA);
    let texts = [
        record["response"].to_string(),
        record["callback"].to_string(),
    ];
    assert!(texts[0].contains(PROMPT) && texts[1].contains(URL_QUERY));
    let failed = service.track(customer, &stored.failed).await;
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with(PROVIDER_ERROR), "{failed}");
    let file = service.get_file(customer, &stored.file).await;
    assert_eq!(file["metadata"]["note"], FILE_METADATA);
    assert_eq!(file["filename"], format!("{FILENAME}.txt"));
    let list = service.get(customer, "/files").await.body;
    assert_eq!(list["files"][0]["metadata"]["note"], FILE_METADATA);
    let mut browser = Browser::member(service, customer, Role::Developer).await;
    let project = project_path(service, customer, "").await;
    let page = browser
        .get(&format!("{project}/cargo/{}", stored.cargo))
        .await;
    for marker in [PROMPT, METADATA, URL_QUERY, CALLBACK_ANSWER] {
        assert!(page.html.contains(marker), "{marker}");
    }
    let page = browser
        .get(&format!("{project}/cargo/{}", stored.failed))
        .await;
    assert!(page.html.contains(PROVIDER_ERROR));
    let page = browser
        .get(&format!("{project}/files/{}", stored.file))
        .await;
    assert!(page.html.contains(FILE_METADATA) && page.html.contains(FILENAME));
    let page = browser.get(&format!("{project}/cargo?status=failed")).await;
    assert_eq!(page.status, 200);
}

async fn find_markers(service: &TestService) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for marker in MARKERS {
        let columns = service.find_text(marker).await.into_iter();
        found.extend(columns.map(|column| format!("{marker} in {column}")));
    }
    found
}

#[tokio::test]
async fn contents_are_in_no_column_and_every_reader_sees_them() {
    let all: [Arc<dyn MasterKeys>; 2] = [file_master_keys(&[1]), command_master_keys()];
    for master_keys in all {
        let files = Some(TestFileBackends::new().await);
        let mut service = TestService::with_master_keys(master_keys, files).await;
        service.enable_encryption().await;
        let customer = service.create_customer().await;
        let stored = store_markers(&mut service, &customer).await;
        assert_readable(&service, &customer, &stored).await;
        assert_eq!(find_markers(&service).await, BTreeSet::new());
        // The cache is empty after an hour: the keys come from their rows again.
        service.clock.advance(UNWRAPPED_AGE);
        assert_readable(&service, &customer, &stored).await;
    }
}

#[tokio::test]
async fn without_encryption_the_search_finds_every_marker() {
    let files = Some(TestFileBackends::new().await);
    let mut service = TestService::with_master_keys(file_master_keys(&[1]), files).await;
    let customer = service.create_customer().await;
    let stored = store_markers(&mut service, &customer).await;
    let found = find_markers(&service).await.into_iter();
    // The answer may be compressed.
    let found = found.filter(|it| it != "marker-prompt in shard.outcome.body");
    let found: Vec<String> = found.collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    marker-callback-answer in shard.attempt.answer
    marker-file-metadata in shard.file.metadata
    marker-filename in shard.file.filename
    marker-metadata in shard.request.metadata
    marker-prompt in shard.request.body
    marker-provider-error in shard.outcome.body
    marker-provider-error in shard.trouble.label
    marker-query in shard.cargo.callback_url
    ");
    // What was stored before encryption was switched on stays readable.
    service.enable_encryption().await;
    service.clock.advance(CHECK_INTERVAL);
    assert_readable(&service, &customer, &stored).await;
    let change = json!({"metadata": {"note": FILE_METADATA}});
    let path = format!("/files/{}", stored.file);
    let changed = service.send_json(&customer, "PATCH", &path, &change).await;
    assert_eq!(changed.body["filename"], format!("{FILENAME}.txt"));
    let found = service.find_text(FILE_METADATA).await;
    assert_eq!(found, BTreeSet::new());
    assert_readable(&service, &customer, &stored).await;
}

#[tokio::test]
async fn a_repeated_load_is_found_by_a_keyed_digest() {
    let service = TestService::with_master_keys(file_master_keys(&[1]), None).await;
    let customer = service.create_customer().await;
    let (old, new) = (chat_request("old", None), chat_request("new", None));
    let before = service.post_load_with_key(&customer, "before", &old).await;
    service.enable_encryption().await;
    service.clock.advance(CHECK_INTERVAL);
    let after = service.post_load_with_key(&customer, "after", &new).await;
    let rotated =
        project_keys::rotate_project_key(&service.north, customer.project, service.now()).await;
    assert_eq!(rotated.unwrap(), ProjectKeyRotation::Rotated(2));
    service.clock.advance(CHECK_INTERVAL);
    for (name, body, first) in [("before", &old, before), ("after", &new, after)] {
        let again = service.post_load_with_key(&customer, name, body).await;
        assert_eq!(again.cargo_id(), first.cargo_id());
        let other = chat_request("other", None);
        let reused = service.post_load_with_key(&customer, name, &other).await;
        assert_eq!(reused.status, 409);
    }
    let plain = "select count(*) from shard.idempotency
                 where key = 'after' and digest = sha256($1)";
    let plain = sqlx::query_scalar::<_, i64>(plain).bind(new.to_string().into_bytes());
    assert_eq!(plain.fetch_one(&service.north.pool).await.unwrap(), 0);
}

/// How many uses of each of a project's keys are reserved.
async fn list_reserved_uses(service: &TestService, customer: &Customer) -> Vec<i64> {
    let uses = "select uses from shard.data_key where project = $1 order by number";
    let uses = sqlx::query_scalar(uses).bind(customer.project.uuid());
    uses.fetch_all(&service.north.pool).await.unwrap()
}

#[tokio::test]
async fn a_key_is_replaced_before_it_is_used_too_often() {
    let service = TestService::with_master_keys(file_master_keys(&[1]), None).await;
    service.enable_encryption().await;
    let customer = service.create_customer().await;
    let first = service.load(&customer, &chat_request(PROMPT, None)).await;
    let block = 1 << 16;
    assert_eq!(list_reserved_uses(&service, &customer).await, [block]);
    let used_up = (1 << 30) - block + 1;
    let fill = AssertSqlSafe(format!("update shard.data_key set uses = {used_up}"));
    let filled = sqlx::raw_sql(fill).execute(&service.north.pool).await;
    filled.unwrap();
    // A process that starts now cannot reserve a block of the first key.
    let url = service.north_url();
    let shard = Shard::connect_lazily("north", &url, 1, service.clock.clone()).unwrap();
    let shard = shard.with_master_keys(Some(file_master_keys(&[1])));
    let keys = project_keys::write_keys(&shard, [(customer.project, 1)]).await;
    keys.unwrap().find(customer.project).unwrap();
    let uses = list_reserved_uses(&service, &customer).await;
    assert_eq!(uses, [used_up, block]);
    // The other process follows, and the old key still decrypts.
    service.clock.advance(CHECK_INTERVAL);
    service.load(&customer, &chat_request("more", None)).await;
    let uses = list_reserved_uses(&service, &customer).await;
    assert_eq!(uses, [used_up, 2 * block]);
    assert_eq!(service.status(&customer, &first).await, "PENDING");
}

#[tokio::test]
async fn a_new_master_key_wraps_all_data_keys_and_no_value_is_rewritten() {
    let mut service = TestService::with_master_keys(file_master_keys(&[1]), None).await;
    service.enable_encryption().await;
    let customer = service.create_customer().await;
    let cargo = service.load(&customer, &chat_request(PROMPT, None)).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let bodies = "select encode(body, 'hex') from shard.outcome";
    let read_bodies = || sqlx::query_scalar::<_, String>(bodies).fetch_all(&service.north.pool);
    let before = read_bodies().await.unwrap();
    let connect = |ids: &[u8]| {
        let url = service.north_url();
        let shard = Shard::connect_lazily("north", &url, 1, service.clock.clone()).unwrap();
        shard.with_master_keys(Some(file_master_keys(ids)))
    };
    let rotating = connect(&[2, 1]);
    let rewrapped = project_keys::rewrap_data_keys(&rotating, None, 10).await;
    let (count, last) = rewrapped.unwrap().unwrap();
    assert_eq!(count, 1);
    let more = project_keys::rewrap_data_keys(&rotating, Some(last), 10).await;
    assert_eq!(more.unwrap(), None);
    let status = project_keys::read_status(&rotating).await.unwrap();
    let uses: Vec<_> = status.master_keys.iter().map(|it| it.id.as_str()).collect();
    assert_eq!((uses, status.projects), (vec!["2"], 1));
    let (project, id) = (customer.project, cargo.parse().unwrap());
    let read =
        |shard: Shard| async move { store::shard::tracking::find(&shard, project, id).await };
    let found = read(connect(&[2])).await.unwrap().unwrap();
    let body = String::from_utf8(found.outcome.unwrap().body).unwrap();
    assert!(body.contains(PROMPT));
    let refused = read(connect(&[1])).await;
    assert!(matches!(refused, Err(store::Error::KeyUnavailable(_))));
    assert_eq!(read_bodies().await.unwrap(), before);
}

#[tokio::test]
async fn while_the_master_key_is_unavailable_work_waits() {
    let master_keys = FailingMasterKeys::new();
    let keys = Arc::<FailingMasterKeys>::clone(&master_keys);
    let mut service = TestService::with_master_keys(keys, None).await;
    service.enable_encryption().await;
    let receiver = CallbackReceiver::new().await;
    receiver.queue_statuses([500]);
    let customer = service.create_customer().await;
    let waiting = service.create_customer_on("north").await;
    let body = chat_request(PROMPT, Some(receiver.url()));
    // One cargo waits for the second attempt of its callback, the other one for its batch.
    let called = service.load(&customer, &body).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let queued = service.load(&waiting, &body).await;
    let now = service.now();
    service.worker_sets[0].gather.step(now).await.unwrap();
    service.worker_sets[0].dispatch.step(now).await.unwrap();

    master_keys.set_failing(true);
    let now = service.clock.advance(UNWRAPPED_AGE);
    let refused = service.post_load(&customer, &body).await;
    assert_eq!(refused.headers["retry-after"], "5");
    insta::assert_snapshot!(refused, @r#"
    503 {
      "detail": "The encryption key of your project is temporarily unavailable. Retry shortly."
    }
    "#);
    let path = format!("/cargo/{called}/tracking");
    assert_eq!(service.get(&customer, &path).await.status, 503);
    let workers = &mut service.worker_sets[0];
    let collected = workers.collect.step(now).await;
    let is_unavailable = matches!(collected, Err(store::Error::KeyUnavailable(_)));
    assert!(is_unavailable, "{collected:?}");
    workers.deliver.run_until_idle(now).await.unwrap();
    assert_eq!(receiver.requests().len(), 1);

    master_keys.set_failing(false);
    service.clock.advance(FAILURE_PAUSE + FIRST_RETRY);
    service.run_until_idle().await;
    for (customer, cargo, attempts) in [(&customer, &called, 2), (&waiting, &queued, 1)] {
        let record: Value = service.track(customer, cargo).await;
        assert_eq!(record["status"], "callback_delivered");
        assert_eq!(record["callback"]["attempts"], attempts);
    }
}

#[tokio::test]
async fn an_operator_switches_it_on_and_rotates_the_master_key() {
    let database = TestDatabase::new().await;
    let name = format!("longshore-master-keys-{:x}", rand::random::<u64>());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, "2026 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n").unwrap();
    let settings = vec![
        ("SVC_DATABASE_URL", database.url()),
        ("SVC_MASTER_KEY_FILE", path.display().to_string()),
    ];
    run_command(&settings, "migrate").await;
    let status = run_admin(&settings, "encryption status").await;
    assert_eq!(status[0]["enabled_at"], Value::Null);
    let first = run_admin(&settings, "encryption enable").await;
    assert!(first[0]["enabled_at"].is_string(), "{first}");
    let again = run_admin(&settings, "encryption enable").await;
    assert_eq!(again, first);
    let rotated = run_admin(&settings, "encryption rotate-master").await;
    insta::assert_json_snapshot!(rotated, @r#"
    [
      {
        "shard": "main",
        "master_key": "2026",
        "rewrapped": 0
      }
    ]
    "#);
    std::fs::remove_file(&path).unwrap();
}
