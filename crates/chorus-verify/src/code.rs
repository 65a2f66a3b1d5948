//! Threads of litmus tests as the machine runs them.
//!
//! The next operation of a thread follows from its code and from the values that it has read so far. A state therefore
//! stores nothing but those values, and the code is run again from its beginning whenever the next operation is asked
//! for. Loops are bounded as the litmus tests have it: a thread that would go back is abandoned, and the execution with
//! it.

use std::collections::BTreeSet;
use std::sync::Arc;

use chorus_litmus::test::{Instruction, LocationId, Modify, Operand, Program, Register, Thread};
use chorus_protocol::line::LineData;
use thiserror::Error;

use crate::litmus::placement::lines_used;
use crate::program::{Location, Op, Step, WORDS};
use crate::state::Progress;
use crate::words::{Values, Words};

/// The code of one thread of a litmus test, on the machine's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    program: Arc<Program>,
    /// The word of memory of each location; none if no thread uses the location.
    places: Arc<[Option<Location>]>,
    thread: usize,
    barriers: Arc<[BarrierSpec]>,
}

/// A barrier of a work-group, as a litmus test names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierSpec {
    gpu: u32,
    cta: u32,
    instance: u32,
    id: u32,
    /// The number of threads that must arrive before any goes on.
    pub parties: u8,
}

/// The next thing that a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It issues an operation.
    Issue {
        /// The place of the operation among all that the thread has issued.
        slot: usize,
        /// The operation to issue.
        op: Op,
        /// Whether the operation is a fence that stands for the order of another operation.
        implied: bool,
    },
    /// It waits for the value of the operation in this place.
    Await(usize),
    /// It has ended and does nothing more.
    End,
    /// It would go back in a loop, so that the execution is abandoned.
    Abandon,
}

/// The reason why a litmus test cannot be run on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotRunnable {
    /// A line holds more words than lines have here.
    #[error("location {name} is word {word} of its line, and lines have {WORDS} words here")]
    LineTooLong {
        /// The name of the location that is too far.
        name: String,
        /// The place of the location in its line.
        word: u8,
    },
    /// An instruction compares each of several words with a value of its own.
    #[error("an instruction of P{thread} compares words with different values, and a cache compares all with one")]
    Comparisons {
        /// The index of the thread.
        thread: usize,
    },
    /// A thread can issue too many different operations.
    #[error("thread {thread} has more than {limit} different courses")]
    TooManyCourses {
        /// The index of the thread.
        thread: usize,
        /// The number of courses that are followed at most.
        limit: usize,
    },
}

/// The most courses of one thread that are followed. A course is one sequence of operations.
const COURSES: usize = 20_000;

/// The most different values with which a program is followed.
const VALUES: usize = 24;

/// The content of a register: a value, or the operation that has not returned it yet.
#[derive(Clone, Copy, Debug)]
enum RegisterValue {
    Value(u32),
    Awaited(usize),
}

impl Code {
    /// The threads of a program, each with the operations that it may issue in each place. `lines` holds the machine's
    /// number for each line that the program uses.
    pub fn of_program(program: &Program, lines: &[u8]) -> Result<Vec<(Code, Vec<Step>)>, NotRunnable> {
        if let Some(at) = program.locations.iter().find(|at| usize::from(at.word) >= WORDS) {
            return Err(NotRunnable::LineTooLong { name: at.name.clone(), word: at.word });
        }
        if let Some(thread) = program.threads.iter().position(compares_differently) {
            return Err(NotRunnable::Comparisons { thread });
        }
        let places = places(program, lines);
        let program = Arc::new(program.clone());
        let mut values: BTreeSet<u32> = program.locations.iter().map(|at| at.initial).collect();
        loop {
            let barriers = barriers(&program, &values);
            let code = |thread| {
                let (program, places, barriers) = (Arc::clone(&program), Arc::clone(&places), Arc::clone(&barriers));
                Code { program, places, thread, barriers }
            };
            let threads = (0..program.threads.len()).map(|thread| {
                let code = code(thread);
                let steps = code.courses(&values)?;
                Ok((code, steps))
            });
            let threads = threads.collect::<Result<Vec<_>, _>>()?;
            let ops = threads.iter().flat_map(|(_, steps)| steps).flat_map(|step| &step.alternatives);
            let mut more = values.clone();
            for op in ops {
                match *op {
                    Op::Store { at, values, .. } => more.extend(at.iter().map(|at| values[usize::from(at.word)])),
                    Op::Atomic { at, op, operands, .. } => more.extend(at.iter().flat_map(|at| {
                        let operand = operands[usize::from(at.word)];
                        values.iter().map(move |&old| op.apply(old, operand))
                    })),
                    Op::Load { .. }
                    | Op::Fence { .. }
                    | Op::Barrier { .. }
                    | Op::Kernel(_)
                    | Op::Command { .. }
                    | Op::Settle => {}
                }
            }
            if more == values || more.len() > VALUES {
                return Ok(threads);
            }
            values = more;
        }
    }

