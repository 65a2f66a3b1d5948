//! SASS opcodes: what an instruction does to memory, by the tokens of its opcode.
//!
//! The first token is the class. The others are a set, of which the scope, the width and the operation of an atomic
//! matter here. `.STRONG` makes an access a relaxed one of its scope. Without it an access is weak, whatever else
//! stands there: on Volta and Turing every plain access has `.SYS`.

use chorus_protocol::access::{AtomicOp, PairOp, Scope};

/// The memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The memory that all work-groups share.
    Global,
    /// The local data share of the work-group, which CUDA calls shared memory.
    Shared,
    /// Memory of each thread alone.
    Local,
    /// Any of these, by the address.
    Generic,
}

/// The part that an instruction plays for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Load(Space),
    Store(Space),
    Atomic(Space, AtomicOp),
    /// A copy from global to shared memory that goes on behind the warp (`LDGSTS`).
    Copy,
    /// Waits for such copies (`DEPBAR`).
    WaitForCopies,
    /// `MEMBAR`. A sequentially consistent one also orders what comes after it.
    Fence {
        sequential: bool,
        scope: Scope,
    },
    /// `CCTL.IVALL`, which empties the L1.
    Invalidate,
    /// `ERRBAR`, which belongs to the fence before it.
    ErrorBarrier,
    /// Waits for the other warps of the work-group.
    Barrier,
    Exit,
    /// Accesses memory at addresses that a trace does not have.
    Unseen,
    /// Everything else: it takes an issue slot.
    Arithmetic,
}

/// An opcode, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opcode {
    pub class: Class,
    /// The scope of a strong access.
    pub strong: Option<Scope>,
    /// Whether the access goes past the caches each time, as polling of old code does.
    pub volatile: bool,
    /// Bytes of each lane, where the opcode tells.
    pub width: Option<u32>,
    /// Registers that each listed source stands for.
    pub source_registers: u32,
}

/// Classes whose instructions move data that a trace does not have: textures, surfaces and bulk copies.
const UNSEEN: [&str; 20] = [
    "TEX", "TLD", "TLD4", "TXD", "TXQ", "TMML", "SULD", "SUST", "SUATOM", "SURED", "UBLKCP", "UBLKRED", "UBLKPF",
    "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "LDTM", "STTM", "LDGMC",
];

impl Opcode {
    /// Reads an opcode such as `LDG.E.64.STRONG.GPU`.
    pub(crate) fn parse(text: &str) -> Opcode {
        let mut tokens = text.split('.');
        let name = tokens.next().unwrap_or_default();
        let mut strong = false;
        let (mut scope, mut width, mut atomic) = (None, None, None);
        let (mut sequential, mut invalidates, mut volatile, mut is_float, mut wide) =
            (false, false, false, false, false);
        let mut is_signed = false;
        for token in tokens {
            match token {
                "STRONG" => strong = true,
                "CTA" | "SM" => scope = Some(Scope::WorkGroup),
                "GPU" | "GL" | "CLUSTER" => scope = Some(Scope::Gpu),
                "SYS" => scope = Some(Scope::System),
                "SC" => sequential = true,
                "IVALL" => invalidates = true,
                "CV" => volatile = true,
                "WIDE" => wide = true,
                "S32" | "S64" => is_signed = true,
                "F32" | "F64" | "F16x2" | "BF16x2" | "BF16" | "F16" => is_float = true,
                _ => {}
            }
            width = width.or_else(|| width_of(token));
            atomic = atomic.or_else(|| atomic_of(token));
        }
        let atomic = of_type(atomic.unwrap_or(AtomicOp::Add), is_float, is_signed, width == Some(8));
        let scope = scope.unwrap_or(Scope::Gpu);
        let class = class_of(name, text, atomic, invalidates, Class::Fence { sequential, scope });
        let source_registers = source_registers(name, class, wide, width);
        Opcode { class, strong: strong.then_some(scope), volatile, width, source_registers }
    }

