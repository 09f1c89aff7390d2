//! Formatting of numbers, money, sizes, durations and timestamps.

use std::borrow::Borrow;
use std::fmt;

use askama::filters::HtmlSafe;
use chrono::{SecondsFormat, TimeDelta};
use domain::money::Money;
use domain::time::Timestamp;

/// Trusted HTML, inserted without escaping.
#[derive(Debug, Clone, Default)]
pub(crate) struct Markup(pub(crate) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

/// Escapes untrusted text for hand-built HTML.
pub(crate) fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Any integer type, by value or by reference, as templates pass it.
pub(crate) trait Number {
    fn number(&self) -> i128;
}

macro_rules! impl_number {
    ($($kind:ty)*) => {$(
        impl Number for $kind {
            fn number(&self) -> i128 {
                i128::try_from(*self).unwrap_or_default()
            }
        }
    )*};
}
impl_number!(u16 i32 u32 i64 u64 usize i128 u128);

impl<N: Number> Number for &N {
    fn number(&self) -> i128 {
        (*self).number()
    }
}

/// 1234567 as 1,234,567.
pub(crate) fn count(number: impl Number) -> String {
    let number = number.number();
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if number < 0 {
        format!("−{grouped}")
    } else {
        grouped
    }
}

/// 1234567 as 1.2 M.
#[expect(clippy::cast_precision_loss, reason = "rounded to two digits anyway")]
pub(crate) fn short(number: impl Number) -> String {
    let number = number.number();
    let scaled = |unit: f64, name: &str| {
        let value = number as f64 / unit;
        if value < 9.95 {
            format!("{value:.1} {name}")
        } else {
            format!("{value:.0} {name}")
        }
    };
    match number {
        ..10_000 => count(number),
        10_000..999_500 => scaled(1e3, "k"),
        999_500..999_500_000 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// Dollars with cents; amounts below one dollar with three significant digits.
pub(crate) fn money(amount: impl Borrow<Money>) -> String {
    let nanos = i128::from(amount.borrow().nanos());
    let (sign, size) = (if nanos < 0 { "−" } else { "" }, nanos.unsigned_abs());
    if size == 0 {
        return "$0".to_owned();
    }
    if size >= 1_000_000_000 {
        let cents = (size + 5_000_000) / 10_000_000;
        return format!("{sign}${}.{:02}", count(cents / 100), cents % 100);
    }
    let places = format!("{size:09}");
    let zeros = places.bytes().take_while(|digit| *digit == b'0').count();
    let shown = places.get(..(zeros + 3).min(9)).unwrap_or(&places);
    format!("{sign}$0.{}", shown.trim_end_matches('0'))
}

/// 1536 as 1.5 KB; a MB has 2^20 bytes.
#[expect(clippy::cast_precision_loss, reason = "rounded to two digits anyway")]
pub(crate) fn bytes(number: impl Number) -> String {
    let number = number.number();
    let (mut value, mut units) = (number as f64, ["bytes", "KB", "MB", "GB", "TB"].iter());
    let mut unit = units.next();
    while value >= 1023.5
        && let Some(larger) = units.next()
    {
        (value, unit) = (value / 1024.0, Some(larger));
    }
    let unit = unit.copied().unwrap_or_default();
    if number < 1024 {
        format!("{number} {unit}")
    } else if value < 9.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// 850 ms, 12.3 s, 4 m 05 s, 3 h 12 m, 2 d 4 h.
pub(crate) fn duration(time: impl Borrow<TimeDelta>) -> String {
    let millis = time.borrow().num_milliseconds().max(0);
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{}.{} s", seconds, millis % 1000 / 100),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A timestamp to the second, in UTC.
pub(crate) fn timestamp(at: impl Borrow<Timestamp>) -> Markup {
    let at = at.borrow();
    let machine = at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let people = at.format("%Y-%m-%d %H:%M:%S");
    Markup(format!(
        "<time datetime=\"{machine}\" title=\"{people} UTC\">{people}</time>"
    ))
}

/// A timestamp that `app.js` shows as an age and keeps current: "3 m ago".
pub(crate) fn age(at: impl Borrow<Timestamp>) -> Markup {
    let at = at.borrow();
    let machine = at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let people = at.format("%Y-%m-%d %H:%M:%S");
    Markup(format!(
        "<time datetime=\"{machine}\" title=\"{people} UTC\" data-age>{people}</time>"
    ))
}

/// A long id, shortened in the middle.
pub(crate) fn short_id(id: impl fmt::Display) -> String {
    let id = id.to_string();
    let end = id.len().checked_sub(6).and_then(|from| id.get(from..));
    match (id.get(..12), end) {
        (Some(begin), Some(end)) if id.len() > 20 => format!("{begin}…{end}"),
        _ => id,
    }
}

/// A timestamp to the millisecond, in UTC.
pub(crate) fn timestamp_millis(at: impl Borrow<Timestamp>) -> Markup {
    let at = at.borrow();
    let machine = at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let people = at.format("%Y-%m-%d %H:%M:%S%.3f");
    Markup(format!("<time datetime=\"{machine}\">{people}</time>"))
}

/// A percentage: 0.3 %, 12 %, 100 %.
#[expect(clippy::cast_precision_loss, reason = "rounded to two digits anyway")]
pub(crate) fn percent(part: impl Number, whole: impl Number) -> String {
    let (part, whole) = (part.number(), whole.number());
    if whole == 0 {
        return "–".to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    if part == 0 || part == whole {
        format!("{share:.0} %")
    } else if !(9.95..=99.0).contains(&share) {
        format!("{share:.1} %")
    } else {
        format!("{share:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(count(-1234), "−1,234");
        let shorts = [9_999, 12_345, 999_499, 1_234_567, 2_000_000_000].map(short);
        assert_eq!(shorts, ["9,999", "12 k", "999 k", "1.2 M", "2.0 G"]);
        let sizes = [0, 1023, 1536, 20 << 20, 5_i64 << 30].map(bytes);
        assert_eq!(
            sizes,
            ["0 bytes", "1023 bytes", "1.5 KB", "20 MB", "5.0 GB"]
        );
        assert_eq!(
            [(0, 0), (0, 5), (1, 300), (1, 3), (5, 5)].map(|(a, b)| percent(a, b)),
            ["–", "0 %", "0.3 %", "33 %", "100 %"]
        );
    }

    #[test]
    fn money_shows_what_matters() {
        let shown = [
            0,
            1,
            1500,
            123_456_789,
            999_999_999,
            1_000_000_000,
            1_234_567_890_000,
            -42_000_000,
        ]
        .map(|nanos| money(Money(nanos)));
        assert_eq!(
            shown,
            [
                "$0",
                "$0.000000001",
                "$0.0000015",
                "$0.123",
                "$0.999",
                "$1.00",
                "$1,234.57",
                "−$0.042"
            ]
        );
    }

    #[test]
    fn durations_read_well() {
        let shown = [0, 850, 12_340, 245_000, 11_520_000, 187_200_000]
            .map(|millis| duration(TimeDelta::milliseconds(millis)));
        assert_eq!(
            shown,
            [
                "0 ms", "850 ms", "12.3 s", "4 m 05 s", "3 h 12 m", "2 d 4 h"
            ]
        );
    }

    #[test]
    fn ids_are_shortened_in_the_middle() {
        let id = "crg_01a1dfe53684756880295bf87dcbe977";
        assert_eq!(short_id(id), "crg_01a1dfe5…cbe977");
        assert_eq!(short_id("short"), "short");
    }

    #[test]
    fn untrusted_markup_is_escaped() {
        assert_eq!(
            escape_html("<b a='1' c=\"2\">&"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;"
        );
    }
}
