//! The counts that controllers of Temporal Coherence keep.

use crate::tally::{TallyId, TallySpec};

/// The counts of all protocols of the family.
pub const TALLIES: [TallySpec; 5] = [
    TallySpec { key: "expired_loads", meaning: "loads that missed in the L1 because a lease had ended" },
    TallySpec { key: "leases", meaning: "leases given by L2 banks" },
    TallySpec { key: "lease_cycles", meaning: "sum of the lengths of those leases, in core cycles" },
    TallySpec { key: "parked_timestamps", meaning: "lines that left the L2 with leases running" },
    TallySpec { key: "refreshed_writers", meaning: "writes of stale copies, answered with the whole line" },
];

pub(super) type Tallies = crate::tally::Tallies<{ TALLIES.len() }>;

pub(super) const EXPIRED_LOADS: TallyId = TallyId::named(&TALLIES, "expired_loads");
pub(super) const LEASES: TallyId = TallyId::named(&TALLIES, "leases");
pub(super) const LEASE_CYCLES: TallyId = TallyId::named(&TALLIES, "lease_cycles");
pub(super) const PARKED_TIMESTAMPS: TallyId = TallyId::named(&TALLIES, "parked_timestamps");
pub(super) const REFRESHED_WRITERS: TallyId = TallyId::named(&TALLIES, "refreshed_writers");
