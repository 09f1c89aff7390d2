//! Directives: `[[words]]` or `[sim:words]` in the last user text that change the result of one item.

use serde_json::Value;

/// Invalid directives are plain text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Directives {
    found: Vec<(String, String)>,
}

/// A tool call that a directive demands.
#[derive(Debug, Clone, PartialEq)]
pub enum DirectedCall {
    /// None: input that conforms to the tool's schema.
    Tool { name: String, input: Option<Value> },
    /// Arguments that are not JSON.
    BadArguments { name: String, text: String },
}

/// How an answer reports its tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UsageStyle {
    /// As the provider does.
    #[default]
    Usual,
    /// Thoughts are inside the count of output.
    Inclusive,
    /// Thoughts are outside the count of output.
    Exclusive,
    /// Every count is null.
    Null,
    /// Every count is a string.
    Strings,
    /// More tokens were cached than the prompt has.
    CachedOver,
}

impl Directives {
    pub fn read(text: &str) -> Self {
        let mut found = Vec::new();
        let mut rest = text;
        while let Some((inside, after)) = next_directive(rest) {
            rest = after;
            if let Some(inside) = inside {
                let (word, argument) = inside.trim().split_once(' ').unwrap_or((inside, ""));
                found.push((word.trim().to_owned(), argument.trim().to_owned()));
            }
        }
        Self { found }
    }

    /// `[[fail 400]]`: the item fails with this status.
    pub fn fail(&self) -> Option<u16> {
        let status = self.argument("fail")?.parse().ok()?;
        (400..=599).contains(&status).then_some(status)
    }

    /// `[[blocked]]`: a content filter removes the text.
    pub fn is_blocked(&self) -> bool {
        self.has("blocked")
    }

    /// `[[refuse]]`: the model declines.
    pub fn is_refused(&self) -> bool {
        self.has("refuse")
    }

    /// `[[refuse-empty]]`: the model declines and says nothing.
    pub fn is_refused_silently(&self) -> bool {
        self.has("refuse-empty")
    }

    /// `[[cut]]`: the limit of tokens cuts the answer.
    pub fn is_cut(&self) -> bool {
        self.has("cut")
    }

    /// `[[continuation]]`: Gemini's limit of one request cuts the answer.
    pub fn is_continued(&self) -> bool {
        self.has("continuation")
    }

    /// `[[abort]]`: the server gives up without an answer.
    pub fn is_aborted(&self) -> bool {
        self.has("abort")
    }

    /// `[[no-usage]]`: the answer has no token usage.
    pub fn hides_usage(&self) -> bool {
        self.has("no-usage")
    }

    /// `[[absurd-usage]]`: the answer claims an impossible token usage.
    pub fn inflates_usage(&self) -> bool {
        self.has("absurd-usage")
    }

    /// `[[noid]]`: tool calls have no ids.
    pub fn hides_call_ids(&self) -> bool {
        self.has("noid")
    }

    /// `[[stop NAME]]`: the exact finish reason.
    pub fn stop(&self) -> Option<&str> {
        self.argument("stop").filter(|name| !name.is_empty())
    }

    /// `[[think TEXT]]`: the model thinks this, whether it was asked to or not.
    pub fn thought(&self) -> Option<&str> {
        self.argument("think")
    }

    /// `[[cached N]]`: so many input tokens come from a cache.
    pub fn cached(&self) -> Option<u64> {
        self.argument("cached")?.parse().ok()
    }

    /// `[[write N]]`: so many input tokens are written to a cache.
    pub fn cache_write(&self) -> Option<u64> {
        self.argument("write")?.parse().ok()
    }

    /// `[[responses-failed CODE]]`: the Responses API answers 200 with this error.
    pub fn responses_error(&self) -> Option<&str> {
        let code = self.argument("responses-failed");
        code.filter(|code| !code.is_empty())
    }

    /// `[[usage STYLE]]`: how tokens are reported.
    pub fn usage_style(&self) -> UsageStyle {
        match self.argument("usage") {
            Some("inclusive") => UsageStyle::Inclusive,
            Some("exclusive") => UsageStyle::Exclusive,
            Some("null") => UsageStyle::Null,
            Some("strings") => UsageStyle::Strings,
            Some("cached-over") => UsageStyle::CachedOver,
            Some(_) | None => UsageStyle::Usual,
        }
    }

    /// `[[tool NAME {JSON}]]` and `[[badargs NAME TEXT]]`, in their order.
    pub fn calls(&self) -> Vec<DirectedCall> {
        let call = |(word, argument): &(String, String)| {
            let (name, rest) = argument.split_once(' ').unwrap_or((argument, ""));
            let name = name.to_owned();
            match word.as_str() {
                "tool" if !name.is_empty() => Some(DirectedCall::Tool {
                    name,
                    input: serde_json::from_str(rest).ok(),
                }),
                "badargs" if !name.is_empty() => Some(DirectedCall::BadArguments {
                    name,
                    text: rest.trim().to_owned(),
                }),
                _ => None,
            }
        };
        self.found.iter().filter_map(call).collect()
    }

    /// `[[missing]]` and `[[twice]]`: how often the item's line is in the results.
    pub fn copies(&self) -> u8 {
        if self.has("missing") {
            0
        } else if self.has("twice") {
            2
        } else {
            1
        }
    }

    /// `[[slow N]]`: a realtime answer takes N milliseconds.
    pub fn slow_ms(&self) -> Option<u64> {
        self.argument("slow")?.parse().ok()
    }

    fn has(&self, wanted: &str) -> bool {
        self.argument(wanted).is_some()
    }

    fn argument(&self, wanted: &str) -> Option<&str> {
        let (_, argument) = self.found.iter().find(|(word, _)| word == wanted)?;
        Some(argument)
    }
}

/// The inside of the next directive, and the text after it. A directive without an end has no inside.
fn next_directive(text: &str) -> Option<(Option<&str>, &str)> {
    let openings = [("[[", 2), ("[sim:", 1)];
    let found = openings
        .into_iter()
        .filter_map(|(opening, brackets)| Some((text.find(opening)?, opening, brackets)));
    let (start, opening, brackets) = found.min_by_key(|(start, _, _)| *start)?;
    let after = text.get(start + opening.len()..)?;
    match find_end(after, brackets) {
        Some(end) => Some((after.get(..end), after.get(end + brackets..)?)),
        None => Some((None, after)),
    }
}

/// Where the closing brackets begin. Brackets inside are paired, unless they are in a JSON string.
fn find_end(text: &str, brackets: usize) -> Option<usize> {
    let closing = if brackets == 2 { "]]" } else { "]" };
    let (mut open, mut braces) = (0_usize, 0_usize);
    let (mut in_string, mut is_escaped) = (false, false);
    for (index, character) in text.char_indices() {
        if in_string {
            if is_escaped {
                is_escaped = false;
            } else if character == '\\' {
                is_escaped = true;
            } else if character == '"' {
                in_string = false;
            }
            continue;
        }
        match character {
            '"' if braces > 0 => in_string = true,
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            '[' => open += 1,
            ']' if open > 0 => open -= 1,
            ']' if text.get(index..).is_some_and(|it| it.starts_with(closing)) => {
                return Some(index);
            }
            _ => {}
        }
    }
    None
}