    /// The next thing that the thread does when its operations are as far as `progress` says.
    pub fn next(&self, progress: impl Fn(usize) -> Progress) -> Next {
        self.run(progress).0
    }

    /// The values of the thread's registers when its operations are as far as `progress` says. Registers that wait hold
    /// zero.
    pub fn registers(&self, progress: impl Fn(usize) -> Progress) -> Vec<u32> {
        let value = |content: &RegisterValue| match *content {
            RegisterValue::Value(value) => value,
            RegisterValue::Awaited(_) => 0,
        };
        self.run(progress).1.iter().map(value).collect()
    }

    /// Whether this thread does the same as `other`, once `location` has moved the words of memory.
    pub fn becomes(&self, other: &Code, location: impl Fn(Location) -> Location) -> bool {
        let (from, to) = (self.spec(), other.spec());
        let initials = |thread: &Thread| thread.registers.iter().map(|register| register.initial).collect::<Vec<_>>();
        let same = |from_instruction: &Instruction, to_instruction: &Instruction| {
            let [(plain, at), (other_plain, other_at)] = [from_instruction, to_instruction].map(without_location);
            let meets = matches!(plain, Instruction::Barrier { .. });
            plain == other_plain
                && at.map(|at| location(self.place(at))) == other_at.map(|at| other.place(at))
                && (!meets || from.cta == to.cta)
        };
        from.gpu == to.gpu
            && initials(from) == initials(to)
            && from.code.len() == to.code.len()
            && from.code.iter().zip(&to.code).all(|(from, to)| same(from, to))
    }

    /// The word of memory of a location that an instruction names.
    fn place(&self, at: LocationId) -> Location {
        self.places[usize::from(at.0)].unwrap_or(Location { line: 0, word: 0 })
    }

    /// The program that the thread is part of.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The word of memory of each location of the program; none if no thread uses the location.
    pub fn places(&self) -> &[Option<Location>] {
        &self.places
    }

    /// The barriers of the program that this thread is part of.
    pub fn barriers(&self) -> &[BarrierSpec] {
        &self.barriers
    }

    fn spec(&self) -> &Thread {
        &self.program.threads[self.thread]
    }

    fn run(&self, progress: impl Fn(usize) -> Progress) -> (Next, Vec<RegisterValue>) {
        let mut registers: Vec<RegisterValue> =
            self.spec().registers.iter().map(|register| RegisterValue::Value(register.initial)).collect();
        let next = self.run_on(progress, &mut registers).unwrap_or_else(Next::Await);
        (next, registers)
    }

