//! Accesses of several words of a line by one instruction.
//!
//! Such a vector access stands in a thread's code as one instruction for each word, its *parts*. Every part but the
//! first is *joined* to the one before it. Caches perform all parts with one request. Models keep no program order
//! between them, in either direction, and promise nothing about the words as a whole: another thread may see one part
//! and not yet the other. Towards other instructions each part has its place in program order and its own order and
//! scope, as if it stood alone. PTX says the same of its vector accesses.

use std::mem::discriminant;
use std::ops::Range;

use thiserror::Error;

use crate::test::{Instruction, Location, LocationId, Modify, Operand, Program, Register, Thread};

/// The numbers of words that one instruction may access.
pub const WIDTHS: [usize; 2] = [2, 4];

/// The rule that a vector access breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum VectorMistake {
    /// There are too many parts, or a number between.
    #[error("a vector access has {parts} words")]
    Width {
        /// The number of its parts.
        parts: usize,
    },
    /// The first instruction of a thread is joined, or what is joined differs from the part before it.
    #[error("a word is joined to something else than an access of the same kind, order and scope")]
    Unlike,
    /// A part does not access the word behind that of the part before it.
    #[error("a vector access does not go on with the next word of its line")]
    NotNext,
    /// Two parts set one register, or one part sets what another takes as a value.
    #[error("a register that a vector access sets stands in it again")]
    RegisterAgain,
    /// A branch leads to a part that is not the first.
    #[error("a branch leads into the middle of a vector access")]
    Entered,
}

/// A vector access that breaks a rule, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("instruction {instruction} of P{thread}: {mistake}")]
pub struct BrokenVector {
    /// The index of the thread.
    pub thread: usize,
    /// The index of the first part.
    pub instruction: usize,
    /// The rule that is broken.
    pub mistake: VectorMistake,
}

impl Instruction {
    /// Whether it belongs to the instruction before it.
    pub fn is_joined(&self) -> bool {
        match *self {
            Instruction::Load { joined, .. }
            | Instruction::Store { joined, .. }
            | Instruction::Atomic { joined, .. } => joined,
            Instruction::Fence { .. }
            | Instruction::Barrier { .. }
            | Instruction::Add { .. }
            | Instruction::Branch { .. }
            | Instruction::Jump { .. } => false,
        }
    }

    /// The word that it accesses.
    pub(crate) fn location(&self) -> Option<LocationId> {
        match *self {
            Instruction::Load { at, .. } | Instruction::Store { at, .. } | Instruction::Atomic { at, .. } => Some(at),
            Instruction::Fence { .. }
            | Instruction::Barrier { .. }
            | Instruction::Add { .. }
            | Instruction::Branch { .. }
            | Instruction::Jump { .. } => None,
        }
    }

    /// The register that an access sets.
    pub(crate) fn sets(&self) -> Option<Register> {
        match *self {
            Instruction::Load { to, .. } => Some(to),
            Instruction::Atomic { to, .. } => to,
            _ => None,
        }
    }

    /// Whether an access takes its value from a register.
    fn takes(&self, register: Register) -> bool {
        let is_taken = |operand: Operand| operand == Operand::Register(register);
        match *self {
            Instruction::Store { value, .. } => is_taken(value),
            Instruction::Atomic { modify, .. } => modify.operands().into_iter().any(is_taken),
            _ => false,
        }
    }

    /// Whether both are accesses of the same kind, order and scope.
    fn is_like(&self, other: &Instruction) -> bool {
        match (*self, *other) {
            (Instruction::Load { order, scope, .. }, Instruction::Load { order: o, scope: s, .. })
            | (Instruction::Store { order, scope, .. }, Instruction::Store { order: o, scope: s, .. }) => {
                (order, scope) == (o, s)
            }
            (
                Instruction::Atomic { to, modify, order, scope, .. },
                Instruction::Atomic { to: t, modify: m, order: o, scope: s, .. },
            ) => (to.is_some(), discriminant(&modify), order, scope) == (t.is_some(), discriminant(&m), o, s),
            _ => false,
        }
    }
}

