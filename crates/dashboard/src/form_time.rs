//! UTC times of form fields and query parameters.

use chrono::{Datelike as _, NaiveDateTime};
use domain::time::Timestamp;

/// A `datetime-local` input, without and with seconds.
const FORMATS: [&str; 2] = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"];

/// Nothing if it is not a time of the years 1970 to 9999. Arithmetic with others could overflow,
/// and PostgreSQL does not store all of them.
pub(crate) fn parse_form_time(text: &str) -> Option<Timestamp> {
    let text = text.trim().trim_end_matches('Z');
    let parse = |format: &str| NaiveDateTime::parse_from_str(text, format).ok();
    let time = FORMATS.into_iter().find_map(parse)?;
    (1970..=9999).contains(&time.year()).then(|| time.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_browsers_write_them() {
        let read = |text: &str| parse_form_time(text).map(|time| time.to_rfc3339());
        let expected = Some("2026-01-02T03:04:00+00:00".to_owned());
        assert_eq!(read("2026-01-02T03:04"), expected);
        assert_eq!(read(" 2026-01-02T03:04:00Z"), expected);
        assert_eq!(read("2026-01-02T03:04:00.000"), expected);
        for wrong in [
            "",
            "yesterday",
            "2026-01-02",
            "1969-12-31T23:59",
            "+10000-01-01T00:00",
            "-262143-01-01T00:00",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
