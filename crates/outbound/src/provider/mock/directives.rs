//! Directives in prompts, with which callers of `svc-mock` control the answer: `[mock:fail=no]`.

use chrono::TimeDelta;
use domain::outcome::StopReason;

const DIRECTIVE_PREFIX: &str = "[mock:";
/// Of an answer. Longer answers would only fill the worker's memory.
const MAX_TOKENS: u32 = 100_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MockDirectives {
    pub(super) fail: Option<String>,
    pub(super) delay: Option<TimeDelta>,
    pub(super) tokens: Option<u32>,
    pub(super) stop: Option<StopReason>,
}

/// Returns the text without its directives, and the directives.
///
/// Text that is not a directive stays. The last directive of a name wins. The time is linear in
/// the text, however many prefixes it has: each closing bracket is searched for once, and the
/// name alone decides whether a prefix begins a directive.
pub(super) fn parse(text: &str) -> (String, MockDirectives) {
    parse_counting(text, &mut 0)
}

/// The same, and counts the bytes that it searched.
fn parse_counting(text: &str, searched: &mut usize) -> (String, MockDirectives) {
    let mut directives = MockDirectives::default();
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    // The length of the text after the closing bracket that was found last.
    let mut after_closing = usize::MAX;
    while let Some((before, body)) = rest.split_once(DIRECTIVE_PREFIX) {
        left.push_str(before);
        *searched += before.len() + DIRECTIVE_PREFIX.len();
        // The first bracket after an earlier prefix is the first after this one too, unless it
        // comes before this one.
        if after_closing >= body.len() {
            let Some((_, after)) = body.split_once(']') else {
                *searched += body.len();
                // Without a closing bracket no later prefix begins a directive either.
                left.push_str(DIRECTIVE_PREFIX);
                rest = body;
                break;
            };
            after_closing = after.len();
            *searched += body.len() - after_closing;
        }
        let closing = body.len() - after_closing - 1;
        let directive = body.get(..closing).unwrap_or_default();
        if apply_directive(directive, &mut directives).is_some() {
            rest = body.get(closing + 1..).unwrap_or_default();
        } else {
            left.push_str(DIRECTIVE_PREFIX);
            rest = body;
        }
    }
    left.push_str(rest);
    let left = if directives == MockDirectives::default() {
        left
    } else {
        left.trim().to_owned()
    };
    (left, directives)
}

/// Stores the directive. `None` if it is not one.
fn apply_directive(directive: &str, directives: &mut MockDirectives) -> Option<()> {
    if let Some(value) = directive.strip_prefix("fail=") {
        directives.fail = Some((!value.is_empty()).then(|| value.to_owned())?);
    } else if let Some(value) = directive.strip_prefix("delay=") {
        directives.delay = Some(parse_delay(value)?);
    } else if let Some(value) = directive.strip_prefix("tokens=") {
        directives.tokens = Some(parse_digits(value)?.min(MAX_TOKENS));
    } else {
        let value = directive.strip_prefix("stop=")?;
        directives.stop = Some(parse_stop_reason(value)?);
    }
    Some(())
}

fn parse_delay(value: &str) -> Option<TimeDelta> {
    let unit = value.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = value.split_at(unit);
    let count = i64::from(parse_digits(count)?);
    let delay = match unit {
        "ms" => TimeDelta::milliseconds(count),
        "s" => TimeDelta::seconds(count),
        "m" => TimeDelta::minutes(count),
        _ => return None,
    };
    (delay <= super::MAX_DELAY).then_some(delay)
}

/// Digits only: no sign, no space.
fn parse_digits(value: &str) -> Option<u32> {
    value
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| value.parse().ok())?
}

