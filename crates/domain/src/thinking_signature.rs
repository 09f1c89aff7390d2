//! The signature of a thinking block: what the provider needs to get its own thoughts back, in an
//! envelope that says whose it is.
//!
//! `v1.<kind>.<base64url of the provider's text>`, and for `OpenAI` one more part: the id of the
//! reasoning item. Nothing is signed by Longshore: providers verify their own bytes.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingSignature {
    pub kind: SignatureKind,
    /// The provider's text, unchanged.
    pub text: String,
    /// The id of the item that it belongs to, if the provider wants it back.
    pub item: Option<String>,
}

/// Who thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    OpenAi,
    Anthropic,
    Gemini,
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature is not one that Longshore returned")]
pub struct InvalidSignature;

impl SignatureKind {
    const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Server];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Server => "server",
        }
    }
}

impl ThinkingSignature {
    pub fn new(kind: SignatureKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            item: None,
        }
    }

    /// The provider's text, if this kind of provider wrote it.
    pub fn text_for(signature: &str, kind: SignatureKind) -> Option<Self> {
        let read: Self = signature.parse().ok()?;
        (read.kind == kind).then_some(read)
    }

    /// The data of hidden thoughts, if this kind of provider takes it. Data without our envelope
    /// came to the caller from a provider directly.
    pub fn redacted_for(data: &str, kind: SignatureKind) -> Option<String> {
        match data.parse::<Self>() {
            Ok(envelope) => (envelope.kind == kind).then_some(envelope.text),
            Err(InvalidSignature) => Some(data.to_owned()),
        }
    }
}

impl fmt::Display for ThinkingSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_str();
        write!(f, "v1.{kind}.{}", URL_SAFE_NO_PAD.encode(&self.text))?;
        match &self.item {
            Some(item) => write!(f, ".{}", URL_SAFE_NO_PAD.encode(item)),
            None => Ok(()),
        }
    }
}

impl FromStr for ThinkingSignature {
    type Err = InvalidSignature;

    fn from_str(text: &str) -> Result<Self, InvalidSignature> {
        let decode = |part: &str| {
            let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
            String::from_utf8(bytes).ok()
        };
        let parts: Vec<&str> = text.split('.').collect();
        let (kind, text, item) = match *parts.as_slice() {
            ["v1", kind, text] => (kind, text, None),
            ["v1", kind, text, item] => (kind, text, Some(decode(item).ok_or(InvalidSignature)?)),
            _ => return Err(InvalidSignature),
        };
        let known = SignatureKind::ALL.into_iter();
        let kind = known.into_iter().find(|it| it.as_str() == kind);
        Ok(Self {
            kind: kind.ok_or(InvalidSignature)?,
            text: decode(text).ok_or(InvalidSignature)?,
            item,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_read_as_it_was_written() {
        let plain = ThinkingSignature::new(SignatureKind::Anthropic, "ErUB+/=");
        let with_item = ThinkingSignature {
            item: Some("rs_1".to_owned()),
            ..ThinkingSignature::new(SignatureKind::OpenAi, "gAAA")
        };
        let empty = ThinkingSignature::new(SignatureKind::Server, "");
        for signature in [plain, with_item, empty] {
            assert_eq!(signature.to_string().parse(), Ok(signature));
        }
    }

    #[test]
    fn hidden_thoughts_are_for_their_provider_or_without_an_envelope() {
        let redacted = |data: &str| ThinkingSignature::redacted_for(data, SignatureKind::Anthropic);
        assert_eq!(redacted("EmwK"), Some("EmwK".to_owned()));
        assert_eq!(redacted("v1.anthropic.YQ"), Some("a".to_owned()));
        assert_eq!(redacted("v1.gemini.YQ"), None);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "v1",
            "v1.openai",
            "v2.openai.YQ",
            "v1.other.YQ",
            "v1.openai.*",
            "v1.openai.YQ.YQ.YQ",
        ] {
            assert_eq!(
                text.parse::<ThinkingSignature>(),
                Err(InvalidSignature),
                "{text}"
            );
        }
    }
}
