//! Percentiles, rates and rounding.

use std::time::Duration;

use serde_json::{Value, json};

/// The smallest value that this many thousandths of the values do not exceed. Sorts the values.
pub fn percentile(values: &mut [f64], thousandths: usize) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (values.len() * thousandths).div_ceil(1000);
    values.get(rank.saturating_sub(1)).copied()
}

pub fn median(values: &mut [f64]) -> Option<f64> {
    percentile(values, 500)
}

/// p50, p99 and the maximum.
pub fn summarize(values: &mut [f64]) -> Value {
    let figure = |value: Option<f64>| value.map(|value| round_to(value, 3));
    json!({
        "p50": figure(percentile(values, 500)),
        "p99": figure(percentile(values, 990)),
        "max": figure(percentile(values, 1000)),
    })
}

pub fn to_milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a trial are far below 2^52"
)]
pub const fn to_f64(count: usize) -> f64 {
    count as f64
}

pub fn rate_per_second(count: usize, during: Duration) -> f64 {
    let seconds = during.as_secs_f64();
    if seconds > 0.0 {
        to_f64(count) / seconds
    } else {
        0.0
    }
}

/// Rounds: digits beyond the precision of a measurement mean nothing.
pub fn round_to(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut values, 500), Some(50.0));
        assert_eq!(percentile(&mut values, 990), Some(99.0));
        assert_eq!(percentile(&mut values, 1000), Some(100.0));
        assert_eq!(percentile(&mut values, 0), Some(1.0));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [7.0]), Some(7.0));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn a_rate_is_per_second() {
        assert!((rate_per_second(300, Duration::from_secs(2)) - 150.0).abs() < 1e-9);
        assert!(rate_per_second(300, Duration::ZERO).abs() < 1e-9);
        assert!((round_to(1.23456, 2) - 1.23).abs() < 1e-9);
    }
}
