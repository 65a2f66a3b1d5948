//! The message about a name that is not in the registry.

use chorus_system::nearest;

/// A message shows this many characters of a name that is not known. Known names are short, so that more would not
/// help.
const GIVEN_CHARS_MAX: usize = 40;

/// A message that a name is not known. It first proposes the nearest known name, whatever its case, and then lists all
/// known names.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    let mut shown: String = given.chars().take(GIVEN_CHARS_MAX).flat_map(char::escape_debug).collect();
    if given.chars().count() > GIVEN_CHARS_MAX {
        shown.push('…');
    }
    let lower: Vec<String> = known.iter().map(|name| name.to_lowercase()).collect();
    let near = nearest(given, lower.iter().map(String::as_str));
    let near = near.and_then(|near| lower.iter().position(|name| *name == near)).map(|index| known[index]);
    let suggestion = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("unknown {what} `{shown}`; {suggestion}known: {}", names.join(", "))
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
