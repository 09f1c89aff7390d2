//! `longshored admin erase`: nothing that a project or a person wrote is left in any table.

use std::collections::BTreeSet;

use domain::id::{PersonId, ProjectId};
use domain::person::Role;
use store::control::audit_log::Actor;
use store::control::{audit_token, person, project};
use store::erasure;
use store::shard::project_erasure::{self, ProjectContents};
use store::shard::{ledger_audit, retention};
use store::tables::TABLES;
use test_support::callback_receiver::CallbackReceiver;
use test_support::database::TestDatabase;
use workers::stage::Stage as _;

use crate::dashboard::browser::{Browser, create_person};
use crate::support::http::chat_request;
use crate::support::marker::{MARKER, execute, find_marker};
use crate::support::server_process::{run_admin, run_command, text_field};
use crate::support::{Customer, MOCK_DELAY, TestService};

/// Tables and columns that hold text of an organization or a person, not of a project.
const NOT_OF_A_PROJECT: [&str; 10] = [
    "control.audit.address",
    "control.audit.user_agent",
    "control.audit.who",
    "control.audit_token.",
    "control.identity.",
    "control.organization.",
    "control.pass.",
    "control.person.",
    "control.session.",
    "shard.posting.",
];

/// Every column in which a project has text, by the registry of tables.
fn registered_columns() -> BTreeSet<String> {
    let columns = TABLES.iter().flat_map(|table| {
        let name = format!("{}.{}", table.schema, table.name);
        let columns = table.customer_text.iter();
        columns.map(move |column| format!("{name}.{column}"))
    });
    columns
        .filter(|column| {
            !NOT_OF_A_PROJECT
                .iter()
                .any(|other| column.starts_with(other))
        })
        .collect()
}

/// Real rows of every kind: delivered, failed, with an idempotency key, and counted.
async fn load_and_complete(service: &mut TestService, customer: &Customer) {
    let receiver = CallbackReceiver::new().await;
    let body = chat_request("one", Some(receiver.url()));
    let keyed = service.post_load_with_key(customer, MARKER, &body).await;
    keyed.cargo_id();
    let failing = chat_request("[mock:fail=storm]", Some(receiver.url()));
    service.load(customer, &failing).await;
    let now = service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    service.worker_sets[0].sweep.step(now).await.unwrap();
}

