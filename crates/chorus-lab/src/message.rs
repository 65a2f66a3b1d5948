//! Messages to people: a sentence on what is wrong, perhaps the line of a file that is meant, and advice.
//!
//! Advice comes last, in lines that begin with `hint: `.

/// Splits a message into the lines before its first hint, and the hints.
pub fn split(message: &str) -> (Vec<&str>, Vec<&str>) {
    let mut lines: Vec<&str> = message.lines().collect();
    let advice_at = lines.iter().position(|line| line.starts_with("hint: ")).unwrap_or(lines.len());
    let advice = lines.split_off(advice_at);
    (lines, advice)
}

/// The message as it is shown: what is wrong, the line of a file, and after an empty line the advice.
pub fn shown(message: &str, excerpt: Option<&str>) -> String {
    let (what, advice) = split(message);
    let mut text = format!("{}\n", what.join("\n"));
    text.push_str(excerpt.unwrap_or_default());
    if !advice.is_empty() {
        text.push_str(&format!("\n{}\n", advice.join("\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn advice_stands_apart_below_the_line_that_is_meant() {
        let text = shown("no such key\nhint: see the list", Some(" 1 | key\n"));
        assert_eq!(text, "no such key\n 1 | key\n\nhint: see the list\n");
        assert_eq!(shown("no such key", None), "no such key\n");
    }
}
