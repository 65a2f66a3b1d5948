//! The command line of Chorus with everything that this crate adds.

fn main() -> std::process::ExitCode {
    chorus::main_with({{module}}::registry())
}