impl Modify {
    /// The operands, in the order in which they are written. A single operand is there twice.
    pub(crate) fn operands(self) -> [Operand; 2] {
        match self {
            Modify::Add(operand)
            | Modify::Sub(operand)
            | Modify::And(operand)
            | Modify::Or(operand)
            | Modify::Xor(operand)
            | Modify::Exchange(operand) => [operand; 2],
            Modify::CompareExchange { expected, new } => [expected, new],
        }
    }
}

impl Thread {
    /// The places of all parts of the instruction that the code at `place` belongs to. A single access has one.
    pub fn parts(&self, place: usize) -> Range<usize> {
        let is_joined = |place: &usize| self.code.get(*place).is_some_and(Instruction::is_joined);
        let start = (1..=place).rev().find(|place| !is_joined(place)).unwrap_or(0);
        let end = (place + 1..).find(|place| !is_joined(place)).unwrap_or(place + 1);
        start..end
    }

    /// The instructions of the thread, each as the places of its parts.
    pub fn instructions(&self) -> impl Iterator<Item = Range<usize>> {
        let is_first = |place: &usize| *place == 0 || !self.code[*place].is_joined();
        (0..self.code.len()).filter(is_first).map(|place| self.parts(place))
    }
}

impl Program {
    /// Whether every vector access keeps the rules. Programs that were parsed keep them.
    pub fn check_vectors(&self) -> Result<(), BrokenVector> {
        for (index, thread) in self.threads.iter().enumerate() {
            for parts in thread.instructions() {
                let mistake = |mistake| BrokenVector { thread: index, instruction: parts.start, mistake };
                check_parts(&self.locations, &thread.code[parts.clone()]).map_err(mistake)?;
                let enters = |instruction: &Instruction| match *instruction {
                    Instruction::Branch { target, .. } | Instruction::Jump { target } => {
                        parts.contains(&usize::from(target)) && usize::from(target) != parts.start
                    }
                    _ => false,
                };
                if thread.code.iter().any(enters) {
                    return Err(mistake(VectorMistake::Entered));
                }
            }
        }
        Ok(())
    }
}

