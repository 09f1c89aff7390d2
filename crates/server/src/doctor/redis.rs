//! Checks of Redis or Valkey: reachable, and able to run the rate limit script.

use std::time::Duration;

use domain::error_chain;
use outbound::rate_limits::RateLimiterFailure;
use tokio::time::timeout;

use crate::doctor::DependencyFindings;
use crate::doctor::encryption;
use crate::redis_client;
use crate::settings::table::SettingValues;

const REDIS_TIMEOUT: Duration = Duration::from_secs(3);
const UNREACHABLE_FIX: &str = "start Redis, or correct SVC_REDIS_URL; until then each process enforces its own share of \
     every rate limit";

pub(super) async fn examine(values: &SettingValues) -> DependencyFindings {
    let mut found = DependencyFindings::new("redis");
    let Some(url) = &values.redis_url else {
        let text = "no: each process enforces its own share of every rate limit";
        let fix = "set SVC_REDIS_URL if more than one process serves";
        found.warning("configured", text, fix);
        return found;
    };
    encryption::check_redis(&mut found, url);
    let counters = match redis_client::open(values) {
        Ok(Some(counters)) => counters,
        // The address is set.
        Ok(None) => return found,
        Err(unusable) => {
            let text = error_chain::chain(&unusable);
            let fix = "correct SVC_REDIS_URL, SVC_REDIS_CA_FILE, SVC_REDIS_CERT_FILE or \
                       SVC_REDIS_KEY_FILE";
            found.wrong("reachable", &text, fix);
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
    use crate::settings::read_variables;

    fn values(url: &str, more: &[(&str, &str)]) -> SettingValues {
        let given = [
            ("SVC_DATABASE_URL", "postgres://localhost/longshore"),
            ("SVC_REDIS_URL", url),
        ];
        let given = given.iter().chain(more);
        let given = given.map(|(name, value)| (name.into(), value.into()));
        read_variables(given).settings().unwrap().values
    }

    async fn states(url: &str) -> Vec<(&'static str, FindingState)> {
        let found = examine(&values(url, &[])).await.list;
        let found = found.into_iter().filter(|it| it.check != "encryption");
        found.map(|it| (it.check, it.state)).collect()
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
        let found = examine(&values(&redis.url(), &[])).await.list;
        assert_eq!(found[0].state, FindingState::Wrong);
        assert!(found[0].found.contains("NOAUTH"), "{found:?}");
        assert!(found[0].fix.as_ref().unwrap().contains("password"));
    }

    #[tokio::test]
    async fn a_redis_without_writes_fails_the_script() {
        let redis = RedisServer::new();
        redis.command("REPLICAOF 127.0.0.1 1");
        let found = examine(&values(&redis.url(), &[])).await.list;
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
        assert_eq!(states("redis://127.0.0.1:1").await, wrong);
        assert_eq!(
            examine(&values("", &[])).await.list[0].state,
            FindingState::Warning
        );
    }
    #[tokio::test]
    async fn a_missing_certificate_file_is_named() {
        let file = [("SVC_REDIS_CA_FILE", "/nowhere/ca.pem")];
        let found = examine(&values("rediss://127.0.0.1:1", &file)).await.list;
        let last = found.last().unwrap();
        assert_eq!(last.state, FindingState::Wrong);
        assert!(last.found.contains("/nowhere/ca.pem"), "{last:?}");
    }
}
