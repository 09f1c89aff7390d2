//! `GET /health` and `GET /ready`.

use serde::Serialize;
use utoipa::ToSchema;

/// The process serves requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthResponse {
    #[schema(value_type = String, example = "ok")]
    pub status: &'static str,
    #[schema(value_type = String, example = "0.1.0")]
    pub version: &'static str,
}

/// Whether this process should receive requests, and the state of its dependencies.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Ready)]
pub struct ReadyResponse {
    pub status: ReadyStatus,
    /// Why this process should not receive requests, or what an operator must do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub detail: Option<&'static str>,
    pub dependencies: Vec<DependencyBody>,
}

/// Degraded: some organizations, new keys or files are not served, or limits are not exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ReadyStatus)]
pub enum ReadyStatus {
    Ok,
    Degraded,
    Unavailable,
}

/// A database or service that this process depends on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Dependency)]
pub struct DependencyBody {
    #[schema(example = "shard main")]
    pub name: String,
    pub state: DependencyState,
    /// How long it took to answer.
    #[schema(required = true, example = 0.4)]
    pub latency_ms: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = DependencyState)]
pub enum DependencyState {
    Ok,
    Away,
    /// It answers, but incorrectly. Run `longshored doctor` to see why.
    Failed,
    /// It was not checked yet.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health() {
        let health = HealthResponse {
            status: "ok",
            version: "0.1.0",
        };
        insta::assert_snapshot!(serde_json::to_string(&health).unwrap(), @r#"{"status":"ok","version":"0.1.0"}"#);
    }

    #[test]
    fn degraded() {
        let ready = ReadyResponse {
            status: ReadyStatus::Degraded,
            detail: None,
            dependencies: vec![
                DependencyBody {
                    name: "control".to_owned(),
                    state: DependencyState::Ok,
                    latency_ms: Some(0.4),
                },
                DependencyBody {
                    name: "shard north".to_owned(),
                    state: DependencyState::Away,
                    latency_ms: None,
                },
            ],
        };
        insta::assert_snapshot!(serde_json::to_string(&ready).unwrap(), @r#"{"status":"degraded","dependencies":[{"name":"control","state":"ok","latency_ms":0.4},{"name":"shard north","state":"away","latency_ms":null}]}"#);
    }
}
