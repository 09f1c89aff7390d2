//! Credentials of a role: each source, rotation, and grants that end with their credentials.
//!
//! The object store of the test run has static keys and no STS: it refuses a session token that it
//! did not issue. So grants are checked here by what they contain, and their signatures by the
//! vectors in the tests of `sigv4`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::file::MediaType;
use domain::time::{Clock as _, Timestamp};
use outbound::object_store::{ObjectStore, ObjectStoreCredentials, ObjectStoreFailure, Options};
use outbound::role_credentials::{
    ContainerAuthorization, ContainerEndpoint, RoleCredentialFailure, RoleCredentialSource,
    WebIdentityRole,
};
use test_support::clock::ManualClock;
use test_support::object_store::{declared, file, options};
use test_support::scripted_receiver::{ScriptedReceiver, ScriptedReply, plain_reply};
use tokio_rustls::rustls::RootCertStore;
use url::Url;

const BYTES: &[u8] = b"two pallets of oranges";

/// The manual clock starts at midnight.
const AT_ONE: &str = "2026-01-01T01:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn url_of(receiver: &ScriptedReceiver, path: &str) -> Url {
    Url::parse(&format!("http://127.0.0.1:{}{path}", receiver.port())).unwrap()
}

fn json_credentials(token: &str, expires_at: &str) -> ScriptedReply {
    let body = format!(
        r#"{{"Code": "Success", "AccessKeyId": "ASIA{token}", "SecretAccessKey": "secret",
            "Token": "{token}", "Expiration": "{expires_at}"}}"#
    );
    plain_reply(200, &body)
}

fn agent(receiver: &ScriptedReceiver) -> RoleCredentialSource {
    RoleCredentialSource::Container(ContainerEndpoint {
        url: url_of(receiver, "/v1/credentials"),
        authorization: ContainerAuthorization::Token("agent-token".to_owned()),
    })
}

/// Grants live 15 minutes.
fn store_of(source: RoleCredentialSource, clock: &Arc<ManualClock>) -> ObjectStore {
    let options = Options {
        credentials: ObjectStoreCredentials::Role(source),
        ..options()
    };
    ObjectStore::with_roots(options, clock.clone(), RootCertStore::empty()).unwrap()
}

fn token_file(token: &str) -> PathBuf {
    let name = format!("longshore-test-token-{:032x}", rand::random::<u128>());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, format!("{token}\n")).unwrap();
    path
}

fn granted_token(objects: &ObjectStore) -> String {
    let grant = objects.post_grant(file(), &declared(BYTES)).unwrap();
    let mut fields = grant.fields.into_iter();
    let token = fields.find(|(name, _)| name == "x-amz-security-token");
    token.unwrap().1
}

#[tokio::test]
async fn a_service_account_gets_its_role_from_sts() {
    let answer = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>one</SessionToken>\
         <SecretAccessKey>secret</SecretAccessKey><Expiration>{AT_ONE}</Expiration>\
         <AccessKeyId>ASIAONE</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>\
         </AssumeRoleWithWebIdentityResponse>"
    );
    let refusal =
        "<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>";
    let sts = ScriptedReceiver::start([plain_reply(200, &answer), plain_reply(400, refusal)]).await;
    let token_file = token_file("web.identity-token");
    let role = WebIdentityRole {
        sts_endpoint: url_of(&sts, "/"),
        role_arn: "arn:aws:iam::123456789012:role/longshore".to_owned(),
        session_name: "longshore".to_owned(),
        token_file: token_file.clone(),
    };
    let clock = Arc::new(ManualClock::default());
    let objects = store_of(RoleCredentialSource::WebIdentity(role), &clock);
    let refreshed = objects.refresh_credentials().await;
    assert_eq!(refreshed, Some(Ok(at(AT_ONE))));
    assert_eq!(granted_token(&objects), "one");
    let requests = sts.received();
    assert!(requests[0].head.starts_with("POST / HTTP/1.1"));
    let body = String::from_utf8_lossy(&requests[0].body).into_owned();
    assert_eq!(
        body,
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15\
         &RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Flongshore\
         &RoleSessionName=longshore&WebIdentityToken=web.identity-token"
    );

    clock.advance(Duration::from_mins(50));
    let refused = objects.refresh_credentials().await.unwrap().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "STS refused: status 400 (ExpiredTokenException)"
    );
    std::fs::remove_file(&token_file).unwrap();
    clock.advance(Duration::from_mins(1));
    let missing = objects.refresh_credentials().await.unwrap().unwrap_err();
    assert!(matches!(missing, RoleCredentialFailure::TokenFile { .. }));
}

