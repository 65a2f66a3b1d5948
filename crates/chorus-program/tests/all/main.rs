//! Tests of programs of users: the shipped examples, mistakes in program files, and files that may hold anything.

mod arbitrary;
mod examples;
mod mistakes;
mod own;
mod reference;
