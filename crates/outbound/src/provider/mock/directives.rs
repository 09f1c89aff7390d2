//! Directives: how callers of `svc-mock` ask for what they want to test, such as `[mock:fail=no]`.

use chrono::TimeDelta;
use domain::outcome::StopReason;

const OPENING: &str = "[mock:";
/// Of an answer. More would only fill the worker's memory.
const MAX_TOKENS: u32 = 100_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) fail: Option<String>,
    pub(super) delay: Option<TimeDelta>,
    pub(super) tokens: Option<u32>,
    pub(super) stop: Option<StopReason>,
}

/// The text without its directives, and what they ask for.
///
/// Text that is not a directive stays. The last directive of a name wins. The time is linear in
/// the text, however many openings it has: each closing bracket is searched for once, and an
/// opening is judged by its name alone.
pub(super) fn read(text: &str) -> (String, Asked) {
    read_counting(text, &mut 0)
}

/// The same, and how many bytes were searched through.
fn read_counting(text: &str, searched: &mut usize) -> (String, Asked) {
    let mut asked = Asked::default();
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    // How much of the text follows the closing bracket that was found last.
    let mut behind_closing = usize::MAX;
    while let Some((before, body)) = rest.split_once(OPENING) {
        left.push_str(before);
        *searched += before.len() + OPENING.len();
        // The first bracket behind an earlier opening is the first behind this one too,
        // unless it lies before it.
        if behind_closing >= body.len() {
            let Some((_, behind)) = body.split_once(']') else {
                *searched += body.len();
                // Without a closing bracket no later opening is a directive either.
                left.push_str(OPENING);
                rest = body;
                break;
            };
            behind_closing = behind.len();
            *searched += body.len() - behind_closing;
        }
        let closing = body.len() - behind_closing - 1;
        let directive = body.get(..closing).unwrap_or_default();
        if take(directive, &mut asked).is_some() {
            rest = body.get(closing + 1..).unwrap_or_default();
        } else {
            left.push_str(OPENING);
            rest = body;
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

/// Notes what a directive asks for, if it is one.
fn take(directive: &str, asked: &mut Asked) -> Option<()> {
    if let Some(value) = directive.strip_prefix("fail=") {
        asked.fail = Some((!value.is_empty()).then(|| value.to_owned())?);
    } else if let Some(value) = directive.strip_prefix("delay=") {
        asked.delay = Some(delay(value)?);
    } else if let Some(value) = directive.strip_prefix("tokens=") {
        asked.tokens = Some(number(value)?.min(MAX_TOKENS));
    } else {
        let value = directive.strip_prefix("stop=")?;
        asked.stop = Some(stop(value)?);
    }
    Some(())
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
    use proptest::prelude::*;

    use super::*;

    /// The meaning of directives, written the simple way: in time quadratic in the text.
    fn read_slowly(text: &str) -> (String, Asked) {
        let (mut asked, mut left, mut rest) = (Asked::default(), String::new(), text);
        while let Some((before, body)) = rest.split_once(OPENING) {
            left.push_str(before);
            let directive = body.split_once(']').filter(|(directive, _)| {
                let named = directive.split_once('=');
                named.is_some_and(|(name, value)| obey(name, value, &mut asked))
            });
            if directive.is_none() {
                left.push_str(OPENING);
            }
            rest = directive.map_or(body, |(_, after)| after);
        }
        left.push_str(rest);
        if asked != Asked::default() {
            left = left.trim().to_owned();
        }
        (left, asked)
    }

    fn obey(name: &str, value: &str, asked: &mut Asked) -> bool {
        let (delay, tokens, stop) = (delay(value), number(value), stop(value));
        match name {
            "fail" if !value.is_empty() => asked.fail = Some(value.to_owned()),
            "delay" if delay.is_some() => asked.delay = delay,
            "tokens" if tokens.is_some() => asked.tokens = tokens.map(|it| it.min(MAX_TOKENS)),
            "stop" if stop.is_some() => asked.stop = stop,
            _ => return false,
        }
        true
    }

    proptest! {
        #[test]
        fn the_quick_way_means_what_the_simple_way_means(
            text in r"(\[mock:|fail|delay|tokens|stop|=|\]|\[|7|9s|max_tokens| |é|x){0,24}"
        ) {
            prop_assert_eq!(read(&text), read_slowly(&text), "{}", text);
        }

        #[test]
        fn any_text_means_the_same(text: String) {
            prop_assert_eq!(read(&text), read_slowly(&text));
        }
    }

    /// With a search for each opening it takes minutes.
    #[test]
    fn nine_megabytes_of_openings_are_read_in_linear_time() {
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
            let (left, _) = read_counting(&text, &mut searched);
            assert!(left.len() <= text.len());
            // Once for openings and once for closing brackets.
            assert!(searched <= 2 * text.len(), "{searched}");
        }
    }

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
            (Some(TimeDelta::zero()), Some(MAX_TOKENS))
        );
    }
}
