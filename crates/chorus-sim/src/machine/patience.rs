//! The patience of the watchdog: how long a machine may go on without progress before it counts as livelocked.
//!
//! A livelock is a machine that is busy and gets nowhere. Cycles alone do not tell it from a slow machine, on which a
//! message may be on its way for a million of them. So idle time is counted in rounds. A round lasts until everything
//! that was on its way at its beginning has come, and it costs a fixed number of cycles, however long it lasts.

use chorus_protocol::save::{self, Save};
use chorus_system::Watchdog;

use crate::clock::{Clock, Ticks};

/// The core cycles that a round costs, which are also the fewest that it lasts. On machines whose latencies are
/// shorter, idle time is counted in cycles.
const ROUND: u64 = 1000;

/// The rest of the patience since the last progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(super) struct Patience {
    /// The time of the last progress.
    pub(super) since: Ticks,
    /// The end of the current round.
    pub(super) until: Ticks,
    /// Core cycles that are left for the rounds behind the current one.
    left: u64,
}

impl Patience {
    /// Patience anew after progress at `since`. The first half of it is one long round. So only machines that may
    /// really hang are asked what is on its way.
    pub(super) fn new(since: Ticks, watchdog: &Watchdog, core: Clock) -> Patience {
        let first = watchdog.idle_cycles / 2;
        Patience { since, until: since.saturating_add(core.cycles(first)), left: watchdog.idle_cycles - first }
    }

    /// Whether no round is left.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Begins the next round at the end of the current one. `coming` is the time at which the last of what is on its
    /// way then has come.
    pub(super) fn begin_round(&mut self, coming: Option<Ticks>, core: Clock) {
        let cost = self.left.min(ROUND);
        self.left -= cost;
        self.until = self.until.saturating_add(core.cycles(cost)).max(coming.unwrap_or(0));
    }
}
