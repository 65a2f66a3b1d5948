//! The timing driver: event wheel, compute units, crossbars, DRAM and statistics around the protocol controllers.

pub mod frontend;
