//! What a server of the `OpenAI` API takes.

/// Which fields a server knows. Servers refuse a request with a field that they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerDialect {
    /// No `top_k`, no video; reads PDFs, and takes a name for the tenant.
    OpenAi,
    /// A service that copies the API, such as Azure: the same without the name of the tenant.
    Compatible,
    /// `top_k`, and video if the model supports it; no PDFs, no strict tools.
    SelfHosted,
}

impl ServerDialect {
    pub(in crate::provider) const fn is_self_hosted(self) -> bool {
        matches!(self, Self::SelfHosted)
    }

    /// The name of the kind in `provider_options`.
    pub(super) const fn options_name(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Compatible => "openai",
            Self::SelfHosted => "server",
        }
    }
}
