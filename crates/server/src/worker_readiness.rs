//! `GET /ready` of `longshored work`, on the listener of the metrics: it has no other one.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use outbound::health::{DependencyHealth, FilesHealth};
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
struct WorkerReadiness {
    stop: CancellationToken,
    files: watch::Receiver<FilesHealth>,
}

/// The same fields as `/ready` of the API. Databases are not listed: the stages wait for them, and
/// no traffic has to be kept away meanwhile.
#[derive(Debug, Serialize)]
struct WorkerReadyBody {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    dependencies: Vec<WorkerDependencyBody>,
}

#[derive(Debug, Serialize)]
struct WorkerDependencyBody {
    name: &'static str,
    state: &'static str,
}

/// `stop` is cancelled when the process begins to shut down.
pub fn router(stop: CancellationToken, files: watch::Receiver<FilesHealth>) -> Router {
    Router::new()
        .route("/ready", get(ready))
        .with_state(WorkerReadiness { stop, files })
}

async fn ready(State(readiness): State<WorkerReadiness>) -> (StatusCode, Json<WorkerReadyBody>) {
    let health = readiness.files.borrow().clone();
    let (status, body) = describe(readiness.stop.is_cancelled(), &health);
    (status, Json(body))
}

fn describe(is_stopping: bool, health: &FilesHealth) -> (StatusCode, WorkerReadyBody) {
    let rows = [
        ("object store", &health.store),
        ("object store credentials", &health.credentials),
        ("scanner", &health.scanner),
        ("file probe", &health.probe),
    ];
    let dependencies: Vec<_> = rows
        .into_iter()
        .filter_map(|(name, health)| {
            let state = state(health)?;
            Some(WorkerDependencyBody { name, state })
        })
        .collect();
    let (code, status, detail) = if is_stopping {
        let detail = "The process is shutting down.";
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some(detail))
    } else if dependencies.iter().all(|row| row.state == "ok") {
        (StatusCode::OK, "ok", None)
    } else {
        (StatusCode::OK, "degraded", None)
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
        let (code, body) = describe(is_stopping, health);
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
