//! A kernel in the form that wavefronts run: a list of instructions on numbered registers.

use std::ops::Range;

use chorus_kernel::{InstructionClass, Surroundings};
use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::save::{self, Save};

use crate::error::Place;
use crate::registers::{Register, Step};
use crate::types::Space;

/// The code of an entry.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    /// The registers that instructions read and write. Each names its part.
    pub(crate) uses: Vec<Register>,
    /// The number of registers of each bank.
    pub(crate) words: usize,
    pub(crate) longs: usize,
    pub(crate) predicates: usize,
    /// The registers that have a value before the first instruction.
    pub(crate) presets: Vec<(Register, Preset)>,
}

impl Code {
    /// The registers that an instruction reads, and those that it writes.
    pub(crate) fn registers_of(&self, instruction: &Instruction) -> [&[Register]; 2] {
        [&instruction.reads, &instruction.writes].map(|range| &self.uses[range.start as usize..range.end as usize])
    }

    /// Whether a barrier counts predicates.
    pub(crate) fn reduces(&self) -> bool {
        let reduces = |action: &Action| matches!(action, Action::Barrier(Barrier { reduction: Some(_) }));
        self.instructions.iter().any(|instruction| reduces(&instruction.action))
    }

    /// Whether any instruction orders accesses, or takes part in communication between work-groups.
    pub(crate) fn communicates(&self) -> bool {
        let is_read = |register: Register| {
            let read = |instruction: &Instruction| {
                let Range { start, end } = instruction.reads;
                self.uses[start as usize..end as usize].contains(&register)
            };
            self.instructions.iter().any(read)
        };
        let in_groups = |space: Space| matches!(space, Space::Shared | Space::Local | Space::Const | Space::Param);
        self.instructions.iter().any(|instruction| match &instruction.action {
            Action::Fence(..) => true,
            Action::Load(Load { address, order, .. }) | Action::Store(Store { address, order, .. }) => {
                *order != Order::Weak && !in_groups(address.space)
            }
            Action::Atomic(atomic) if in_groups(atomic.address.space) => false,
            Action::Atomic(atomic) => {
                !matches!(atomic.order, Order::Weak | Order::Relaxed) || atomic.to.is_some_and(is_read)
            }
            Action::Compute(_)
            | Action::Branch { .. }
            | Action::Exit
            | Action::Barrier(_)
            | Action::Sync { .. }
            | Action::Look { .. }
            | Action::Print(_)
            | Action::Assert { .. }
            | Action::Nothing => false,
        })
    }
}

/// The value of a register before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    /// A value that all lanes of all wavefronts share.
    Value(u64),
    /// The generic address of the byte of the module's variables that lie in global memory.
    Global(u64),
    /// The offset of dynamic shared memory. It lies behind the variables of the entry.
    DynamicOffset,
    Special(Special),
}

/// A register that the machine sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Thread(usize),
    Threads(usize),
    Group(usize),
    Groups(usize),
    Lane,
    Wave,
    Waves,
    LaneMask(LaneMask),
    DynamicBytes,
    TotalBytes,
}

/// A register that has another value whenever it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Some bits of the cycle of the core's clock.
    Cycle(Part),
    /// Some bits of the time in nanoseconds.
    Time(Part),
    Unit,
    Units,
}

/// The bits of a value of 64 bits that a register shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Low,
    High,
}

impl Part {
    fn of(self, value: u64) -> u64 {
        match self {
            Part::Whole => value,
            Part::Low => value & u64::from(u32::MAX),
            Part::High => value >> 32,
        }
    }
}

impl Sight {
    /// The register with this name.
    pub(crate) fn named(name: &str) -> Option<Sight> {
        Some(match name {
            "%clock" => Sight::Cycle(Part::Low),
            "%clock_hi" => Sight::Cycle(Part::High),
            "%clock64" => Sight::Cycle(Part::Whole),
            "%globaltimer" => Sight::Time(Part::Whole),
            "%globaltimer_lo" => Sight::Time(Part::Low),
            "%globaltimer_hi" => Sight::Time(Part::High),
            "%smid" => Sight::Unit,
            "%nsmid" => Sight::Units,
            _ => return None,
        })
    }

