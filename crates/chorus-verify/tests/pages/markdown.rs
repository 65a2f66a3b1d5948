//! Tables of the pages of the documentation.

/// A table in Markdown.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = row(&head.map(str::to_owned));
    text.push_str(&format!("|{}\n", "---|".repeat(N)));
    rows.into_iter().for_each(|cells| text.push_str(&row(&cells.map(|cell| cell.replace('|', "\\|")))));
    text
}
