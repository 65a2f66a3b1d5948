//! Work-groups and CPU threads that start and end on a compute unit.

use std::sync::Arc;

use chorus_kernel::{LocalData, WaveId, WaveTask};

use super::super::context::{Context, Env, News};
use super::Unit;
use crate::compute_unit::{Group, Job, WaveSlot};
use crate::stats::Counter;

impl<const W: usize> Unit<W> {
    /// Starts the wavefronts of a work-group. The host has seen to it that there is room.
    pub(super) fn start_group(
        &mut self,
        stream: u8,
        job: &Arc<Job>,
        work_group: u32,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) {
        let kernel = &job.kernel;
        let (gpu, gpus) = (u32::from(self.gpu), u32::from(env.plan.topology.gpus));
        let lds = LocalData::of(kernel);
        let group = self.groups.insert(Group { running: kernel.waves_per_group, at_barrier: 0 });
        let (waves_per_group, work_groups) = (kernel.waves_per_group, kernel.work_groups);
        for wave in 0..kernel.waves_per_group {
            let id = WaveId { work_group, wave, waves_per_group, work_groups, gpu, gpus };
            let task = WaveTask::start(kernel, id, lds.clone(), &env.plan.waves, &mut self.spare_states);
            self.start_wave(WaveSlot::new(task, id, lds.clone(), Arc::clone(job), false, stream, group), ctx);
        }
    }

    /// Starts a CPU thread.
    pub(super) fn start_thread(
        &mut self,
        stream: u8,
        job: &Arc<Job>,
        thread: u32,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) {
        let group = self.groups.insert(Group { running: 1, at_barrier: 0 });
        let (task, id) = WaveTask::start_cpu(&job.kernel, thread, &env.plan.waves, &mut self.spare_states);
        self.start_wave(WaveSlot::new(task, id, LocalData::default(), Arc::clone(job), true, stream, group), ctx);
    }

    /// Starts a wavefront in a free slot. There is one.
    fn start_wave(&mut self, wave: WaveSlot, ctx: &mut Context<W>) {
        let Some(slot) = self.waves.iter().position(Option::is_none) else { return };
        if let Some(recorder) = &ctx.recorder {
            recorder.wave_begins(self.agent, slot as u16, &wave.job.kernel.name, self.now);
        }
        self.waves[slot] = Some(wave);
        self.slots.start(slot);
        self.advance_wave(slot, ctx);
    }

    /// A wavefront has passed its final release.
    pub(super) fn retire_wave(&mut self, wave: usize, ctx: &mut Context<W>, env: &Env<'_>) {
        ctx.progress = ctx.progress.max(self.now);
        ctx.stats.add(Counter::WaveFronts, 1);
        let Some(retired) = self.waves[wave].take() else { return };
        if let Some(recorder) = &ctx.recorder {
            recorder.wave_ends(self.agent, wave as u16, self.now);
        }
        self.spare_states.give_back(retired.task);
        let group = self.groups.get_mut(retired.group);
        group.running -= 1;
        if group.running > 0 {
            self.release_barrier(retired.group, ctx, env);
            return;
        }
        self.groups.remove(retired.group);
        if !retired.cpu {
            ctx.stats.add(Counter::WorkGroups, 1);
        }
        let news = News::Finished { stream: retired.stream, is_cpu: retired.cpu };
        ctx.reports.push((self.now, self.agent, news));
    }
}
