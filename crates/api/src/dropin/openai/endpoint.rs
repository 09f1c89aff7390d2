//! The endpoints that the requests of a batch can name.

/// One of the APIs whose requests are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    ChatCompletions,
    Embeddings,
    Responses,
}

impl Endpoint {
    pub(crate) const ALL: [Self; 3] = [Self::ChatCompletions, Self::Embeddings, Self::Responses];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Embeddings => "/v1/embeddings",
            Self::Responses => "/v1/responses",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|endpoint| endpoint.as_str() == text)
    }
}
