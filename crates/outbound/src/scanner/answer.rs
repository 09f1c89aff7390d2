//! What clamd says, taken at its word and no further.

use super::ScanFailure;

/// What becomes of the verdict's words that are kept.
const MOST_KEPT: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Clean,
    /// By the signature of this name.
    Infected(String),
    /// Not all of it was looked at.
    LimitExceeded,
}

/// Only the exact words are a verdict.
pub(super) fn read(answer: &str) -> Result<Verdict, ScanFailure> {
    if answer == "INSTREAM size limit exceeded. ERROR" {
        return Ok(Verdict::LimitExceeded);
    }
    match answer.strip_prefix("stream: ") {
        Some("OK") => Ok(Verdict::Clean),
        Some(found) => match found.strip_suffix(" FOUND") {
            Some(name) if name.starts_with("Heuristics.Limits.Exceeded") => {
                Ok(Verdict::LimitExceeded)
            }
            Some(name) if !name.is_empty() => Ok(Verdict::Infected(kept(name))),
            _ => Err(unclear(answer)),
        },
        None => Err(unclear(answer)),
    }
}

pub(super) fn unclear(answer: &str) -> ScanFailure {
    ScanFailure::Unclear(kept(answer))
}

/// It goes into rows and logs.
fn kept(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(MOST_KEPT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_words_are_a_verdict() {
        assert_eq!(read("stream: OK"), Ok(Verdict::Clean));
        assert_eq!(
            read("stream: Win.Test.EICAR_HDB-1 FOUND"),
            Ok(Verdict::Infected("Win.Test.EICAR_HDB-1".to_owned()))
        );
        for limit in [
            "INSTREAM size limit exceeded. ERROR",
            "stream: Heuristics.Limits.Exceeded FOUND",
            "stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND",
        ] {
            assert_eq!(read(limit), Ok(Verdict::LimitExceeded), "{limit}");
        }
        for other in [
            "",
            "OK",
            "stream: ok",
            "stream: OK ",
            "stream: OK\n",
            "stream:  FOUND",
            "stream: Can't allocate memory ERROR",
            "COMMAND READ TIMED OUT",
            "UNKNOWN COMMAND",
            "1: stream: OK",
        ] {
            assert_eq!(read(other), Err(unclear(other)), "{other}");
        }
    }

    #[test]
    fn what_is_kept_is_short_and_plain() {
        let ScanFailure::Unclear(kept) = unclear(&format!("a\r\nb{}", "x".repeat(1000))) else {
            panic!("clear");
        };
        assert!(kept.starts_with("abx") && kept.len() == MOST_KEPT);
    }
}