    /// Runs the code until it issues something new. Where a value is missing for that, the error is the operation that
    /// will return it.
    fn run_on(&self, progress: impl Fn(usize) -> Progress, registers: &mut [RegisterValue]) -> Result<Next, usize> {
        let (mut place, mut slot) = (0, 0);
        while let Some(instruction) = self.spec().code.get(place) {
            let mut target = place + 1;
            match *instruction {
                Instruction::Add { to, a, b } => {
                    let sum = value(registers, a)?.wrapping_add(value(registers, b)?);
                    registers[usize::from(to.0)] = RegisterValue::Value(sum);
                }
                Instruction::Jump { target: to } => target = usize::from(to),
                Instruction::Branch { comparison, a, b, target: to } => {
                    if comparison.holds(value(registers, a)?, value(registers, b)?) {
                        target = usize::from(to);
                    }
                }
                Instruction::Load { .. }
                | Instruction::Store { .. }
                | Instruction::Atomic { .. }
                | Instruction::Fence { .. }
                | Instruction::Barrier { .. } => {}
            }
            let parts = self.parts(place);
            if !instruction.is_joined()
                && let Some(op) = self.resolve(parts, registers)?
            {
                let [before, after] = Step::implied_fences(&op);
                for (op, implied) in [(before, true), (Some(op), false), (after, true)] {
                    let Some(op) = op else { continue };
                    let progress = progress(slot);
                    if progress == Progress::Waiting {
                        return Ok(Next::Issue { slot, op, implied });
                    }
                    if !implied {
                        self.receive(parts, &op, progress, slot, registers);
                    }
                    slot += 1;
                }
            }
            if target <= place {
                return Ok(Next::Abandon);
            }
            place = target;
        }
        Ok(Next::End)
    }

    /// The instruction in a place, with those that are joined to it.
    fn parts(&self, place: usize) -> &[Instruction] {
        let code = &self.spec().code[place..];
        let joined = code.iter().skip(1).take_while(|part| part.is_joined()).count();
        &code[..1 + joined]
    }

    /// Puts what came back from an operation into the registers of its parts.
    fn receive(
        &self,
        parts: &[Instruction],
        op: &Op,
        progress: Progress,
        slot: usize,
        registers: &mut [RegisterValue],
    ) {
        let Some(words) = op.words() else { return };
        for part in parts {
            let (Some(to), Some(at)) = (destination(part), without_location(part).1) else { continue };
            let place = words.iter().position(|word| word == self.place(at));
            registers[usize::from(to.0)] = match progress {
                Progress::Answered(_, values) => {
                    RegisterValue::Value(place.and_then(|place| words.unpack(values).nth(place)).unwrap_or(0))
                }
                Progress::Waiting | Progress::Outstanding(_) => RegisterValue::Awaited(slot),
            };
        }
    }

    /// The words that the parts of an instruction access.
    fn words(&self, parts: &[Instruction]) -> Words {
        let places = parts.iter().filter_map(|part| without_location(part).1).map(|at| self.place(at));
        Words::of(places).unwrap_or(Words::one(0, 0))
    }

    /// A value for each word of a line, as `value` gives them for the parts of an instruction.
    fn values(
        &self,
        parts: &[Instruction],
        value: impl Fn(&Instruction) -> Result<u32, usize>,
    ) -> Result<Values, usize> {
        let mut values = Values::default();
        for part in parts {
            if let Some(at) = without_location(part).1 {
                values[usize::from(self.place(at).word)] = value(part)?;
            }
        }
        Ok(values)
    }

    /// The operation that an instruction issues, with the values of its operands, or the operation that an operand
    /// waits for. Nothing if the instruction concerns registers and the control flow alone.
    fn resolve(&self, parts: &[Instruction], registers: &[RegisterValue]) -> Result<Option<Op>, usize> {
        let value = |operand: Operand| value(registers, operand);
        let at = self.words(parts);
        Ok(Some(match parts[0] {
            Instruction::Load { order, scope, .. } => Op::Load { at, order, scope },
            Instruction::Store { order, scope, .. } => {
                let written = |part: &Instruction| match *part {
                    Instruction::Store { value: operand, .. } => value(operand),
                    _ => Ok(0),
                };
                Op::Store { at, values: self.values(parts, written)?, order, scope }
            }
            Instruction::Atomic { to, modify, order, scope, .. } => {
                let (op, _) = modify.resolve(value)?;
                let operand = |part: &Instruction| match *part {
                    Instruction::Atomic { modify, .. } => Ok(modify.resolve(value)?.1),
                    _ => Ok(0),
                };
                Op::Atomic { at, op, operands: self.values(parts, operand)?, order, scope, returns: to.is_some() }
            }
            Instruction::Fence { scope, .. } => Op::fence(scope),
            Instruction::Barrier { mode, instance, id, .. } => {
                let id = id.map_or(Ok(0), value)?;
                let Thread { gpu, cta, .. } = *self.spec();
                let same =
                    |spec: &BarrierSpec| (spec.gpu, spec.cta, spec.instance, spec.id) == (gpu, cta, instance, id);
                let barrier = self.barriers.iter().position(same).unwrap_or(self.barriers.len());
                Op::Barrier { barrier: barrier as u8, mode }
            }
            Instruction::Add { .. } | Instruction::Branch { .. } | Instruction::Jump { .. } => return Ok(None),
        }))
    }

