//! `chorus table`: the transition table that a protocol's controllers have.

use chorus_verify::table::TransitionTable;
use clap::{Args, ValueEnum};

use crate::failure::{Failure, Verdict};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus table gpu-vi
  chorus table gpu-vi --format markdown
  chorus table no-coh --format html > no-coh.html";

/// Arguments of `chorus table`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The protocol.
    protocol: String,
    /// How the table is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns.
    Text,
    /// For documents.
    Markdown,
    /// A fragment of a page.
    Html,
}

/// Runs `chorus table`.
pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocol = session.protocol(&arguments.protocol)?;
    let activity = session.activity(None);
    activity.begin(format!("exploring {}", protocol.title()));
    let table = TransitionTable::extract(protocol);
    drop(activity);
    session.output.print(&match arguments.format {
        Format::Text => table.to_text(),
        Format::Markdown => table.to_markdown(),
        Format::Html => table.to_html(),
    })?;
    Ok(Verdict::Good)
}