    /// The bits of the register.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Sight::Cycle(Part::Whole) | Sight::Time(Part::Whole) => 64,
            Sight::Cycle(_) | Sight::Time(_) | Sight::Unit | Sight::Units => 32,
        }
    }

    /// The value of the register, for all lanes.
    pub(crate) fn value(self, surroundings: Surroundings) -> u64 {
        match self {
            Sight::Cycle(part) => part.of(surroundings.cycle),
            Sight::Time(part) => part.of(surroundings.nanoseconds),
            Sight::Unit => surroundings.unit.into(),
            Sight::Units => surroundings.units.into(),
        }
    }
}

/// Which lanes a lane mask holds, as seen from its own lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneMask {
    Equal,
    Below,
    UpTo,
    Above,
    From,
}

pub(crate) struct Instruction {
    pub(crate) at: Place,
    pub(crate) guard: Option<Guard>,
    pub(crate) action: Action,
    /// The class that says what it costs.
    pub(crate) class: InstructionClass,
    /// Where its registers are in the list of uses: those that it reads, then those that it writes.
    pub(crate) reads: Range<u32>,
    pub(crate) writes: Range<u32>,
}

/// The predicate that lanes must have to take part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) predicate: u16,
    pub(crate) negated: bool,
}

/// The action of an instruction.
pub(crate) enum Action {
    Compute(Step),
    /// Lanes with the guard go to `target`, the others to the next instruction. They meet at `meeting`.
    Branch {
        target: u32,
        meeting: Option<u32>,
        /// It closes a loop that waits for other threads.
        waits: bool,
    },
    Exit,
    Load(Load),
    Store(Store),
    Atomic(Atomic),
    /// Orders the accesses of the lane.
    Fence(Order, Scope),
    Barrier(Barrier),
    /// Waits for the lanes of a member mask, which may do something together.
    Sync {
        members: u16,
        action: SyncAction,
    },
    /// Asks the machine when or where the wavefront is.
    Look {
        sight: Sight,
        to: Register,
    },
    Print(Print),
    /// Stops the program with a message that the program wrote.
    Assert {
        message: u16,
        file: u16,
        line: u16,
        function: u16,
    },
    Nothing,
}

/// A barrier of the work-group, with what it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) reduction: Option<Reduction>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub(crate) kind: ReductionKind,
    pub(crate) predicate: u16,
    pub(crate) negated: bool,
    pub(crate) to: Register,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReductionKind {
    Count,
    All,
    Any,
}

/// The common action of the lanes of a `*.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyncAction {
    Meet,
    Vote { kind: VoteKind, predicate: u16, negated: bool, to: Register },
    Shuffle { kind: ShuffleKind, to: u16, valid: Option<u16>, from: u16, lane: u16, clamp: u16 },
    ActiveLanes { to: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteKind {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleKind {
    Up,
    Down,
    Butterfly,
    Index,
}

/// Where an access goes: a register, if there is one, and a distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) base: Option<Register>,
    pub(crate) offset: u64,
}

/// A register of a load or a store, with the sign of its element.
#[derive(Clone, Copy, Debug, Save)]
pub(crate) struct Element {
    /// None where PTX has `_`.
    pub(crate) register: Option<Register>,
    pub(crate) signed: bool,
}

/// The elements that a load or a store moves.
#[derive(Clone, Copy, Debug, Save)]
pub(crate) struct Elements {
    /// The bytes of one.
    pub(crate) bytes: u8,
    pub(crate) count: u8,
    pub(crate) list: [Element; 4],
}

impl Elements {
    /// All bytes of one lane: 1, 2, 4, 8 or 16.
    pub(crate) fn total(&self) -> u64 {
        u64::from(self.bytes) * u64::from(self.count)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Element> {
        self.list.into_iter().take(usize::from(self.count))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) address: Address,
    pub(crate) elements: Elements,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Store {
    pub(crate) address: Address,
    pub(crate) elements: Elements,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) address: Address,
    pub(crate) op: AtomicOp,
    /// The width of an element: 4 or 8 bytes.
    pub(crate) bytes: u8,
    /// Where the old value goes, if anybody wants it.
    pub(crate) to: Option<Register>,
    pub(crate) operand: Register,
    /// The value that a compare-exchange expects.
    pub(crate) expected: Option<Register>,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
}

/// A call of `vprintf`: the addresses of its format and of its arguments, and where the number of arguments goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Print {
    pub(crate) format: u16,
    pub(crate) arguments: u16,
    pub(crate) to: Option<u16>,
}