#[tokio::test]
async fn a_container_gets_its_role_from_the_agent() {
    let receiver = ScriptedReceiver::start([json_credentials("one", AT_ONE)]).await;
    let clock = Arc::new(ManualClock::default());
    let objects = store_of(agent(&receiver), &clock);
    let refreshed = objects.refresh_credentials().await;
    assert_eq!(refreshed, Some(Ok(at(AT_ONE))));
    let requests = receiver.received();
    assert!(requests[0].head.starts_with("GET /v1/credentials HTTP/1.1"));
    assert_eq!(requests[0].header("authorization"), Some("agent-token"));

    let token_file = token_file("from-a-file");
    let endpoint = ContainerEndpoint {
        url: url_of(&receiver, "/v1/credentials"),
        authorization: ContainerAuthorization::File(token_file.clone()),
    };
    let objects = store_of(RoleCredentialSource::Container(endpoint), &clock);
    let refreshed = objects.refresh_credentials().await;
    assert_eq!(refreshed, Some(Ok(at(AT_ONE))));
    let requests = receiver.received();
    assert_eq!(requests[1].header("authorization"), Some("from-a-file"));
    std::fs::remove_file(token_file).unwrap();
}

#[tokio::test]
async fn an_instance_gets_its_role_from_its_metadata() {
    let script = [
        plain_reply(200, "metadata-token"),
        plain_reply(200, "longshore-role"),
        json_credentials("one", AT_ONE),
        plain_reply(200, "metadata-token"),
        plain_reply(404, ""),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let clock = Arc::new(ManualClock::default());
    let source = RoleCredentialSource::InstanceMetadata(url_of(&receiver, "/"));
    let objects = store_of(source, &clock);
    let refreshed = objects.refresh_credentials().await;
    assert_eq!(refreshed, Some(Ok(at(AT_ONE))));
    let requests = receiver.received();
    let lines: Vec<_> = requests
        .iter()
        .filter_map(|it| it.head.lines().next())
        .collect();
    assert_eq!(
        lines,
        [
            "PUT /latest/api/token HTTP/1.1",
            "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1",
            "GET /latest/meta-data/iam/security-credentials/longshore-role HTTP/1.1",
        ]
    );
    let lifetime = requests[0].header("x-aws-ec2-metadata-token-ttl-seconds");
    assert_eq!(lifetime, Some("60"));
    for request in &requests[1..] {
        let token = request.header("x-aws-ec2-metadata-token");
        assert_eq!(token, Some("metadata-token"));
    }

    clock.advance(Duration::from_mins(50));
    let refused = objects.refresh_credentials().await;
    assert_eq!(refused, Some(Err(RoleCredentialFailure::NoRole)));
}

#[tokio::test]
async fn credentials_are_replaced_before_they_expire() {
    let script = [
        json_credentials("one", AT_ONE),
        plain_reply(500, ""),
        json_credentials("two", "2026-01-01T02:00:00Z"),
    ];
    let receiver = ScriptedReceiver::start(script).await;
    let clock = Arc::new(ManualClock::default());
    let objects = store_of(agent(&receiver), &clock);
    let refresh = || objects.refresh_credentials();
    assert_eq!(refresh().await, Some(Ok(at(AT_ONE))));
    clock.set(at("2026-01-01T00:44:59Z"));
    assert_eq!(refresh().await, Some(Ok(at(AT_ONE))));
    assert_eq!(receiver.received().len(), 1);

    // From now on, a new grant would not get its 15 minutes.
    clock.set(at("2026-01-01T00:45:00Z"));
    let failure = refresh().await.unwrap().unwrap_err();
    assert!(failure.to_string().ends_with("refused: status 500"));
    assert_eq!(granted_token(&objects), "one");
    clock.set(at("2026-01-01T00:45:04Z"));
    assert_eq!(refresh().await, Some(Err(failure)));
    assert_eq!(receiver.received().len(), 2);

    clock.set(at("2026-01-01T00:45:05Z"));
    let next = at("2026-01-01T02:00:00Z");
    assert_eq!(refresh().await, Some(Ok(next)));
    assert_eq!(granted_token(&objects), "two");
}

#[tokio::test]
async fn nothing_is_signed_with_expired_credentials() {
    let script = [json_credentials("one", AT_ONE), plain_reply(500, "")];
    let receiver = ScriptedReceiver::start(script).await;
    let clock = Arc::new(ManualClock::default());
    let objects = store_of(agent(&receiver), &clock);
    let early = objects.post_grant(file(), &declared(BYTES)).unwrap_err();
    assert_eq!(
        early.to_string(),
        "no valid credentials for the object store: they have not been fetched yet"
    );
    objects.refresh_credentials().await;
    clock.set(at("2026-01-01T00:59:59Z"));
    objects.refresh_credentials().await;
    assert_eq!(granted_token(&objects), "one");
    clock.set(at(AT_ONE));
    let expired = objects.post_grant(file(), &declared(BYTES)).unwrap_err();
    assert!(matches!(&expired, ObjectStoreFailure::NoCredentials(why) if why.contains("500")));
    let (object, media_type) = (file(), MediaType::Png);
    assert!(objects.presign_download(object, "x", media_type).is_err());
    assert!(objects.part_grants(file(), "u", 5, &[1], None).is_err());
    let head = objects.head(&objects.staging_key(file())).await;
    assert!(matches!(head, Err(ObjectStoreFailure::NoCredentials(_))));
}

#[tokio::test]
async fn a_grant_ends_with_its_credentials() {
    let soon = "2026-01-01T00:04:00Z";
    let receiver = ScriptedReceiver::start([json_credentials("a+b", soon)]).await;
    let clock = Arc::new(ManualClock::default());
    let objects = store_of(agent(&receiver), &clock);
    objects.refresh_credentials().await;
    let grant = objects.post_grant(file(), &declared(BYTES)).unwrap();
    assert_eq!(grant.expires_at, at(soon));
    let parts = objects.part_grants(file(), "u", 5, &[1], None).unwrap();
    assert_eq!(parts.expires_at, at(soon));
    let part_url = &parts.parts[0].1;
    let download = objects.presign_download(file(), "x", MediaType::Png);
    let (link, expires_at) = download.unwrap();
    assert_eq!(expires_at, at(soon));
    for url in [part_url, &link] {
        assert!(url.contains("X-Amz-Expires=240&"), "{url}");
        assert!(url.contains("X-Amz-Security-Token=a%2Bb&"), "{url}");
    }
    // A provider needs a link for longer than any role has credentials.
    let link = objects.presign_provider_link(file(), MediaType::Png, clock.now());
    assert_eq!(link, None);
}

#[tokio::test]
async fn tasks_that_need_credentials_share_one_refresh() {
    let receiver = ScriptedReceiver::start([json_credentials("one", AT_ONE)]).await;
    let clock = Arc::new(ManualClock::default());
    let objects = store_of(agent(&receiver), &clock);
    let (one, two, three) = tokio::join!(
        objects.refresh_credentials(),
        objects.refresh_credentials(),
        objects.refresh_credentials(),
    );
    for refreshed in [one, two, three] {
        assert_eq!(refreshed, Some(Ok(at(AT_ONE))));
    }
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn the_first_call_fetches_credentials_and_sends_their_token() {
    let receiver = ScriptedReceiver::start([json_credentials("one", AT_ONE)]).await;
    let store = ScriptedReceiver::start([plain_reply(404, "")]).await;
    let clock = Arc::new(ManualClock::default());
    let url = url_of(&store, "/");
    let options = Options {
        internal: url.clone(),
        public: url,
        credentials: ObjectStoreCredentials::Role(agent(&receiver)),
        ..options()
    };
    let shown = format!("{options:?}");
    let objects = ObjectStore::with_roots(options, clock, RootCertStore::empty()).unwrap();
    let head = objects.head(&objects.staging_key(file())).await;
    assert_eq!(head, Ok(None));
    assert_eq!(receiver.received().len(), 1);
    let requests = store.received();
    assert!(requests[0].head.contains("X-Amz-Security-Token=one&"));
    let shown = format!("{shown} {objects:?} {:?}", objects.credential_source());
    assert!(!shown.contains("agent-token") && !shown.contains("ASIA"));
}
