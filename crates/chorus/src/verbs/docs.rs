//! `chorus docs`: writes the documentation as a site, and opens it in a browser.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chorus_site::Site;
use clap::Args;
use serde_json::json;

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict, print_error, print_note};
use crate::reference;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus docs                              write results/docs, and open it in a browser
  chorus docs --quick                      without the machines to play with: in a second
  chorus docs --out site --no-open         write it elsewhere, to publish it

The site is a folder of files without a server: it can be read from disk, offline, and copied anywhere.";

/// The program that opens a file as its user would, where `BROWSER` names none.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Arguments of `chorus docs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Directory of the site.
    #[arg(long, value_name = "DIR", default_value = "results/docs")]
    out: PathBuf,
    /// Write the site without opening it.
    #[arg(long)]
    no_open: bool,
    /// Leave out the machines to play with, for which protocols are explored: a second instead of half a minute.
    #[arg(long)]
    quick: bool,
    /// Check that every link leads somewhere, and end with code 1 if one does not.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    // A directory that cannot be written is reported before anything is explored.
    Site::default().write(&arguments.out)?;
    let registry = session.registry;
    let machines = if arguments.quick { &[] } else { registry.protocols() };
    let activity = session.activity(Some(machines.len()));
    let site = Site::make(registry, &reference::verbs(), machines, &activity)?;
    drop(activity);
    let index = site.write(&arguments.out)?;
    let broken = if arguments.check { site.broken_links() } else { Vec::new() };
    if arguments.form.json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "index": index.display().to_string(),
            "pages": site.pages(),
            "broken_links": broken,
        }))?;
    } else {
        session.output.line(&format!("site: {} ({} pages)", index.display(), site.pages()))?;
    }
    for link in &broken {
        print_error(link, None);
    }
    if !arguments.no_open && !opens(&index) {
        print_note("note: no browser could be started; open the file above in one, or name one in BROWSER");
    }
    Ok(Verdict::of(broken.is_empty()))
}

/// Starts a browser on a file. It goes on when this process has ended.
fn opens(file: &Path) -> bool {
    let opener = std::env::var_os("BROWSER").filter(|name| !name.is_empty());
    let mut browser = Command::new(opener.unwrap_or_else(|| OsString::from(OPENER)));
    browser.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
