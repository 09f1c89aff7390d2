//! Which name was meant: the nearest by letters inserted, dropped or changed.

/// The nearest of the known names, if it is near enough to be a slip of the hand.
///
/// A name that differs in capitals alone is as near as can be.
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let measured = known
        .into_iter()
        .filter_map(|name| Some((slip(asked, name)?, name)));
    measured.min_by_key(|(away, _)| *away).map(|(_, name)| name)
}

/// How far the asked name is from this one: first without regard to capitals, then with.
fn slip(asked: &str, name: &str) -> Option<(usize, usize)> {
    let letters = name.chars().count();
    let most = letters / 3;
    // What callers send may be long: it is measured only when it can be near.
    if asked.chars().nth(letters + most).is_some() {
        return None;
    }
    let away = distance(&asked.to_lowercase(), &name.to_lowercase());
    (away <= most).then(|| (away, distance(asked, name)))
}

/// Levenshtein's distance, one row of the matrix at a time.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (above, from) in left.chars().enumerate() {
        let mut diagonal = above;
        let mut before = above + 1;
        let mut cells = row.iter_mut();
        if let Some(first) = cells.next() {
            *first = before;
        }
        for (cell, to) in cells.zip(right.chars()) {
            let changed = diagonal + usize::from(from != to);
            diagonal = *cell;
            *cell = changed.min(diagonal + 1).min(before + 1);
            before = *cell;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_letters() {
        let table = [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("same", "same", 0),
        ];
        for (left, right, away) in table {
            assert_eq!(distance(left, right), away, "{left} {right}");
            assert_eq!(distance(right, left), away, "{right} {left}");
        }
    }

    #[test]
    fn only_a_slip_is_corrected() {
        let names = ["SVC_LISTEN", "SVC_LOG"];
        assert_eq!(nearest("SVC_LISTN", names), Some("SVC_LISTEN"));
        assert_eq!(nearest("SVC_ENTIRELY_DIFFERENT", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest("SVC_LOG", []), None);
    }

    #[test]
    fn capitals_are_the_smallest_slip() {
        let names = ["QUAY-MINI", "quay-max", "quay-mini", "x"];
        assert_eq!(nearest("QUAY-MAX", names), Some("quay-max"));
        assert_eq!(nearest("Quay-mini", names), Some("quay-mini"));
        assert_eq!(nearest("QUAY-MINi", names), Some("QUAY-MINI"));
        assert_eq!(nearest("X", names), Some("x"));
        assert_eq!(nearest("y", names), None);
    }

    #[test]
    fn a_text_of_any_length_may_be_asked_for() {
        let long = "svc-mock".repeat(1 << 20);
        assert_eq!(nearest(&long, ["svc-mock"]), None);
    }
}
