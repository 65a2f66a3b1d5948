//! The programs of all streams on a machine: their kernels are launched one after the other, and checkpoints are kept.

use chorus_kernel::{HostMemory, Kernel};
use chorus_protocol::registry::Protocol;
use chorus_protocol::save::{self, Damaged, Reader, Save};
use chorus_system::SystemConfig;

use crate::machine::{Machine, Pause, SimError};
use crate::simulate::{KernelRun, Stream, metrics};
use crate::stats::Stats;
use crate::watch::Watch;

/// The counters of a machine, and the tallies of its controllers under the keys of metrics.
type Counts = (Stats, Vec<(String, f64)>);

/// Counters at the launch of a kernel.
#[derive(Save)]
struct Before {
    name: String,
    counts: Counts,
    cycles: u64,
    nanoseconds: f64,
}

/// How far the programs have come.
#[derive(Default, Save)]
struct Course {
    /// Every time that a program was asked for a kernel: the stream, and the words that the program read. They are
    /// noted only where checkpoints are kept.
    asked: Vec<(usize, Vec<u32>)>,
    /// The kernel that each stream runs.
    running: Vec<Option<Before>>,
    /// The results of kernels that have ended.
    kernels: Vec<KernelRun>,
}

/// The programs of all streams, and the machine that runs them.
struct Streams<'r, 'p, 'm, const W: usize> {
    machine: &'r mut Machine<'m, W>,
    config: &'r SystemConfig,
    protocol: &'static dyn Protocol,
    streams: &'r mut [Stream<'p>],
    memory: &'r HostMemory,
    watch: Watch<'r>,
    course: Course,
}

/// Runs the programs of all streams to their ends. Returns the results of their kernels, in the order in which they
/// ended.
pub(crate) fn run_streams<const W: usize>(
    machine: &mut Machine<'_, W>,
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    streams: &mut [Stream<'_>],
    memory: &HostMemory,
    watch: Watch<'_>,
) -> Result<Vec<KernelRun>, SimError> {
    let expected: Option<usize> = streams.iter().map(|stream| stream.program.kernels()).sum();
    if let Some((progress, expected)) = watch.progress.zip(expected) {
        progress.expect_kernels(expected as u64);
    }
    let course = Course::default();
    let mut streams = Streams { machine, config, protocol, streams, memory, watch, course };
    match watch.resume {
        Some(state) => streams.restore(&mut Reader::new(state))?,
        None => streams.begin()?,
    }
    streams.run()
}

impl<const W: usize> Streams<'_, '_, '_, W> {
    /// Launches the first kernels.
    fn begin(&mut self) -> Result<(), SimError> {
        for number in 0..self.streams.len() {
            let counts = self.machine.count();
            let before = self.launch_next(number, counts)?;
            self.course.running.push(before);
        }
        Ok(())
    }

    fn run(mut self) -> Result<Vec<KernelRun>, SimError> {
        while self.course.running.iter().any(Option::is_some) {
            match self.machine.run_until_over(self.watch.checkpoints)? {
                Pause::Over(number) => self.end_kernel(number)?,
                Pause::Checkpoint => self.keep(),
            }
        }
        self.machine.finish()?;
        Ok(self.course.kernels)
    }

    /// The kernel of a stream has ended, and its next one begins.
    fn end_kernel(&mut self, number: usize) -> Result<(), SimError> {
        let counts = self.machine.count();
        if let Some(before) = self.course.running[number].take() {
            let run = self.kernel_run(before, &counts);
            self.course.kernels.push(run);
            self.watch.progress.inspect(|progress| progress.end_kernel());
        }
        self.course.running[number] = self.launch_next(number, counts)?;
        Ok(())
    }

    /// Launches the next kernel of a stream, if it has one.
    fn launch_next(&mut self, number: usize, counts: Counts) -> Result<Option<Before>, SimError> {
        let Some(kernel) = self.next_kernel(number) else { return Ok(None) };
        let (cycles, nanoseconds) = (self.machine.cycles(), self.machine.nanoseconds());
        let before = Before { name: kernel.name.clone(), counts, cycles, nanoseconds };
        self.machine.launch(number, kernel, self.streams[number].modules.clone())?;
        Ok(Some(before))
    }

    fn next_kernel(&mut self, number: usize) -> Option<Kernel> {
        let (program, memory) = (&mut *self.streams[number].program, self.memory);
        if self.watch.checkpoints.is_none() {
            return program.next_kernel(memory);
        }
        let (kernel, words) = memory.next_kernel_noted(program);
        self.course.asked.push((number, words));
        kernel
    }

    /// The results of a kernel, from the counters `before` it to those at its end.
    fn kernel_run(&self, before: Before, (stats, tallies): &Counts) -> KernelRun {
        let stats = stats.since(&before.counts.0);
        let elapsed_ns = self.machine.nanoseconds() - before.nanoseconds;
        let mut metrics = metrics(&stats, elapsed_ns, self.config, self.protocol, &self.machine.clocks());
        let tallies = tallies.iter().zip(before.counts.1);
        metrics.extend(tallies.map(|((key, now), (_, then))| (key.clone(), now - then)));
        KernelRun { name: before.name, cycles: self.machine.cycles() - before.cycles, metrics }
    }

    /// Writes down the programs and the machine, and hands that over.
    fn keep(&mut self) {
        let Some(checkpoints) = self.watch.checkpoints else { return };
        let mut state = Vec::new();
        self.course.save(&mut state);
        self.machine.keep_all(&mut state);
        checkpoints.keep(&state);
    }

    /// Goes on from a checkpoint. The programs decide on their kernels once more, by the words that they read then.
    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), SimError> {
        self.course = Course::load(from)?;
        if self.course.running.len() != self.streams.len() {
            return Err(Damaged.into());
        }
        let mut last: Vec<Option<Kernel>> = self.streams.iter().map(|_| None).collect();
        for (number, words) in &self.course.asked {
            let stream = self.streams.get_mut(*number).ok_or(Damaged)?;
            if let Some(kernel) = self.memory.next_kernel_again(stream.program, words.clone()) {
                last[*number] = Some(kernel);
            }
        }
        self.course.kernels.iter().for_each(|_| {
            self.watch.progress.inspect(|progress| progress.end_kernel());
        });
        self.machine.restore_all(from, last.into_iter().flatten().collect())?;
        Ok(from.clone().end()?)
    }
}