/// Whether these parts make one instruction.
pub(crate) fn check_parts(locations: &[Location], parts: &[Instruction]) -> Result<(), VectorMistake> {
    if parts.first().is_some_and(Instruction::is_joined) {
        return Err(VectorMistake::Unlike);
    }
    if parts.len() > 1 && !WIDTHS.contains(&parts.len()) {
        return Err(VectorMistake::Width { parts: parts.len() });
    }
    for pair in parts.windows(2) {
        if !pair[1].is_like(&pair[0]) {
            return Err(VectorMistake::Unlike);
        }
        let place = |part: &Instruction| part.location().map(|at| &locations[usize::from(at.0)]);
        let follows =
            |from: &Location, to: &Location| from.line == to.line && to.word.checked_sub(1) == Some(from.word);
        if !place(&pair[0]).zip(place(&pair[1])).is_some_and(|(from, to)| follows(from, to)) {
            return Err(VectorMistake::NotNext);
        }
    }
    for (index, part) in parts.iter().enumerate() {
        let Some(register) = part.sets() else { continue };
        let clashes = |other: &Instruction| other.sets() == Some(register) || other.takes(register);
        if parts.iter().enumerate().any(|(other, part)| other != index && clashes(part)) {
            return Err(VectorMistake::RegisterAgain);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Parsed, parse};

    /// A program whose thread has these cells, with words `x`, `x1` and `x2` in one line and `y` in another.
    fn program(cells: &str) -> Program {
        let rows: String = cells.split('\n').map(|cell| format!("{cell} ;\n")).collect();
        let text =
            format!("PTX t\n{{ x = 0; x1 @ line x; x2 @ line x; y = 0; }}\nP0@cta 0,gpu 0 ;\n{rows}exists (x == 1)\n");
        match parse(&text) {
            Ok(Parsed::Test(test)) => test.program,
            other => panic!("{other:?}"),
        }
    }

    /// The mistake that joining the second of these instructions to the first makes.
    fn joined(cells: &str) -> Option<VectorMistake> {
        let mut program = program(cells);
        join(&mut program.threads[0].code[1]);
        program.check_vectors().err().map(|broken| {
            assert_eq!((broken.thread, broken.instruction), (0, 0));
            broken.mistake
        })
    }

    fn join(instruction: &mut Instruction) {
        match instruction {
            Instruction::Load { joined, .. }
            | Instruction::Store { joined, .. }
            | Instruction::Atomic { joined, .. } => *joined = true,
            other => panic!("{other:?} is no access"),
        }
    }

    #[test]
    fn accesses_of_one_kind_and_of_neighbouring_words_are_one_instruction() {
        assert_eq!(joined("ld.relaxed.gpu r0, x\nld.relaxed.gpu r1, x1"), None);
        assert_eq!(joined("st.release.sys x1, 1\nst.release.sys x2, 1"), None);
        assert_eq!(joined("atom.acq_rel.cta.cas r0, x, 0, r0\natom.acq_rel.cta.cas r1, x1, r1, 2"), None);
        assert_eq!(joined("red.relaxed.gpu.add x, 1\nred.relaxed.gpu.add x1, 2"), None);
    }

    #[test]
    fn other_words_are_refused() {
        for second in ["x", "x2", "y"] {
            let cells = format!("st.weak x, 1\nst.weak {second}, 2");
            assert_eq!(joined(&cells), Some(VectorMistake::NotNext), "{second}");
        }
        assert_eq!(joined("st.weak x1, 1\nst.weak x, 2"), Some(VectorMistake::NotNext));
    }

    #[test]
    fn other_kinds_orders_and_scopes_are_refused() {
        for second in ["st.weak x1, 1", "ld.relaxed.gpu r1, x1", "ld.weak r1, x1", "ld.acquire.sys r1, x1"] {
            let cells = format!("ld.acquire.gpu r0, x\n{second}");
            assert_eq!(joined(&cells), Some(VectorMistake::Unlike), "{second}");
        }
        for second in ["atom.relaxed.gpu.exch r1, x1, 1", "red.relaxed.gpu.add x1, 1"] {
            let cells = format!("atom.relaxed.gpu.add r0, x, 1\n{second}");
            assert_eq!(joined(&cells), Some(VectorMistake::Unlike), "{second}");
        }
        assert_eq!(joined("fence.sc.gpu\nst.weak x1, 1"), Some(VectorMistake::Unlike));
        let mut program = program("st.weak x, 1");
        join(&mut program.threads[0].code[0]);
        assert_eq!(program.check_vectors().map_err(|broken| broken.mistake), Err(VectorMistake::Unlike));
    }

    #[test]
    fn a_register_is_set_once_and_not_taken_elsewhere() {
        let again = Some(VectorMistake::RegisterAgain);
        assert_eq!(joined("ld.weak r0, x\nld.weak r0, x1"), again);
        assert_eq!(joined("atom.relaxed.gpu.exch r0, x, 1\natom.relaxed.gpu.exch r1, x1, r0"), again);
        assert_eq!(joined("atom.relaxed.gpu.exch r0, x, r1\natom.relaxed.gpu.exch r1, x1, 1"), again);
    }

    #[test]
    fn three_words_are_refused_and_so_are_branches_into_the_middle() {
        let mut three = program("st.weak.v2 x, {1, 2}\nst.weak x2, 3");
        join(&mut three.threads[0].code[2]);
        assert_eq!(three.check_vectors().map_err(|broken| broken.mistake), Err(VectorMistake::Width { parts: 3 }));
        let mut entered = program("goto L\nL: st.weak.v2 x, {1, 2}");
        assert_eq!(entered.check_vectors(), Ok(()));
        entered.threads[0].code[0] = Instruction::Jump { target: 2 };
        let mistake = VectorMistake::Entered;
        assert_eq!(entered.check_vectors(), Err(BrokenVector { thread: 0, instruction: 1, mistake }));
    }

    #[test]
    fn every_part_leads_to_the_whole() {
        let program = program("st.weak x, 1\nld.weak.v2 {r0, r1}, x\nfence.sc.gpu");
        let thread = &program.threads[0];
        assert_eq!(thread.instructions().collect::<Vec<_>>(), [0..1, 1..3, 3..4]);
        assert_eq!([0, 1, 2, 3].map(|place| thread.parts(place)), [0..1, 1..3, 1..3, 3..4]);
    }
}