/// Puts the marker into every column in which the project has text.
async fn plant_marker(service: &TestService, customer: &Customer) {
    let (project, organization) = (customer.project.uuid(), customer.organization.uuid());
    let of_project = format!("cargo in (select id from shard.cargo where project = '{project}')");
    let shard = format!(
        "update shard.request set codec = 0, body = '{MARKER}', metadata = '{MARKER}',
             warnings = '{MARKER}', custom_id = '{MARKER}' where {of_project};
         insert into shard.cargo_group (id, organization, project, name, metadata, callback_url,
                 callback_host, callback_error, created_at)
             values ('{project}', '{organization}', '{project}', '{MARKER}', '{MARKER}',
                 '{MARKER}', '{MARKER}', '{MARKER}', '2026-01-01');
         insert into shard.group_failure (group_id, label, count, cargo)
             values ('{project}', '{MARKER}', 1, gen_random_uuid());
         update shard.outcome set codec = 0, body = '{MARKER}' where {of_project};
         update shard.attempt set error = '{MARKER}', answer = '{MARKER}' where {of_project};
         update shard.trouble set label = '{MARKER}' where project = '{project}';
         update shard.cargo set callback_url = 'http://{MARKER}/', callback_host = '{MARKER}'
             where project = '{project}';
         update shard.callback_hour set host = '{MARKER}' where project = '{project}';
         insert into shard.callback_delta (hour, project, host, ending, class, count)
             values ('2026-01-01', array['{project}'::uuid], array['{MARKER}'], array['delivered'],
                 array[0::smallint], array[1::bigint]);
         insert into shard.delivery (cargo, organization, host, due_at)
             select id, organization, '{MARKER}', created_at from shard.cargo
             where project = '{project}' limit 1;
         insert into shard.resend (id, organization, project, host, first, last, total, per_second,
                 next_at, started_by, started_at)
             values (gen_random_uuid(), '{organization}', '{project}', '{MARKER}',
                 gen_random_uuid(), gen_random_uuid(), 1, 1, '2026-01-01', 'console', '2026-01-01');
         insert into shard.listener (project, name, id, seen_at)
             values ('{project}', '{MARKER}', '{project}', '2100-01-01');
         insert into shard.handover (id, listener, project, cargo, number, header_names,
                 header_values, codec, body, created_at, error, answer_codec, answer)
             values ('{project}', '{project}', '{project}', '{project}', 1, '{{}}', '{{}}', 0,
                 '{MARKER}', '2100-01-01', '{MARKER}', 0, '{MARKER}');
         insert into shard.storage (organization, files, bytes) values ('{organization}', 1, 10);
         with made as (
             insert into shard.object (id, organization, project, sha256, size_bytes, media_type,
                 files, created_at)
             values ('{project}', '{organization}', '{project}', decode(repeat('ab', 32), 'hex'), 10,
                 'text/plain', 1, '2026-01-01')
         )
         insert into shard.file (id, organization, project, status, kind, media_type, filename,
                 size_bytes, sha256, scan_status, ttl_seconds, metadata, created_at, staged, object)
             values ('{project}', '{organization}', '{project}', 'ready', 'document', 'text/plain',
                 '{MARKER}', 10, decode(repeat('ab', 32), 'hex'), 'clean', 3600, '{MARKER}',
                 '2026-01-01', false, '{project}');
         insert into shard.parcel (id, organization, project, facade, filename, created_at, expires_at)
             values ('{project}', '{organization}', '{project}', 2, '{MARKER}', '2026-01-01',
                 '2100-01-01');
         insert into shard.parcel_block (parcel, block, first_item, codec, body)
             values ('{project}', 0, 0, 0, '{MARKER}');
         insert into shard.dropin_batch (group_id, organization, project, api_key, facade, parcel,
                 created_at, expires_at, items, options, body_digest, idempotency_key, is_retry,
                 failure)
             values ('{project}', '{organization}', '{project}', '{project}', 2, '{project}',
                 '2026-01-01', '2100-01-01', 1, '{MARKER}', '', '{MARKER}', false, '{MARKER}')"
    );
    execute(&service.north.pool, shard).await;
    let control = format!(
        "update control.project set slug = '{MARKER}' where id = '{project}';
         update control.api_key set name = '{MARKER}', monthly_cap = 1, spending_key = id
             where project_id = '{project}';
         -- A successor that counts under the first key: each of the two rows refers to the other.
         insert into control.api_key (id, project_id, name, prefix, digest, created_at, addresses,
                 last_used_address, monthly_cap, spending_key)
             select gen_random_uuid(), project_id, '{MARKER}', prefix,
                 decode(repeat('07', 32), 'hex'), created_at, array['{MARKER}'], '{MARKER}', 1, id
             from control.api_key where project_id = '{project}';
         update control.api_key k set successor = s.id from control.api_key s
             where s.spending_key = k.id and s.id <> k.id;
         insert into control.audit (at, who, organization, project, action, subject, detail)
             values ('2026-01-01', 'console', '{organization}', '{project}', 'key.created',
                 '{MARKER}', '{MARKER}')"
    );
    execute(&service.control.pool, control).await;
}

pub(crate) async fn erase(service: &TestService, id: ProjectId) -> ProjectContents {
    let found = project::find(&service.control, id).await.unwrap().unwrap();
    let (by, now) = (Actor::console(), service.now());
    erasure::erase_project(&service.control, &service.north, &found, &by, now)
        .await
        .unwrap()
}

#[tokio::test]
async fn m6_an_erased_project_leaves_no_text_in_any_table() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    let other = service.load(&sibling, &chat_request("stays", None)).await;
    load_and_complete(&mut service, &customer).await;
    plant_marker(&service, &customer).await;
    let mut planted = find_marker(&service.north.pool).await;
    planted.extend(find_marker(&service.control.pool).await);
    let missing: Vec<String> = registered_columns().difference(&planted).cloned().collect();
    assert_eq!(missing, [""; 0], "the test plants no marker here");

    let left = erase(&service, customer.project).await;
    // The object waits for sweep, which removes its bytes first.
    let object = ProjectContents {
        objects: 1,
        ..ProjectContents::default()
    };
    assert_eq!(left, object);
    assert_eq!(find_marker(&service.north.pool).await, BTreeSet::new());
    assert_eq!(find_marker(&service.control.pool).await, BTreeSet::new());
    assert_eq!(erase(&service, customer.project).await, object);

    service.app.refresh_keys().await;
    let refused = service.get(&customer, "/files").await.status;
    assert!([401, 403].contains(&refused), "{refused}");
    let record = service.track(&sibling, &other).await;
    assert_eq!(record["response"]["content"][0]["text"], "stays");
    service.check_file_invariants().await;
    let report = ledger_audit::check_all(&service.north).await.unwrap();
    assert_eq!(report.faults, []);
}

