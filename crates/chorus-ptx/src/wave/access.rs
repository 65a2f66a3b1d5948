//! Loads, stores and atomics of a wavefront, in every space.

use chorus_kernel::{AtomicOrder, Instruction as Request, LANES, LaneAccess, Mask, MemoryOpKind, Operation, WaveState};
use chorus_protocol::access::{AtomicOp, Order, Scope};

use super::pending::InFlight;
use super::{Next, Wavefront};
use crate::code::{Action, Address, Atomic, Element, Elements, Instruction, Load, Store};
use crate::registers::{Bank, BankKind, Register, Registers, by_lane};
use crate::space;
use crate::types::Space;

/// The words of each lane, up to four.
type Words = [[u32; LANES]; 4];

/// The kind of an access, for messages.
#[derive(Clone, Copy)]
enum Kind {
    Load,
    Store,
    Atomic,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Atomic => "atomic",
        }
    }
}

/// Writes the elements of a load to their registers. `words` are the words of each lane; `shifts` say where in the
/// first word a narrower value begins.
pub(super) fn spread<'w>(
    registers: &mut Registers,
    elements: &Elements,
    mask: u32,
    words: impl Fn(usize) -> &'w [u32; LANES],
    shifts: Option<&[u8; LANES]>,
) {
    for (index, element) in elements.iter().enumerate() {
        let Some(register) = element.register else { continue };
        match elements.bytes {
            4 => put_word(registers, register, element, mask, words(index)),
            8 => {
                let (low, high) = (words(2 * index), words(2 * index + 1));
                let values = by_lane(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]));
                u64::write(registers, register.number, mask, &values);
            }
            bytes => {
                let bits = u32::from(bytes) * 8;
                let (word, shift) = (index * usize::from(bytes) / 4, index as u32 * bits % 32);
                let row = words(word);
                let values = by_lane(|lane| {
                    let shift = shift + shifts.map_or(0, |shifts| u32::from(shifts[lane]));
                    let value = row[lane] >> shift & ((1 << bits) - 1);
                    let unused = 32 - bits;
                    if element.signed { ((value << unused) as i32 >> unused) as u32 } else { value }
                });
                put_word(registers, register, element, mask, &values);
            }
        }
    }
}

/// Writes a value of 32 bits, extended if its register has 64.
fn put_word(registers: &mut Registers, register: Register, element: Element, mask: u32, values: &[u32; LANES]) {
    match register.bank {
        BankKind::Long if element.signed => {
            u64::write(registers, register.number, mask, &values.map(|value| value as i32 as i64 as u64));
        }
        BankKind::Long => u64::write(registers, register.number, mask, &values.map(u64::from)),
        _ => u32::write(registers, register.number, mask, values),
    }
}

/// The words that the elements of a store make.
fn gather(registers: &Registers, elements: &Elements) -> Words {
    let mut words = [[0; LANES]; 4];
    for (index, element) in elements.iter().enumerate() {
        let Some(register) = element.register else { continue };
        let number = usize::from(register.number);
        if elements.bytes == 8 {
            let row = &registers.longs[number];
            words[2 * index] = row.map(|value| value as u32);
            words[2 * index + 1] = row.map(|value| (value >> 32) as u32);
            continue;
        }
        let row = match register.bank {
            BankKind::Long => registers.longs[number].map(|value| value as u32),
            _ => registers.words[number],
        };
        let bits = u32::from(elements.bytes) * 8;
        let (word, shift) = (index * usize::from(elements.bytes) / 4, index as u32 * bits % 32);
        let used = u32::MAX >> (32 - bits);
        words[word].iter_mut().zip(row).for_each(|(word, value)| *word |= (value & used) << shift);
    }
    words
}

/// The number of words that a lane touches.
fn word_count(bytes: u64) -> usize {
    bytes.div_ceil(4) as usize
}

/// The lanes of a mask.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    Mask(mask).iter()
}

/// The address of each lane, and the spaces that lanes access, each with its lanes.
type Reach = ([u64; LANES], [(Space, u32); 2]);

impl Wavefront {
    /// The scope of an operation on this machine. A program that takes the whole machine for its GPU means all GPUs by
    /// scope `.gpu`.
    pub(super) fn scope(&self, scope: Scope) -> Scope {
        if scope == Scope::Gpu && self.running.spans_machine && self.id.gpus > 1 { Scope::System } else { scope }
    }

