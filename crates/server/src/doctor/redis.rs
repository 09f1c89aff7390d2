//! Checks of Redis or Valkey: reachable, and able to run the rate limit script.

use std::time::Duration;

use domain::error_chain;
use outbound::rate_limits::{RateLimiterFailure, RedisRateLimiter};
use tokio::time::timeout;
use url::Url;

use crate::doctor::DependencyFindings;

const REDIS_TIMEOUT: Duration = Duration::from_secs(3);
const UNREACHABLE_FIX: &str = "start RedisServer, or correct SVC_REDIS_URL; until then each process enforces its own share of \
     every rate limit";

pub(super) async fn examine(url: Option<&Url>) -> DependencyFindings {
    let mut found = DependencyFindings::new("redis");
    let Some(url) = url else {
        let text = "no: each process enforces its own share of every rate limit";
        let fix = "set SVC_REDIS_URL if more than one process serves";
        found.warning("configured", text, fix);
        return found;
    };
    let counters = match RedisRateLimiter::new(url.as_str()) {
        Ok(counters) => counters,
        Err(unusable) => {
            let text = error_chain::chain(&unusable);
            found.wrong("reachable", &text, "correct SVC_REDIS_URL");
            return found;
        }
    };
    if report_answer(&mut found, "reachable", with_timeout(counters.ping()).await) {
        report_answer(
            &mut found,
            "script",
            with_timeout(counters.check_script()).await,
        );
    }
    found
}

/// No answer means a timeout.
async fn with_timeout(
    call: impl Future<Output = Result<(), RateLimiterFailure>>,
) -> Option<Result<(), RateLimiterFailure>> {
    timeout(REDIS_TIMEOUT, call).await.ok()
}

fn report_answer(
    found: &mut DependencyFindings,
    check: &'static str,
    answer: Option<Result<(), RateLimiterFailure>>,
) -> bool {
    match answer {
        Some(Ok(())) => {
            found.ok(check, "yes");
            return true;
        }
        Some(Err(refused)) if refused.is_refusal() => {
            let fix = "correct the user or password in SVC_REDIS_URL, or allow this user to run \
                       scripts (EVALSHA, SCRIPT LOAD) that read and write keys; \
                       a replica cannot be used";
            found.wrong(check, &error_chain::chain(&refused), fix);
        }
        Some(Err(unreachable)) => {
            found.wrong(check, &error_chain::chain(&unreachable), UNREACHABLE_FIX);
        }
        None => found.wrong(check, "no answer in time", UNREACHABLE_FIX),
    }
    false
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use test_support::redis::RedisServer;

    use super::*;
    use crate::doctor::FindingState;

    async fn states(url: &str) -> Vec<(&'static str, FindingState)> {
        let found = examine(Some(&Url::parse(url).unwrap())).await.list;
        found.iter().map(|it| (it.check, it.state)).collect()
    }

    #[tokio::test]
    async fn a_redis_that_runs_the_script_is_ok() {
        let redis = RedisServer::with_arguments(&["--requirepass", "p@ss"]);
        let url = format!("redis://:p%40ss@127.0.0.1:{}", redis.port());
        let well = [
            ("reachable", FindingState::Ok),
            ("script", FindingState::Ok),
        ];
        assert_eq!(states(&url).await, well);
    }

    #[tokio::test]
    async fn a_refusal_is_repeated() {
        let redis = RedisServer::with_arguments(&["--requirepass", "p@ss"]);
        let url = Url::parse(&redis.url()).unwrap();
        let found = examine(Some(&url)).await.list;
        assert_eq!(found[0].state, FindingState::Wrong);
        assert!(found[0].found.contains("NOAUTH"), "{found:?}");
        assert!(found[0].fix.as_ref().unwrap().contains("password"));
    }

    #[tokio::test]
    async fn a_redis_without_writes_fails_the_script() {
        let redis = RedisServer::new();
        redis.command("REPLICAOF 127.0.0.1 1");
        let found = examine(Some(&Url::parse(&redis.url()).unwrap())).await.list;
        assert_eq!(found[1].state, FindingState::Wrong);
        assert!(found[1].found.contains("read only"), "{found:?}");
    }

    #[tokio::test]
    async fn no_answer_is_an_error_and_no_redis_is_a_warning() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // It accepts the connection and never answers.
        let wrong = [("reachable", FindingState::Wrong)];
        assert_eq!(states(&format!("rediss://127.0.0.1:{port}")).await, wrong);
        drop(listener);
        assert_eq!(states(&format!("redis://127.0.0.1:{port}")).await, wrong);
        assert_eq!(examine(None).await.list[0].state, FindingState::Warning);
    }
}