    /// Whether it reads memory in a way that polling does: strongly, or as an atomic that writes only at times.
    pub(crate) fn can_poll(&self) -> bool {
        match self.class {
            Class::Load(_) => self.strong.is_some() || self.volatile,
            Class::Atomic(_, AtomicOp::CompareExchange { .. } | AtomicOp::Exchange) => true,
            Class::Atomic(_, AtomicOp::Pair(PairOp::CompareExchange { .. })) => true,
            _ => false,
        }
    }

    /// Whether it names addresses.
    pub(crate) fn accesses(&self) -> bool {
        matches!(self.class, Class::Load(_) | Class::Store(_) | Class::Atomic(..) | Class::Copy)
    }
}

/// Tells the two lines of a copy from global to shared memory apart. Old tracers write two for each, the one of the
/// shared memory first. Since version 5 the post-processor leaves that one out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CopyLines {
    /// The program counter of a first line whose second one is to come.
    first: Option<u64>,
}

impl CopyLines {
    /// Sees the next line of a copy. Returns whether it is the one of the global memory.
    pub(crate) fn is_global(&mut self, version: u32, pc: u64) -> bool {
        if version >= 5 || self.first == Some(pc) {
            self.first = None;
            return true;
        }
        self.first = Some(pc);
        false
    }
}

fn class_of(name: &str, text: &str, atomic: AtomicOp, invalidates: bool, fence: Class) -> Class {
    match name {
        "LDG" => Class::Load(Space::Global),
        "LD" => Class::Load(Space::Generic),
        "LDS" | "LDSM" => Class::Load(Space::Shared),
        "LDL" => Class::Load(Space::Local),
        "STG" => Class::Store(Space::Global),
        "ST" => Class::Store(Space::Generic),
        "STS" | "STSM" => Class::Store(Space::Shared),
        "STL" => Class::Store(Space::Local),
        "ATOMG" | "RED" | "REDG" => Class::Atomic(Space::Global, atomic),
        "ATOM" => Class::Atomic(Space::Generic, atomic),
        "ATOMS" | "REDS" => Class::Atomic(Space::Shared, atomic),
        "LDGSTS" => Class::Copy,
        "DEPBAR" => Class::WaitForCopies,
        "MEMBAR" => fence,
        "CCTL" if invalidates => Class::Invalidate,
        "ERRBAR" | "CGAERRBAR" => Class::ErrorBarrier,
        // A warp that only arrives at a barrier does not wait there.
        "BAR" if !text.contains(".ARV") => Class::Barrier,
        "EXIT" => Class::Exit,
        _ if UNSEEN.contains(&name) => Class::Unseen,
        _ => Class::Arithmetic,
    }
}

/// Bytes of each lane, by a token of the opcode.
fn width_of(token: &str) -> Option<u32> {
    match token {
        "U8" | "S8" => Some(1),
        "U16" | "S16" => Some(2),
        "64" | "F64" | "S64" | "U64" => Some(8),
        "128" => Some(16),
        "256" => Some(32),
        _ => None,
    }
}

/// The operation of an atomic, by a token of the opcode. Those that Chorus does not have count as additions.
fn atomic_of(token: &str) -> Option<AtomicOp> {
    match token {
        "ADD" | "SAFEADD" => Some(AtomicOp::Add),
        "INC" => Some(AtomicOp::Inc),
        "DEC" => Some(AtomicOp::Dec),
        "MIN" => Some(AtomicOp::Min),
        "MAX" => Some(AtomicOp::Max),
        "AND" => Some(AtomicOp::And),
        "OR" => Some(AtomicOp::Or),
        "XOR" => Some(AtomicOp::Xor),
        "EXCH" => Some(AtomicOp::Exchange),
        "CAS" | "CAST" => Some(AtomicOp::CompareExchange { expected: 0 }),
        _ => None,
    }
}

