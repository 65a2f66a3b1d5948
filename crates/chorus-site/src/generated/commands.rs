//! The command line: every verb with its arguments, as the program itself explains them.

use chorus_lab::html::{Cell, Narrow, escape, table};

use super::{heading, paragraph, shell, title};
use crate::article::Article;

/// One verb of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name, such as `run`.
    pub name: String,
    /// One sentence about it.
    pub about: String,
    /// The form of its command line.
    pub usage: String,
    /// Its arguments and options in their order.
    pub options: Vec<CommandOption>,
    /// The end of its help: examples.
    pub examples: String,
}

/// An argument or an option of a verb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOption {
    /// How it is written, such as `--scale <quick|medium|paper>`.
    pub form: String,
    /// A sentence or two about its meaning.
    pub meaning: String,
    /// Values that it takes and their meanings, where they are few.
    pub values: Vec<(String, String)>,
    /// The value that it has when it is left out.
    pub default: Option<String>,
}

/// The page of all verbs.
pub(crate) fn page(commands: &[Command]) -> Article {
    let mut body = title("commands", "Commands");
    body.push_str("<p><code>chorus VERB --help</code> prints the same.</p>\n");
    let rows: Vec<Vec<Cell>> = commands
        .iter()
        .map(|verb| vec![Cell::link(&format!("#{}", verb.name), &verb.name), Cell::text(sentence(&verb.about))])
        .collect();
    body.push_str(&table(Narrow::Cards, &[Cell::text("Verb"), Cell::text("What it does")], &rows));
    for verb in commands {
        body.push_str(&section(verb));
    }
    Article::new("reference/commands.html", "Commands", body)
}

fn section(verb: &Command) -> String {
    let mut out = heading(2, &verb.name, &format!("chorus {}", verb.name));
    out.push_str(&paragraph(&sentence(&verb.about)));
    out.push_str(&shell(&verb.usage));
    let rows: Vec<Vec<Cell>> = verb.options.iter().map(|option| row(verb, option)).collect();
    if !rows.is_empty() {
        out.push_str(&table(Narrow::Cards, &[Cell::text("Argument"), Cell::text("Meaning")], &rows));
    }
    if !verb.examples.is_empty() {
        out.push_str(&format!("<pre><code>{}</code></pre>\n", escape(&verb.examples)));
    }
    out
}

/// A help text with its full stop, which the help of a terminal leaves out.
fn sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', ':']) { text.to_owned() } else { format!("{text}.") }
}

fn row(verb: &Command, option: &CommandOption) -> Vec<Cell> {
    let name = option.form.split([' ', ',', '=']).find(|word| word.starts_with("--"));
    let form = Cell::command(&option.form);
    let form = match name {
        Some(name) => form.with_id(&format!("{}{name}", verb.name)),
        None => form,
    };
    let mut remarks: Vec<String> =
        option.values.iter().map(|(value, meaning)| format!("{value}: {}", sentence(meaning))).collect();
    remarks.extend(option.default.as_ref().map(|default| format!("Default: {default}.")));
    vec![form, Cell::text(sentence(&option.meaning)).with_remark(&remarks.join(" "))]
}
