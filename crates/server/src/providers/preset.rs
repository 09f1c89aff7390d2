//! Services with another provider's API, as data: `kind` in the file names an adapter, or one of
//! these with its adapter.

use domain::model::{Capability, ModelKind as Work};
use domain::route::InferenceMode;
use outbound::provider::openai::OpenAiService;

use crate::providers::kind::ProviderKind;

/// A service with the API of `OpenAI`. It differs from `OpenAI` in these values alone.
#[derive(Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says independently what the service offers"
)]
pub struct OpenAiPreset {
    pub name: &'static str,
    /// None if each customer has a separate one.
    pub default_base_url: Option<&'static str>,
    pub modes: &'static [InferenceMode],
    pub has_embeddings: bool,
    pub has_responses_api: bool,
    pub reads_pdf: bool,
    /// The list of models has the names that routes use.
    pub lists_upstream_names: bool,
    pub default_enqueued_tokens: Option<u64>,
    pub service: OpenAiService,
}

const PRESETS: [&OpenAiPreset; 2] = [&AZURE, &GROQ];

/// `upstream` of a route is the name of a deployment, and the list of models has no deployments.
static AZURE: OpenAiPreset = OpenAiPreset {
    name: "azure",
    default_base_url: None,
    modes: &[
        InferenceMode::Batch,
        InferenceMode::Flex,
        InferenceMode::Realtime,
    ],
    has_embeddings: true,
    has_responses_api: true,
    reads_pdf: true,
    lists_upstream_names: false,
    default_enqueued_tokens: Some(2_000_000),
    service: OpenAiService::AZURE,
};

static GROQ: OpenAiPreset = OpenAiPreset {
    name: "groq",
    default_base_url: Some("https://api.groq.com/openai/v1"),
    modes: &[
        InferenceMode::Batch,
        InferenceMode::Flex,
        InferenceMode::Realtime,
    ],
    has_embeddings: false,
    // Its batches are for Chat Completions only.
    has_responses_api: false,
    reads_pdf: false,
    lists_upstream_names: true,
    default_enqueued_tokens: None,
    service: OpenAiService::GROQ,
};

/// What `kind` of an account means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountKind {
    pub adapter: ProviderKind,
    pub preset: Option<&'static OpenAiPreset>,
}

impl AccountKind {
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(adapter) = ProviderKind::parse(text) {
            return Some(Self {
                adapter,
                preset: None,
            });
        }
        let preset = PRESETS.into_iter().find(|preset| preset.name == text)?;
        Some(Self {
            adapter: ProviderKind::OpenAi,
            preset: Some(preset),
        })
    }

    pub fn list_names() -> String {
        let presets = PRESETS.map(|preset| preset.name).join(", ");
        format!("{}, {presets}", ProviderKind::list_names())
    }

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        self.preset
            .map_or(self.adapter.as_str(), |preset| preset.name)
    }

    pub fn default_base_url(self) -> Option<&'static str> {
        match self.preset {
            Some(preset) => preset.default_base_url,
            None => self.adapter.default_base_url(),
        }
    }

    /// The default first.
    pub fn supported_modes(self) -> &'static [InferenceMode] {
        self.preset
            .map_or(self.adapter.supported_modes(), |preset| preset.modes)
    }

    pub fn can_serve(self, work: Work) -> bool {
        let has_embeddings = self.preset.is_none_or(|preset| preset.has_embeddings);
        self.adapter.can_serve(work) && (work != Work::Embedding || has_embeddings)
    }

    pub fn can_read(self, capability: Capability) -> bool {
        let reads_pdf = self.preset.is_none_or(|preset| preset.reads_pdf);
        self.adapter.can_read(capability) && (capability != Capability::Documents || reads_pdf)
    }

    /// Whether routes may have `api = "responses"`.
    pub fn has_responses_api(self) -> bool {
        let by_preset = self.preset.is_none_or(|preset| preset.has_responses_api);
        self.adapter == ProviderKind::OpenAi && by_preset
    }

    /// Whether the list of models shows if a route's model exists.
    pub fn lists_upstream_names(self) -> bool {
        let by_adapter = matches!(self.adapter, ProviderKind::OpenAi | ProviderKind::Server);
        self.preset
            .map_or(by_adapter, |preset| preset.lists_upstream_names)
    }

    pub fn max_job_items(self) -> u64 {
        self.preset.map_or(self.adapter.max_job_items(), |preset| {
            preset.service.job_limits.max_items
        })
    }

    pub fn max_job_bytes(self) -> u64 {
        self.preset.map_or(self.adapter.max_job_bytes(), |preset| {
            preset.service.job_limits.max_bytes
        })
    }

    pub fn default_enqueued_tokens(self) -> Option<u64> {
        match self.preset {
            Some(preset) => preset.default_enqueued_tokens,
            None => self.adapter.default_enqueued_tokens(),
        }
    }

    /// The service behind the adapter for `OpenAI`.
    pub fn service(self) -> OpenAiService {
        self.preset
            .map_or(OpenAiService::OPENAI, |preset| preset.service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_an_adapter_or_a_preset_of_one() {
        let names = AccountKind::list_names();
        insta::assert_snapshot!(names, @"openai, anthropic, gemini, server, azure, groq");
        for name in names.split(", ") {
            assert_eq!(AccountKind::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(AccountKind::parse("bedrock"), None);
        let azure = AccountKind::parse("azure").unwrap();
        assert_eq!(azure.adapter, ProviderKind::OpenAi);
        assert_eq!(azure.max_job_items(), 100_000);
    }

    #[test]
    fn groq_serves_chats_without_pdf_by_completions() {
        let groq = AccountKind::parse("groq").unwrap();
        assert!(!groq.has_responses_api());
        assert!(groq.can_serve(Work::Chat));
        assert!(!groq.can_serve(Work::Embedding));
        assert!(groq.can_read(Capability::Vision));
        assert!(!groq.can_read(Capability::Documents));
        let openai = AccountKind::parse("openai").unwrap();
        assert!(openai.has_responses_api());
        assert!(openai.can_serve(Work::Embedding));
        assert!(openai.can_read(Capability::Documents));
    }
}
