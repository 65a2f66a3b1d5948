//! Temporal Coherence (TC paper, section 6): private copies that invalidate themselves when their time is over.
//!
//! Every copy in a private cache carries the time until which it may be read, its lease. The L2 keeps for each line the
//! end of the latest lease that it has given, the line's global timestamp. No message ever invalidates anything. Two
//! protocols differ in the treatment of a write that finds leases running:
//!
//! | protocol | a write to a line with running leases | section |
//! |---|---|---|
//! | [`strong`] TC-Strong | waits at the L2 until they have ended, unless the writer is the only reader | 6.2 |
//! | [`weak`] TC-Weak | is performed at once; the answer says when they end, and fences wait for that | 6.3 |
//!
//! | file | subject |
//! |---|---|
//! | `l1.rs`, `l1_states.rs`, `l2.rs` | the two controllers of both protocols |
//! | `messages.rs` | the messages, as Table 2 names them |
//! | `counter.rs` | timestamps of finite width, and what happens when they begin anew |
//! | `gwct.rs` | what fences wait for |
//! | `lifetime.rs` | how long leases are |
//! | `tallies.rs` | the counts for statistics |
//! | `faults.rs` | the seeded faults |

pub mod counter;
pub mod faults;
pub mod gwct;
pub mod l1;
mod l1_states;
pub mod l2;
pub mod lifetime;
pub mod messages;
pub mod strong;
pub mod tallies;
pub mod weak;

/// The behaviour of a write that finds leases running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writes {
    /// It waits, so that nobody sees it before everybody does (TC-Strong).
    Wait,
    /// It goes on, and the writer's fences wait (TC-Weak).
    GoOn,
}
