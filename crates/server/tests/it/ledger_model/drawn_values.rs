//! Draws the contents of loads and the usage of answers.

use domain::model::ModelKind;
use domain::token_buckets::TokenBuckets;
use rand::RngExt as _;

use super::expected_price::CacheMark;
use super::history::HistoryGenerator;
use super::operation::{LoadOperation, LoadSize, TEST_MODELS};
use super::oracle::LedgerOracle;

/// A tool, and the bytes of its name and its schema.
const TOOL: &str = r#","tools":[{"name":"find","input_schema":{"type":"object"}}]"#;
const TOOL_BYTES: u64 = 4 + 17;
/// A provider adds a prompt of at most this many tokens to a request with tools.
const TOOL_PROMPT_TOKENS: u64 = 900;

impl HistoryGenerator {
    pub(super) fn draw_new_load(&mut self, oracle: &LedgerOracle) -> LoadOperation {
        let number = self.random.random_range(0..TEST_MODELS.len());
        let model = &TEST_MODELS[number];
        let length = self.random.random_range(1..300_usize);
        let text = "x".repeat(length);
        let bytes = u64::try_from(length).unwrap();
        let id = model.id;
        let (body, size) = match model.kind {
            ModelKind::Chat => {
                let max_tokens = self.random.random_range(1..2000_u64);
                // The hold also counts the role, and the overhead of a second text.
                let mut size = LoadSize {
                    bytes: bytes + 4,
                    texts: 2,
                    hidden: 0,
                    output: max_tokens,
                    mark: CacheMark::None,
                };
                let fields = if model.has_features() {
                    self.draw_fields(&mut size)
                } else {
                    String::new()
                };
                let body = format!(
                    r#"{{"params":{{"model":"{id}","max_tokens":{max_tokens},"messages":[{{"role":"user","content":"{text}"}}]{fields}}}}}"#
                );
                (body, size)
            }
            ModelKind::Embedding => {
                let body =
                    format!(r#"{{"params":{{"model":"{id}","input_text":["{text}","{text}"]}}}}"#);
                let size = LoadSize {
                    bytes: 2 * bytes,
                    texts: 2,
                    hidden: 0,
                    output: 0,
                    mark: CacheMark::None,
                };
                (body, size)
            }
        };
        LoadOperation {
            organization: self.draw_organization(oracle),
            model: number,
            body,
            key: None,
            process: self.random.random_range(0..2),
            hold: model.expected_hold(&size),
        }
    }

    /// A tool, a cache mark, both or none.
    fn draw_fields(&mut self, size: &mut LoadSize) -> String {
        let mut fields = String::new();
        if self.one_in(3) {
            fields.push_str(TOOL);
            size.bytes += TOOL_BYTES;
            size.texts += 1;
            size.hidden += TOOL_PROMPT_TOKENS;
        }
        let ttl = match self.random.random_range(0..3) {
            0 => return fields,
            1 => {
                size.mark = CacheMark::Minutes;
                "5m"
            }
            _ => {
                size.mark = CacheMark::Hour;
                "1h"
            }
        };
        fields + &format!(r#","cache_control":{{"type":"ephemeral","ttl":"{ttl}"}}"#)
    }

    /// Half of all answers used no cache.
    pub(super) fn draw_usage(&mut self, max_tokens: u64) -> TokenBuckets {
        let fresh = self.random.random_range(0..=max_tokens);
        let output = self.random.random_range(0..=max_tokens);
        let plain = TokenBuckets {
            fresh,
            output,
            ..TokenBuckets::default()
        };
        if self.random.random() {
            return plain;
        }
        TokenBuckets {
            fresh: fresh / 4,
            cached: self.random.random_range(0..=max_tokens / 2),
            cache_write: self.random.random_range(0..=max_tokens / 4),
            cache_write_1h: self.random.random_range(0..=max_tokens / 4),
            thinking: self.random.random_range(0..=output),
            ..plain
        }
    }
}
