//! `chorus table`: prints the transition table that is extracted from a protocol's controllers.

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
    /// Protocol whose table is printed.
    protocol: String,
    /// Format of the table.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns for a terminal.
    Text,
    /// A table for Markdown documents.
    Markdown,
    /// A fragment of an HTML page.
    Html,
}

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
