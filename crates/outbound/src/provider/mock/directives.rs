//! Directives: how callers of `svc-mock` ask for what they want to test, such as `[mock:fail=no]`.

use chrono::TimeDelta;
use domain::outcome::StopReason;

const OPENING: &str = "[mock:";
/// More would only be a way to fill our memory.
const MOST_TOKENS: u32 = 100_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) fail: Option<String>,
    pub(super) delay: Option<TimeDelta>,
    pub(super) tokens: Option<u32>,
    pub(super) stop: Option<StopReason>,
}

/// The text without its directives, and what they ask for.
///
/// What is not a directive stays in the text. Asked twice, the last one counts.
pub(super) fn read(text: &str) -> (String, Asked) {
    let mut asked = Asked::default();
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(OPENING) {
        let (before, from_opening) = rest.split_at(start);
        left.push_str(before);
        if let Some(after) = take(from_opening, &mut asked) {
            rest = after;
        } else {
            left.push_str(OPENING);
            rest = from_opening.strip_prefix(OPENING).unwrap_or_default();
        }
    }
    left.push_str(rest);
    let left = if asked == Asked::default() {
        left
    } else {
        left.trim().to_owned()
    };
    (left, asked)
}

/// What follows the directive at the start of `text`, if it is one.
fn take<'a>(text: &'a str, asked: &mut Asked) -> Option<&'a str> {
    let (directive, after) = text.strip_prefix(OPENING)?.split_once(']')?;
    let (name, value) = directive.split_once('=')?;
    match name {
        "fail" if !value.is_empty() => asked.fail = Some(value.to_owned()),
        "delay" => asked.delay = Some(delay(value)?),
        "tokens" => asked.tokens = Some(number(value)?.min(MOST_TOKENS)),
        "stop" => asked.stop = Some(stop(value)?),
        _ => return None,
    }
    Some(after)
}

fn delay(value: &str) -> Option<TimeDelta> {
    let unit = value.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = value.split_at(unit);
    let count = i64::from(number(count)?);
    let delay = match unit {
        "ms" => TimeDelta::milliseconds(count),
        "s" => TimeDelta::seconds(count),
        "m" => TimeDelta::minutes(count),
        _ => return None,
    };
    (delay <= super::LONGEST_DELAY).then_some(delay)
}

/// Digits only: no sign, no space.
fn number(value: &str) -> Option<u32> {
    value
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| value.parse().ok())?
}

fn stop(value: &str) -> Option<StopReason> {
    match value {
        "end_turn" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "stop_sequence" => Some(StopReason::StopSequence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read_and_stripped() {
        let text = "Hello [mock:delay=2s]there[mock:tokens=500] [mock:stop=max_tokens][mock:fail=out of luck]";
        let (left, asked) = read(text);
        assert_eq!(left, "Hello there");
        let expected = Asked {
            fail: Some("out of luck".to_owned()),
            delay: Some(TimeDelta::seconds(2)),
            tokens: Some(500),
            stop: Some(StopReason::MaxTokens),
        };
        assert_eq!(asked, expected);
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
            assert_eq!(read(text), (text.to_owned(), Asked::default()), "{text}");
        }
    }

    #[test]
    fn a_directive_is_found_behind_a_malformed_one() {
        let (left, asked) = read("[mock:x=1] [mock:fail=[mock:delay=500ms]");
        // The value runs to the first closing bracket.
        assert_eq!(asked.fail.as_deref(), Some("[mock:delay=500ms"));
        assert_eq!(left, "[mock:x=1]");
        let (left, asked) = read("[mock: [mock:delay=1m]");
        assert_eq!(
            (left.as_str(), asked.delay),
            ("[mock:", Some(TimeDelta::minutes(1)))
        );
    }

    #[test]
    fn the_last_word_counts_and_tokens_have_a_limit() {
        let (_, asked) = read("[mock:delay=1s][mock:delay=0ms][mock:tokens=4000000000]");
        assert_eq!(
            (asked.delay, asked.tokens),
            (Some(TimeDelta::zero()), Some(MOST_TOKENS))
        );
    }
}
