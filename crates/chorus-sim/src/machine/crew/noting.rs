//! Progress that a machine shows while it runs, and everything that it notes beside counters.

use super::{Machine, Task, lock};
use crate::distribution::{Distributions, Noting};
use crate::machine::SimError;
use crate::machine::launch::Phase;
use crate::series::{INTERVALS_MAX, Sample};
use crate::sharing_profile::{SharingProfile, SharingReport};
use crate::watch::Progress;

impl<const W: usize> Machine<'_, W> {
    /// Takes the sample of a time series that is due.
    pub(super) fn sample(&mut self) -> Result<(), SimError> {
        if self.sampler.samples.len() == INTERVALS_MAX {
            let cycles = self.plan().clocks.core.count(self.reached);
            return Err(SimError::Unsupported(format!(
                "the time series has {INTERVALS_MAX} intervals after {cycles} cycles; no run has more\n\
                 hint: a larger --every makes them longer"
            )));
        }
        // Counting hands the orders of the host to components, so they are none of its own any more.
        self.next = self.next.min(self.next_order());
        let counts = self.count();
        self.sampler.add(counts);
        Ok(())
    }

    /// Shows how far the run has come.
    pub(super) fn show(&self, progress: &Progress) {
        let running = || self.host.launches.iter().filter(|launch| launch.phase != Phase::Over);
        let ended = running().map(|launch| u64::from(launch.finished)).sum();
        let all = running().map(|launch| u64::from(launch.job.kernel.work_groups + launch.job.kernel.cpu_threads()));
        progress.come_to(self.plan().clocks.core.count(self.reached), self.accesses, (ended, all.sum()));
    }

    /// The counters at the end of every interval of the time series. The last one ends with the run.
    pub(crate) fn samples(&mut self) -> Vec<Sample> {
        let (stats, tallies) = self.count();
        let mut samples = std::mem::take(&mut self.sampler.samples);
        // No interval is empty.
        samples.retain(|sample| sample.time < self.reached);
        samples.push(Sample { time: self.reached, stats, tallies });
        samples
    }

    /// The notes about accesses: their latencies, and the sharing of lines.
    pub(crate) fn notes(&mut self) -> (Option<Distributions>, Option<SharingReport>) {
        self.perform(Task::Notes);
        let (mut latencies, mut profile): (Option<Box<Noting>>, Option<Box<SharingProfile>>) = (None, None);
        for answer in &self.crew.shared.answers {
            let mut answer = lock(answer);
            if let Some(more) = answer.latencies.take() {
                latencies.get_or_insert_default().add(&more);
            }
            if let Some(more) = answer.profile.take() {
                profile.get_or_insert_default().add(*more);
            }
        }
        let (plan, buffers) = (self.plan(), self.crew.shared.memory.buffers());
        let place = |unit: u16| {
            let place = plan.place(plan.topology.l1(unit));
            (place.module, place.gpu)
        };
        let buffer = |line: u64| buffers.partition_point(|words| words.end <= line as usize * W);
        let report = profile.map(|profile| profile.report(place, buffer));
        (latencies.map(|latencies| latencies.into_distributions(&self.host.names)), report)
    }
}
