//! Traces that are read, replayed and written.
//!
//! | file | question |
//! |---|---|
//! | `there_and_back.rs` | does a recorded program do the same when its trace is replayed? |
//! | `meaning.rs` | do instructions become what they mean? |
//! | `bad.rs` | does every mistake get one message with its place? |
//! | `arbitrary.rs` | does a trace with random mistakes end in a program or a message? |
//! | `sample.rs` | is a trace of a real GPU read? |
//!
//! `observe.rs` notes what wavefronts ask for, and `folder.rs` makes temporary traces.

mod arbitrary;
mod bad;
mod folder;
mod meaning;
mod observe;
mod sample;
mod there_and_back;