fn parse_stop_reason(value: &str) -> Option<StopReason> {
    match value {
        "end_turn" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "stop_sequence" => Some(StopReason::StopSequence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reference implementation: simple, but quadratic in the length of the text.
    fn parse_quadratic(text: &str) -> (String, MockDirectives) {
        let (mut directives, mut left, mut rest) = (MockDirectives::default(), String::new(), text);
        while let Some((before, body)) = rest.split_once(DIRECTIVE_PREFIX) {
            left.push_str(before);
            let directive = body.split_once(']').filter(|(directive, _)| {
                let named = directive.split_once('=');
                named.is_some_and(|(name, value)| apply_named(name, value, &mut directives))
            });
            if directive.is_none() {
                left.push_str(DIRECTIVE_PREFIX);
            }
            rest = directive.map_or(body, |(_, after)| after);
        }
        left.push_str(rest);
        if directives != MockDirectives::default() {
            left = left.trim().to_owned();
        }
        (left, directives)
    }

    fn apply_named(name: &str, value: &str, directives: &mut MockDirectives) -> bool {
        let (delay, tokens, stop) = (
            parse_delay(value),
            parse_digits(value),
            parse_stop_reason(value),
        );
        match name {
            "fail" if !value.is_empty() => directives.fail = Some(value.to_owned()),
            "delay" if delay.is_some() => directives.delay = delay,
            "tokens" if tokens.is_some() => directives.tokens = tokens.map(|it| it.min(MAX_TOKENS)),
            "stop" if stop.is_some() => directives.stop = stop,
            _ => return false,
        }
        true
    }

    proptest! {
        #[test]
        fn the_quick_way_means_what_the_simple_way_means(
            text in r"(\[mock:|fail|delay|tokens|stop|=|\]|\[|7|9s|max_tokens| |é|x){0,24}"
        ) {
            prop_assert_eq!(parse(&text), parse_quadratic(&text), "{}", text);
        }

        #[test]
        fn any_text_means_the_same(text: String) {
            prop_assert_eq!(parse(&text), parse_quadratic(&text));
        }
    }

    /// One search per prefix would take minutes.
    #[test]
    fn h3_nine_megabytes_of_openings_are_read_in_linear_time() {
        let many = |text: &str| text.repeat((9 << 20) / text.len());
        for text in [
            many("[mock:"),
            many("[mock:") + "]",
            many("[mock:fail=") + "]",
            many("[mock:delay=") + "=]",
            many("[mock:tokens=1"),
            many("[mock:x=]"),
            "[mock:delay=".to_owned() + &many("1") + "s]",
        ] {
            let mut searched = 0;
            let (left, _) = parse_counting(&text, &mut searched);
            assert!(left.len() <= text.len());
            // Once for prefixes and once for closing brackets.
            assert!(searched <= 2 * text.len(), "{searched}");
        }
    }

    #[test]
    fn directives_are_read_and_stripped() {
        let text = "Hello [mock:delay=2s]there[mock:tokens=500] [mock:stop=max_tokens][mock:fail=out of luck]";
        let (left, directives) = parse(text);
        assert_eq!(left, "Hello there");
        let expected = MockDirectives {
            fail: Some("out of luck".to_owned()),
            delay: Some(TimeDelta::seconds(2)),
            tokens: Some(500),
            stop: Some(StopReason::MaxTokens),
        };
        assert_eq!(directives, expected);
    }

    #[test]
    fn what_is_malformed_stays_text() {
        for text in [
            "plain",
            " spaces stay ",
            "[mock:]",
            "[mock:fail]",
            "[mock:fail=]",
            "[mock:fail=unclosed",
            "[mock:dance=yes]",
            "[MOCK:fail=no]",
            "[mock:delay=]",
            "[mock:delay=2]",
            "[mock:delay=s]",
            "[mock:delay=-2s]",
            "[mock:delay=+2s]",
            "[mock:delay=2.5s]",
            "[mock:delay=2h]",
            "[mock:delay=1441m]",
            "[mock:delay=99999999999999999999s]",
            "[mock:tokens=]",
            "[mock:tokens=many]",
            "[mock:tokens=-1]",
            "[mock:tokens=4294967296]",
            "[mock:stop=]",
            "[mock:stop=now]",
            "[mock:[mock:",
        ] {
            assert_eq!(
                parse(text),
                (text.to_owned(), MockDirectives::default()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_directive_is_found_behind_a_malformed_one() {
        let (left, directives) = parse("[mock:x=1] [mock:fail=[mock:delay=500ms]");
        // The value runs to the first closing bracket.
        assert_eq!(directives.fail.as_deref(), Some("[mock:delay=500ms"));
        assert_eq!(left, "[mock:x=1]");
        let (left, directives) = parse("[mock: [mock:delay=1m]");
        assert_eq!(
            (left.as_str(), directives.delay),
            ("[mock:", Some(TimeDelta::minutes(1)))
        );
    }

    #[test]
    fn the_last_directive_counts_and_tokens_have_a_limit() {
        let (_, directives) = parse("[mock:delay=1s][mock:delay=0ms][mock:tokens=4000000000]");
        assert_eq!(
            (directives.delay, directives.tokens),
            (Some(TimeDelta::zero()), Some(MAX_TOKENS))
        );
    }
}
