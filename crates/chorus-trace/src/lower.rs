//! Instructions of a warp become steps of a wavefront: memory accesses with an order and a scope, fences, waits.
//!
//! SASS has no acquire and no release. Compilers spell them with instructions that follow each other:
//!
//! | SASS | meaning |
//! |---|---|
//! | `LDG.STRONG.S`, `CCTL.IVALL` | load that acquires at scope S |
//! | `MEMBAR.ALL.S`, maybe `ERRBAR`, `STG.STRONG.S` | store that releases at scope S |
//! | `MEMBAR`, maybe `ERRBAR`, `CCTL.IVALL` | fence that does both |
//! | `MEMBAR.ALL.S` alone, where a fence that acquires has `CCTL.IVALL` (Ampere and newer) | fence that releases |
//! | any other `MEMBAR` | fence that does both |
//! | `CCTL.IVALL` behind a strong atomic | fence that acquires, at the scope of the atomic |
//! | `CCTL.IVALL` alone | fence that acquires, on the GPU |

use chorus_kernel::{LANES, MemoryOpKind};
use chorus_protocol::access::{Order, Scope};

use crate::address_map::AddressMap;
use crate::header::Visitor;
use crate::index::{KernelIndex, Place, place_of, width_of};
use crate::instruction::Instruction;
use crate::opcode::{Class, CopyLines, Opcode, Space};
use crate::step::{Access, Places, Step};

/// The first generation on which a fence that acquires has a `CCTL.IVALL`.
const AMPERE: u64 = 80;

/// The most words that a lane accesses in one instruction, and that it reads and writes atomically.
const ACCESS_WORDS_MAX: u32 = 8;
const ATOMIC_WORDS_MAX: u32 = 2;

/// The bytes of a word that each lane writes, one bit each, where that is less than a word.
fn bytes_of(instruction: &Instruction<'_>, width: u32) -> [u8; LANES] {
    let bytes = (1u8 << width) - 1;
    instruction.addresses.map(|address| bytes << (address % 4) & 0xF)
}

/// The words of a launch's local memory: from this one on, if there is room for it.
pub(crate) type LocalMemory = Option<u32>;

/// Makes the steps of the warps of one block.
pub(crate) struct Lowering<'k> {
    kernel: &'k KernelIndex,
    map: &'k AddressMap,
    local: LocalMemory,
    group: u32,
    /// The steps of each warp that has ended, and of the present one.
    waves: Vec<Vec<Step>>,
    wave: u32,
    warp: Warp,
}

/// The warp whose instructions come, and what is open about it.
#[derive(Default)]
struct Warp {
    steps: Vec<Step>,
    loads: u32,
    /// Registers that a load in flight will write, with the number of the load.
    in_flight: Vec<(u16, u32)>,
    /// Copies to shared memory in flight.
    copies: Vec<u32>,
    copy_lines: CopyLines,
    /// A fence with only arithmetic behind it, and whether a release may come of it.
    fence: Option<(usize, bool)>,
    /// A strong load or atomic with only arithmetic behind it, and its scope.
    strong: Option<(usize, Scope)>,
    /// The last instruction was an exit of some lanes.
    exited: bool,
}

impl Warp {
    fn alu(&mut self) {
        match self.steps.last_mut() {
            Some(Step::Alu(count)) if *count < u32::MAX => *count += 1,
            _ => self.steps.push(Step::Alu(1)),
        }
    }

    fn wait(&mut self, load: u32) {
        self.in_flight.retain(|&(_, other)| other != load);
        self.copies.retain(|&other| other != load);
        self.steps.push(Step::Wait(load));
    }

    /// Waits for the loads that will write what an instruction reads or writes.
    fn wait_for_registers(&mut self, instruction: &Instruction<'_>, sources: u32, destinations: u32) {
        let lists = [(instruction.sources, sources), (instruction.destinations, destinations)];
        for (registers, span) in lists {
            for &first in registers.as_slice() {
                let concerned = first..first.saturating_add(span as u16);
                while let Some(&(_, load)) = self.in_flight.iter().find(|(register, _)| concerned.contains(register)) {
                    self.wait(load);
                }
            }
        }
    }

