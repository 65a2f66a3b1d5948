//! The program `chorus`: the command line with everything that Chorus ships.

fn main() -> std::process::ExitCode {
    chorus::main_with(chorus::Registry::standard())
}
