//! Redis or Valkey: does it let us in, and does it count for us?

use std::time::Duration;

use outbound::counters::{Counters, CountersFailure};
use tokio::time::timeout;
use url::Url;

use crate::doctor::Findings;
use crate::failure;

const PATIENCE: Duration = Duration::from_secs(3);
const MEND: &str =
    "start Redis there, or correct SVC_REDIS_URL; until then each process limits by itself";

pub(super) async fn examine(url: Option<&Url>) -> Findings {
    let mut found = Findings::of("redis");
    let Some(url) = url else {
        let text = "there is none: each process keeps its share of every rate limit by itself";
        let mend = "set SVC_REDIS_URL when more than one process serves";
        found.warning("configured", text, mend);
        return found;
    };
    let counters = match Counters::new(url.as_str()) {
        Ok(counters) => counters,
        Err(unusable) => {
            let text = failure::chain(&unusable);
            found.wrong("reachable", &text, "correct SVC_REDIS_URL");
            return found;
        }
    };
    if judge(&mut found, "reachable", answer(counters.ping()).await) {
        judge(&mut found, "counts", answer(counters.rehearse()).await);
    }
    found
}

/// Nothing is an answer that did not come.
async fn answer(
    asked: impl Future<Output = Result<(), CountersFailure>>,
) -> Option<Result<(), CountersFailure>> {
    timeout(PATIENCE, asked).await.ok()
}

fn judge(
    found: &mut Findings,
    check: &'static str,
    answer: Option<Result<(), CountersFailure>>,
) -> bool {
    match answer {
        Some(Ok(())) => {
            found.ok(check, "yes");
            return true;
        }
        Some(Err(refused)) if refused.is_refusal() => {
            let mend = "correct the user or password in SVC_REDIS_URL, or let them run scripts \
                        (EVALSHA, SCRIPT LOAD) that read and write keys; a replica is no use";
            found.wrong(check, &failure::chain(&refused), mend);
        }
        Some(Err(away)) => found.wrong(check, &failure::chain(&away), MEND),
        None => found.wrong(check, "it does not answer", MEND),
    }
    false
}

#[cfg(test)]
#[path = "../../../outbound/tests/it/support/redis.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod server;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::server::Redis;
    use super::*;
    use crate::doctor::State;

    async fn states(url: &str) -> Vec<(&'static str, State)> {
        let found = examine(Some(&Url::parse(url).unwrap())).await.list;
        found.iter().map(|it| (it.check, it.state)).collect()
    }

    #[tokio::test]
    async fn one_that_lets_us_in_and_counts_is_well() {
        let redis = Redis::with(&["--requirepass", "p@ss"]);
        let url = format!("redis://:p%40ss@127.0.0.1:{}", redis.port());
        let well = [("reachable", State::Ok), ("counts", State::Ok)];
        assert_eq!(states(&url).await, well);
    }

    #[tokio::test]
    async fn a_refusal_is_repeated() {
        let redis = Redis::with(&["--requirepass", "p@ss"]);
        let url = Url::parse(&redis.url()).unwrap();
        let found = examine(Some(&url)).await.list;
        assert_eq!(found[0].state, State::Wrong);
        assert!(found[0].found.contains("NOAUTH"), "{found:?}");
        assert!(found[0].mend.as_ref().unwrap().contains("password"));
    }

    #[tokio::test]
    async fn one_that_takes_no_writes_does_not_count() {
        let redis = Redis::new();
        redis.say("REPLICAOF 127.0.0.1 1");
        let found = examine(Some(&Url::parse(&redis.url()).unwrap())).await.list;
        assert_eq!(found[1].state, State::Wrong);
        assert!(found[1].found.contains("read only"), "{found:?}");
    }

    #[tokio::test]
    async fn silence_is_wrong_and_no_redis_is_worth_a_warning() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // It takes the connection and says nothing, in plain text or otherwise.
        let wrong = [("reachable", State::Wrong)];
        assert_eq!(states(&format!("rediss://127.0.0.1:{port}")).await, wrong);
        drop(listener);
        assert_eq!(states(&format!("redis://127.0.0.1:{port}")).await, wrong);
        assert_eq!(examine(None).await.list[0].state, State::Warning);
    }
}
