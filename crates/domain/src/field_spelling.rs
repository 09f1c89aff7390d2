//! Spellings of a field's name. Some providers take both `candidateCount` and `candidate_count`, so
//! a rule about a field holds for every spelling of it.

/// The name in lowercase, without the underscores inside it: the same for every spelling. One at
/// the start stays: it marks a caller's own field.
pub fn plain_spelling(name: &str) -> String {
    plain_letters(name).collect()
}

/// Whether two names are spellings of one field.
pub fn is_same_field(one: &str, other: &str) -> bool {
    plain_letters(one).eq(plain_letters(other))
}

fn plain_letters(name: &str) -> impl Iterator<Item = char> {
    let letters = name
        .char_indices()
        .filter(|(index, letter)| *index == 0 || *letter != '_');
    letters.map(|(_, letter)| letter.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_the_same_field() {
        for spelling in ["candidate_count", "candidateCount", "CANDIDATE__COUNT"] {
            assert_eq!(plain_spelling(spelling), "candidatecount");
            assert!(is_same_field(spelling, "candidateCount"), "{spelling}");
        }
        for other in [
            "candidate_counts",
            "candidate-count",
            "_candidate_count",
            "",
        ] {
            assert!(!is_same_field(other, "candidate_count"), "{other}");
        }
    }
}