    /// The address of each lane, in the space of the access.
    fn addresses(&self, address: &Address) -> [u64; LANES] {
        match address.base {
            None => [address.offset; LANES],
            Some(Register { bank: BankKind::Long, number }) => {
                let bases = &self.registers.longs[usize::from(number)];
                by_lane(|lane| bases[lane].wrapping_add(address.offset))
            }
            Some(Register { number, .. }) => {
                let bases = &self.registers.words[usize::from(number)];
                by_lane(|lane| u64::from(bases[lane]).wrapping_add(address.offset))
            }
        }
    }

    /// The spaces that lanes access, each with its lanes. Addresses become those of their space.
    fn spaces(&self, space: Space, addresses: &mut [u64; LANES], mask: u32) -> [(Space, u32); 2] {
        if space != Space::Generic {
            return [(space, mask), (Space::Global, 0)];
        }
        let others =
            lanes(mask).find(|&lane| addresses[lane] >= space::GLOBAL_END).map(|lane| space::space_of(addresses[lane]));
        let Some(other) = others.filter(|&other| other != Space::Global) else {
            return [(Space::Global, mask), (Space::Global, 0)];
        };
        let mut inside = 0;
        for lane in lanes(mask) {
            if space::space_of(addresses[lane]) == other {
                addresses[lane] = addresses[lane].wrapping_sub(space::window(other));
                inside |= 1 << lane;
            }
        }
        [(other, inside), (Space::Global, mask & !inside)]
    }

    /// Whether shared memory may be accessed: the fences before are passed.
    fn is_fenced(&mut self, state: &mut WaveState) -> bool {
        let Some(ticket) = self.fence else { return true };
        let passed = state.has_passed(ticket);
        if passed {
            self.fence = None;
        }
        passed
    }

    /// Where each lane accesses memory. There is nothing yet if shared memory has to wait for a fence.
    fn reach(&mut self, address: &Address, mask: u32, state: &mut WaveState) -> Option<Reach> {
        let mut addresses = self.addresses(address);
        let spaces = self.spaces(address.space, &mut addresses, mask);
        let is_shared = spaces.iter().any(|&(space, mask)| space == Space::Shared && mask != 0);
        if is_shared && !self.is_fenced(state) {
            return None;
        }
        Some((addresses, spaces))
    }

    pub(super) fn load(&mut self, instruction: &Instruction, load: &Load, mask: u32, state: &mut WaveState) -> Next {
        if let Address { space: Space::Param, base: None, offset } = load.address {
            self.load_argument(instruction, load, offset, mask);
            return Next::Instruction;
        }
        let Some((addresses, spaces)) = self.reach(&load.address, mask, state) else { return Next::Wait };
        for (space, mask) in spaces.into_iter().filter(|&(_, mask)| mask != 0) {
            self.check(instruction, Kind::Load, space, &addresses, mask, load.elements.total());
            match space {
                Space::Global | Space::Generic => self.global_load(load, &addresses, mask, state),
                Space::Shared => {
                    self.local_data_access(instruction, &addresses, mask, state);
                    let cells = self.local_data.words();
                    let words = read_words(&addresses, mask, load.elements.total(), |word, _| cells[word].get());
                    self.take(&load.elements, mask, &words, &addresses);
                }
                Space::Local => {
                    let words =
                        read_words(&addresses, mask, load.elements.total(), |word, lane| self.local[word][lane]);
                    self.take(&load.elements, mask, &words, &addresses);
                }
                Space::Const | Space::Param => {
                    let image = if space == Space::Const { &self.running.constant } else { &self.running.arguments };
                    let words = read_words(&addresses, mask, load.elements.total(), |word, _| image[word]);
                    self.take(&load.elements, mask, &words, &addresses);
                }
            }
        }
        Next::Instruction
    }

    /// Loads an argument of the launch, which is the same in all lanes.
    fn load_argument(&mut self, instruction: &Instruction, load: &Load, offset: u64, mask: u32) {
        let total = load.elements.total();
        if !offset.is_multiple_of(total) || offset.saturating_add(total) > self.running.entry.param_bytes {
            self.check_lanes(instruction, Kind::Load, Space::Param, &[offset; LANES], mask, total);
        }
        let first = (offset / 4) as usize;
        let mut words: Words = [[0; LANES]; 4];
        words.iter_mut().zip(&self.running.arguments[first..]).take(word_count(total)).for_each(|(row, &word)| {
            *row = [word; LANES];
        });
        self.take(&load.elements, mask, &words, &[offset; LANES]);
    }