    /// The operations that the thread may issue in each place, if reads return any of `values`.
    fn courses(&self, values: &BTreeSet<u32>) -> Result<Vec<Step>, NotRunnable> {
        let mut steps = Vec::new();
        let mut left: Vec<Vec<(Op, Progress)>> = vec![Vec::new()];
        let mut followed = 0;
        while let Some(mut course) = left.pop() {
            followed += 1;
            if followed > COURSES {
                return Err(NotRunnable::TooManyCourses { thread: self.thread, limit: COURSES });
            }
            match self.next(|slot| course.get(slot).map_or(Progress::Waiting, |&(_, progress)| progress)) {
                Next::Issue { slot, op, implied } => {
                    if steps.len() == slot {
                        steps.push(Step { alternatives: Vec::new(), implied });
                    }
                    let step: &mut Step = &mut steps[slot];
                    if !step.alternatives.contains(&op) {
                        step.alternatives.push(op);
                    }
                    course.push((op, Progress::Outstanding(0)));
                    left.push(course);
                }
                Next::Await(slot) => left.extend(answers(&course[slot].0, values).into_iter().map(|answer| {
                    let mut course = course.clone();
                    course[slot].1 = Progress::Answered(0, answer);
                    course
                })),
                Next::End | Next::Abandon => {}
            }
        }
        Ok(steps)
    }
}

/// Whether an instruction of the thread compares several words with different values.
fn compares_differently(thread: &Thread) -> bool {
    let expected = |instruction: &Instruction| match *instruction {
        Instruction::Atomic { modify: Modify::CompareExchange { expected, .. }, .. } => Some(expected),
        _ => None,
    };
    thread.code.windows(2).any(|pair| pair[1].is_joined() && expected(&pair[0]) != expected(&pair[1]))
}

/// Everything that an operation may return, if each word holds one of `values`.
fn answers(op: &Op, values: &BTreeSet<u32>) -> Vec<u32> {
    let Some(words) = op.words() else { return vec![0] };
    let mut lines = vec![LineData::default()];
    for at in words.iter() {
        let with = |line: LineData<WORDS>| {
            values.iter().map(move |&value| {
                let mut line = line;
                line.0[usize::from(at.word)] = value;
                line
            })
        };
        lines = lines.into_iter().flat_map(with).collect();
    }
    lines.iter().map(|line| words.pack(line)).collect()
}

/// The value of an operand, or the operation that it waits for.
fn value(registers: &[RegisterValue], operand: Operand) -> Result<u32, usize> {
    match operand {
        Operand::Constant(value) => Ok(value),
        Operand::Register(register) => match registers[usize::from(register.0)] {
            RegisterValue::Value(value) => Ok(value),
            RegisterValue::Awaited(operation) => Err(operation),
        },
    }
}

/// The instruction with its location replaced by the first one, and its location.
fn without_location(instruction: &Instruction) -> (Instruction, Option<LocationId>) {
    let mut plain = *instruction;
    let at = match &mut plain {
        Instruction::Load { at, .. } | Instruction::Store { at, .. } | Instruction::Atomic { at, .. } => {
            Some(std::mem::replace(at, LocationId(0)))
        }
        Instruction::Fence { .. }
        | Instruction::Barrier { .. }
        | Instruction::Add { .. }
        | Instruction::Branch { .. }
        | Instruction::Jump { .. } => None,
    };
    (plain, at)
}

