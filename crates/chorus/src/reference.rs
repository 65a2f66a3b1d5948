//! The command line as data, for the pages that explain it.

use chorus_site::{Command, CommandOption};
use clap::{Arg, CommandFactory};

use crate::Cli;

/// Every verb with its arguments, in the order of the help.
pub fn verbs() -> Vec<Command> {
    let mut cli = Cli::command();
    // Building gives every verb the arguments that all have, and its usage the name of the program.
    cli.build();
    cli.get_subcommands_mut().filter(|verb| verb.get_name() != "help").map(verb).collect()
}

fn verb(command: &mut clap::Command) -> Command {
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    Command {
        name: command.get_name().to_owned(),
        about: text(command.get_long_about().or(command.get_about())),
        usage: command.render_usage().to_string().trim_start_matches("Usage: ").to_owned(),
        examples: text(command.get_after_help()),
        options: command.get_arguments().filter(|argument| argument.get_id() != "help").map(option).collect(),
    }
}

fn option(argument: &Arg) -> CommandOption {
    let help = argument.get_long_help().or(argument.get_help());
    let value = |value: &clap::builder::PossibleValue| {
        (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default())
    };
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let takes_value = argument.get_action().takes_values();
    CommandOption {
        form: argument.to_string(),
        meaning: help.map(ToString::to_string).unwrap_or_default(),
        // A value without a meaning of its own is in the form already.
        values: argument.get_possible_values().iter().map(value).filter(|(_, meaning)| !meaning.is_empty()).collect(),
        default: (takes_value && !defaults.is_empty()).then(|| defaults.join(" ")),
    }
}
