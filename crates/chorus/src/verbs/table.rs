//! `chorus table`: prints the transition table that is extracted from a protocol's controllers.

use std::path::PathBuf;

use chorus_proof::protocol_page;
use chorus_verify::play::Play;
use chorus_verify::table::TransitionTable;
use clap::{Args, ValueEnum};

use crate::drawings::write_file;
use crate::failure::{Failure, Verdict};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus table gpu-vi
  chorus table gpu-vi --format markdown
  chorus table no-coh --format html > no-coh.html
  chorus table gpu-vi --html gpu-vi.html           a page with diagrams, and a tiny machine to play with";

/// Arguments of `chorus table`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Protocol whose table is printed.
    protocol: String,
    /// Format of the table.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write a page instead: the table, state diagrams, and a tiny machine to play with.
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    html: Option<PathBuf>,
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
    if let Some(path) = &arguments.html {
        let play = Play::of(protocol).map_err(|violation| {
            Failure::bad_input(format!("{0} breaks a rule: {violation}; `chorus check {0}` shows how", protocol.name()))
        })?;
        drop(activity);
        write_file(path, &protocol_page::of(protocol, &table, play.as_ref()))?;
        session.output.line(&format!("page: {}", path.display()))?;
        return Ok(Verdict::Good);
    }
    drop(activity);
    session.output.print(&match arguments.format {
        Format::Text => table.to_text(),
        Format::Markdown => table.to_markdown(),
        Format::Html => table.to_html(),
    })?;
    Ok(Verdict::Good)
}
