//! A launch of an entry: what all its wavefronts share.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chorus_kernel::{LANES, LaunchState, WaveId};
use chorus_protocol::save::{Damaged, Reader, Save};

use crate::code::{LaneMask, Preset, Special};
use crate::error::Place;
use crate::lower::Lowered;
use crate::registers::{BankKind, Registers};
use crate::space;
use crate::types::Space;

/// A line that a thread has printed, with what orders it among the others.
type Printed = (u32, u32, u32, String);

pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) entry: Arc<Lowered>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    /// Whether the GPU that the program knows is the whole machine.
    pub(crate) spans_machine: bool,
    /// The address of the module's first variable in global memory.
    pub(crate) globals: u64,
    /// The contents of the variables in global memory before the first launch.
    pub(crate) global: Arc<Vec<u8>>,
    pub(crate) constant: Vec<u32>,
    pub(crate) constant_bytes: u64,
    pub(crate) arguments: Vec<u32>,
    /// The addresses of the bytes of each buffer, in order.
    pub(crate) buffers: Arc<Vec<Range<u64>>>,
    /// Registers as they are before the first instruction, but for what differs between wavefronts.
    pub(crate) template: Registers,
    pub(crate) printed: Mutex<Vec<Printed>>,
}

/// The words of bytes, the last one filled up with zeros.
pub(crate) fn words_of(bytes: &[u8]) -> Vec<u32> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    bytes.chunks(4).map(word).collect()
}

/// The text that threads have printed.
impl LaunchState for Running {
    fn keep(&self, to: &mut Vec<u8>) {
        self.printed().save(to);
    }

    fn restore(&self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        *self.printed() = Vec::load(from)?;
        Ok(())
    }
}

impl Running {
    /// The lines that threads have printed so far.
    pub(crate) fn printed(&self) -> MutexGuard<'_, Vec<Printed>> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the registers that are the same in all wavefronts.
    pub(crate) fn prepare(&mut self) {
        let code = &self.entry.code;
        self.template = Registers {
            words: vec![[0; LANES]; code.words],
            longs: vec![[0; LANES]; code.longs],
            predicates: vec![0; code.predicates],
        };
        for &(register, preset) in &code.presets {
            let value = match preset {
                Preset::Value(value) => value,
                Preset::Global(offset) => self.globals.wrapping_add(offset),
                Preset::DynamicOffset => dynamic_offset(self.entry.shared_bytes),
                Preset::Special(_) => continue,
            };
            let number = usize::from(register.number);
            match register.bank {
                BankKind::Word => self.template.words[number] = [value as u32; LANES],
                BankKind::Long => self.template.longs[number] = [value; LANES],
                BankKind::Predicate => {}
            }
        }
    }

    /// The registers of a wavefront before its first instruction.
    pub(crate) fn registers(&self, id: WaveId) -> Registers {
        let mut registers = self.template.clone();
        for &(register, preset) in &self.entry.code.presets {
            let Preset::Special(special) = preset else { continue };
            let values = std::array::from_fn(|lane| self.special(special, id, lane as u32));
            let number = usize::from(register.number);
            match register.bank {
                BankKind::Word => registers.words[number] = values,
                BankKind::Long => registers.longs[number] = values.map(u64::from),
                BankKind::Predicate => {}
            }
        }
        registers
    }

    fn special(&self, special: Special, id: WaveId, lane: u32) -> u32 {
        let coordinates =
            |number: u32, size: [u32; 3]| [number % size[0], number / size[0] % size[1], number / size[0] / size[1]];
        match special {
            Special::Thread(dimension) => coordinates(id.wave * LANES as u32 + lane, self.block)[dimension],
            Special::Threads(dimension) => self.block[dimension],
            Special::Group(dimension) => coordinates(id.work_group, self.grid)[dimension],
            Special::Groups(dimension) => self.grid[dimension],
            Special::Lane => lane,
            Special::Wave => id.wave,
            Special::Waves => id.waves_per_group,
            Special::LaneMask(mask) => match mask {
                LaneMask::Equal => 1 << lane,
                LaneMask::Below => (1 << lane) - 1,
                LaneMask::UpTo => u32::MAX >> (31 - lane),
                LaneMask::Above => !(u32::MAX >> (31 - lane)),
                LaneMask::From => !((1 << lane) - 1),
            },
            Special::DynamicBytes => self.shared_bytes - dynamic_offset(self.entry.shared_bytes) as u32,
            Special::TotalBytes => self.shared_bytes,
        }
    }

    /// The lanes of a wavefront that are threads: the last one may have fewer than 32.
    pub(crate) fn lanes_of(&self, wave: u32) -> u32 {
        let threads = self.block.iter().product::<u32>() - wave * LANES as u32;
        if threads >= LANES as u32 { u32::MAX } else { (1 << threads) - 1 }
    }

    /// The addresses that may be accessed around this one.
    #[inline]
    pub(crate) fn limits(&self, space: Space, address: u64) -> Option<Range<u64>> {
        let end = match space {
            Space::Global | Space::Generic => {
                let after = self.buffers.partition_point(|buffer| buffer.end <= address);
                return self.buffers.get(after).filter(|buffer| buffer.contains(&address)).cloned();
            }
            Space::Shared => u64::from(self.shared_bytes),
            Space::Local => self.entry.local_bytes,
            Space::Const => self.constant_bytes,
            Space::Param => self.entry.param_bytes,
        };
        (address < end).then_some(0..end)
    }

    /// The string at an address, which must be one of the module's variables.
    pub(crate) fn text(&self, address: u64) -> Option<Vec<u8>> {
        let constant: Vec<u8>;
        let (bytes, start) = if space::space_of(address) == Space::Const {
            constant = self.constant.iter().flat_map(|word| word.to_le_bytes()).collect();
            (&constant, address - space::window(Space::Const))
        } else {
            (self.global.as_ref(), address.checked_sub(self.globals)?)
        };
        let rest = bytes.get(usize::try_from(start).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        Some(rest[..end].to_vec())
    }

    /// The text that threads have printed so far, in the order of their work-groups and wavefronts.
    pub(crate) fn take_printed(&self) -> String {
        let mut printed = std::mem::take(&mut *self.printed());
        printed.sort();
        printed.into_iter().map(|(.., line)| line).collect()
    }

    /// Ends the run with a message. The driver catches it and says it to the user.
    pub(crate) fn fail(&self, id: WaveId, at: Place, lane: usize, message: impl fmt::Display) -> ! {
        let (name, file, line) = (&self.name, &self.file, at.line);
        let (group, wave) = (id.work_group, id.wave);
        panic!("kernel {name}, {file}:{line}, lane {lane} of wavefront {wave} of work-group {group}: {message}")
    }
}

/// Where dynamic shared memory begins, behind the variables of an entry.
pub(crate) fn dynamic_offset(shared_bytes: u64) -> u64 {
    shared_bytes.next_multiple_of(16)
}
