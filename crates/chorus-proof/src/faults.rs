//! The search for the seeded faults of a protocol.
//!
//! Protocols that share controllers share the faults of these. Some faults sit in a transition that one of the
//! protocols never makes. Such a fault cannot be found there, and is told apart: with it, every exploration is as large
//! as without it, and the random driver makes the same steps.

use chorus_protocol::registry::{FaultSpec, Protocol};
use chorus_verify::check::{CheckConfig, CheckReport, check};
use chorus_verify::faults::{BriefLook, Catch, caught, look_briefly};
use chorus_verify::torture::{Settings, TortureCatch, TortureReport, torture};

use crate::checked::Checked;
use crate::collect::Extent;

/// A seeded fault and the checks that found it.
pub struct FaultSearch {
    /// The fault that was seeded.
    pub spec: FaultSpec,
    /// The violation that the exhaustive driver found when it used every kind of check; none if the fault stayed
    /// hidden. [`Extent::Quick`] does not ask for faults that the random driver has found.
    pub caught: Option<Catch>,
    /// The violations that each kind of check found by itself; none for [`Extent::Quick`], which does not ask for them.
    pub alone: Option<BriefLook>,
    /// The violation that the random driver found by itself; none if the fault stayed hidden.
    pub by_random: Option<TortureCatch>,
    /// Whether no configuration and no random step of this extent is different with the fault.
    pub changes_nothing: bool,
}

impl FaultSearch {
    /// Whether a driver found the fault that had to: the exhaustive driver, or either for [`Extent::Quick`].
    pub fn is_caught(&self) -> bool {
        self.caught.is_some() || (self.alone.is_none() && self.by_random.is_some())
    }

    /// The result in words.
    pub(crate) fn words(&self) -> String {
        match (&self.caught, &self.by_random) {
            (Some(catch), _) => {
                let (kind, name) = catch.by.words();
                format!("caught by {kind} {name}")
            }
            (None, Some(_)) => "caught by random steps".to_owned(),
            (None, None) if self.changes_nothing => "changes nothing here".to_owned(),
            (None, None) => "not caught".to_owned(),
        }
    }
}

/// The searches for all faults of a protocol.
pub(crate) struct FaultHunt<'a> {
    protocol: &'static dyn Protocol,
    extent: Extent,
    /// The configurations, explored without a fault.
    plain: Vec<(CheckConfig, &'a Checked)>,
    /// The random steps without a fault; none if they show a violation.
    random: Option<TortureReport>,
}

impl<'a> FaultHunt<'a> {
    /// A search that has not begun. `with_random` says whether the random driver takes part.
    pub fn new(
        protocol: &'static dyn Protocol,
        extent: Extent,
        plain: Vec<(CheckConfig, &'a Checked)>,
        with_random: bool,
    ) -> FaultHunt<'a> {
        let random = with_random.then(|| torture(protocol, None, &settings(extent)));
        FaultHunt { protocol, extent, plain, random }
    }

    /// Looks for a fault.
    pub fn search(&self, index: u8, spec: FaultSpec) -> FaultSearch {
        let random = self.random.as_ref().map(|_| torture(self.protocol, Some(index), &settings(self.extent)));
        let by_random = random.as_ref().and_then(|report| report.catch(spec));
        let is_full = self.extent == Extent::Full;
        let caught = || caught(self.protocol, index);
        let changes_nothing = || self.changes_nothing(index, random.as_ref());
        // The full search tries everything first. The quick one is content with the first driver that finds the fault,
        // but for one fault, whose shortest chart is drawn.
        let (caught, changes_nothing) = match is_full {
            true => caught().map_or_else(|| (None, changes_nothing()), |catch| (Some(catch), false)),
            false if by_random.is_some() && index > 0 => (None, false),
            false if changes_nothing() => (None, true),
            false => (caught(), false),
        };
        let alone = is_full.then(|| look_briefly(self.protocol, index));
        FaultSearch { spec, caught, alone, by_random, changes_nothing }
    }

    /// Whether all random steps and configurations are as without the fault.
    fn changes_nothing(&self, index: u8, random: Option<&TortureReport>) -> bool {
        let (Some(plain), Some(random)) = (&self.random, random) else { return false };
        let run = |report: &TortureReport| (report.steps, report.refusals, report.operations, report.passed());
        let size = |report: &CheckReport| (report.states, report.transitions, report.depth, report.executions);
        let is_same = |(config, plain): &(CheckConfig, &Checked)| {
            let report = check(self.protocol, Some(index), config);
            report.passed() && size(&report) == size(&plain.report)
        };
        run(plain) == run(random) && self.plain.iter().all(is_same)
    }
}

fn settings(extent: Extent) -> Settings {
    Settings { steps: extent.steps_per_fault(), shrinks: false, ..Settings::default() }
}