#[tokio::test]
async fn cargo_in_flight_is_finished_and_then_erased() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .load(&customer, &chat_request("in flight", None))
        .await;
    let left = erase(&service, customer.project).await;
    assert_eq!((left.open_cargo, left.cargo), (1, 0));
    let kept = retention::find(&service.north, customer.project).await;
    assert_eq!(kept.unwrap().to_string(), "zero");
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let counted = project_erasure::count(&service.north, customer.project).await;
    assert_eq!(counted.unwrap().cargo, 1);
    let left = erase(&service, customer.project).await;
    assert_eq!(left, ProjectContents::default());
    let by = Actor::console();
    let activated = project::activate(&service.control, customer.project, &by, service.now());
    assert_eq!(activated.await.unwrap(), None);
}

#[tokio::test]
async fn m6_the_objects_of_an_erased_project_are_removed_by_sweep() {
    let mut service = TestService::with_files().await;
    let customer = service.create_customer().await;
    service.upload_ready_image(&customer).await;
    assert_eq!(erase(&service, customer.project).await.objects, 1);
    service.sweep_files().await;
    let left = erase(&service, customer.project).await;
    assert_eq!(left, ProjectContents::default());
    service.check_file_invariants().await;
}

#[tokio::test]
async fn m6_an_erased_organization_has_no_name_no_members_and_no_audit_tokens() {
    let mut service = TestService::new().await;
    let customer = service.create_customer().await;
    Browser::member(&service, &customer, Role::Owner).await;
    load_and_complete(&mut service, &customer).await;
    plant_marker(&service, &customer).await;
    let (id, by) = (customer.organization, Actor::console());
    let named = format!(
        "update control.organization set name = '{MARKER}' where id = '{0}';
         insert into control.audit_token (id, organization, name, prefix, digest, created_at)
             values (gen_random_uuid(), '{0}', '{MARKER}', 'svc_audit_ABCDE',
                 decode(repeat('08', 32), 'hex'), '2026-01-01'),
                 (gen_random_uuid(), null, 'whole service', 'svc_audit_FGHIJ',
                 decode(repeat('09', 32), 'hex'), '2026-01-01')",
        id.uuid()
    );
    execute(&service.control.pool, named).await;
    let left =
        erasure::erase_organization(&service.control, &service.north, id, &by, service.now());
    assert_eq!(left.await.unwrap().cargo, 0);
    assert_eq!(find_marker(&service.control.pool).await, BTreeSet::new());
    assert_eq!(find_marker(&service.north.pool).await, BTreeSet::new());
    let members = "select count(*) from control.member where organization = $1";
    let members = sqlx::query_scalar::<_, i64>(members).bind(id.uuid());
    assert_eq!(members.fetch_one(&service.control.pool).await.unwrap(), 0);
    let tokens = audit_token::list(&service.control, None).await.unwrap();
    let tokens: Vec<_> = tokens.iter().map(|token| token.name.as_str()).collect();
    assert_eq!(tokens, ["whole service"]);
}

/// Rows in every table that names a person or lets one sign in.
async fn plant_person(service: &TestService, id: PersonId, organization: uuid::Uuid) {
    let email = format!("{MARKER}@people.example");
    let person = id.uuid();
    let control = format!(
        "update control.person set name = '{MARKER}', email = '{email}', folded = '{email}'
             where id = '{person}';
         insert into control.identity (issuer, subject, person, created_at)
             values ('https://login.example', '{MARKER}', '{person}', '2026-01-01');
         insert into control.member (organization, person, role, created_at)
             values ('{organization}', '{person}', 'viewer', '2026-01-01');
         insert into control.session (digest, id, person, created_at, seen_at, expires_at, address,
                 agent)
             values (decode(repeat('01', 32), 'hex'), gen_random_uuid(), '{person}', '2026-01-01',
                 '2026-01-01', '2027-01-01', '{MARKER}', '{MARKER}');
         insert into control.pass (digest, id, kind, organization, role, email, made_by, created_at,
                 expires_at)
             values (decode(repeat('02', 32), 'hex'), gen_random_uuid(), 'invitation',
                 '{organization}', 'viewer', '{email}', '{person}', '2026-01-01', '2027-01-01'),
                 (decode(repeat('03', 32), 'hex'), gen_random_uuid(), 'invitation',
                 '{organization}', 'viewer', 'guest@people.example', '{person}', '2026-01-01',
                 '2027-01-01');
         insert into control.totp (person, secret, created_at)
             values ('{person}', decode(repeat('04', 20), 'hex'), '2026-01-01');
         insert into control.recovery_code (person, digest)
             values ('{person}', decode(repeat('05', 32), 'hex'));
         insert into control.factor_challenge (digest, person, expires_at)
             values (decode(repeat('06', 32), 'hex'), '{person}', '2027-01-01');
         insert into control.audit (at, person, who, address, user_agent, action, subject)
             values ('2026-01-01', '{person}', '{email}', '{MARKER}', '{MARKER}', 'key.created',
                 'a key'),
                 ('2026-01-01', '{person}', '{email}', '{MARKER}', '{MARKER}', 'session.begun',
                 '{email}'),
                 ('2026-01-01', null, 'console', null, null, 'member.added', '{email}'),
                 -- As an identity provider writes it.
                 ('2026-01-01', null, 'not signed in', '{MARKER}', '{MARKER}', 'session.refused',
                 upper('{email}'))"
    );
    execute(&service.control.pool, control).await;
    let shard = format!(
        "insert into shard.lane (provider, model, kind, paused_at, paused_by)
             values ('p', 'm', 'chat', '2026-01-01', '{email}');
         insert into shard.provider (name, paused_at, reason)
             values ('p', '2026-01-01', 'maintenance ({email})')"
    );
    execute(&service.north.pool, shard).await;
}