    /// Writes what a space without traffic holds to the registers of a load.
    fn take(&mut self, elements: &Elements, mask: u32, words: &Words, addresses: &[u64; LANES]) {
        let shifts = (elements.total() < 4).then(|| addresses.map(|address| (address % 4 * 8) as u8));
        spread(&mut self.registers, elements, mask, |k| &words[k], shifts.as_ref());
    }

    fn global_load(&mut self, load: &Load, addresses: &[u64; LANES], mask: u32, state: &mut WaveState) {
        self.flush(state);
        self.is_unfenced = true;
        let total = load.elements.total();
        let shifts = (total < 4).then(|| Box::new(addresses.map(|address| (address % 4 * 8) as u8)));
        let slot = state.access_lanes(LaneAccess {
            instruction: Request {
                kind: MemoryOpKind::Load,
                order: load.order,
                scope: self.scope(load.scope),
                mask: Mask(mask),
            },
            words_per_lane: word_count(total) as u8,
            word: &word_numbers(addresses),
            bytes: None,
            expected: None,
        });
        self.pending.add(InFlight { slot, mask, elements: load.elements, shifts });
        if load.order == Order::Acquire {
            self.fence(Order::Acquire, load.scope, state);
        }
    }

    pub(super) fn store(&mut self, instruction: &Instruction, store: &Store, mask: u32, state: &mut WaveState) -> Next {
        let Some((addresses, spaces)) = self.reach(&store.address, mask, state) else { return Next::Wait };
        let mut words = gather(&self.registers, &store.elements);
        let total = store.elements.total();
        if total < 4 {
            words[0].iter_mut().zip(addresses).for_each(|(word, address)| *word <<= address % 4 * 8);
        }
        for (space, mask) in spaces.into_iter().filter(|&(_, mask)| mask != 0) {
            self.check(instruction, Kind::Store, space, &addresses, mask, total);
            match space {
                Space::Global | Space::Generic => self.global_store(store, &addresses, mask, &words, state),
                Space::Shared => {
                    self.local_data_access(instruction, &addresses, mask, state);
                    let cells = self.local_data.words();
                    write_words(&addresses, mask, total, &words, |word, _, bits, value| {
                        cells[word].set(cells[word].get() & !bits | value & bits);
                    });
                }
                Space::Local => {
                    let local = &mut self.local;
                    write_words(&addresses, mask, total, &words, |word, lane, bits, value| {
                        local[word][lane] = local[word][lane] & !bits | value & bits;
                    });
                }
                Space::Const | Space::Param => {
                    let lane = mask.trailing_zeros() as usize;
                    self.fail(instruction, lane, format_args!("a store to {} memory", space.name()));
                }
            }
        }
        Next::Instruction
    }

    fn global_store(
        &mut self,
        store: &Store,
        addresses: &[u64; LANES],
        mask: u32,
        words: &Words,
        state: &mut WaveState,
    ) {
        if store.order == Order::Release {
            self.fence(Order::Release, store.scope, state);
        }
        self.flush(state);
        self.is_unfenced = true;
        let total = store.elements.total();
        let bytes = (total < 4).then(|| addresses.map(|address| ((1u8 << total) - 1) << (address % 4)));
        let count = word_count(total);
        let slot = state.access_lanes(LaneAccess {
            instruction: Request {
                kind: MemoryOpKind::Store,
                order: store.order,
                scope: store.scope,
                mask: Mask(mask),
            },
            words_per_lane: count as u8,
            word: &word_numbers(addresses),
            bytes: bytes.as_ref(),
            expected: None,
        });
        let op = state.memory_op_mut(slot);
        (0..count).for_each(|k| *op.values_mut(k) = words[k]);
    }

    pub(super) fn atomic(
        &mut self,
        instruction: &Instruction,
        atomic: &Atomic,
        mask: u32,
        state: &mut WaveState,
    ) -> Next {
        let Some((addresses, spaces)) = self.reach(&atomic.address, mask, state) else { return Next::Wait };
        for (space, mask) in spaces.into_iter().filter(|&(_, mask)| mask != 0) {
            self.check(instruction, Kind::Atomic, space, &addresses, mask, u64::from(atomic.bytes));
            match space {
                Space::Global | Space::Generic => self.global_atomic(atomic, &addresses, mask, state),
                Space::Shared => {
                    self.local_data_access(instruction, &addresses, mask, state);
                    self.shared_atomic(atomic, &addresses, mask);
                }
                Space::Local | Space::Const | Space::Param => {
                    let lane = mask.trailing_zeros() as usize;
                    self.fail(instruction, lane, format_args!("an atomic in {} memory", space.name()));
                }
            }
        }
        Next::Instruction
    }

