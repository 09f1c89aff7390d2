//! People: what a log may say about a failure.

use domain::id::{Berth, PersonId};
use domain::time::Clock as _;
use store::control::audit_log::Actor;
use store::control::person::{self, NewPerson};
use test_support::database::TestDatabase;

#[tokio::test]
async fn low_a_database_error_is_described_without_values_of_rows() {
    let database = TestDatabase::new().await;
    let (control, now) = (&database.control, database.clock.now());
    let create = async |random| {
        let new = NewPerson {
            id: PersonId::new(now, Berth::new(0).unwrap(), random),
            name: "Ada".to_owned(),
            email: "ada@secret.example".parse().unwrap(),
            password: None,
            is_operator: false,
        };
        person::create(control, &new, &Actor::console(), now).await
    };
    create(1).await.unwrap();
    let failure = create(2).await.unwrap_err();
    assert_eq!(
        failure.diagnosis(),
        "SQLSTATE 23505, table person, constraint person_folded_key"
    );
}
