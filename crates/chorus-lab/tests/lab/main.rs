//! Tests of the laboratory, one subject per file, with a runner that simulates nothing.

mod claims;
mod clusters;
mod comparisons;
mod documents;
mod exports;
mod fake;
mod figures;
mod matrices;
mod notes;
mod pages;
mod recorded;
mod sets;
mod smaller_inputs;
mod stated;
mod stores;
mod sweeps;
mod trends;
