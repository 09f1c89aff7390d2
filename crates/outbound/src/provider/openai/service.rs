//! Services with the batch API of `OpenAI`, as data: where each differs.

use crate::provider::batch_provider::JobLimits;
use crate::provider::client::AuthScheme;
use crate::provider::openai_compatible::ServerDialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenAiService {
    pub dialect: ServerDialect,
    /// The header of the credential; None for `authorization: Bearer`.
    pub credential_header: Option<&'static str>,
    /// `purpose` of an input file.
    pub file_purpose: &'static str,
    /// Stands before the path in a line and in the endpoint of a job.
    pub url_prefix: &'static str,
    pub completion_window: &'static str,
    pub job_limits: JobLimits,
}

impl OpenAiService {
    pub const OPENAI: Self = Self {
        dialect: ServerDialect::OpenAi,
        credential_header: None,
        file_purpose: "batch",
        url_prefix: "/v1",
        completion_window: "24h",
        job_limits: JobLimits {
            max_items: 50_000,
            max_bytes: 200_000_000,
            max_inputs: 50_000,
        },
    };

    /// Azure `OpenAI` with the base URL `https://RESOURCE.openai.azure.com/openai/v1`. The model of
    /// a line is the name of a deployment.
    pub const AZURE: Self = Self {
        dialect: ServerDialect::Compatible,
        credential_header: Some("api-key"),
        job_limits: JobLimits {
            max_items: 100_000,
            max_inputs: 100_000,
            ..Self::OPENAI.job_limits
        },
        ..Self::OPENAI
    };

    pub const GROQ: Self = Self {
        dialect: ServerDialect::Compatible,
        ..Self::OPENAI
    };

    pub(in crate::provider) const fn auth_scheme(&self) -> AuthScheme {
        match self.credential_header {
            Some(name) => AuthScheme::Header(name),
            None => AuthScheme::Bearer,
        }
    }
}
