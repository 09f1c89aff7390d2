//! The probe of the object store: a real store passes, one that breaks a rule fails.

use std::time::Duration;

use outbound::object_store::{
    ObjectStore, ObjectStoreCredentials, ObjectStoreProbeFailure, ObjectStoreTimeouts, Options,
};
use test_support::object_store::{object_store_with, options, static_keys};
use url::Url;
use uuid::Uuid;

use crate::support::tampering_proxy::{Tampering, TamperingProxy};

const OUR_INSTALLATION: Uuid = Uuid::from_u128(1);
const OTHER_INSTALLATION: Uuid = Uuid::from_u128(2);
const PAGES_ORIGIN: &str = "https://pages.longshore.test";

async fn store_behind(lie: Tampering, origins: &[&str]) -> (TamperingProxy, ObjectStore) {
    let options = options();
    let liar = TamperingProxy::start(&options.internal, lie).await;
    let lying = Options {
        internal: liar.url(),
        public: liar.url(),
        cors_origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
        ..options
    };
    (liar, object_store_with(lying).await)
}

async fn probe_failure(objects: &ObjectStore) -> ObjectStoreProbeFailure {
    objects.probe(OUR_INSTALLATION).await.unwrap_err()
}

#[tokio::test]
async fn the_store_of_the_tests_passes_again_and_again() {
    let open = Options {
        cors_origins: vec![PAGES_ORIGIN.to_owned()],
        ..options()
    };
    let objects = object_store_with(open).await;
    let unmarked = objects.ping().await.unwrap_err();
    insta::assert_snapshot!(unmarked, @"the object store refused to show the owner's mark: status 404");
    for _ in 0..2 {
        let its = objects.clone();
        let probed = tokio::spawn(async move { its.probe(OUR_INSTALLATION).await });
        probed.await.unwrap().unwrap();
        objects.ping().await.unwrap();
    }
}

#[tokio::test]
async fn a_public_address_that_cannot_be_reached_from_here_is_connected_to_elsewhere() {
    let options = options();
    let address = &options.internal[url::Position::BeforeHost..url::Position::AfterPort];
    let apart = Options {
        public: Url::parse("http://objects.longshore.invalid:9").unwrap(),
        public_connect: Some(address.to_owned()),
        ..options.clone()
    };
    let objects = object_store_with(apart).await;
    objects.probe(OUR_INSTALLATION).await.unwrap();
}

#[tokio::test]
async fn a_bucket_has_one_owner() {
    let objects = object_store_with(options()).await;
    objects.probe(OUR_INSTALLATION).await.unwrap();
    let failure = objects.probe(OTHER_INSTALLATION).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the bucket must belong to this installation: the bucket belongs to another installation");
    assert!(!failure.is_unreachable);
    objects.probe(OUR_INSTALLATION).await.unwrap();
}

#[tokio::test]
async fn of_two_that_come_at_once_one_stays() {
    let objects = object_store_with(options()).await;
    let (first, second) = tokio::join!(
        objects.probe(OUR_INSTALLATION),
        objects.probe(OTHER_INSTALLATION)
    );
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
}

#[tokio::test]
async fn every_refusal_that_does_not_come_is_named() {
    let mut failures = Vec::new();
    for number in 0.. {
        let (_liar, objects) = store_behind(Tampering::AcceptRefusal(number), &[]).await;
        match objects.probe(OUR_INSTALLATION).await {
            Ok(()) => break,
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    insta::assert_snapshot!(failures.join("\n"), @r"
    an upload grant must refuse a longer file: the answer was 200
    an upload grant must refuse a shorter file: the answer was 200
    an upload grant must refuse other bytes (x-amz-checksum-sha256): the answer was 200
    an upload grant must refuse another signature: the answer was 200
    an upload grant must refuse another key: the answer was 200
    an upload grant must refuse another media type: the answer was 200
    the store must refuse reading without a signature: the answer was 200
    a read must be refused when the ETag differs (If-Match): it was read anyway
    a copy must be refused when the ETag differs (x-amz-copy-source-if-match): it was copied anyway
    a part's URL must refuse another length: the answer was 200
    a part's URL must refuse other bytes (x-amz-checksum-sha256): the answer was 200
    ");
}

#[tokio::test]
async fn a_page_that_sees_no_tag_cannot_upload() {
    let (_liar, objects) = store_behind(
        Tampering::DropHeader("access-control-expose-headers"),
        &[PAGES_ORIGIN],
    )
    .await;
    insta::assert_snapshot!(probe_failure(&objects).await, @"the bucket must expose the ETag to browsers (CORS): https://pages.longshore.test cannot read it");
    let (_liar, objects) = store_behind(
        Tampering::DropHeader("access-control-allow-origin"),
        &[PAGES_ORIGIN],
    )
    .await;
    insta::assert_snapshot!(probe_failure(&objects).await, @"the bucket must allow uploads from browsers (CORS): https://pages.longshore.test may not upload a part");
}

#[tokio::test]
async fn a_link_that_is_shown_in_place_is_found_out() {
    let (_liar, objects) = store_behind(Tampering::DropHeader("content-disposition"), &[]).await;
    insta::assert_snapshot!(probe_failure(&objects).await, @"a link must make browsers save the file (response-content-disposition): the response has no attachment disposition");
}

#[tokio::test]
async fn an_unreachable_store_and_a_refusing_one_are_distinguished() {
    let closed_port = Url::parse("http://127.0.0.1:9").unwrap();
    let timeouts = ObjectStoreTimeouts {
        call: Duration::from_millis(300),
        ..ObjectStoreTimeouts::default()
    };
    let unreachable = Options {
        public: closed_port,
        timeouts,
        ..options()
    };
    let failure = probe_failure(&object_store_with(unreachable).await).await;
    insta::assert_snapshot!(failure, @"an upload grant must refuse a longer file: the object store cannot be reached: connection refused");
    assert!(failure.is_unreachable);
    let elsewhere = Options {
        bucket: "longshore-there-is-none".to_owned(),
        ..options()
    };
    let failure = probe_failure(&object_store_with(elsewhere).await).await;
    insta::assert_snapshot!(failure, @"the bucket must belong to this installation: the object store refused to read the owner's mark: status 404 (NoSuchBucket)");
    let locked = Options {
        credentials: ObjectStoreCredentials::Static {
            access_key: "unknown".to_owned(),
            secret_key: static_keys().secret_key,
        },
        ..options()
    };
    let failure = probe_failure(&object_store_with(locked).await).await;
    insta::assert_snapshot!(failure, @"the bucket must belong to this installation: the object store refused to read the owner's mark: status 403 (InvalidAccessKeyId)");
    assert!(!failure.is_unreachable);
}
