//! The command processor: work-groups placed on compute units as far as their resources go, contiguous blocks of them on each module (HMG
//! paper, section VI).

use std::cell::RefCell;
use std::rc::Rc;

use chorus_system::Core;

use super::launch::{Launch, Phase};
use super::{Machine, SimError};
use crate::compute_unit::{ComputeUnit, Group, WaveSlot};
use crate::frontend::{Kernel, WaveId, WaveTask};
use crate::stats::Counter;

impl<const W: usize> Machine<'_, W> {
    /// Refuses kernels whose work-groups fit no compute unit.
    pub(super) fn check_fits(&self, kernel: &Kernel) -> Result<(), SimError> {
        let core = &self.config.core;
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
        Ok(())
    }

    /// Places the work-groups of a stream's kernel on all its modules.
    pub(super) fn dispatch(&mut self, stream: usize) {
        for module in self.launches[stream].modules.clone() {
            self.dispatch_module(stream, module);
        }
    }

    /// Places the work-groups of a module in order, one per compute unit in turn, until none fits.
    fn dispatch_module(&mut self, stream: usize, module: u16) {
        let units = self.config.core.count as usize;
        let mut refused = 0;
        while refused < units {
            let launch = &mut self.launches[stream];
            let block = launch.block(module);
            if block.next_group == block.end_group {
                return;
            }
            let unit = usize::from(module) * units + block.next_unit;
            block.next_unit = (block.next_unit + 1) % units;
            if fits(&self.units[unit], &self.config.core, &launch.kernel) {
                self.start_group(stream, module, unit as u16);
                refused = 0;
            } else {
                refused += 1;
            }
        }
    }

    fn start_group(&mut self, stream: usize, module: u16, unit: u16) {
        let launch = &mut self.launches[stream];
        let kernel = Rc::clone(&launch.kernel);
        let block = launch.block(module);
        let work_group = block.next_group;
        block.next_group += 1;
        let (gpu, gpus) = (u32::from(self.topology.gpu_of(module)), u32::from(self.topology.gpus));
        let lds = Rc::new(RefCell::new(vec![0; kernel.lds_bytes as usize / 4]));
        let cu = &mut self.units[usize::from(unit)];
        cu.hold(&kernel);
        let group = cu.groups.insert(Group { running: kernel.waves_per_group, at_barrier: 0 });
        let mut slot = 0;
        for wave in 0..kernel.waves_per_group {
            let cu = &mut self.units[usize::from(unit)];
            while cu.waves[slot].is_some() {
                slot += 1;
            }
            let (waves_per_group, work_groups) = (kernel.waves_per_group, kernel.work_groups);
            let id = WaveId { work_group, wave, waves_per_group, work_groups, gpu, gpus };
            cu.waves[slot] = Some(WaveSlot {
                task: WaveTask::start(&kernel, id, Rc::clone(&lds)),
                id,
                stream: stream as u8,
                group,
                loads_in_flight: 0,
                ended: false,
                idle: false,
                at_barrier: false,
                last_operation: "start",
                last_line: None,
            });
            cu.slots.set_age(slot, self.waves_started);
            self.waves_started += 1;
            self.advance_wave(unit, slot);
        }
    }

    /// A wavefront has passed its final release.
    pub(super) fn retire_wave(&mut self, unit: u16, wave: usize) {
        self.progress = self.wheel.now();
        self.stats.add(Counter::WaveFronts, 1);
        let cu = &mut self.units[usize::from(unit)];
        let Some(retired) = cu.waves[wave].take() else { return };
        let group = cu.groups.get_mut(retired.group);
        group.running -= 1;
        if group.running > 0 {
            self.release_barrier(unit, retired.group);
            return;
        }
        // What a work-group holds is free for another when all of it has finished.
        cu.groups.remove(retired.group);
        let stream = usize::from(retired.stream);
        let launch = &mut self.launches[stream];
        cu.free(&launch.kernel);
        launch.finished_groups += 1;
        self.stats.add(Counter::WorkGroups, 1);
        self.count_finished(stream);
        self.use_room(stream, self.module_of_unit(unit));
    }

    /// Lets work-groups of a module use what one of `stream` has given up: of the same kernel first, then of others.
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

/// Whether a compute unit has room for a work-group.
fn fits(unit: &ComputeUnit, core: &Core, kernel: &Kernel) -> bool {
    unit.resident < core.work_groups
        && unit.running + kernel.waves_per_group <= core.wavefronts
        && unit.registers + kernel.registers_per_group() <= core.registers
        && unit.lds_bytes + kernel.lds_bytes <= core.lds_bytes
}
