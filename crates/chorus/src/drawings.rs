//! `--svg FILE` and `--html FILE`: the steps to a violation as a drawing, and as a page that steps through them.

use std::fs;
use std::path::{Path, PathBuf};

use chorus_proof::protocol_page;
use chorus_protocol::registry::Protocol;
use chorus_verify::chart::{Chart, Sequence};
use chorus_verify::violation::Violation;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;

/// The files for the first violation.
#[derive(Debug, Args)]
pub struct Drawings {
    /// Draw the first violation as an SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the first violation as a page that steps through it, message by message.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Drawings {
    /// Writes the files that were asked for.
    pub fn write(
        &self,
        protocol: &dyn Protocol,
        sequence: &Sequence,
        violation: Option<&Violation>,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.svg {
            write_file(path, &sequence.to_svg(violation))?;
        }
        if let Some(path) = &self.html {
            let end = violation.map_or_else(|| "nothing is violated".to_owned(), |it| format!("violated: {it}"));
            let title = format!("{}, step by step", protocol.title());
            write_file(path, &protocol_page::of_sequence(&title, sequence, &end))?;
        }
        Ok(())
    }

    /// Writes the files of a violation. If there is none, a message says that nothing was written.
    pub fn write_first(
        &self,
        protocol: &dyn Protocol,
        chart: Option<&Chart>,
        as_json: bool,
        session: &mut Session,
    ) -> Result<(), Failure> {
        if let Some(chart) = chart {
            return self.write(protocol, &chart.sequence, Some(&chart.violation));
        }
        let unwritten = self.svg.iter().chain(&self.html).filter(|_| !as_json);
        for path in unwritten {
            session.output.line(&format!("nothing is violated: {} was not written", path.display()))?;
        }
        Ok(())
    }
}

/// Writes a text to a file.
pub fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let reason = error.to_string().to_lowercase();
        Failure::bad_input(format!("cannot write {}: {reason}", path.display()))
    };
    fs::write(path, text).map_err(failed)
}
