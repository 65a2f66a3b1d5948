//! Reports of programs that hang: which wavefronts are stuck, what they did last and which lines they wait for.

use std::fmt;

use chorus_protocol::address::Topology;

use super::translation::Client;
use super::unit::Unit;
use crate::coalescer::AccessKind;

/// Most wavefronts that a report lists.
pub(super) const LISTED: usize = 8;

/// The kind of a hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckCause {
    /// Nothing can happen any more.
    Deadlock,
    /// Wavefronts run, but nothing changes.
    Livelock,
    /// The run is longer than allowed.
    TooLong,
}

/// One wavefront that has not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckWave {
    /// The compute unit or CPU core that runs it.
    pub unit: usize,
    /// Whether that unit is a CPU core.
    pub on_cpu: bool,
    /// The wavefront slot on that unit.
    pub slot: usize,
    /// Whether it is a CPU thread. The number of its work-group is then the number of the thread.
    pub cpu: bool,
    /// The work-group of the wavefront.
    pub work_group: u32,
    /// Wavefront of the work-group.
    pub wave: u32,
    /// The place in the text of its program, if it has one.
    pub place: Option<String>,
    /// The operation issued last.
    pub last_operation: &'static str,
    /// The line of the memory operation issued last.
    pub last_line: Option<u64>,
    /// The lines of operations that have not returned.
    pub waits_for: Vec<u64>,
}

/// A deadlocked or livelocked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckReport {
    /// The kind of hang.
    pub cause: StuckCause,
    /// The names of the kernels that run.
    pub kernel: String,
    /// When it was given up, in core cycles.
    pub cycle: u64,
    /// Core cycles without progress.
    pub idle_cycles: u64,
    /// How many wavefronts have not finished.
    pub unfinished: usize,
    /// How many work-groups have not found room on a compute unit.
    pub not_started: u32,
    /// How many private caches have not answered the beginning or the end of the kernel.
    pub unanswered: u32,
    /// The first of the unfinished wavefronts.
    pub waves: Vec<StuckWave>,
    /// Bytes of a line, to print addresses.
    pub line_bytes: u64,
}

impl fmt::Display for StuckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StuckReport { kernel, cycle, idle_cycles, unfinished, not_started, waves, .. } = self;
        match self.cause {
            StuckCause::Deadlock => {
                write!(f, "kernel {kernel} is deadlocked at cycle {cycle}: nothing can happen any more")?
            }
            StuckCause::Livelock => write!(
                f,
                "kernel {kernel} is livelocked at cycle {cycle}: no store, no value-changing atomic, no read of memory and \
                 no finished wavefront for {idle_cycles} cycles"
            )?,
            StuckCause::TooLong => {
                write!(f, "kernel {kernel} is not finished at cycle {cycle}, the most that is allowed")?
            }
        }
        if *not_started > 0 {
            write!(f, "; {not_started} work-groups have not found room and may be what the others wait for")?;
        }
        if self.unanswered > 0 {
            write!(f, "; {} private caches have not answered the beginning or end of the kernel", self.unanswered)?;
        }
        write!(f, "; {unfinished} wavefronts are unfinished:")?;
        for wave in waves {
            match wave.cpu {
                true => write!(f, "\n  CPU thread {}", wave.work_group)?,
                false => write!(f, "\n  work-group {} wavefront {}", wave.work_group, wave.wave)?,
            }
            let StuckWave { unit, slot, last_operation, .. } = wave;
            let place = if wave.on_cpu { "CPU core" } else { "compute unit" };
            write!(f, " ({place} {unit}, slot {slot}): ")?;
            if let Some(place) = &wave.place {
                write!(f, "at {place}, ")?;
            }
            write!(f, "last operation {last_operation}")?;
            if let Some(line) = wave.last_line {
                write!(f, ", last line {:#x}", line * self.line_bytes)?;
            }
            if !wave.waits_for.is_empty() {
                let lines: Vec<_> =
                    wave.waits_for.iter().map(|line| format!("{:#x}", line * self.line_bytes)).collect();
                write!(f, ", waits for {}", lines.join(", "))?;
            }
        }
        if *unfinished > waves.len() {
            write!(f, "\n  and {} more", unfinished - waves.len())?;
        }
        write!(f, "\nhint: watchdog.idle_cycles and watchdog.cycles set how long a run may go on")
    }
}

/// The wavefronts of these units that have not finished, at most `most` of them, and how many there are.
pub(super) fn stuck_waves<const W: usize>(
    units: &[Unit<W>],
    topology: Topology,
    most: usize,
) -> (usize, Vec<StuckWave>) {
    let mut unfinished = 0;
    let mut waves = Vec::new();
    for unit in units {
        for (slot, running) in unit.waves.iter().enumerate() {
            let Some(running) = running else { continue };
            unfinished += 1;
            if waves.len() == most {
                continue;
            }
            let outstanding = unit.accesses.outstanding(slot as u16);
            let lines = outstanding.filter(|access| !matches!(access.kind, AccessKind::Fence(..) | AccessKind::End));
            let mut waits_for: Vec<u64> = lines.map(|access| access.line).collect();
            waits_for.sort_unstable();
            waits_for.dedup();
            let index = topology.role(unit.agent()).1;
            waves.push(StuckWave {
                unit: usize::from(if unit.is_cpu { index } else { index - topology.cpus }),
                on_cpu: unit.is_cpu,
                slot,
                cpu: running.cpu,
                work_group: running.id.work_group,
                wave: running.id.wave,
                place: running.task.place(),
                last_operation: running.last_operation.name(),
                last_line: running.last_line,
                waits_for,
            });
        }
    }
    (unfinished, waves)
}
