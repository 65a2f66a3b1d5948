//! Threads that wait for each other.

use std::thread;
use std::time::Duration;

/// Turns of a waiting thread before it lets others use its processor, and before it sleeps.
const SPINS: u32 = 4_000;
const YIELDS: u32 = 100;
/// How long a thread sleeps at a time that waits for long.
const NAP: Duration = Duration::from_micros(50);

/// Waits until a condition holds. The wait is short where every thread has a processor of its own. Where processors are
/// short, the waiting thread leaves its own to others.
pub(super) fn wait_until(holds: impl Fn() -> bool) {
    let mut turns = 0u32;
    while !holds() {
        turns = turns.saturating_add(1);
        if turns < SPINS {
            std::hint::spin_loop();
        } else if turns < SPINS + YIELDS {
            thread::yield_now();
        } else {
            thread::sleep(NAP);
        }
    }
}