/// The register that receives an instruction's value.
fn destination(instruction: &Instruction) -> Option<Register> {
    match *instruction {
        Instruction::Load { to, .. } => Some(to),
        Instruction::Atomic { to, .. } => to,
        _ => None,
    }
}

/// The word of memory of each location. Lines without a location that is used are left out, since they would only be
/// evicted.
fn places(program: &Program, numbers: &[u8]) -> Arc<[Option<Location>]> {
    let lines = lines_used(program);
    let place = |(index, at): (usize, &chorus_litmus::test::Location)| {
        let used = program.uses(LocationId(index as u8));
        let line = lines.iter().position(|&line| line == at.line).filter(|_| used)?;
        Some(Location { line: numbers[line], word: at.word })
    };
    program.locations.iter().enumerate().map(place).collect()
}

/// Every barrier that a thread may reach. The threads that name it anywhere are its parties, unless a quorum says how
/// many are.
fn barriers(program: &Program, values: &BTreeSet<u32>) -> Arc<[BarrierSpec]> {
    let worth = |operand: Option<Operand>| match operand {
        None => vec![0],
        Some(Operand::Constant(value)) => vec![value],
        Some(Operand::Register(_)) => values.iter().copied().collect(),
    };
    let mut specs: Vec<BarrierSpec> = Vec::new();
    for thread in &program.threads {
        let mut met: BTreeSet<(u32, u32)> = BTreeSet::new();
        for instruction in &thread.code {
            let Instruction::Barrier { instance, id, quorum, .. } = *instruction else { continue };
            for id in worth(id) {
                let (gpu, cta) = (thread.gpu, thread.cta);
                let same =
                    |spec: &&mut BarrierSpec| (spec.gpu, spec.cta, spec.instance, spec.id) == (gpu, cta, instance, id);
                let fixed = quorum.and_then(|quorum| match quorum {
                    Operand::Constant(parties) => Some(parties as u8),
                    Operand::Register(_) => None,
                });
                match specs.iter_mut().find(same) {
                    Some(spec) if fixed.is_none() && met.insert((instance, id)) => spec.parties += 1,
                    Some(_) => {}
                    None => {
                        met.insert((instance, id));
                        specs.push(BarrierSpec { gpu, cta, instance, id, parties: fixed.unwrap_or(1) });
                    }
                }
            }
        }
    }
    specs.into()
}

#[cfg(test)]
mod tests {
    use chorus_litmus::parse::{Parsed, parse};

    use super::*;

    fn code(body: &str) -> Result<Vec<(Code, Vec<Step>)>, NotRunnable> {
        let head = "PTX t\n{ x=0; x1 @ line x; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n";
        let Ok(Parsed::Test(test)) = parse(&format!("{head}{body}exists (P1:r0 == 1)\n")) else { panic!("not a test") };
        Code::of_program(&test.program, &[0])
    }

    #[test]
    fn a_vector_access_is_one_operation_of_several_words() {
        let threads = code("st.weak x, 1 | ld.relaxed.gpu.v2 {r0, r1}, x ;\n").unwrap();
        let (reader, steps) = &threads[1];
        let [Step { alternatives, .. }] = &steps[..] else { panic!("{steps:?}") };
        let words = alternatives[0].words().unwrap();
        assert_eq!(words, Words::all(0));
        let answer = words.pack(&LineData([1, 7]));
        assert_eq!(reader.registers(|_| Progress::Answered(0, answer)), [1, 7]);
    }

    #[test]
    fn comparisons_with_different_values_are_refused() {
        let refused = code("st.weak x, 1 | atom.relaxed.gpu.cas.v2 {r0, r1}, x, {0, 1}, {2, 3} ;\n").unwrap_err();
        assert_eq!(refused, NotRunnable::Comparisons { thread: 1 });
    }
}
