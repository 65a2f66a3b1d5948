//! What the command line promises, one subject per file, asked of the real binary.

mod annotations;
mod bad_input;
mod checks;
mod chorus;
mod litmus_files;
mod matrices;
mod own_graphs;
mod proof;
mod replays;
mod runs;
mod text;
mod torture;
