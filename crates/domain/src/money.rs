//! Money: whole nano-dollars, so that sums are exact.

use std::fmt;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

/// Nano-dollars in a dollar.
const NANOS_PER_DOLLAR: i64 = 1_000_000_000;
/// Decimals of a dollar that can be written.
const SCALE: usize = 9;

/// An amount in nano-dollars.
///
/// Sums stay far below the maximum (nine billion dollars), and saturate there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(pub i64);

impl Money {
    pub const ZERO: Self = Self(0);

    pub const fn nanos(self) -> i64 {
        self.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Money {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl std::iter::Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an amount is written in dollars with at most nine decimals, such as 12.50")]
pub struct InvalidAmount;

/// Dollars, such as `12.50`.
impl FromStr for Money {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !plain(whole) || !plain(decimals) || decimals.len() > SCALE {
            return Err(InvalidAmount);
        }
        let whole: i64 = whole.parse().map_err(|_| InvalidAmount)?;
        let decimals: i64 = format!("{decimals:0<SCALE$}")
            .parse()
            .map_err(|_| InvalidAmount)?;
        let nanos = whole
            .checked_mul(NANOS_PER_DOLLAR)
            .and_then(|nanos| nanos.checked_add(decimals))
            .ok_or(InvalidAmount)?;
        Ok(Self(if negative { -nanos } else { nanos }))
    }
}

/// Dollars, exactly: cents at least, and as many decimals as there are.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let (dollars, rest) = (
            nanos / NANOS_PER_DOLLAR.unsigned_abs(),
            nanos % NANOS_PER_DOLLAR.unsigned_abs(),
        );
        let decimals = format!("{rest:0SCALE$}");
        let (cents, finer) = decimals.split_at(2);
        write!(f, "{sign}{dollars}.{cents}{}", finer.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dollars_are_read_and_shown() {
        for (text, nanos, shown) in [
            ("0", 0, "0.00"),
            ("12.5", 12_500_000_000, "12.50"),
            ("0.075", 75_000_000, "0.075"),
            ("0.000000001", 1, "0.000000001"),
            ("-3.20", -3_200_000_000, "-3.20"),
            ("9000000000", 9_000_000_000_000_000_000, "9000000000.00"),
        ] {
            assert_eq!(text.parse(), Ok(Money(nanos)), "{text}");
            assert_eq!(Money(nanos).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "1,5",
            "1e3",
            "+1",
            "--1",
            "0.0000000001",
            "9300000000",
            "1 ",
            "١",
        ] {
            assert_eq!(text.parse::<Money>(), Err(InvalidAmount), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_can_be_read(nanos in -9_000_000_000_000_000_000..=9_000_000_000_000_000_000_i64) {
            prop_assert_eq!(Money(nanos).to_string().parse(), Ok(Money(nanos)));
        }
    }
}
