//! The start of a kernel's work-groups, as the host sees it: whether they fit, who dispatches them, and when.

use std::sync::Arc;

use chorus_kernel::Kernel;
use chorus_protocol::address::AgentId;
use chorus_system::Core;

use super::super::SimError;
use super::super::dispatcher::ModuleShare;
use super::{Host, Order};
use crate::clock::Ticks;
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

    /// Gives the work-groups of a stream's kernel to the dispatchers of its modules. They start at `starts` at the
    /// earliest.
    pub(super) fn dispatch(&mut self, stream: usize, starts: Ticks) {
        // Work-groups reach their units one crossing after they are dispatched.
        let starts = starts.saturating_sub(self.plan.crossing);
        let now = self.plan.clocks.core.edge(self.now);
        let launch = &mut self.launches[stream];
        let blocks = std::mem::take(&mut launch.blocks);
        for (module, block) in launch.modules.clone().zip(blocks) {
            let share = ModuleShare { stream: stream as u8, module, job: Arc::clone(&launch.job), block };
            match &mut self.dispatcher {
                Some(dispatcher) => dispatcher.start(now.max(starts), share),
                None => {
                    let units = self.plan.topology.l1s / self.plan.topology.modules();
                    let time = (now + self.plan.span).max(starts);
                    self.orders.push((time, self.plan.topology.l1(module * units), Order::Start(share)));
                }
            }
        }
    }

    /// A work-group or a CPU thread has finished.
    pub(super) fn group_finished(&mut self, stream: u8, is_cpu: bool, agent: AgentId) {
        if let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.finished(self.now, agent, stream, is_cpu);
        }
        self.launches[usize::from(stream)].finished += 1;
        self.end_if_finished(usize::from(stream));
    }
}

/// CPU threads that a compute unit has room for.
fn cpu_threads_of_unit(core: &Core) -> u32 {
    let Needs { waves, registers, .. } = Needs::CPU_THREAD;
    core.work_groups.min(core.wavefronts / waves).min(core.registers / registers)
}
