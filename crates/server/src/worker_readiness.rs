//! `GET /ready` of `longshored work`, on the listener of the metrics: it has no other one.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use outbound::health::{DependencyHealth, FilesHealth};
use serde::Serialize;
use store::shard::recovery;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::databases::Stores;

const PAUSE_CHECK_TIMEOUT: Duration = Duration::from_secs(1);
const PAUSED_DETAIL: &str = "A shard is paused because its database was restored or copied. See \
     docs/runbooks/recovery-pause.md.";

#[derive(Debug, Clone)]
struct WorkerReadiness {
    stop: CancellationToken,
    files: watch::Receiver<FilesHealth>,
    stores: Arc<Stores>,
}

/// The same fields as `/ready` of the API. Databases are listed only while they are paused: the
/// stages wait for those that are away, and no traffic has to be kept away meanwhile.
#[derive(Debug, Serialize)]
struct WorkerReadyBody {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    dependencies: Vec<WorkerDependencyBody>,
}

#[derive(Debug, Serialize)]
struct WorkerDependencyBody {
    name: String,
    state: &'static str,
}

/// `stop` is cancelled when the process begins to shut down.
pub fn router(
    stop: CancellationToken,
    files: watch::Receiver<FilesHealth>,
    stores: Arc<Stores>,
) -> Router {
    Router::new()
        .route("/ready", get(ready))
        .with_state(WorkerReadiness {
            stop,
            files,
            stores,
        })
}

async fn ready(State(readiness): State<WorkerReadiness>) -> (StatusCode, Json<WorkerReadyBody>) {
    let health = readiness.files.borrow().clone();
    let paused = list_paused_shards(&readiness.stores).await;
    let (status, body) = describe(readiness.stop.is_cancelled(), &health, &paused);
    (status, Json(body))
}

/// A shard that does not answer in time is left out.
async fn list_paused_shards(stores: &Stores) -> Vec<String> {
    let mut checks = JoinSet::new();
    for shard in stores.shards.iter().map(Arc::clone) {
        checks.spawn(async move {
            let found = timeout(PAUSE_CHECK_TIMEOUT, recovery::find_pause(&shard)).await;
            let is_paused = matches!(found, Ok(Ok(Some(_))));
            is_paused.then(|| shard.name.to_string())
        });
    }
    let mut paused: Vec<String> = checks.join_all().await.into_iter().flatten().collect();
    paused.sort_unstable();
    paused
}

fn describe(
    is_stopping: bool,
    health: &FilesHealth,
    paused_shards: &[String],
) -> (StatusCode, WorkerReadyBody) {
    let rows = [
        ("object store", &health.store),
        ("object store credentials", &health.credentials),
        ("scanner", &health.scanner),
        ("file probe", &health.probe),
    ];
    let paused = paused_shards.iter().map(|shard| WorkerDependencyBody {
        name: format!("shard {shard}"),
        state: "failed",
    });
    let files = rows.into_iter().filter_map(|(name, health)| {
        let (name, state) = (name.to_owned(), state(health)?);
        Some(WorkerDependencyBody { name, state })
    });
    let dependencies: Vec<_> = paused.chain(files).collect();
    let (code, status, detail) = if is_stopping {
        let detail = "The process is shutting down.";
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(detail))
    } else if dependencies.iter().all(|row| row.state == "ok") {
        (StatusCode::OK, "ok", None)
    } else {
        let detail = (!paused_shards.is_empty()).then_some(PAUSED_DETAIL);
        (StatusCode::OK, "degraded", detail)
    };
    let body = WorkerReadyBody {
        status,
        detail,
        dependencies,
    };
    (code, body)
}

const fn state(health: &DependencyHealth) -> Option<&'static str> {
    match health {
        DependencyHealth::NotConfigured => None,
        DependencyHealth::Unknown => Some("unknown"),
        DependencyHealth::Healthy => Some("ok"),
        DependencyHealth::Unreachable(_) => Some("away"),
        DependencyHealth::ProbeFailed(_) => Some("failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(is_stopping: bool, health: &FilesHealth) -> String {
        let (code, body) = describe(is_stopping, health, &[]);
        format!(
            "{} {}",
            code.as_u16(),
            serde_json::to_string(&body).unwrap()
        )
    }

    #[test]
    fn a_worker_is_ready_until_it_stops() {
        let none = FilesHealth::NOT_CONFIGURED;
        insta::assert_snapshot!(answer(false, &none), @r#"200 {"status":"ok","dependencies":[]}"#);
        insta::assert_snapshot!(answer(true, &none), @r#"503 {"status":"unavailable","detail":"The process is shutting down.","dependencies":[]}"#);
    }

    #[test]
    fn a_worker_of_a_paused_shard_says_so() {
        let paused = ["north".to_owned()];
        let (code, body) = describe(false, &FilesHealth::NOT_CONFIGURED, &paused);
        assert_eq!(code, StatusCode::OK);
        insta::assert_snapshot!(serde_json::to_string(&body).unwrap(), @r#"{"status":"degraded","detail":"A shard is paused because its database was restored or copied. See docs/runbooks/recovery-pause.md.","dependencies":[{"name":"shard north","state":"failed"}]}"#);
    }

    #[test]
    fn a_worker_that_cannot_parse_files_says_so() {
        let health = FilesHealth {
            store: DependencyHealth::Healthy,
            credentials: DependencyHealth::NotConfigured,
            scanner: DependencyHealth::Unreachable("refused".to_owned()),
            probe: DependencyHealth::ProbeFailed("seccomp: not permitted".to_owned()),
        };
        insta::assert_snapshot!(answer(false, &health), @r#"200 {"status":"degraded","dependencies":[{"name":"object store","state":"ok"},{"name":"scanner","state":"away"},{"name":"file probe","state":"failed"}]}"#);
    }

    #[test]
    fn a_failed_refresh_of_credentials_is_shown_while_the_old_ones_work() {
        let health = FilesHealth {
            store: DependencyHealth::Healthy,
            credentials: DependencyHealth::Unreachable("STS cannot be reached".to_owned()),
            ..FilesHealth::NOT_CONFIGURED
        };
        insta::assert_snapshot!(answer(false, &health), @r#"200 {"status":"degraded","dependencies":[{"name":"object store","state":"ok"},{"name":"object store credentials","state":"away"}]}"#);
    }
}
