//! Charges by bucket and step: the audit recomputes them from the stored counts.

use domain::id::CargoId;
use domain::money::Money;
use domain::token_buckets::TokenBuckets;

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture, invariant_names};

/// 350 input tokens of every bucket.
const SMALL: TokenBuckets = TokenBuckets {
    fresh: 100,
    cached: 200,
    cache_write: 40,
    cache_write_1h: 10,
    output: 50,
    thinking: 20,
};
const SMALL_WORTH: i64 = 100 * 100 + 200 * 10 + 40 * 125 + 10 * 200 + 50 * 400;
/// One input token above the step.
const LARGE: TokenBuckets = TokenBuckets {
    fresh: 1,
    cached: 1000,
    cache_write: 0,
    cache_write_1h: 0,
    output: 1,
    thinking: 0,
};
const LARGE_WORTH: i64 = 2 * (100 + 1000 * 10 + 400);

async fn two_cargo() -> (LedgerFixture, [CargoId; 2]) {
    let mut books = LedgerFixture::open().await;
    let small = books.load(HoldKind::Buckets).await;
    let large = books.load(HoldKind::Buckets).await;
    books
        .finish_with(&[small], true, SMALL, Some(Money(30_000)))
        .await;
    books.finish_with(&[large], true, LARGE, None).await;
    (books, [small, large])
}

async fn read_outcome(books: &LedgerFixture, cargo: CargoId) -> Vec<Option<i64>> {
    let statement = "select array[input_tokens, cached_tokens, cache_write_tokens,
             cache_write_1h_tokens, output_tokens, thinking_tokens, charged, realtime, cost]
         from shard.outcome where cargo = $1";
    sqlx::query_scalar(statement)
        .bind(cargo.uuid())
        .fetch_one(&books.shard().pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn every_bucket_is_stored_and_charged_at_its_rate() {
    let (books, [small, large]) = two_cargo().await;
    let realtime = 350 * 200 + 50 * 800;
    let expected = [350, 200, 40, 10, 50, 20, SMALL_WORTH, realtime, 30_000];
    assert_eq!(
        read_outcome(&books, small).await,
        expected.map(Some).to_vec()
    );
    let charged = read_outcome(&books, large).await[6];
    assert_eq!(charged, Some(LARGE_WORTH));
    assert_eq!(books.find_faults().await, (String::new(), String::new()));
}

#[tokio::test]
async fn a_changed_bucket_or_price_is_found() {
    for (change, whole, recent) in [
        (
            "outcome set cached_tokens = cached_tokens + 1 where cargo",
            "charge settlement",
            "charge settlement",
        ),
        // As in a row of the version before: every input token is fresh.
        (
            "outcome set cached_tokens = null where cargo",
            "charge settlement",
            "charge settlement",
        ),
        (
            "cargo set price_buckets = null where id",
            "charge settlement",
            "charge settlement",
        ),
        // For information only.
        (
            "outcome set thinking_tokens = 7, cost = 7, served = null where cargo",
            "",
            "",
        ),
    ] {
        let (books, cargo) = two_cargo().await;
        for cargo in cargo {
            let statement = format!("update shard.{change} = '{}'", cargo.uuid());
            books.corrupt(&statement).await;
        }
        let expected = (whole.to_owned(), recent.to_owned());
        assert_eq!(books.find_faults().await, expected, "{change}");
    }
}

#[tokio::test]
async fn a_change_of_the_step_is_found_where_it_applies() {
    let (books, [small, large]) = two_cargo().await;
    let move_step = "update shard.cargo
        set price_buckets = jsonb_set(price_buckets, '{steps,0,above}', '1001') where id";
    books
        .corrupt(&format!("{move_step} = '{}'", small.uuid()))
        .await;
    assert_eq!(books.find_faults().await, (String::new(), String::new()));
    books
        .corrupt(&format!("{move_step} = '{}'", large.uuid()))
        .await;
    let faults = books.audit_everything().await;
    assert_eq!(invariant_names(&faults), "charge settlement");
    assert_eq!(books.find_faults().await.0, "charge settlement");
}