    /// A new load, whose values go to these registers.
    fn begin_load(&mut self, instruction: &Instruction<'_>, registers: u32) -> Option<u32> {
        let &first = instruction.destinations.as_slice().first()?;
        let load = self.loads;
        self.loads += 1;
        self.in_flight.extend((0..registers as u16).map(|offset| (first.saturating_add(offset), load)));
        Some(load)
    }

    /// A new copy to shared memory.
    fn begin_copy(&mut self) -> u32 {
        let load = self.loads;
        self.loads += 1;
        self.copies.push(load);
        load
    }

    fn fence(&mut self, sequential: bool, scope: Scope, generation: u64) {
        let is_new = generation == 0 || generation >= AMPERE;
        let releases = !sequential && is_new && scope != Scope::WorkGroup;
        let order = if releases { Order::Release } else { Order::AcqRel };
        self.strong = None;
        self.fence = Some((self.steps.len(), !sequential));
        self.steps.push(Step::Fence { order, scope });
    }

    fn invalidate(&mut self) {
        if let Some((at, _)) = self.fence.take() {
            if let Step::Fence { order, .. } = &mut self.steps[at] {
                *order = Order::AcqRel;
            }
            return;
        }
        let mut acquired = Scope::Gpu;
        if let Some((at, scope)) = self.strong.take() {
            acquired = scope;
            if let Step::Access(Access { kind: MemoryOpKind::Load, order, .. }) = &mut self.steps[at] {
                *order = Order::Acquire;
            }
        }
        self.steps.push(Step::Fence { order: Order::Acquire, scope: acquired });
    }

    /// The order of an access, given the fence before it.
    fn order(&mut self, kind: MemoryOpKind, strong: Option<Scope>) -> Order {
        let is_atomic = matches!(kind, MemoryOpKind::Atomic(_));
        let fence = self.fence.take();
        let Some(scope) = strong else { return if is_atomic { Order::Relaxed } else { Order::Weak } };
        if let Some((at, true)) = fence
            && kind != MemoryOpKind::Load
            && let Step::Fence { order, scope: fenced } = &mut self.steps[at]
            && *fenced == scope
        {
            *order = Order::Release;
            return if is_atomic { Order::Relaxed } else { Order::Release };
        }
        Order::Relaxed
    }

    /// Queues an access, which later ones may make a part of something larger.
    fn access(&mut self, access: Access, strong: Option<Scope>) {
        let reads = access.kind != MemoryOpKind::Store;
        self.strong = strong.filter(|_| reads).map(|scope| (self.steps.len(), scope));
        self.steps.push(Step::Access(access));
    }
}

