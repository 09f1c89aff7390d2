//! Which name was meant: the nearest by letters inserted, dropped or changed.

/// The nearest of `names`, if it is near enough to be a slip of the hand.
pub(super) fn nearest<'a>(meant: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let measured = names.map(|name| (distance(meant, name), name));
    let (away, name) = measured.min_by_key(|(away, _)| *away)?;
    (away <= name.len() / 3).then_some(name)
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
        assert_eq!(nearest("SVC_LISTN", names.into_iter()), Some("SVC_LISTEN"));
        assert_eq!(nearest("SVC_ENTIRELY_DIFFERENT", names.into_iter()), None);
    }
}
