//! Operations of Chorus as SASS of the Ampere generation, line by line in the format of tracer version 5.

use std::fmt::{self, Write};

use chorus_kernel::{LANES, MemoryOp, MemoryOpKind};
use chorus_protocol::access::{AtomicOp, Order, PairOp, Scope};

/// The address of word 0.
pub(super) const BASE: u64 = 0x7f00_0000_0000;

/// The register with the base of an address, that with the data of a store, and the one that reads as zero.
const ADDRESS: u16 = 2;
const DATA: u16 = 4;
const LOCAL: u16 = 6;
const ZERO: u16 = 255;

/// Registers of loads: every second one, since a reader may take a register for the first of a pair.
const LOADED: std::ops::Range<u16> = 8..248;

/// Sources that an instruction lists at most, for Accel-Sim.
const SOURCES_MAX: usize = 4;

/// An opcode. Instructions with the same one have the same program counter, since Chorus has none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sass {
    Add,
    Exit,
    /// A load or store of some bytes per lane.
    Load(u32, Option<Scope>),
    Store(u32, Option<Scope>),
    /// An atomic whose old values somebody reads, and one whose values nobody reads.
    Atomic(AtomicOp, Scope),
    Reduction(AtomicOp, Scope),
    Fence {
        sequential: bool,
        scope: Scope,
    },
    ErrorBarrier,
    Invalidate,
    Barrier,
    LocalData,
}

/// The scope of an access or of a fence, as SASS writes it.
fn scope(scope: Scope, of_group: &'static str) -> &'static str {
    match scope {
        Scope::WorkGroup => of_group,
        Scope::Gpu => "GPU",
        Scope::System => "SYS",
    }
}

/// The width of an access, as SASS writes it.
fn width(bytes: u32) -> &'static str {
    match bytes {
        1 => ".U8",
        2 => ".U16",
        8 => ".64",
        16 => ".128",
        _ => "",
    }
}

/// The strength of a load or store, as SASS writes it.
fn strength(strong: Option<Scope>) -> String {
    strong.map_or_else(String::new, |strong| format!(".STRONG.{}", scope(strong, "SM")))
}

/// The name of an atomic operation, and its number.
fn atomic(op: AtomicOp) -> (&'static str, u32) {
    match op {
        AtomicOp::Add => ("ADD", 0),
        AtomicOp::And => ("AND", 1),
        AtomicOp::Or => ("OR", 2),
        AtomicOp::Xor => ("XOR", 3),
        AtomicOp::Min => ("MIN", 4),
        AtomicOp::Max => ("MAX", 5),
        AtomicOp::AddF32 => ("ADD.F32.FTZ.RN", 6),
        AtomicOp::Exchange => ("EXCH", 7),
        AtomicOp::CompareExchange { .. } => ("CAS", 8),
        AtomicOp::MinSigned => ("MIN.S32", 9),
        AtomicOp::MaxSigned => ("MAX.S32", 10),
        AtomicOp::Inc => ("INC", 11),
        AtomicOp::Dec => ("DEC", 12),
        AtomicOp::Pair(PairOp::Add) => ("ADD.64", 13),
        AtomicOp::Pair(PairOp::Min) => ("MIN.64", 14),
        AtomicOp::Pair(PairOp::Max) => ("MAX.64", 15),
        AtomicOp::Pair(PairOp::MinSigned) => ("MIN.S64", 16),
        AtomicOp::Pair(PairOp::MaxSigned) => ("MAX.S64", 17),
        AtomicOp::Pair(PairOp::AddF64) => ("ADD.F64.RN", 18),
        AtomicOp::Pair(PairOp::CompareExchange { .. }) => ("CAS.64", 19),
    }
}

impl Sass {
    fn pc(self) -> u32 {
        let strength = |strong: Option<Scope>| strong.map_or(0, |scope| 1 + scope as u32);
        let (class, kind, scope) = match self {
            Sass::Add => (0, 0, 0),
            Sass::Load(bytes, strong) => (1, bytes, strength(strong)),
            Sass::Store(bytes, strong) => (2, bytes, strength(strong)),
            Sass::Atomic(op, scope) => (3, atomic(op).1, scope as u32),
            Sass::Reduction(op, scope) => (4, atomic(op).1, scope as u32),
            Sass::Fence { sequential, scope } => (5, sequential.into(), scope as u32),
            Sass::ErrorBarrier => (6, 0, 0),
            Sass::Invalidate => (7, 0, 0),
            Sass::Barrier => (8, 0, 0),
            Sass::LocalData => (9, 0, 0),
            Sass::Exit => (10, 0, 0),
        };
        class << 12 | kind << 6 | scope << 4
    }
}

impl fmt::Display for Sass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Sass::Add => f.write_str("IADD3"),
            Sass::Exit => f.write_str("EXIT"),
            Sass::Load(bytes, strong) => write!(f, "LDG.E{}{}", width(bytes), strength(strong)),
            Sass::Store(bytes, strong) => write!(f, "STG.E{}{}", width(bytes), strength(strong)),
            Sass::Atomic(op, strong) => write!(f, "ATOMG.E.{}.STRONG.{}", atomic(op).0, scope(strong, "SM")),
            Sass::Reduction(op, strong) => write!(f, "RED.E.{}.STRONG.{}", atomic(op).0, scope(strong, "SM")),
            Sass::Fence { sequential: true, scope: of } => write!(f, "MEMBAR.SC.{}", scope(of, "CTA")),
            Sass::Fence { sequential: false, scope: of } => write!(f, "MEMBAR.ALL.{}", scope(of, "CTA")),
            Sass::ErrorBarrier => f.write_str("ERRBAR"),
            Sass::Invalidate => f.write_str("CCTL.IVALL"),
            Sass::Barrier => f.write_str("BAR.SYNC"),
            Sass::LocalData => f.write_str("LDS"),
        }
    }
}