#[tokio::test]
async fn m6_the_audit_log_keeps_what_an_erased_person_did_and_forgets_who() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    let id = create_person(&service, false).await;
    plant_person(&service, id, customer.organization.uuid()).await;
    let found = person::find(&service.control, id).await.unwrap().unwrap();
    let shards = service.shards();
    let (by, now) = (Actor::console(), service.now());
    erasure::erase_person(&service.control, &shards, &found, &by, now)
        .await
        .unwrap();
    assert_eq!(find_marker(&service.control.pool).await, BTreeSet::new());
    assert_eq!(find_marker(&service.north.pool).await, BTreeSet::new());
    let entries = "select concat_ws(' | ', who, address, user_agent, action, subject)
                   from control.audit
                   where action in ('key.created', 'session.begun', 'member.added',
                       'session.refused', 'person.deactivated', 'person.erased')
                       and (project is null or subject = 'a key')
                   order by id";
    let entries: Vec<String> = sqlx::query_scalar(entries)
        .fetch_all(&service.control.pool)
        .await
        .unwrap();
    let entries = entries.join("\n").replace(&id.to_string(), "[person]");
    insta::assert_snapshot!(entries, @r"
    erased person | key.created | a key
    erased person | session.begun | erased person
    console | member.added | erased person
    not signed in | session.refused | erased person
    console | person.deactivated | erased person
    console | person.erased | [person]
    ");
    // An invitation that the person made for another one stays valid.
    let links = "select email from control.pass where made_by is null";
    let links: Vec<String> = sqlx::query_scalar(links)
        .fetch_all(&service.control.pool)
        .await
        .unwrap();
    assert_eq!(links, ["guest@people.example"]);
}

#[tokio::test]
async fn the_audit_log_stays_append_only() {
    let service = TestService::new().await;
    service.create_customer().await;
    for statement in [
        "update control.audit set who = 'x'",
        "delete from control.audit",
        "set longshore.erasing = 'on'; delete from control.audit",
    ] {
        let changed = sqlx::raw_sql(statement)
            .execute(&service.control.pool)
            .await;
        let refused = changed.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn the_command_counts_first_and_erases_with_yes() {
    let database = TestDatabase::new().await;
    let settings = vec![("SVC_DATABASE_URL", database.url())];
    run_command(&settings, "migrate").await;
    let made = run_admin(&settings, "organization create Demo --plan pro").await;
    let organization = text_field(&made, "organization_id");
    let project = format!("project create --slug demo --organization {organization}");
    let project = text_field(&run_admin(&settings, &project).await, "project_id");
    run_admin(
        &settings,
        &format!("key create --name ci --project {project}"),
    )
    .await;
    for (option, slug, keys) in [
        ("", "demo", 1),
        (" --yes", "erased-", 1),
        (" --yes", "erased-", 0),
    ] {
        let line = format!("erase project {project}{option}");
        let counted = run_admin(&settings, &line).await;
        assert_eq!(counted["erases"], !option.is_empty());
        assert_eq!(counted["api_keys"], keys, "{counted}");
        let list = format!("project list --organization {organization}");
        let list = run_admin(&settings, &list).await;
        assert!(text_field(&list[0], "slug").starts_with(slug), "{list}");
    }
    run_admin(&settings, "person create ada@example.com --name Ada").await;
    run_admin(&settings, "erase person ada@example.com --yes").await;
    assert_eq!(
        run_admin(&settings, "person list").await,
        serde_json::json!([])
    );
}
