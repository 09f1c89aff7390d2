//! Caching, invalidation, and the answers while control is unreachable.

use std::sync::Arc;

use domain::api_key::ApiKeyStatus;
use domain::id::{ApiKeyId, OrganizationId, ProjectId};
use domain::key_scope::{KeyScope, parse_address_range};
use domain::organization::Plan;
use store::control::change_feed::{ChangeKind, ControlChange};
use test_support::clock::ManualClock;

use super::*;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_timestamp_micros(micros).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn key_text(number: u8) -> String {
    format!("svc_sk_{number:032}")
}

fn digest(number: u8) -> SecretDigest {
    ApiKey::parse(key_text(number).as_bytes()).unwrap().digest()
}

/// All keys have the same project and organization.
fn holder(number: u8) -> ApiKeyPrincipal {
    let berth = Berth::new(3).unwrap();
    ApiKeyPrincipal {
        key: ApiKeyId::new(at(0), berth, u64::from(number)),
        project: ProjectId::new(at(0), berth, 1001),
        organization: OrganizationId::new(at(0), berth, 1002),
        plan: Plan::Pro,
        berth,
        status: ApiKeyStatus {
            is_active: true,
            expires_at: None,
            is_project_active: true,
        },
        scope: None,
    }
}

/// A cache without a control server: each query fails at once.
fn without_control() -> (ApiKeyCache, Arc<ManualClock>) {
    let nowhere = "postgres:///none?host=/nonexistent/longshore";
    let control = Control::connect_lazily(nowhere, 1).unwrap();
    let clock = Arc::new(ManualClock::starting_at(at(0)));
    let options = ApiKeyCacheOptions {
        stale_after: seconds(900),
        capacity: 100,
        ..ApiKeyCacheOptions::default()
    };
    (
        ApiKeyCache::new(control, options, Arc::<ManualClock>::clone(&clock)),
        clock,
    )
}

async fn authenticate(keys: &ApiKeyCache, presented: &[u8]) -> Result<Caller, AuthenticationError> {
    let address = Some(IpAddr::from([192, 0, 2, 7]));
    keys.authenticate(presented, KeyRight::Load, address).await
}

async fn insert_key(
    memory: &KeyLookupCache,
    number: u8,
    holder: &ApiKeyPrincipal,
) -> Arc<CachedKey> {
    let place = memory.get_or_lock(&digest(number)).await.unwrap_err();
    let known = Arc::new(CachedKey::new(holder));
    memory.insert(place, &digest(number), &known, memory.generation());
    known
}

fn is_cached(memory: &KeyLookupCache, number: u8) -> bool {
    matches!(memory.get(&digest(number), at(0)), CachedLookup::Hit(_))
}

#[tokio::test]
async fn a_header_without_a_key_is_refused_without_asking() {
    let (keys, _) = without_control();
    assert_eq!(
        authenticate(&keys, b"").await,
        Err(ApiKeyRefusal::Missing.into())
    );
    assert_eq!(
        authenticate(&keys, b"nonsense").await,
        Err(ApiKeyRefusal::Malformed.into())
    );
    assert!(!keys.control_status().is_unreachable);
}

#[tokio::test]
async fn without_control_a_known_key_goes_on_until_it_is_stale() {
    let (keys, clock) = without_control();
    insert_key(&keys.lookups, 1, &holder(1)).await;
    keys.control_monitor.record_feed_read(clock.now());
    keys.read_feed().await;
    assert!(keys.control_status().is_unreachable);

    clock.advance(seconds(900));
    let caller = authenticate(&keys, key_text(1).as_bytes()).await.unwrap();
    assert_eq!(caller, Caller::from_principal(&holder(1)));
    assert!(!keys.control_status().is_stale);

    clock.advance(Duration::from_micros(1));
    assert_eq!(
        authenticate(&keys, key_text(1).as_bytes()).await,
        Err(CONTROL_UNAVAILABLE)
    );
    assert!(keys.control_status().is_stale);
}

#[tokio::test]
async fn without_control_an_unknown_key_is_not_called_invalid() {
    let (keys, clock) = without_control();
    keys.control_monitor.record_feed_read(clock.now());
    assert_eq!(
        authenticate(&keys, key_text(9).as_bytes()).await,
        Err(CONTROL_UNAVAILABLE)
    );
    assert!(keys.control_status().is_unreachable);
}

#[tokio::test]
async fn without_control_a_key_still_expires() {
    let (keys, clock) = without_control();
    let mut expiring = holder(1);
    expiring.status.expires_at = Some(clock.now() + seconds(60));
    insert_key(&keys.lookups, 1, &expiring).await;
    keys.control_monitor.record_feed_read(clock.now());
    assert!(authenticate(&keys, key_text(1).as_bytes()).await.is_ok());
    clock.advance(seconds(60));
    assert_eq!(
        authenticate(&keys, key_text(1).as_bytes()).await,
        Err(ApiKeyRefusal::Expired.into())
    );
}

#[tokio::test]
async fn a_key_that_was_invalidated_while_control_is_unreachable_is_not_called_invalid() {
    let (keys, clock) = without_control();
    let holder = holder(1);
    insert_key(&keys.lookups, 1, &holder).await;
    keys.control_monitor.record_feed_read(clock.now());
    let change = ControlChange {
        seq: 1,
        kind: ChangeKind::Key,
        subject: Some(holder.key.uuid()),
    };
    keys.lookups.invalidate(&[change]);
    assert_eq!(
        authenticate(&keys, key_text(1).as_bytes()).await,
        Err(CONTROL_UNAVAILABLE)
    );
}

