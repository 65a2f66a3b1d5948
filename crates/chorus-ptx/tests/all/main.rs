//! Modules of PTX on the flat machine.

mod divergence;
mod fuzz;
mod host;
mod instructions;
mod suite;