/// An operation on a type: a float, a signed integer, or one of 64 bits.
fn of_type(op: AtomicOp, is_float: bool, is_signed: bool, is_wide: bool) -> AtomicOp {
    match (op, is_wide) {
        (AtomicOp::Add, true) if is_float => AtomicOp::Pair(PairOp::AddF64),
        (AtomicOp::Add, true) => AtomicOp::Pair(PairOp::Add),
        (AtomicOp::Add, false) if is_float => AtomicOp::AddF32,
        (AtomicOp::Min, true) => AtomicOp::Pair(if is_signed { PairOp::MinSigned } else { PairOp::Min }),
        (AtomicOp::Max, true) => AtomicOp::Pair(if is_signed { PairOp::MaxSigned } else { PairOp::Max }),
        (AtomicOp::Min, false) if is_signed => AtomicOp::MinSigned,
        (AtomicOp::Max, false) if is_signed => AtomicOp::MaxSigned,
        (AtomicOp::CompareExchange { .. }, true) => AtomicOp::Pair(PairOp::CompareExchange { expected: [0; 2] }),
        (other, _) => other,
    }
}

/// Registers that each listed source stands for. A trace lists the first of those that make up an operand.
fn source_registers(name: &str, class: Class, wide: bool, width: Option<u32>) -> u32 {
    const MATRIX: [&str; 6] = ["HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA"];
    let is_double = ["DADD", "DMUL", "DFMA", "DSETP", "DMNMX"].contains(&name);
    match class {
        // Addresses have 64 bits.
        Class::Load(_) | Class::Copy => 2,
        Class::Store(_) | Class::Atomic(..) => width.map_or(2, |bytes| (bytes / 4).max(2)),
        _ if MATRIX.contains(&name) => 4,
        _ if is_double || wide || width == Some(8) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strong(text: &str) -> Option<Scope> {
        Opcode::parse(text).strong
    }

    #[test]
    fn only_strong_accesses_have_a_scope() {
        assert_eq!(strong("LDG.E.SYS"), None, "Volta writes plain loads like this");
        assert_eq!(strong("LDG.E.STRONG.SM"), Some(Scope::WorkGroup));
        assert_eq!(strong("STG.E.64.STRONG.GPU"), Some(Scope::Gpu));
        assert_eq!(strong("ATOMG.E.CAS.STRONG.SYS"), Some(Scope::System));
        assert_eq!(strong("RED.E.ADD"), None);
    }

    #[test]
    fn fences_have_a_scope_on_every_generation() {
        let fence = |sequential, scope| Class::Fence { sequential, scope };
        assert_eq!(Opcode::parse("MEMBAR.GL").class, fence(false, Scope::Gpu));
        assert_eq!(Opcode::parse("MEMBAR.SC.SYS").class, fence(true, Scope::System));
        assert_eq!(Opcode::parse("MEMBAR.ALL.CTA").class, fence(false, Scope::WorkGroup));
        assert_eq!(Opcode::parse("MEMBAR.SC.VC").class, fence(true, Scope::Gpu));
        assert_eq!(Opcode::parse("CCTL.IVALL").class, Class::Invalidate);
        assert_eq!(Opcode::parse("CCTL.E.PF2").class, Class::Arithmetic);
    }

    #[test]
    fn widths_and_operations_are_tokens_anywhere() {
        let width = |text| Opcode::parse(text).width;
        assert_eq!([width("LDG.E.S8"), width("LDG.E"), width("STG.E.128.SYS")], [Some(1), None, Some(16)]);
        assert_eq!([width("ATOMG.ADD.F64.RN.STRONG.GPU"), width("LDG.ENL2.256")], [Some(8), Some(32)]);
        let class = |text| Opcode::parse(text).class;
        assert_eq!(class("RED.E.ADD.F32.FTZ.RN.STRONG.GPU"), Class::Atomic(Space::Global, AtomicOp::AddF32));
        assert_eq!(class("ATOM.E.EXCH.STRONG.GPU"), Class::Atomic(Space::Generic, AtomicOp::Exchange));
        assert_eq!(class("BAR.ARV"), Class::Arithmetic);
        assert_eq!(class("BAR.SYNC.DEFER_BLOCKING"), Class::Barrier);
    }
}