/// The instructions of one warp as text.
#[derive(Default)]
pub(super) struct WarpText {
    text: String,
    instructions: u64,
    loads: u16,
    /// Registers whose values have been awaited, and which the next instructions read.
    pub(super) awaited: Vec<u16>,
}

impl WarpText {
    /// The number of instructions and their lines.
    pub(super) fn into_lines(self) -> (u64, String) {
        (self.instructions, self.text)
    }

    /// The register of the next load.
    fn next_register(&mut self) -> u16 {
        let count = LOADED.len() as u16 / 2;
        let register = LOADED.start + self.loads % count * 2;
        self.loads = (self.loads + 1) % count;
        register
    }

    fn line(&mut self, sass: Sass, mask: u32, destination: Option<u16>, sources: &[u16], memory: impl fmt::Display) {
        let read = self.awaited.len().min(SOURCES_MAX - sources.len());
        let sources: Vec<u16> = sources.iter().copied().chain(self.awaited.drain(..read)).collect();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{:04x} {mask:08x} {} ", sass.pc(), u32::from(destination.is_some()));
        let _ = destination.map(|register| write!(self.text, "R{register} "));
        let _ = write!(self.text, "{sass} {} ", sources.len());
        sources.iter().for_each(|register| {
            let _ = write!(self.text, "R{register} ");
        });
        let _ = writeln!(self.text, "{memory} 0 ");
        self.instructions += 1;
    }

    /// Instructions that access no memory.
    pub(super) fn plain(&mut self, sass: Sass, count: u32) {
        (0..count).for_each(|_| self.line(sass, u32::MAX, None, &[], 0));
    }

    /// Accesses of the local data share, at addresses that are made up.
    pub(super) fn local_data(&mut self, count: u32) {
        (0..count).for_each(|_| self.line(Sass::LocalData, u32::MAX, Some(LOCAL), &[ADDRESS], "4 1 0x0 4"));
    }

    pub(super) fn fence(&mut self, order: Order, scope: Scope) {
        match order {
            Order::Acquire => self.plain(Sass::Invalidate, 1),
            Order::Release => self.plain(Sass::Fence { sequential: false, scope }, 1),
            Order::AcqRel | Order::Weak | Order::Relaxed => {
                self.plain(Sass::Fence { sequential: true, scope }, 1);
                self.plain(Sass::ErrorBarrier, 1);
                self.plain(Sass::Invalidate, 1);
            }
        }
    }

    /// A memory instruction. Returns the register that its values go to, if somebody will ask for them.
    pub(super) fn memory(&mut self, op: &MemoryOp) -> Option<u16> {
        let strong = (op.order != Order::Weak).then_some(op.scope);
        let register = (op.kind != MemoryOpKind::Store && !op.is_abandoned()).then(|| self.next_register());
        let (addresses, bytes) = (Addresses(op), bytes_of_lane(op));
        match op.kind {
            MemoryOpKind::Load => {
                self.line(Sass::Load(bytes, strong), op.mask.0, register.or(Some(ZERO)), &[ADDRESS], addresses);
            }
            MemoryOpKind::Store => self.line(Sass::Store(bytes, strong), op.mask.0, None, &[ADDRESS, DATA], addresses),
            MemoryOpKind::Atomic(atomic) => {
                let reduces = !always_returns(atomic);
                let (sass, register) = match register {
                    None if reduces => (Sass::Reduction(atomic, op.scope), None),
                    given => (Sass::Atomic(atomic, op.scope), given.or(Some(ZERO))),
                };
                self.line(sass, op.mask.0, register, &[ADDRESS, DATA], addresses);
            }
        }
        register
    }
}

/// Whether an atomic exists only in the form that returns the old values.
fn always_returns(op: AtomicOp) -> bool {
    use AtomicOp::{CompareExchange, Exchange, Pair};
    matches!(op, Exchange | CompareExchange { .. } | Pair(PairOp::CompareExchange { .. }))
}

/// Bytes that each lane accesses. The lanes of a store narrower than a word all write as many.
fn bytes_of_lane(op: &MemoryOp) -> u32 {
    let written = op.mask.iter().map(|lane| op.bytes(lane).count_ones()).max();
    match op.words_per_lane() as u32 {
        1 if op.kind == MemoryOpKind::Store => written.unwrap_or(4).next_power_of_two(),
        words => 4 * words,
    }
}

/// The width and the addresses of a memory instruction: a base and a stride where they are the whole truth, and
/// otherwise a list, which every reader gets right.
struct Addresses<'o>(&'o MemoryOp);

impl fmt::Display for Addresses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.0;
        let bytes = bytes_of_lane(op);
        let address =
            |lane: usize| BASE + 4 * u64::from(op.word(lane)) + u64::from(op.bytes(lane).trailing_zeros() % 4);
        let lanes: Vec<usize> = op.mask.iter().collect();
        let (first, last) = match (lanes.first(), lanes.last()) {
            (Some(&first), Some(&last)) => (first, last),
            _ => return write!(f, "{bytes} 1 0x0 0"),
        };
        let stride = |lane: usize| address(lane + 1) as i64 - address(lane) as i64;
        let is_run = first < last && last - first + 1 == lanes.len() && last < LANES;
        if is_run && (first..last).all(|lane| stride(lane) == stride(first)) {
            return write!(f, "{bytes} 1 {:#x} {}", address(first), stride(first));
        }
        write!(f, "{bytes} 0")?;
        lanes.into_iter().try_for_each(|lane| write!(f, " {:#018x}", address(lane)))
    }
}