#[test]
fn while_control_is_unreachable_one_query_a_second_is_made() {
    let contact = ControlMonitor::new(seconds(900));
    assert!(contact.may_query(at(0)) && contact.may_query(at(0)));
    assert!(contact.record_failure(at(0)));
    assert!(!contact.record_failure(at(0)));
    assert!(!contact.may_query(at(999_999)));
    assert!(contact.may_query(at(1_000_000)));
    assert!(!contact.may_query(at(1_000_001)));
    assert!(contact.record_feed_read(at(1_000_002)));
    assert!(contact.may_query(at(1_000_003)) && contact.may_query(at(1_000_003)));
}

#[tokio::test]
async fn a_change_is_about_a_key_its_project_or_its_organization() {
    let (first, second) = (holder(1), holder(2));
    let subjects = [
        first.key.uuid(),
        first.project.uuid(),
        first.organization.uuid(),
    ];
    for (subject, second_stays) in subjects.into_iter().zip([true, false, false]) {
        let memory = KeyLookupCache::new(100);
        insert_key(&memory, 1, &first).await;
        insert_key(&memory, 2, &second).await;
        memory.invalidate(&[ControlChange {
            seq: 1,
            kind: ChangeKind::Key,
            subject: Some(subject),
        }]);
        assert!(!is_cached(&memory, 1));
        assert_eq!(is_cached(&memory, 2), second_stays);
    }
}

#[tokio::test]
async fn an_answer_from_before_a_change_is_not_kept() {
    let memory = KeyLookupCache::new(100);
    let place = memory.get_or_lock(&digest(1)).await.unwrap_err();
    let generation = memory.generation();
    memory.invalidate(&[ControlChange {
        seq: 1,
        kind: ChangeKind::Berth,
        subject: None,
    }]);
    memory.insert(
        place,
        &digest(1),
        &Arc::new(CachedKey::new(&holder(1))),
        generation,
    );
    memory.insert_unknown(digest(2), at(0), generation);
    assert!(!is_cached(&memory, 1));
    assert!(matches!(memory.get(&digest(2), at(0)), CachedLookup::Miss));
}

#[test]
fn an_unknown_key_is_cached_for_five_seconds_or_until_a_change() {
    let memory = KeyLookupCache::new(100);
    memory.insert_unknown(digest(1), at(0), memory.generation());
    assert!(matches!(
        memory.get(&digest(1), at(4_999_999)),
        CachedLookup::Unknown
    ));
    assert!(matches!(
        memory.get(&digest(1), at(5_000_000)),
        CachedLookup::Miss
    ));
    memory.invalidate(&[]);
    assert!(matches!(memory.get(&digest(1), at(0)), CachedLookup::Miss));
}

#[test]
fn many_uses_of_a_key_are_written_once_and_none_is_forgotten() {
    let used = KeyUsageQueue::default();
    let known = Arc::new(CachedKey::new(&holder(1)));
    let from = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
    for micros in [3, 5, 4] {
        used.record(&known, at(micros.into()), from(micros));
    }
    let taken = used.take();
    let rows = |taken: &[usage_queue::KeyUse]| {
        let rows = taken.iter().map(usage_queue::KeyUse::row);
        rows.map(|row| (row.key, row.at, row.address))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&taken), [(holder(1).key, at(5), from(5))]);

    used.record(&known, at(6), None);
    used.put_back(&taken);
    let taken = used.take();
    assert_eq!(rows(&taken), [(holder(1).key, at(6), None)]);
    used.put_back(&taken);
    assert_eq!(used.take().len(), 1);
    assert!(used.take().is_empty());
}

#[tokio::test]
async fn a_key_is_used_only_within_its_scope() {
    let (keys, clock) = without_control();
    let mut scoped = holder(1);
    scoped.scope = Some(Arc::new(KeyScope {
        rights: Some(vec![KeyRight::Read]),
        addresses: Some(vec![parse_address_range("192.0.2.0/24").unwrap()]),
        ..KeyScope::default()
    }));
    insert_key(&keys.lookups, 1, &scoped).await;
    keys.control_monitor.record_feed_read(clock.now());
    let key = key_text(1);
    let ask = async |right, address: Option<[u8; 4]>| {
        let address = address.map(IpAddr::from);
        keys.authenticate(key.as_bytes(), right, address).await
    };
    let inside = Some([192, 0, 2, 7]);
    assert_eq!(
        ask(KeyRight::Load, inside).await,
        Err(KeyScopeRefusal::Right(KeyRight::Load).into())
    );
    for outside in [Some([198, 51, 100, 7]), None] {
        assert_eq!(
            ask(KeyRight::Read, outside).await,
            Err(KeyScopeRefusal::Address(outside.map(IpAddr::from)).into())
        );
    }
    // A refused request is no use of the key.
    assert!(keys.usage_queue.take().is_empty());
    assert!(ask(KeyRight::Read, inside).await.is_ok());
    assert_eq!(keys.usage_queue.take().len(), 1);
}

#[test]
fn berths_share_the_names_of_their_shards() {
    let berths = BerthMap::default();
    let (first, third) = (Berth::new(0).unwrap(), Berth::new(2).unwrap());
    assert_eq!(berths.shard_of(first), None);
    berths.replace(["north", "south", "north"].map(String::from).to_vec());
    let north = berths.shard_of(first).unwrap();
    assert!(&*north == "north" && Arc::ptr_eq(&north, &berths.shard_of(third).unwrap()));
}
