//! The cost of fences, by scope and by the stores that are pending.

use serde::Deserialize;

/// Core cycles that fences take at least, beyond what the caches make them wait for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fences {
    /// Cycles of a fence of a work-group's scope.
    pub work_group_cycles: u32,
    /// Cycles that the first pending store adds to it.
    pub work_group_store_cycles: u32,
    /// Cycles that every further pending store adds to it.
    pub work_group_more_cycles: u32,
    /// Cycles of a fence of a GPU's scope.
    pub gpu_cycles: u32,
    /// Cycles that the first pending store adds to it.
    pub gpu_store_cycles: u32,
    /// Cycles that every further pending store adds to it.
    pub gpu_more_cycles: u32,
    /// Cycles of a fence of the system's scope.
    pub system_cycles: u32,
    /// Cycles that the first pending store adds to it.
    pub system_store_cycles: u32,
    /// Cycles that every further pending store adds to it.
    pub system_more_cycles: u32,
    /// The most pending stores that count.
    pub stores_max: u32,
    /// Cycles since the last store of a wavefront after which none of its stores is pending.
    pub pending_cycles: u32,
    /// Cycles of an acquire wider than a work-group.
    pub acquire_cycles: u32,
    /// Cycles of a release of a GPU's scope by a wavefront that has acquired nothing since its last release.
    pub release_cycles: u32,
    /// Cycles of a release of a GPU's scope by a wavefront that has acquired something since.
    pub release_after_acquire_cycles: u32,
}

impl Fences {
    /// The keys of the table, with their values.
    pub(crate) fn keys(&self) -> [(&'static str, u32); 14] {
        [
            ("work_group_cycles", self.work_group_cycles),
            ("work_group_store_cycles", self.work_group_store_cycles),
            ("work_group_more_cycles", self.work_group_more_cycles),
            ("gpu_cycles", self.gpu_cycles),
            ("gpu_store_cycles", self.gpu_store_cycles),
            ("gpu_more_cycles", self.gpu_more_cycles),
            ("system_cycles", self.system_cycles),
            ("system_store_cycles", self.system_store_cycles),
            ("system_more_cycles", self.system_more_cycles),
            ("stores_max", self.stores_max),
            ("pending_cycles", self.pending_cycles),
            ("acquire_cycles", self.acquire_cycles),
            ("release_cycles", self.release_cycles),
            ("release_after_acquire_cycles", self.release_after_acquire_cycles),
        ]
    }
}
