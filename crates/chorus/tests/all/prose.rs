//! Is prose written for people? Lines have a width that fits a screen, and doc comments say something.

use crate::tidy::{File, assert_none, files};

/// Columns of a line of prose.
const COLUMNS_MAX: usize = 120;

/// Words of the shortest doc comment that says more than the name of its item.
const DOC_WORDS_MIN: usize = 4;

/// Beginnings of doc comments that say what a thing is not, or refer to something that the reader has to look for.
const BEGINNINGS: [&str; 5] = ["What ", "The same", "As that", "Those ", "That of"];

/// The numbered lines of a file that hold prose: comments of Rust and TOML, and Markdown outside code, tables and
/// generated blocks.
fn prose(file: &File) -> Vec<(usize, String)> {
    let text = file.text();
    let numbered = (1..).zip(text.lines().map(str::to_owned));
    match file.path.rsplit('.').next() {
        Some("rs") => numbered.filter(|(_, line)| line.trim_start().starts_with("//")).collect(),
        Some("toml") => numbered.filter(|(_, line)| line.starts_with('#')).collect(),
        Some("md") => markdown_prose(numbered),
        _ => Vec::new(),
    }
}

fn markdown_prose(numbered: impl Iterator<Item = (usize, String)>) -> Vec<(usize, String)> {
    let (mut in_code, mut in_generated) = (false, false);
    let is_prose = |(_, line): &(usize, String)| {
        let start = line.trim_start();
        in_code ^= start.starts_with("```");
        in_generated = (in_generated || start.starts_with("<!-- generated")) && !start.starts_with("<!-- end");
        let is_block = start.starts_with("```") || line.starts_with("    ") || start.starts_with(['|', '<', '!']);
        !in_code && !in_generated && !is_block
    };
    numbered.filter(is_prose).collect()
}

/// A word that cannot be broken, such as an address, may stick out.
fn can_be_wrapped(line: &str) -> bool {
    let start = line.chars().take(COLUMNS_MAX).collect::<String>();
    start.trim_start().trim_start_matches(['/', '!', '#', ' ', '-']).contains(' ')
}

#[test]
fn lines_of_prose_fit_a_screen() {
    let mut complaints = Vec::new();
    for file in files() {
        for (number, line) in prose(&file) {
            let columns = line.chars().count();
            // The source of a value stands on the value's line, and tables in doc comments cannot be wrapped.
            let is_table = line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|');
            if columns > COLUMNS_MAX && !is_table && can_be_wrapped(&line) {
                complaints.push(format!("{}:{number}: {columns} columns; at most {COLUMNS_MAX}", file.path));
            }
        }
    }
    assert_none(complaints);
}

/// The doc comments of a file: the line that each begins in, and its text.
fn doc_comments(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let doc = line.trim_start().strip_prefix("///").map(str::trim);
        match (doc, found.last_mut()) {
            (Some(words), Some((_, text))) if is_open => {
                text.push(' ');
                text.push_str(words);
            }
            (Some(words), _) => found.push((number, words.to_owned())),
            (None, _) => {}
        }
        is_open = doc.is_some();
    }
    found
}

#[test]
fn doc_comments_say_more_than_the_name_of_their_item() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for (number, text) in doc_comments(&file.text()) {
            let place = format!("{}:{number}", file.path);
            if text.split_whitespace().count() < DOC_WORDS_MIN {
                complaints
                    .push(format!("{place}: `{text}`: say what it is, or make the item private and drop the comment"));
            }
            if let Some(beginning) = BEGINNINGS.iter().find(|beginning| text.starts_with(*beginning)) {
                complaints.push(format!("{place}: begins with `{}`: name the thing itself", beginning.trim()));
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn the_scanner_finds_prose_and_doc_comments() {
    let text = "/// One thing,\n/// and more.\nfn a() {}\n/// Another.\nfn b() {}";
    assert_eq!(doc_comments(text), [(1, "One thing, and more.".to_owned()), (4, "Another.".to_owned())]);
    let page = ["text", "```sh", "code", "```", "| table |", "<!-- generated: x -->", "made", "<!-- end -->", "more"];
    let kept = markdown_prose((1..).zip(page.iter().map(ToString::to_string)));
    assert_eq!(kept.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 9]);
}
