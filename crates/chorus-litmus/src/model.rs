//! The memory models by name.

/// A memory model. It decides which executions of a program are allowed.
///
/// Notation: `po` is program order, `rf` is reads-from, `co` is the order of a location's writes, `fr` leads from a
/// read to the writes that overwrite the value read, `rfe` is the part of `rf` between threads, and `loc` means the
/// same location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Sequential consistency: acyclic(po | rf | co | fr) (Lamport 1979).
    Sc,
    /// Total store order: SC, except that a read may pass earlier writes of its thread and sees its own writes early.
    /// Nothing passes fences and atomics (Owens, Sarkar and Sewell 2009).
    Tso,
    /// Release consistency with atomic writes, in which acquires and releases are sequentially consistent among
    /// themselves (Gharachorloo et al. 1990).
    RcSc,
    /// [`Model::RcSc`], except that an acquire may pass an earlier release.
    RcPc,
    /// [`Model::RcSc`] in which a write is performed with respect to each thread at a time of its own.
    RcScNonAtomic,
    /// [`Model::RcPc`] in which a write is performed with respect to each thread at a time of its own. TC-Weak provides
    /// this model.
    RcPcNonAtomic,
    /// Coherence of each location: acyclic((po & loc) | rf | co | fr).
    PerLocation,
    /// SC for programs without data races (Adve and Hill 1990).
    ScForDrf,
    /// SC for programs without heterogeneous races, where a chain of synchronisation stays in one scope (Hower et al.
    /// 2014).
    ScForHrfDirect,
    /// SC for programs without heterogeneous races, where a chain may change its scope (Hower et al. 2014).
    ScForHrfIndirect,
    /// SC for programs without data races in which every thread keeps the order of its synchronisation, and
    /// [`Model::RcPcNonAtomic`] for all other programs. Spandex provides this model (Spandex paper, section III-E).
    ///
    /// Releases and acquires order data. Two synchronising accesses of a thread are kept in order by a fence between
    /// them, by the first if it acquires, and by the second if it releases. A program of the second kind that orders
    /// something for a work-group only is promised coherence of each location and nothing else.
    ScForDrfOrRc,
    /// The scoped model of PTX 7.5 (PTX ISA, "Memory Consistency Model"; Lustig et al. 2019).
    Ptx,
}

impl Model {
    /// All memory models that Chorus knows.
    pub const ALL: [Model; 12] = [
        Model::Sc,
        Model::Tso,
        Model::RcSc,
        Model::RcPc,
        Model::RcScNonAtomic,
        Model::RcPcNonAtomic,
        Model::PerLocation,
        Model::ScForDrf,
        Model::ScForHrfDirect,
        Model::ScForHrfIndirect,
        Model::ScForDrfOrRc,
        Model::Ptx,
    ];

    /// The name of the model on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Model::Sc => "sc",
            Model::Tso => "tso",
            Model::RcSc => "rc-sc",
            Model::RcPc => "rc-pc",
            Model::RcScNonAtomic => "rc-sc-non-atomic",
            Model::RcPcNonAtomic => "rc-pc-non-atomic",
            Model::PerLocation => "per-location",
            Model::ScForDrf => "sc-for-drf",
            Model::ScForHrfDirect => "sc-for-hrf-direct",
            Model::ScForHrfIndirect => "sc-for-hrf-indirect",
            Model::ScForDrfOrRc => "sc-for-drf-or-rc",
            Model::Ptx => "ptx",
        }
    }

    /// The full name of the model.
    pub fn title(self) -> &'static str {
        match self {
            Model::Sc => "sequential consistency",
            Model::Tso => "total store order",
            Model::RcSc => "release consistency (RCsc), write-atomic",
            Model::RcPc => "release consistency, write-atomic",
            Model::RcScNonAtomic => "release consistency (RCsc), not write-atomic",
            Model::RcPcNonAtomic => "release consistency (RCpc), not write-atomic",
            Model::PerLocation => "per-location coherence only",
            Model::ScForDrf => "SC for programs without data races",
            Model::ScForHrfDirect => "SC for programs without heterogeneous races, direct",
            Model::ScForHrfIndirect => "SC for programs without heterogeneous races, indirect",
            Model::ScForDrfOrRc => "SC for programs without data races, otherwise RCpc",
            Model::Ptx => "PTX",
        }
    }

    /// The promise of the model, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Model::Sc => "All threads take turns at one memory.",
            Model::Tso => {
                "A thread's writes wait in order in a queue of its own, which only it can read, and its reads pass them."
            }
            Model::RcSc => {
                "Accesses stay behind earlier acquires and before later releases, acquires and releases keep their order, and a \
                 write is seen by all other threads at once."
            }
            Model::RcPc => {
                "Accesses stay behind earlier acquires and before later releases, an acquire may pass a release, and a write is seen \
                 by all other threads at once."
            }
            Model::RcScNonAtomic => {
                "Accesses stay behind earlier acquires and before later releases, acquires and releases keep their order, and \
                 threads may see a write at different times."
            }
            Model::RcPcNonAtomic => {
                "Accesses stay behind earlier acquires and before later releases, an acquire may pass a release, and threads may see \
                 a write at different times."
            }
            Model::PerLocation => {
                "All threads agree on the order of the accesses of each location, and on nothing else."
            }
            Model::ScForDrf => {
                "A program without data races behaves as if threads took turns; others are promised nothing."
            }
            Model::ScForHrfDirect => {
                "A program that synchronises every conflict within one scope behaves as if threads took turns; others are \
                 promised nothing."
            }
            Model::ScForHrfIndirect => {
                "A program that synchronises every conflict, through chains of scopes if need be, behaves as if threads took turns; \
                 others are promised nothing."
            }
            Model::ScForDrfOrRc => {
                "A program without data races whose threads keep the order of their synchronisation behaves as if threads took turns; \
                 others are promised release consistency, in which threads may see a write at different times."
            }
            Model::Ptx => {
                "Synchronisation at scopes that include each other's threads orders what is before it and what is after it; racing \
                 accesses are ordered by nothing."
            }
        }
    }

    /// The model with this name.
    pub fn from_name(name: &str) -> Option<Model> {
        Model::ALL.into_iter().find(|model| model.name() == name)
    }

    /// Whether the model makes promises to race-free programs only.
    pub fn needs_race_freedom(self) -> bool {
        matches!(self, Model::ScForDrf | Model::ScForHrfDirect | Model::ScForHrfIndirect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_models() {
        for model in Model::ALL {
            assert_eq!(Model::from_name(model.name()), Some(model));
            assert!(model.meaning().ends_with('.'));
        }
        assert_eq!(Model::from_name("strong"), None);
    }
}
