//! The valid name that a misspelt one is closest to.

/// The longest name worth comparing; a longer one is no misspelling of a key.
const CHARS_MAX: usize = 64;

/// The candidate nearest to `given` by edit distance, where at most a third of its letters (and at least two, of a
/// short name one) differ. Among equally near candidates the first wins, so that a message never depends on anything
/// but its input.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let given = given.to_lowercase();
    let chars = given.chars().count();
    if chars > CHARS_MAX {
        return None;
    }
    // Two letters of three would make neighbours of names that have nothing in common.
    let distance_max = if chars <= 3 { 1 } else { (chars / 3).max(2) };
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&given, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= distance_max && distance < candidate.chars().count())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelling_finds_its_name_and_a_stranger_finds_none() {
        assert_eq!(nearest("sise_bytes", ["ways", "size_bytes"]).as_deref(), Some("size_bytes"));
        assert_eq!(nearest("QUICK", ["quick", "paper"]).as_deref(), Some("quick"));
        assert_eq!(nearest("colour", ["ways", "size_bytes"]), None);
        assert_eq!(nearest("", ["tc"]), None);
        assert_eq!(nearest("foo", ["tso"]), None);
    }
}
