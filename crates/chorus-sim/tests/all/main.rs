//! Tests of the timing driver, in one binary. Tests that count allocations have a binary of their own.

mod annotations;
mod atomic_order;
mod checkpoints;
mod chiplets;
mod cpu_threads;
mod h200;
mod histogram;
mod lane_accesses;
mod lane_script;
mod last_level;
mod latency;
mod machine;
mod mesh;
mod modules;
mod networks;
mod observe;
mod once;
mod panics;
mod ptx_latency;
mod store_buffers;