    fn global_atomic(&mut self, atomic: &Atomic, addresses: &[u64; LANES], mask: u32, state: &mut WaveState) {
        // Some machines let every atomic order what is around it.
        let synchronises = self.atomic_order == AtomicOrder::AcqRel;
        if synchronises || matches!(atomic.order, Order::Release | Order::AcqRel) {
            self.fence(Order::Release, atomic.scope, state);
        }
        self.flush(state);
        self.is_unfenced = true;
        let count = word_count(u64::from(atomic.bytes));
        let operand = self.words_of(atomic.operand);
        let expected = atomic.expected.map(|register| self.words_of(register));
        let kind = MemoryOpKind::Atomic(match &expected {
            Some(expected) => uniform(atomic.op, expected, mask),
            None => atomic.op,
        });
        // Lanes that expect the same need no values of their own.
        let differs = expected.as_ref().filter(|expected| (0..count).any(|k| !is_uniform(&expected[k], mask)));
        let slot = state.access_lanes(LaneAccess {
            instruction: Request { kind, order: Order::Relaxed, scope: self.scope(atomic.scope), mask: Mask(mask) },
            words_per_lane: count as u8,
            word: &word_numbers(addresses),
            bytes: None,
            expected: differs.map(|expected| &expected[..count]),
        });
        let op = state.memory_op_mut(slot);
        (0..count).for_each(|k| *op.values_mut(k) = operand[k]);
        match atomic.to {
            Some(register) => {
                let elements = old_value(register, atomic.bytes);
                self.pending.add(InFlight { slot, mask, elements, shifts: None });
            }
            None => state.abandon(slot),
        }
        if synchronises || matches!(atomic.order, Order::Acquire | Order::AcqRel) {
            self.fence(Order::Acquire, atomic.scope, state);
        }
    }

    /// Performs an atomic on shared memory, lane by lane.
    fn shared_atomic(&mut self, atomic: &Atomic, addresses: &[u64; LANES], mask: u32) {
        let count = word_count(u64::from(atomic.bytes));
        let operand = self.words_of(atomic.operand);
        let expected = atomic.expected.map(|register| self.words_of(register));
        let cells = self.local_data.words();
        let mut before = [[0; LANES]; 4];
        for lane in lanes(mask) {
            let first = (addresses[lane] / 4) as usize;
            let old: [u32; 2] = std::array::from_fn(|k| if k < count { cells[first + k].get() } else { 0 });
            let mut new: [u32; 2] = std::array::from_fn(|k| operand[k][lane]);
            let op = expected
                .as_ref()
                .map_or(atomic.op, |expected| atomic.op.expecting([expected[0][lane], expected[1][lane]]));
            op.apply_all(&old[..count], &mut new[..count]);
            for k in 0..count {
                cells[first + k].set(new[k]);
                before[k][lane] = old[k];
            }
        }
        if let Some(register) = atomic.to {
            spread(&mut self.registers, &old_value(register, atomic.bytes), mask, |k| &before[k], None);
        }
    }

    /// The words of a register.
    fn words_of(&self, register: Register) -> [[u32; LANES]; 2] {
        let number = usize::from(register.number);
        match register.bank {
            BankKind::Long => {
                let row = self.registers.longs[number];
                [row.map(|value| value as u32), row.map(|value| (value >> 32) as u32)]
            }
            _ => [self.registers.words[number], [0; LANES]],
        }
    }

