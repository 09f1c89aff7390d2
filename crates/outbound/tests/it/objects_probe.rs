//! The probe of a store: the real one passes, a store that lies is found out.

use std::time::Duration;

use outbound::objects::{Objects, Options, Patience, ProbeFailure};
use url::Url;
use uuid::Uuid;

use crate::support::liar::{Liar, Lie};
use crate::support::store::{objects_with, options};

const OURS: Uuid = Uuid::from_u128(1);
const ANOTHERS: Uuid = Uuid::from_u128(2);
const PAGES: &str = "https://pages.longshore.test";

async fn behind(lie: Lie, origins: &[&str]) -> (Liar, Objects) {
    let options = options();
    let liar = Liar::start(&options.internal, lie).await;
    let lying = Options {
        internal: liar.url(),
        public: liar.url(),
        origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
        ..options
    };
    (liar, objects_with(lying).await)
}

async fn failed(objects: &Objects) -> ProbeFailure {
    objects.probe(OURS).await.unwrap_err()
}

#[tokio::test]
async fn the_store_of_the_tests_passes_again_and_again() {
    let open = Options {
        origins: vec![PAGES.to_owned()],
        ..options()
    };
    let objects = objects_with(open).await;
    let unmarked = objects.ping().await.unwrap_err();
    insta::assert_snapshot!(unmarked, @"the object store refused to show the owner's mark: status 404");
    for _ in 0..2 {
        let its = objects.clone();
        let probed = tokio::spawn(async move { its.probe(OURS).await });
        probed.await.unwrap().unwrap();
        objects.ping().await.unwrap();
    }
}

#[tokio::test]
async fn a_bucket_has_one_owner() {
    let objects = objects_with(options()).await;
    objects.probe(OURS).await.unwrap();
    let failure = objects.probe(ANOTHERS).await.unwrap_err();
    insta::assert_snapshot!(failure, @"the bucket must belong to this installation: the bucket belongs to another installation");
    assert!(!failure.away);
    objects.probe(OURS).await.unwrap();
}

#[tokio::test]
async fn of_two_that_come_at_once_one_stays() {
    let objects = objects_with(options()).await;
    let (first, second) = tokio::join!(objects.probe(OURS), objects.probe(ANOTHERS));
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
}

#[tokio::test]
async fn every_refusal_that_does_not_come_is_named() {
    let mut told = Vec::new();
    for number in 0.. {
        let (_liar, objects) = behind(Lie::Yes(number), &[]).await;
        match objects.probe(OURS).await {
            Ok(()) => break,
            Err(failure) => told.push(failure.to_string()),
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    an upload grant must refuse a longer file: the answer was 200
    an upload grant must refuse a shorter file: the answer was 200
    an upload grant must refuse other bytes (x-amz-checksum-sha256): the answer was 200
    an upload grant must refuse another signature: the answer was 200
    an upload grant must refuse another key: the answer was 200
    an upload grant must refuse another media type: the answer was 200
    the store must refuse reading without a signature: the answer was 200
    a read must be refused when the object is another (If-Match): it was read all the same
    a copy must be refused when the object is another (x-amz-copy-source-if-match): it was copied all the same
    a part's URL must refuse another length: the answer was 200
    a part's URL must refuse other bytes (x-amz-checksum-sha256): the answer was 200
    ");
}

#[tokio::test]
async fn a_page_that_sees_no_tag_cannot_upload() {
    let (_liar, objects) = behind(Lie::Without("access-control-expose-headers"), &[PAGES]).await;
    insta::assert_snapshot!(failed(&objects).await, @"the bucket must let our pages see the ETag (CORS): a page of https://pages.longshore.test is not shown it");
    let (_liar, objects) = behind(Lie::Without("access-control-allow-origin"), &[PAGES]).await;
    insta::assert_snapshot!(failed(&objects).await, @"the bucket must let our pages upload (CORS): a page of https://pages.longshore.test may not send a part");
}

#[tokio::test]
async fn a_link_that_is_shown_in_place_is_found_out() {
    let (_liar, objects) = behind(Lie::Without("content-disposition"), &[]).await;
    insta::assert_snapshot!(failed(&objects).await, @"a link must make browsers save the file (response-content-disposition): it is shown in place");
}

#[tokio::test]
async fn a_store_that_is_away_or_is_not_ours_is_told_apart() {
    let nobody = Url::parse("http://127.0.0.1:9").unwrap();
    let patience = Patience {
        call: Duration::from_millis(300),
        ..Patience::default()
    };
    let unreachable = Options {
        public: nobody,
        patience,
        ..options()
    };
    let failure = failed(&objects_with(unreachable).await).await;
    insta::assert_snapshot!(failure, @"an upload grant must refuse a longer file: the object store cannot be reached: connection refused");
    assert!(failure.away);
    let elsewhere = Options {
        bucket: "longshore-there-is-none".to_owned(),
        ..options()
    };
    let failure = failed(&objects_with(elsewhere).await).await;
    insta::assert_snapshot!(failure, @"the bucket must belong to this installation: the object store refused to read the owner's mark: status 404 (NoSuchBucket)");
    let locked = Options {
        access_key: "nobody".to_owned(),
        ..options()
    };
    let failure = failed(&objects_with(locked).await).await;
    insta::assert_snapshot!(failure, @"the bucket must belong to this installation: the object store refused to read the owner's mark: status 403 (InvalidAccessKeyId)");
    assert!(!failure.away);
}
