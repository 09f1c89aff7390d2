//! W3C Trace Context: the trace that a load belongs to, and the ids of its spans.
//!
//! Span ids are derived from what the span is about. A worker that takes over after a crash gives
//! the same span the same id.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::id::BatchId;

const SAMPLED_FLAG: u8 = 0x01;
/// The trace id is random in its last seven bytes; level 2 of the specification.
const RANDOM_FLAG: u8 = 0x02;
/// The length of a `traceparent` of version 00. Later versions begin in the same way.
const TRACEPARENT_LENGTH: usize = 55;
const MILLION: u32 = 1_000_000;

/// The id of a trace; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The id of a span; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// A span that others belong to: what `traceparent` carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    flags: u8,
}

/// The share of loads that is traced, if their callers do not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRatio {
    millionths: u32,
}

/// A traced request: its span and, if its caller sent a trace, the span of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTrace {
    pub context: TraceContext,
    pub parent: Option<SpanId>,
}

impl TraceId {
    pub const fn from_entropy(entropy: u128) -> Self {
        let nonzero = if entropy == 0 { 1 } else { entropy };
        Self(nonzero.to_be_bytes())
    }

    /// A batch has a trace of its own: its cargo belong to many traces.
    pub const fn of_batch(batch: BatchId) -> Self {
        Self(batch.uuid().into_bytes())
    }

    fn parse(digits: &str) -> Option<Self> {
        parse_hex(digits).map(Self)
    }

    const fn as_u128(self) -> u128 {
        u128::from_be_bytes(self.0)
    }
}

impl SpanId {
    pub const fn from_entropy(entropy: u64) -> Self {
        let nonzero = if entropy == 0 { 1 } else { entropy };
        Self(nonzero.to_be_bytes())
    }

    /// The same parts give the same id, in every process.
    pub fn derive(trace: TraceId, kind: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(trace.0);
        hasher.update(kind.as_bytes());
        for part in parts {
            hasher.update(part);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let first = digest.first_chunk().copied().unwrap_or_default();
        Self::from_entropy(u64::from_be_bytes(first))
    }

    fn parse(digits: &str) -> Option<Self> {
        parse_hex(digits).map(Self)
    }
}

/// Lower-case digits only, and not all zero.
fn parse_hex<const LENGTH: usize>(digits: &str) -> Option<[u8; LENGTH]> {
    if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut bytes = [0; LENGTH];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    bytes.iter().any(|byte| *byte != 0).then_some(bytes)
}

impl TraceContext {
    /// The bytes in the row of a cargo: trace, span and flags.
    pub const STORED_BYTES: usize = 25;

    /// Of a span that is exported.
    pub const fn sampled(trace: TraceId, span: SpanId) -> Self {
        Self {
            trace,
            span,
            flags: SAMPLED_FLAG,
        }
    }

    /// Another span of the same trace.
    #[must_use]
    pub const fn with_span(self, span: SpanId) -> Self {
        Self { span, ..self }
    }

    pub const fn is_sampled(self) -> bool {
        self.flags & SAMPLED_FLAG != 0
    }

    /// Reads the header `traceparent`. None: the trace starts here.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let head = traceparent.get(..TRACEPARENT_LENGTH)?;
        let rest = traceparent.get(TRACEPARENT_LENGTH..)?;
        let mut fields = head.split('-');
        let (version, trace) = (fields.next()?, fields.next()?);
        let (span, flags) = (fields.next()?, fields.next()?);
        let is_complete = fields.next().is_none() && version.len() == 2 && flags.len() == 2;
        let is_known_end = rest.is_empty() || (version != "00" && rest.starts_with('-'));
        if !is_complete || !is_known_end || version == "ff" {
            return None;
        }
        parse_byte(version)?;
        // Later versions may give the other flags another meaning.
        let known = if version == "00" {
            SAMPLED_FLAG | RANDOM_FLAG
        } else {
            SAMPLED_FLAG
        };
        Some(Self {
            trace: TraceId::parse(trace)?,
            span: SpanId::parse(span)?,
            flags: parse_byte(flags)? & known,
        })
    }

    pub fn to_stored(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::STORED_BYTES);
        bytes.extend(self.trace.0);
        bytes.extend(self.span.0);
        bytes.push(self.flags);
        bytes
    }

    /// None: the bytes are not a context. Such a cargo is not traced.
    pub fn from_stored(bytes: &[u8]) -> Option<Self> {
        let (trace, rest) = bytes.split_first_chunk()?;
        let (span, rest) = rest.split_first_chunk()?;
        let [flags] = rest else {
            return None;
        };
        Some(Self {
            trace: TraceId(*trace),
            span: SpanId(*span),
            flags: *flags,
        })
    }
}

fn parse_byte(digits: &str) -> Option<u8> {
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_valid = digits.bytes().all(is_lower_hex);
    is_valid.then(|| u8::from_str_radix(digits, 16).ok())?
}

impl SampleRatio {
    /// Reads a number from 0 to 1 with at most six decimals, such as 0.01.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |text: &str| {
            (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_digits(whole) || !is_digits(decimals) {
            return None;
        }
        let whole: u32 = whole.parse().ok()?;
        let decimals: u32 = format!("{decimals:0<6}").parse().ok()?;
        let millionths = whole.checked_mul(MILLION)?.checked_add(decimals)?;
        (millionths <= MILLION).then_some(Self { millionths })
    }

    /// Services with the same ratio sample the same traces, as `TraceIdRatioBased` does.
    fn samples(self, trace: TraceId) -> bool {
        // The last 63 bits of the id are random.
        let position = (trace.as_u128() >> 1) & ((1 << 63) - 1);
        let bound = (1_u128 << 63) * u128::from(self.millionths) / u128::from(MILLION);
        position < bound
    }
}

impl RequestTrace {
    /// None: the request is not traced. A caller that sent a trace decides while it is within its
    /// limit, otherwise the ratio. It never makes us trace a load that it does not sample.
    pub fn begin(
        caller: Option<TraceContext>,
        is_within_limit: bool,
        ratio: SampleRatio,
        trace_entropy: u128,
        span_entropy: u64,
    ) -> Option<Self> {
        let span = SpanId::from_entropy(span_entropy);
        let trace = TraceId::from_entropy(trace_entropy);
        if let Some(caller) = caller {
            // The ratio is for a random id, because the caller chose its own.
            let is_traced = is_within_limit || ratio.samples(trace);
            return (caller.is_sampled() && is_traced).then(|| Self {
                context: caller.with_span(span),
                parent: Some(caller.span),
            });
        }
        ratio.samples(trace).then(|| Self {
            context: TraceContext::sampled(trace, span),
            parent: None,
        })
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.as_u128())
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// The header `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

#[cfg(test)]
mod tests;
