//! Suggestions for mistyped names, by edit distance.

use strsim::levenshtein;

/// The closest of the known names, if it is close enough to be a typo.
///
/// A name that differs only in case is the closest.
pub fn closest_name<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let measured = known
        .into_iter()
        .filter_map(|name| Some((typo_distance(unknown, name)?, name)));
    measured.min_by_key(|(away, _)| *away).map(|(_, name)| name)
}

/// The distance from the unknown name to this one: first ignoring case, then respecting it.
fn typo_distance(unknown: &str, name: &str) -> Option<(usize, usize)> {
    let letters = name.chars().count();
    let most = letters / 3;
    // Callers may send long texts: only names of a similar length are measured.
    if unknown.chars().nth(letters + most).is_some() {
        return None;
    }
    let away = levenshtein(&unknown.to_lowercase(), &name.to_lowercase());
    (away <= most).then(|| (away, levenshtein(unknown, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_typo_gets_a_suggestion() {
        let names = ["SVC_LISTEN", "SVC_LOG"];
        assert_eq!(closest_name("SVC_LISTN", names), Some("SVC_LISTEN"));
        assert_eq!(closest_name("SVC_ENTIRELY_DIFFERENT", names), None);
        assert_eq!(closest_name("", names), None);
        assert_eq!(closest_name("SVC_LOG", []), None);
    }

    #[test]
    fn case_is_the_smallest_typo() {
        let names = ["DEMO-MINI", "demo-max", "demo-mini", "x"];
        assert_eq!(closest_name("DEMO-MAX", names), Some("demo-max"));
        assert_eq!(closest_name("Demo-mini", names), Some("demo-mini"));
        assert_eq!(closest_name("DEMO-MINi", names), Some("DEMO-MINI"));
        assert_eq!(closest_name("X", names), Some("x"));
        assert_eq!(closest_name("y", names), None);
    }

    #[test]
    fn a_text_of_any_length_may_be_asked_for() {
        let long = "svc-mock".repeat(1 << 20);
        assert_eq!(closest_name(&long, ["svc-mock"]), None);
    }
}
