//! The command processor: work-groups placed on compute units as far as their resources go, contiguous blocks of them on each module (HMG
//! paper, section VI).

use std::cell::RefCell;
use std::rc::Rc;

use super::{Machine, SimError};
use crate::compute_unit::{ComputeUnit, Group, WaveSlot};
use crate::frontend::{Kernel, LANES, WaveId, WaveTask};
use crate::stats::Counter;

impl<const W: usize> Machine<'_, W> {
    /// Refuses kernels whose work-groups fit no compute unit.
    pub(super) fn check_fits(&self, kernel: &Kernel) -> Result<(), SimError> {
        let core = &self.config.core;
        let registers = kernel.waves_per_group * LANES as u32 * kernel.registers_per_item;
        let needs = [
            ("wavefronts", kernel.waves_per_group, core.wavefronts),
            ("registers", registers, core.registers),
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

    /// Places the work-groups of every module.
    pub(super) fn dispatch(&mut self, kernel: &Kernel) {
        for module in 0..self.launch.blocks.len() {
            self.dispatch_module(module, kernel);
        }
    }

    /// Places the work-groups of a module in order, one per compute unit in turn, until none fits.
    fn dispatch_module(&mut self, module: usize, kernel: &Kernel) {
        let units = self.config.core.count as usize;
        let mut refused = 0;
        while refused < units {
            let block = &mut self.launch.blocks[module];
            if block.next_group == block.end_group {
                return;
            }
            let unit = module * units + block.next_unit;
            block.next_unit = (block.next_unit + 1) % units;
            if self.fits(&self.units[unit], kernel) {
                self.start_group(module, unit as u16, kernel);
                refused = 0;
            } else {
                refused += 1;
            }
        }
    }

    fn fits(&self, unit: &ComputeUnit, kernel: &Kernel) -> bool {
        let core = &self.config.core;
        let waves = unit.running + kernel.waves_per_group;
        unit.resident < core.work_groups
            && waves <= core.wavefronts
            && waves * LANES as u32 * kernel.registers_per_item <= core.registers
            && (unit.resident + 1) * kernel.lds_bytes <= core.lds_bytes
    }

    fn start_group(&mut self, module: usize, unit: u16, kernel: &Kernel) {
        let block = &mut self.launch.blocks[module];
        let work_group = block.next_group;
        block.next_group += 1;
        let (gpu, gpus) = (u32::from(self.topology.gpu_of(module as u16)), u32::from(self.topology.gpus));
        let lds = Rc::new(RefCell::new(vec![0; kernel.lds_bytes as usize / 4]));
        let cu = &mut self.units[usize::from(unit)];
        cu.resident += 1;
        let group = cu.groups.insert(Group { running: kernel.waves_per_group, at_barrier: 0 });
        let mut slot = 0;
        for wave in 0..kernel.waves_per_group {
            let cu = &mut self.units[usize::from(unit)];
            while cu.waves[slot].is_some() {
                slot += 1;
            }
            cu.running += 1;
            let (waves_per_group, work_groups) = (kernel.waves_per_group, kernel.work_groups);
            let id = WaveId { work_group, wave, waves_per_group, work_groups, gpu, gpus };
            cu.waves[slot] = Some(WaveSlot {
                task: WaveTask::start(kernel, id, Rc::clone(&lds)),
                id,
                group,
                loads_in_flight: 0,
                ended: false,
                idle: false,
                at_barrier: false,
                last_operation: "start",
                last_line: None,
            });
            cu.slots.set_age(slot, self.launch.waves_started);
            self.launch.waves_started += 1;
            self.advance_wave(unit, slot);
        }
    }

    /// A wavefront has passed its final release.
    pub(super) fn retire_wave(&mut self, unit: u16, wave: usize, kernel: &Kernel) {
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
        cu.resident -= 1;
        cu.running -= kernel.waves_per_group;
        self.stats.add(Counter::WorkGroups, 1);
        self.launch.finished_groups += 1;
        self.count_finished(kernel);
        self.dispatch_module(usize::from(self.module_of_unit(unit)), kernel);
    }
}
