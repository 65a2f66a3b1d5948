//! Work-group dispatch: work-groups are placed on compute units as far as their resources go, contiguous blocks of them
//! on each module (HMG paper, section VI).

use std::sync::Arc;

use chorus_kernel::Kernel;
use chorus_protocol::address::AgentId;
use chorus_system::Core;

use super::super::SimError;
use super::super::launch::{Launch, Phase};
use super::super::unit::UnitOrder;
use super::{Host, Order};
use crate::compute_unit::Needs;

impl Host<'_> {
    /// Refuses kernels whose work-groups fit no compute unit.
    pub(super) fn check_fits(&self, kernel: &Kernel) -> Result<(), SimError> {
        let config = self.plan.config;
        let core = &config.core;
        let needs = [
            ("wavefronts", kernel.waves_per_group, core.wavefronts),
            ("registers", kernel.registers_per_group(), core.registers),
            ("bytes of local data share", kernel.lds_bytes, core.lds_bytes),
        ];
        for (what, needed, available) in needs {
            if needed > available {
                let name = &kernel.name;
                let text =
                    format!("a work-group of kernel {name} needs {needed} {what}; a compute unit has {available}");
                return Err(SimError::Unsupported(text));
            }
        }
        let (cpus, threads) = (config.cpus(), kernel.cpu_threads());
        let (runners, capacity) = match cpus {
            0 => ("compute units", cpu_threads_of_unit(core) * core.count * config.hierarchy.modules()),
            cores => ("CPU cores", cores * core.wavefronts),
        };
        if threads > capacity {
            let (name, system) = (&kernel.name, &config.name);
            return Err(SimError::Unsupported(format!(
                "kernel {name} has {threads} CPU threads; the {runners} of the system {system} have room for {capacity}"
            )));
        }
        Ok(())
    }

    /// Places the work-groups of a stream's kernel on all its modules.
    pub(super) fn dispatch(&mut self, stream: usize) {
        for module in self.launches[stream].modules.clone() {
            self.dispatch_module(stream, module);
        }
    }

    /// Places the CPU threads and work-groups of a module in order, one per compute unit in turn, until one does not
    /// fit. CPU threads come first: work-groups that wait for one must not prevent it from starting.
    fn dispatch_module(&mut self, stream: usize, module: u16) {
        let job = Arc::clone(&self.launches[stream].job);
        let number = stream as u8;
        loop {
            let block = *self.launches[stream].block(module);
            let (unit, needs, order) = if block.next_thread < block.end_thread {
                let Some(unit) = self.find_thread_room(stream, module) else { return };
                self.launches[stream].block(module).next_thread += 1;
                let (job, thread) = (Arc::clone(&job), block.next_thread);
                (unit, Needs::CPU_THREAD, UnitOrder::Thread { stream: number, job, thread })
            } else if block.next_group < block.end_group {
                let needs = Needs::of_group(&job.kernel);
                let Some(unit) = self.find_room(stream, module, needs) else { return };
                self.launches[stream].block(module).next_group += 1;
                let (job, work_group) = (Arc::clone(&job), block.next_group);
                (unit, needs, UnitOrder::Group { stream: number, job, work_group })
            } else {
                return;
            };
            self.occupancies[usize::from(unit)].hold(needs);
            self.order(self.now, self.plan.topology.l1(unit), Order::Unit(order));
        }
    }

    /// The unit that runs the next CPU thread of a module, if there is room. Thread `i` runs on CPU core `i` modulo
    /// their number, or in turn on compute units where there are no CPU cores.
    fn find_thread_room(&mut self, stream: usize, module: u16) -> Option<u16> {
        let needs = Needs::CPU_THREAD;
        if self.plan.topology.cpus == 0 {
            return self.find_room(stream, module, needs);
        }
        let thread = self.launches[stream].block(module).next_thread;
        let core = thread % u32::from(self.plan.topology.cpus);
        self.fits(core as usize, needs).then_some(core as u16)
    }

    /// The next compute unit of a module, in turn, that has room.
    fn find_room(&mut self, stream: usize, module: u16, needs: Needs) -> Option<u16> {
        let units = self.plan.config.core.count as usize;
        for _ in 0..units {
            let block = self.launches[stream].block(module);
            let unit = usize::from(self.plan.topology.cpus) + usize::from(module) * units + block.next_unit;
            block.next_unit = (block.next_unit + 1) % units;
            if self.fits(unit, needs) {
                return Some(unit as u16);
            }
        }
        None
    }

    fn fits(&self, unit: usize, needs: Needs) -> bool {
        let is_cpu = self.plan.topology.is_cpu(unit as u16);
        self.occupancies[unit].fits(&self.plan.config.core, is_cpu, needs)
    }

    /// A work-group or a CPU thread has finished. Its resources are free for another.
    pub(super) fn group_finished(&mut self, stream: u8, is_cpu: bool, agent: AgentId) {
        let stream = usize::from(stream);
        let launch = &mut self.launches[stream];
        launch.finished += 1;
        let needs = if is_cpu { Needs::CPU_THREAD } else { Needs::of_group(&launch.job.kernel) };
        self.occupancies[usize::from(agent.0)].free(needs);
        self.end_if_finished(stream);
        self.use_room(stream, self.plan.place(agent).module);
    }

    /// Lets work-groups of a module use the resources that one of `stream` has freed: of the same kernel first, then of
    /// others.
    fn use_room(&mut self, stream: usize, module: u16) {
        self.dispatch_module(stream, module);
        for other in 0..self.launches.len() {
            let Launch { phase, modules, .. } = &self.launches[other];
            if other != stream && *phase == Phase::Running && modules.contains(&module) {
                self.dispatch_module(other, module);
            }
        }
    }
}

/// CPU threads that a compute unit has room for.
fn cpu_threads_of_unit(core: &Core) -> u32 {
    let Needs { waves, registers, .. } = Needs::CPU_THREAD;
    core.work_groups.min(core.wavefronts / waves).min(core.registers / registers)
}
