//! The Chiplet Coherence Table together with the L2s that it commands.
//!
//! The configurations of [`check`](crate::check) give every L2 every command between kernels. Here the command
//! processor decides: every history of a few kernels with declared accesses is launched, the table plans, and the
//! protocol's controllers carry the plan out and run the kernel in every order of their work. A load that returns an
//! old value, or a write that is lost in the end, shows an operation that the table left out and should not have. An
//! operation that is neither among the least that is sound nor explained by a declared [`Reason`](account::Reason)
//! shows a table that is too cautious.
//!
//! | file | subject |
//! |---|---|
//! | `history.rs` | kernels, their accesses and their words |
//! | `account.rs` | the least that is sound, and where the paper's table asks for more |
//! | `processor.rs` | the command processor with its table |
//! | `letter.rs` | L2s that need everything that Figure 6 asks for |
//! | `caches.rs` | the controllers during a kernel |
//! | `graph.rs` | all moments of the controllers |
//! | `search.rs` | all histories |
//! | `variants.rs` | the configurations of each protocol |
//! | `report.rs` | results |

pub mod account;
pub mod caches;
pub mod graph;
pub mod history;
pub mod letter;
pub mod processor;
pub mod report;
pub mod search;
pub mod variants;

pub use report::ElisionReport;
pub use variants::{ElisionConfig, configurations, find_configuration};
