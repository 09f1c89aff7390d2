//! Numbers for people: money, counts and durations.

use std::time::Duration;

const NANOS_PER_DOLLAR: u64 = 1_000_000_000;
const NANOS_PER_CENT: u64 = 10_000_000;
const NANOS_PER_MICRO: u64 = 1_000;

/// Nano-dollars as dollars: two decimals, or six below ten cents.
pub fn dollars(nanos: u64) -> String {
    let (whole, rest) = (nanos / NANOS_PER_DOLLAR, nanos % NANOS_PER_DOLLAR);
    if nanos > 0 && nanos < 10 * NANOS_PER_CENT {
        return format!("${whole}.{:06}", rest / NANOS_PER_MICRO);
    }
    format!("${}.{:02}", group_digits(whole), rest / NANOS_PER_CENT)
}

/// 12345 as 12,345.
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The two largest units.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600.. => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_shows_what_matters() {
        let shown = [0, 1_250_000, 99_999_999, 840_000_000, 1_234_567_000_000_000].map(dollars);
        assert_eq!(
            shown,
            ["$0.00", "$0.001250", "$0.099999", "$0.84", "$1,234,567.00"]
        );
    }

    #[test]
    fn durations_have_two_units() {
        let shown = [5, 65, 3_725].map(|it| duration(Duration::from_secs(it)));
        assert_eq!(shown, ["5 s", "1 min 5 s", "1 h 2 min"]);
    }
}
