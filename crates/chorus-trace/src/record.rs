//! Traces that are written.
