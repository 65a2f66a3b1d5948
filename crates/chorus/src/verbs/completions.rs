//! `chorus completions` and `chorus man`: completions for shells, and the manual page. Both are generated from the
//! command line's definition.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
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

/// Prints one manual page with every verb.
pub fn man(session: &mut Session) -> Result<Verdict, Failure> {
    let mut pages = Vec::new();
    let command = Cli::command();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command.clone()).render(&mut pages);
    for verb in command.get_subcommands() {
        let title = format!("chorus-{}", verb.get_name());
        let _ = clap_mangen::Man::new(verb.clone()).title(title).render(&mut pages);
    }
    session.output.print(&String::from_utf8_lossy(&pages))?;
    Ok(Verdict::Good)
}
