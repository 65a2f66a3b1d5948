//! The rules of the PTX model. Each can be left out, to see whether tests notice.

/// The rules that hold. In the model, all of them do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Causality orders the writes of a location.
    pub coherence: bool,
    /// Morally strong `fence.sc` are ordered.
    pub fence_sc: bool,
    /// Nothing morally strong comes between the halves of an atomic.
    pub atomicity: bool,
    /// Reads and dependencies have no cycle.
    pub no_thin_air: bool,
    /// Morally strong communication and program order within a location have no cycle.
    pub sc_per_location: bool,
    /// No read contradicts causality.
    pub causality: bool,
    /// Causality also holds for reads of values that are overwritten.
    pub causality_of_overwritten: bool,
    /// Morally strong writes of a location are ordered.
    pub strong_writes_ordered: bool,
    /// Barriers synchronise the threads that meet.
    pub barriers: bool,
    /// Observation needs moral strength.
    pub observation_is_strong: bool,
    /// Scopes limit the threads that are included.
    pub scopes_count: bool,
    /// A work-group is a narrower scope than a GPU.
    pub work_groups_count: bool,
    /// Inclusion has to be mutual.
    pub inclusion_is_mutual: bool,
    /// Observation goes through atomics.
    pub observation_through_atomics: bool,
    /// Fences take part in patterns of release and acquire.
    pub fences_in_patterns: bool,
    /// A release pattern may end with a later write.
    pub later_writes_in_patterns: bool,
    /// Causality is a transitive relation.
    pub causality_is_transitive: bool,
    /// An observed release causes what follows, too.
    pub observation_causes: bool,
    /// Relaxed reads do not acquire.
    pub relaxed_does_not_acquire: bool,
    /// Relaxed writes do not release.
    pub relaxed_does_not_release: bool,
    /// The ends of a synchronisation are morally strong.
    pub synchronisation_is_strong: bool,
    /// A reduction never acquires.
    pub reductions_do_not_acquire: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            coherence: true,
            fence_sc: true,
            atomicity: true,
            no_thin_air: true,
            sc_per_location: true,
            causality: true,
            causality_of_overwritten: true,
            strong_writes_ordered: true,
            barriers: true,
            observation_is_strong: true,
            scopes_count: true,
            work_groups_count: true,
            inclusion_is_mutual: true,
            observation_through_atomics: true,
            fences_in_patterns: true,
            later_writes_in_patterns: true,
            causality_is_transitive: true,
            observation_causes: true,
            relaxed_does_not_acquire: true,
            relaxed_does_not_release: true,
            synchronisation_is_strong: true,
            reductions_do_not_acquire: true,
        }
    }
}
