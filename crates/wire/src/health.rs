//! `GET /health` and `GET /ready`.

use serde::Serialize;
use utoipa::ToSchema;

/// The process serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Health {
    #[schema(value_type = String, example = "ok")]
    pub status: &'static str,
    #[schema(value_type = String, example = "0.1.0")]
    pub version: &'static str,
}

/// Whether requests should be sent here, and how what we depend on stands.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Ready {
    pub status: Status,
    /// Why requests should go elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub detail: Option<&'static str>,
    pub dependencies: Vec<Dependency>,
}

/// Degraded: some organizations, new keys or files are not served, or limits are not exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ReadyStatus)]
pub enum Status {
    Ok,
    Degraded,
    Unavailable,
}

/// Something that we depend on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Dependency {
    #[schema(example = "shard main")]
    pub name: String,
    pub state: State,
    /// How long it took to answer.
    #[schema(required = true, example = 0.4)]
    pub latency_ms: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = DependencyState)]
pub enum State {
    Ok,
    Away,
    /// It answers, but not as it must: `longshored doctor` says why.
    Failed,
    /// Nobody has looked yet.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health() {
        let health = Health {
            status: "ok",
            version: "0.1.0",
        };
        insta::assert_snapshot!(serde_json::to_string(&health).unwrap(), @r#"{"status":"ok","version":"0.1.0"}"#);
    }

    #[test]
    fn degraded() {
        let ready = Ready {
            status: Status::Degraded,
            detail: None,
            dependencies: vec![
                Dependency {
                    name: "control".to_owned(),
                    state: State::Ok,
                    latency_ms: Some(0.4),
                },
                Dependency {
                    name: "shard north".to_owned(),
                    state: State::Away,
                    latency_ms: None,
                },
            ],
        };
        insta::assert_snapshot!(serde_json::to_string(&ready).unwrap(), @r#"{"status":"degraded","dependencies":[{"name":"control","state":"ok","latency_ms":0.4},{"name":"shard north","state":"away","latency_ms":null}]}"#);
    }
}
