//! Work-group dispatch: work-groups are placed on compute units as far as their resources go, contiguous blocks of them
//! on each module (HMG paper, section VI).

use std::cell::RefCell;
use std::rc::Rc;

use chorus_system::Core;

use super::launch::{Launch, Phase};
use super::{SimError, Simulator};
use crate::compute_unit::{Needs, WaveSlot};
use crate::frontend::{Kernel, WaveId, WaveTask};
use crate::stats::Counter;

impl<const W: usize> Simulator<'_, W> {
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
        let (cpus, threads) = (self.config.cpus(), kernel.cpu_threads());
        let (runners, capacity) = match cpus {
            0 => ("compute units", cpu_threads_of_unit(core) * core.count * self.config.hierarchy.modules()),
            cores => ("CPU cores", cores * core.wavefronts),
        };
        if threads > capacity {
            let (name, system) = (&kernel.name, &self.config.name);
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
        loop {
            let Launch { kernel, .. } = &self.launches[stream];
            let kernel = Rc::clone(kernel);
            let block = *self.launches[stream].block(module);
            if block.next_thread < block.end_thread {
                let Some(unit) = self.find_thread_room(stream, module) else { return };
                self.launches[stream].block(module).next_thread += 1;
                self.start_thread(stream, &kernel, block.next_thread, unit);
            } else if block.next_group < block.end_group {
                let Some(unit) = self.find_room(stream, module, Needs::of_group(&kernel)) else { return };
                self.launches[stream].block(module).next_group += 1;
                self.start_group(stream, &kernel, block.next_group, unit);
            } else {
                return;
            }
        }
    }

    /// The unit that runs the next CPU thread of a module, if there is room. Thread `i` runs on CPU core `i` modulo
    /// their number, or in turn on compute units where there are no CPU cores.
    fn find_thread_room(&mut self, stream: usize, module: u16) -> Option<u16> {
        let needs = Needs::CPU_THREAD;
        if self.topology.cpus == 0 {
            return self.find_room(stream, module, needs);
        }
        let thread = self.launches[stream].block(module).next_thread;
        let core = thread % u32::from(self.topology.cpus);
        self.units[core as usize].fits(&self.config.core, needs).then_some(core as u16)
    }

    /// The next compute unit of a module, in turn, that has room.
    fn find_room(&mut self, stream: usize, module: u16, needs: Needs) -> Option<u16> {
        let units = self.config.core.count as usize;
        for _ in 0..units {
            let block = self.launches[stream].block(module);
            let unit = usize::from(self.topology.cpus) + usize::from(module) * units + block.next_unit;
            block.next_unit = (block.next_unit + 1) % units;
            if self.units[unit].fits(&self.config.core, needs) {
                return Some(unit as u16);
            }
        }
        None
    }

    fn start_group(&mut self, stream: usize, kernel: &Kernel, work_group: u32, unit: u16) {
        let module = self.module_of_unit(unit);
        let (gpu, gpus) = (u32::from(self.topology.gpu_of(module)), u32::from(self.topology.gpus));
        let lds = Rc::new(RefCell::new(vec![0; kernel.lds_bytes as usize / 4]));
        let group = self.units[usize::from(unit)].hold(Needs::of_group(kernel));
        let (waves_per_group, work_groups) = (kernel.waves_per_group, kernel.work_groups);
        for wave in 0..kernel.waves_per_group {
            let id = WaveId { work_group, wave, waves_per_group, work_groups, gpu, gpus };
            let spare = &mut self.units[usize::from(unit)].spare_states;
            let task = WaveTask::start(kernel, id, Rc::clone(&lds), self.config.core.atomic_order, spare);
            self.start_wave(unit, WaveSlot::new(task, id, false, stream as u8, group));
        }
    }

    fn start_thread(&mut self, stream: usize, kernel: &Kernel, thread: u32, unit: u16) {
        let cu = &mut self.units[usize::from(unit)];
        let group = cu.hold(Needs::CPU_THREAD);
        let atomic_order = self.config.core.atomic_order;
        let (task, id) = WaveTask::start_cpu(kernel, thread, atomic_order, &mut cu.spare_states);
        self.start_wave(unit, WaveSlot::new(task, id, true, stream as u8, group));
    }

    /// Starts a wavefront in a free slot. There is one.
    fn start_wave(&mut self, unit: u16, wave: WaveSlot) {
        let cu = &mut self.units[usize::from(unit)];
        let Some(slot) = cu.waves.iter().position(Option::is_none) else { return };
        cu.waves[slot] = Some(wave);
        cu.slots.set_age(slot, self.waves_started);
        self.waves_started += 1;
        self.advance_wave(unit, slot);
    }

    /// A wavefront has passed its final release.
    pub(super) fn retire_wave(&mut self, unit: u16, wave: usize) {
        self.progress = self.wheel.now();
        self.stats.add(Counter::WaveFronts, 1);
        let cu = &mut self.units[usize::from(unit)];
        let Some(retired) = cu.waves[wave].take() else { return };
        cu.spare_states.give_back(retired.task);
        let group = cu.groups.get_mut(retired.group);
        group.running -= 1;
        if group.running > 0 {
            self.release_barrier(unit, retired.group);
            return;
        }
        // The resources of a work-group are free for another when all of it has finished.
        cu.free(retired.group);
        let stream = usize::from(retired.stream);
        self.launches[stream].finished += 1;
        if !retired.cpu {
            self.stats.add(Counter::WorkGroups, 1);
        }
        self.count_finished(stream);
        self.use_room(stream, self.module_of_unit(unit));
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
