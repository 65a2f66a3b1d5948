//! The wavefronts and the orders of a unit in a checkpoint.

use std::sync::Arc;

use chorus_kernel::{LocalData, SpareStates, WaveId, WaveTask};
use chorus_protocol::save::{self, Damaged, Reader, Restore, Save};

use super::{Unit, UnitOrder};
use crate::clock::Ticks;
use crate::compute_unit::{Job, WaveSlot};
use crate::machine::plan::Plan;

/// The local data shares of the work-groups that have been come to, by the number of their work-group on the unit.
type Shares = Vec<(u32, LocalData)>;

impl<const W: usize> Unit<W> {
    /// Whether the state of every wavefront can be written down.
    pub(in crate::machine) fn can_be_kept(&self) -> bool {
        self.waves.iter().flatten().all(|wave| wave.task.can_be_kept())
    }

    /// Appends the state, if every wavefront can be kept.
    pub(in crate::machine) fn keep_all(&self, to: &mut Vec<u8>) {
        self.keep(to);
        let mut groups: Vec<u32> = Vec::new();
        for wave in &self.waves {
            wave.is_some().save(to);
            let Some(wave) = wave else { continue };
            (wave.id, wave.cpu, wave.stream, wave.group).save(to);
            if !groups.contains(&wave.group) {
                groups.push(wave.group);
                wave.lds.keep(to);
            }
            wave.keep(to);
            wave.task.keep(to);
        }
        self.orders.len().save(to);
        self.orders.iter().for_each(|(time, order)| {
            time.save(to);
            order.keep(to);
        });
    }

    /// Takes over the state of the same unit. `jobs` are the kernels of all streams.
    pub(in crate::machine) fn restore_all(
        &mut self,
        from: &mut Reader<'_>,
        jobs: &[Arc<Job>],
        plan: &Plan<'_>,
    ) -> Result<(), Damaged> {
        self.restore(from)?;
        let mut shares = Shares::new();
        for place in 0..self.waves.len() {
            let is_used = bool::load(from)?;
            self.waves[place] = is_used.then(|| restored(from, jobs, &mut shares, plan)).transpose()?;
        }
        let order = |from: &mut Reader<'_>| Ok((Ticks::load(from)?, UnitOrder::of(from, jobs)?));
        self.orders = (0..usize::load(from)?).map(|_| order(from)).collect::<Result<_, Damaged>>()?;
        Ok(())
    }
}

/// A wavefront, which is started once more and takes over the state of the one that was kept.
fn restored(
    from: &mut Reader<'_>,
    jobs: &[Arc<Job>],
    shares: &mut Shares,
    plan: &Plan<'_>,
) -> Result<WaveSlot, Damaged> {
    let (id, cpu, stream, group) = <(WaveId, bool, u8, u32)>::load(from)?;
    let job = Arc::clone(jobs.get(usize::from(stream)).ok_or(Damaged)?);
    let known = shares.iter().find(|(of, _)| *of == group).map(|(_, lds)| lds.clone());
    let lds = match known {
        Some(lds) => lds,
        None => {
            let mut lds = if cpu { LocalData::default() } else { LocalData::of(&job.kernel) };
            lds.restore(from)?;
            shares.push((group, lds.clone()));
            lds
        }
    };
    let spare = &mut SpareStates::default();
    let task = match cpu {
        true => WaveTask::start_cpu(&job.kernel, id.work_group, &plan.waves, spare).0,
        false => WaveTask::start(&job.kernel, id, lds.clone(), &plan.waves, spare),
    };
    let mut wave = WaveSlot::new(task, id, lds, job, cpu, stream, group);
    wave.restore(from)?;
    wave.task.restore(from)?;
    Ok(wave)
}

/// An order without the kernel, which its stream tells.
#[derive(Save)]
enum Kept {
    Group(u8, u32),
    Thread(u8, u32),
    Boundary(u8, bool),
    Placed,
}

impl UnitOrder {
    fn keep(&self, to: &mut Vec<u8>) {
        let kept = match *self {
            UnitOrder::Group { stream, job: _, work_group } => Kept::Group(stream, work_group),
            UnitOrder::Thread { stream, job: _, thread } => Kept::Thread(stream, thread),
            UnitOrder::Boundary { stream, begins } => Kept::Boundary(stream, begins),
            UnitOrder::Placed => Kept::Placed,
        };
        kept.save(to);
    }

    fn of(from: &mut Reader<'_>, jobs: &[Arc<Job>]) -> Result<UnitOrder, Damaged> {
        let job = |stream: u8| jobs.get(usize::from(stream)).cloned().ok_or(Damaged);
        Ok(match Kept::load(from)? {
            Kept::Group(stream, work_group) => UnitOrder::Group { stream, job: job(stream)?, work_group },
            Kept::Thread(stream, thread) => UnitOrder::Thread { stream, job: job(stream)?, thread },
            Kept::Boundary(stream, begins) => UnitOrder::Boundary { stream, begins },
            Kept::Placed => UnitOrder::Placed,
        })
    }
}