impl<'k> Lowering<'k> {
    pub(crate) fn new(kernel: &'k KernelIndex, map: &'k AddressMap, local: LocalMemory, group: u32) -> Lowering<'k> {
        let waves = (0..kernel.waves_per_group).map(|_| Vec::new()).collect();
        Lowering { kernel, map, local, group, waves, wave: 0, warp: Warp::default() }
    }

    /// The steps of all warps of the block, by number.
    pub(crate) fn into_waves(mut self) -> Vec<Vec<Step>> {
        self.end_warp();
        self.waves
    }

    fn end_warp(&mut self) {
        let Warp { mut steps, .. } = std::mem::take(&mut self.warp);
        steps.shrink_to_fit();
        if let Some(wave) = self.waves.get_mut(self.wave as usize).filter(|_| !steps.is_empty()) {
            *wave = steps;
        }
    }

    /// An access of memory by some lanes, or of the local data share.
    fn access(&mut self, instruction: &Instruction<'_>, opcode: &Opcode, space: Space, kind: MemoryOpKind) {
        let width = width_of(instruction, opcode);
        let (mut words, mut mask, mut count) = ([0; LANES], 0u32, 0);
        let mut is_local = false;
        for lane in instruction.lanes() {
            let word = match place_of(&self.kernel.header, space, instruction.addresses[lane]) {
                Place::Shared => None,
                Place::Global => Some(self.map.word(instruction.addresses[lane])),
                Place::Local(offset) => self.local_word(offset, lane).inspect(|_| is_local = true),
            };
            if let Some(word) = word {
                words[count] = word;
                mask |= 1 << lane;
                count += 1;
            }
        }
        if mask != instruction.mask {
            self.warp.steps.push(Step::Lds(1));
        }
        if mask == 0 {
            return;
        }
        let most = if matches!(kind, MemoryOpKind::Atomic(_)) { ATOMIC_WORDS_MAX } else { ACCESS_WORDS_MAX };
        let registers = width.div_ceil(4).next_power_of_two().min(most);
        let bytes = (kind == MemoryOpKind::Store && width < 4).then(|| Box::new(bytes_of(instruction, width)));
        let scope = opcode.strong.unwrap_or(Scope::Gpu);
        let order = self.warp.order(kind, opcode.strong);
        let load = match kind {
            MemoryOpKind::Store => None,
            _ if opcode.class == Class::Copy => Some(self.warp.begin_copy()),
            _ => self.warp.begin_load(instruction, registers),
        };
        // The words of a lane lie beside each other in global memory, and in rows of their own in local memory.
        let in_rows = is_local && !matches!(kind, MemoryOpKind::Atomic(_));
        let (rows, words_of_row) = if in_rows { (registers, 1) } else { (1, registers) };
        for row in 0..rows {
            // GPUs refuse accesses that are not aligned to their width.
            let words = words.map(|word| (word & !(words_of_row - 1)) + row * LANES as u32);
            let places = Places::of(&words[..count]);
            let (words, bytes) = (words_of_row as u8, bytes.clone());
            let access = Access { kind, order, scope, mask, words, bytes, places, load };
            self.warp.access(access, opcode.strong);
        }
    }

    /// The word of local memory at an offset. The lanes of a warp lie beside each other, as GPUs place them.
    fn local_word(&self, offset: u64, lane: usize) -> Option<u32> {
        let base = self.local?;
        let (first, end) = self.kernel.local_words;
        let wave = self.group * self.kernel.waves_per_group + self.wave;
        // A file that has changed since it was read may name any offset.
        let row = ((offset / 4) as u32).saturating_sub(first).min(end.saturating_sub(first + 1));
        Some(base + (wave * (end - first) + row) * LANES as u32 + lane as u32)
    }
}

impl Visitor for Lowering<'_> {
    fn warp(&mut self, warp: u32) -> Result<(), String> {
        self.end_warp();
        self.wave = warp;
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<(), String> {
        let opcode = Opcode::parse(instruction.opcode);
        let width = width_of(instruction, &opcode);
        let destinations = if instruction.width > 0 { width.div_ceil(4) } else { 1 };
        if std::mem::take(&mut self.warp.exited) {
            self.warp.alu();
        }
        self.warp.wait_for_registers(instruction, opcode.source_registers, destinations);
        let accesses = instruction.width > 0 && instruction.mask != 0;
        match opcode.class {
            Class::Load(space) if accesses => self.access(instruction, &opcode, space, MemoryOpKind::Load),
            Class::Store(space) if accesses => self.access(instruction, &opcode, space, MemoryOpKind::Store),
            Class::Atomic(space, op) if accesses => {
                self.access(instruction, &opcode, space, MemoryOpKind::Atomic(op));
            }
            Class::Copy => {
                let is_global = self.warp.copy_lines.is_global(self.kernel.header.layout.version, instruction.pc);
                if is_global && accesses {
                    self.access(instruction, &opcode, Space::Global, MemoryOpKind::Load);
                }
                if !is_global || self.kernel.header.layout.version >= 5 {
                    self.warp.steps.push(Step::Lds(1));
                }
            }
            Class::WaitForCopies => {
                while let Some(&copy) = self.warp.copies.first() {
                    self.warp.wait(copy);
                }
                self.warp.alu();
            }
            Class::Fence { sequential, scope } => self.warp.fence(sequential, scope, self.kernel.header.binary),
            Class::Invalidate => self.warp.invalidate(),
            Class::ErrorBarrier => {}
            Class::Barrier if instruction.mask != 0 => {
                (self.warp.fence, self.warp.strong) = (None, None);
                self.warp.steps.push(Step::Barrier);
            }
            Class::Exit => self.warp.exited = true,
            Class::Load(_)
            | Class::Store(_)
            | Class::Atomic(..)
            | Class::Barrier
            | Class::Unseen
            | Class::Arithmetic => {
                self.warp.alu();
            }
        }
        Ok(())
    }
}
