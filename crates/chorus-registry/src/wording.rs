//! The wording of messages about names: the nearest known name comes first, then a list that fits a screen.

/// The most names of a long list that a message repeats.
const NAMES_MAX: usize = 12;

/// The longest piece of a file that a message repeats.
const EXCERPT_CHARS_MAX: usize = 64;

/// A message that a name is not known. The nearest known name comes first, in whatever case it is written, then those
/// that are known.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    format!("unknown {what} `{}`{}", excerpt(given), suggest_known(what, &nearest(given, known), known))
}

/// The candidate nearest to a misspelt name, whatever the case of their letters.
pub fn nearest<S: AsRef<str>>(given: &str, candidates: &[S]) -> Option<String> {
    let lower: Vec<String> = candidates.iter().map(|candidate| candidate.as_ref().to_lowercase()).collect();
    let found = chorus_system::nearest(given, lower.iter().map(String::as_str))?;
    let index = lower.iter().position(|candidate| *candidate == found)?;
    candidates.get(index).map(|candidate| candidate.as_ref().to_owned())
}

/// Names in backticks, separated by commas.
pub fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The end of a message about an unknown name: the nearest one, then those that are known.
pub fn suggest_known<S: AsRef<str>>(what: &str, nearest: &Option<String>, known: &[S]) -> String {
    format!("{} known: {}", question(nearest), few_quoted(what, known))
}

/// The words between a name that is not known and a list of names.
pub fn question(nearest: &Option<String>) -> String {
    if nearest.is_some() { did_you_mean(nearest) } else { ";".to_owned() }
}

/// The first names of a list in backticks, and where the others are to be found.
fn few_quoted<S: AsRef<str>>(what: &str, names: &[S]) -> String {
    let shown = quoted(&names[..names.len().min(NAMES_MAX)]);
    match (names.len().saturating_sub(NAMES_MAX), what) {
        (0, _) if names.is_empty() => "none".to_owned(),
        (0, _) => shown,
        (more, "system" | "protocol" | "workload") => format!("{shown} and {more} more (`chorus list {what}s`)"),
        (more, _) => format!("{shown} and {more} more"),
    }
}

/// The question that a message with a nearest name asks.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

/// The start of a text, on one line; an ellipsis stands for the rest.
pub fn excerpt(text: &str) -> String {
    let mut line: String = text.chars().take(EXCERPT_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().count() > EXCERPT_CHARS_MAX {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_before_the_list_in_any_case() {
        let message = unknown("litmus test", "mp+fence", &["SB", "MP+fences"]);
        assert_eq!(message, "unknown litmus test `mp+fence`; did you mean `MP+fences`? known: `SB`, `MP+fences`");
    }

    #[test]
    fn a_stranger_gets_the_list_alone_and_long_input_is_cut() {
        assert_eq!(unknown("protocol", "zzzzzzzz", &["tc"]), "unknown protocol `zzzzzzzz`; known: `tc`");
        let message = unknown("protocol", &"x\n".repeat(1000), &["tc"]);
        assert!(message.contains("…`; known:") && !message.contains('\n') && message.len() < 200, "{message}");
    }
}
