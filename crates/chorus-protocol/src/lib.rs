//! Coherence protocols as pure state machines.
//!
//! [`protocols`] holds one file per published protocol; [`registry`] lists them. A [`controller::Controller`] is one cache bank: it
//! classifies an input as a row and column of the paper's transition table, and steps. The rest of the crate is what
//! controllers are made of: lines with real data, arrays, miss registers, sharer sets, message tables.
//!
//! This crate does no I/O, reads no clock, draws no random numbers and starts no threads.

pub mod access;
pub mod address;
pub mod cache;
pub mod controller;
pub mod line;
pub mod message;
pub mod mshr;
pub mod protocols;
pub mod registry;
pub mod sharers;
pub mod write_tracker;