    /// Queues an access of the local data share. It takes as long as the words of the fullest of its banks. Lanes of an
    /// atomic that touch one word take turns.
    fn local_data_access(
        &mut self,
        instruction: &Instruction,
        addresses: &[u64; LANES],
        mask: u32,
        state: &mut WaveState,
    ) {
        self.flush(state);
        let is_atomic = matches!(instruction.action, Action::Atomic(_));
        // Without costs of its own, an atomic takes as long as a load.
        let apart = is_atomic && self.scoreboard.is_some();
        let mut ways = [0u32; LANES];
        let mut seen = [u64::MAX; LANES];
        for lane in lanes(mask) {
            let word = addresses[lane] / 4;
            let bank = word as usize % LANES;
            if apart || seen[bank] != word {
                (seen[bank], ways[bank]) = (word, ways[bank] + 1);
            }
        }
        let ways = ways.into_iter().max().unwrap_or(1).max(1);
        let Some(scoreboard) = &mut self.scoreboard else { return state.push(Operation::Lds(ways)) };
        state.push(Operation::Banks(ways));
        let [_, writes] = self.running.entry.code.registers_of(instruction);
        scoreboard.local_data(ways, is_atomic, writes);
    }

    /// Ends the run if a lane's address is not one that it may access.
    #[inline]
    fn check(
        &self,
        instruction: &Instruction,
        kind: Kind,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u64,
    ) {
        let limits = self.running.limits(space, addresses[mask.trailing_zeros() as usize % LANES]);
        if let Some(limits) = limits.filter(|limits| limits.end - limits.start >= bytes) {
            // Almost always all lanes are in the buffer of the first one.
            let last = limits.end - bytes - limits.start;
            let mut wrong = 0;
            for (lane, &address) in addresses.iter().enumerate() {
                let outside = address.wrapping_sub(limits.start) > last;
                let misaligned = address & (bytes - 1) != 0;
                wrong |= u32::from(outside | misaligned) << lane;
            }
            if wrong & mask == 0 {
                return;
            }
        }
        self.check_lanes(instruction, kind, space, addresses, mask, bytes);
    }

    #[cold]
    fn check_lanes(
        &self,
        instruction: &Instruction,
        kind: Kind,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u64,
    ) {
        let name = kind.name();
        for lane in lanes(mask) {
            let address = addresses[lane];
            let what = format_args!("{name} of {bytes} bytes at {} address {address:#x}", space.name()).to_string();
            if address & (bytes - 1) != 0 {
                self.fail(instruction, lane, format_args!("misaligned {what}"));
            }
            let fits = self.running.limits(space, address).is_some_and(|limits| limits.end - address >= bytes);
            if !fits {
                let outside = match space {
                    Space::Global | Space::Generic => "outside every buffer",
                    _ => "outside the memory of the thread",
                };
                self.fail(instruction, lane, format_args!("{what}, {outside}"));
            }
        }
    }
}

fn old_value(register: Register, bytes: u8) -> Elements {
    let element = Element { register: Some(register), signed: false };
    Elements { bytes, count: 1, list: [element; 4] }
}

/// The number of the word that the address of each lane lies in. Lanes that do not take part may have any.
fn word_numbers(addresses: &[u64; LANES]) -> [u32; LANES] {
    by_lane(|lane| (addresses[lane].wrapping_sub(space::GLOBAL) >> 2) as u32)
}

fn is_uniform(values: &[u32; LANES], mask: u32) -> bool {
    let first = values[mask.trailing_zeros() as usize % LANES];
    lanes(mask).all(|lane| values[lane] == first)
}

/// The operation with the value that the first lane expects.
fn uniform(op: AtomicOp, expected: &[[u32; LANES]; 2], mask: u32) -> AtomicOp {
    let lane = mask.trailing_zeros() as usize % LANES;
    op.expecting([expected[0][lane], expected[1][lane]])
}

/// Reads the words of each lane from a space without traffic.
fn read_words(addresses: &[u64; LANES], mask: u32, bytes: u64, read: impl Fn(usize, usize) -> u32) -> Words {
    let mut words = [[0; LANES]; 4];
    for lane in lanes(mask) {
        let first = (addresses[lane] / 4) as usize;
        (0..word_count(bytes)).for_each(|k| words[k][lane] = read(first + k, lane));
    }
    words
}

/// Writes the words of each lane to a space without traffic: word, lane, the bits to write, and the value.
fn write_words(
    addresses: &[u64; LANES],
    mask: u32,
    bytes: u64,
    words: &Words,
    mut write: impl FnMut(usize, usize, u32, u32),
) {
    for lane in lanes(mask) {
        let (first, shift) = ((addresses[lane] / 4) as usize, (addresses[lane] % 4 * 8) as u32);
        let bits = if bytes < 4 { ((1u32 << (bytes * 8)) - 1) << shift } else { u32::MAX };
        (0..word_count(bytes)).for_each(|k| write(first + k, lane, bits, words[k][lane]));
    }
}
