//! What is remembered, what is forgotten, and what is said while control is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::api_key::Standing;
use domain::id::{KeyId, OrganizationId, ProjectId};
use domain::organization::Plan;
use store::control::change::{Change, Kind};

use super::*;

#[derive(Debug, Default)]
struct HandMoved(AtomicI64);

impl HandMoved {
    fn advance(&self, by: Duration) {
        self.0
            .fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for HandMoved {
    fn now(&self) -> Timestamp {
        at(self.0.load(Ordering::SeqCst))
    }

    fn learn(&self, _told: Timestamp) {}
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_timestamp_micros(micros).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn presented(number: u8) -> String {
    format!("svc_sk_{number:032}")
}

fn digest(number: u8) -> Digest {
    ApiKey::parse(presented(number).as_bytes())
        .unwrap()
        .digest()
}

/// A key whose project and organization are those of every key.
fn holder(number: u8) -> Holder {
    let berth = Berth::new(3).unwrap();
    Holder {
        key: KeyId::new(at(0), berth, u64::from(number)),
        project: ProjectId::new(at(0), berth, 1001),
        organization: OrganizationId::new(at(0), berth, 1002),
        plan: Plan::Pro,
        berth,
        standing: Standing {
            is_active: true,
            expires_at: None,
            project_active: true,
        },
    }
}

/// Keys whose control has no server: each question fails at once.
fn without_control() -> (Keys, Arc<HandMoved>) {
    let nowhere = "postgres:///none?host=/nonexistent/longshore";
    let control = Control::connect_lazily(nowhere, 1).unwrap();
    let clock = Arc::new(HandMoved::default());
    let options = KeyOptions {
        stale: seconds(900),
        capacity: 100,
    };
    (
        Keys::new(control, options, Arc::<HandMoved>::clone(&clock)),
        clock,
    )
}

async fn remember(memory: &Memory, number: u8, holder: &Holder) -> Arc<Known> {
    let place = memory.place(&digest(number)).await.unwrap_err();
    let known = Arc::new(Known::new(holder));
    memory.fill(place, &digest(number), &known, memory.generation());
    known
}

fn is_known(memory: &Memory, number: u8) -> bool {
    matches!(memory.recall(&digest(number), at(0)), Recall::Known(_))
}

#[tokio::test]
async fn a_header_without_a_key_is_refused_without_asking() {
    let (keys, _) = without_control();
    assert_eq!(keys.admit(b"").await, Err(KeyRefusal::Missing.into()));
    assert_eq!(
        keys.admit(b"nonsense").await,
        Err(KeyRefusal::Malformed.into())
    );
    assert!(!keys.contact().away);
}

#[tokio::test]
async fn without_control_a_known_key_goes_on_until_it_is_stale() {
    let (keys, clock) = without_control();
    remember(&keys.memory, 1, &holder(1)).await;
    keys.contact.seen(clock.now());
    keys.refresh().await;
    assert!(keys.contact().away);

    clock.advance(seconds(900));
    let caller = keys.admit(presented(1).as_bytes()).await.unwrap();
    assert_eq!(caller, Caller::holding(&holder(1)));
    assert!(!keys.contact().stale);

    clock.advance(Duration::from_micros(1));
    assert_eq!(keys.admit(presented(1).as_bytes()).await, Err(AWAY));
    assert!(keys.contact().stale);
}

#[tokio::test]
async fn without_control_an_unknown_key_is_not_called_invalid() {
    let (keys, clock) = without_control();
    keys.contact.seen(clock.now());
    assert_eq!(keys.admit(presented(9).as_bytes()).await, Err(AWAY));
    assert!(keys.contact().away);
}

#[tokio::test]
async fn without_control_a_key_still_expires() {
    let (keys, clock) = without_control();
    let mut expiring = holder(1);
    expiring.standing.expires_at = Some(clock.now() + seconds(60));
    remember(&keys.memory, 1, &expiring).await;
    keys.contact.seen(clock.now());
    assert!(keys.admit(presented(1).as_bytes()).await.is_ok());
    clock.advance(seconds(60));
    assert_eq!(
        keys.admit(presented(1).as_bytes()).await,
        Err(KeyRefusal::Expired.into())
    );
}

#[tokio::test]
async fn a_key_that_was_forgotten_while_control_is_away_is_not_called_invalid() {
    let (keys, clock) = without_control();
    let holder = holder(1);
    remember(&keys.memory, 1, &holder).await;
    keys.contact.seen(clock.now());
    let change = Change {
        seq: 1,
        kind: Kind::Key,
        subject: Some(holder.key.uuid()),
    };
    keys.memory.forget(&[change]);
    assert_eq!(keys.admit(presented(1).as_bytes()).await, Err(AWAY));
}

#[test]
fn while_control_is_away_one_question_a_second_is_asked() {
    let contact = Contact::new(seconds(900));
    assert!(contact.may_ask(at(0)) && contact.may_ask(at(0)));
    assert!(contact.failed(at(0)));
    assert!(!contact.failed(at(0)));
    assert!(!contact.may_ask(at(999_999)));
    assert!(contact.may_ask(at(1_000_000)));
    assert!(!contact.may_ask(at(1_000_001)));
    assert!(contact.seen(at(1_000_002)));
    assert!(contact.may_ask(at(1_000_003)) && contact.may_ask(at(1_000_003)));
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
        let memory = Memory::new(100);
        remember(&memory, 1, &first).await;
        remember(&memory, 2, &second).await;
        memory.forget(&[Change {
            seq: 1,
            kind: Kind::Key,
            subject: Some(subject),
        }]);
        assert!(!is_known(&memory, 1));
        assert_eq!(is_known(&memory, 2), second_stays);
    }
}

#[tokio::test]
async fn an_answer_from_before_a_change_is_not_kept() {
    let memory = Memory::new(100);
    let place = memory.place(&digest(1)).await.unwrap_err();
    let generation = memory.generation();
    memory.forget(&[Change {
        seq: 1,
        kind: Kind::Berth,
        subject: None,
    }]);
    memory.fill(
        place,
        &digest(1),
        &Arc::new(Known::new(&holder(1))),
        generation,
    );
    memory.note_stranger(digest(2), at(0), generation);
    assert!(!is_known(&memory, 1));
    assert!(matches!(memory.recall(&digest(2), at(0)), Recall::Nothing));
}

#[test]
fn a_stranger_is_one_for_five_seconds_or_until_a_change() {
    let memory = Memory::new(100);
    memory.note_stranger(digest(1), at(0), memory.generation());
    assert!(matches!(
        memory.recall(&digest(1), at(4_999_999)),
        Recall::Stranger
    ));
    assert!(matches!(
        memory.recall(&digest(1), at(5_000_000)),
        Recall::Nothing
    ));
    memory.forget(&[]);
    assert!(matches!(memory.recall(&digest(1), at(0)), Recall::Nothing));
}

#[test]
fn many_uses_of_a_key_are_written_once_and_none_is_forgotten() {
    let used = Used::default();
    let known = Arc::new(Known::new(&holder(1)));
    for micros in [3, 5, 4] {
        used.note(&known, at(micros));
    }
    let taken = used.take();
    assert_eq!(
        taken.iter().map(used::Use::row).collect::<Vec<_>>(),
        [(holder(1).key, at(5))]
    );

    used.note(&known, at(6));
    used.put_back(&taken);
    let taken = used.take();
    assert_eq!(
        taken.iter().map(used::Use::row).collect::<Vec<_>>(),
        [(holder(1).key, at(6))]
    );
    used.put_back(&taken);
    assert_eq!(used.take().len(), 1);
    assert!(used.take().is_empty());
}

#[test]
fn berths_share_the_names_of_their_shards() {
    let berths = Berths::default();
    let (first, third) = (Berth::new(0).unwrap(), Berth::new(2).unwrap());
    assert_eq!(berths.shard_of(first), None);
    berths.replace(["north", "south", "north"].map(String::from).to_vec());
    let north = berths.shard_of(first).unwrap();
    assert!(&*north == "north" && Arc::ptr_eq(&north, &berths.shard_of(third).unwrap()));
}
