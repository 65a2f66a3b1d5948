//! `chorus completions` and `chorus man`: completions for shells, and the manual page. Both are generated from the
//! command line's definition.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::drawings::write_file;
use crate::failure::{Failure, Verdict};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus completions bash > ~/.local/share/bash-completion/completions/chorus
  chorus completions zsh > ~/.zfunc/_chorus
  chorus completions fish > ~/.config/fish/completions/chorus.fish";

/// Arguments of `chorus completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Shell to print completions for.
    shell: Shell,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "chorus", &mut script);
    session.output.print(&String::from_utf8_lossy(&script))?;
    Ok(Verdict::Good)
}

const MAN_EXAMPLES: &str = "\
Examples:
  chorus man | man -l -
  chorus man --out ~/.local/share/man/man1        then: man chorus-run";

/// Arguments of `chorus man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArguments {
    /// Write a page for each verb into a directory, such as `chorus-run.1`, instead of printing one of all.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints one manual page with every verb, or writes a page for each.
pub fn man(arguments: &ManArguments, session: &mut Session) -> Result<Verdict, Failure> {
    let pages = manual();
    let Some(directory) = &arguments.out else {
        session.output.print(&pages.into_iter().map(|(_, page)| page).collect::<String>())?;
        return Ok(Verdict::Good);
    };
    let unwritable = |error: std::io::Error| {
        let (shown, reason) = (directory.display(), error.to_string().to_lowercase());
        Failure::bad_input(format!("cannot write {shown}: {reason}; choose a directory that can be written"))
    };
    fs::create_dir_all(directory).map_err(unwritable)?;
    for (name, page) in &pages {
        write_file(&directory.join(format!("{name}.1")), page)?;
    }
    session.output.line(&format!("manual: {} pages in {}", pages.len(), directory.display()))?;
    Ok(Verdict::Good)
}

/// The manual: the page of the program, then one for each verb, with their names.
fn manual() -> Vec<(String, String)> {
    let mut command = Cli::command();
    command.build();
    let whole = ("chorus".to_owned(), command.clone());
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    let verbs = verbs.map(|verb| (format!("chorus-{}", verb.get_name()), verb.clone()));
    let page = |(name, command): (String, clap::Command)| {
        let mut page = Vec::new();
        // Writing to memory cannot fail.
        let _ = clap_mangen::Man::new(command).title(name.clone()).render(&mut page);
        (name, String::from_utf8_lossy(&page).into_owned())
    };
    std::iter::once(whole).chain(verbs).map(page).collect()
}
