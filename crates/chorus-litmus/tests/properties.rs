//! Properties of models, on programs at random.

use std::collections::BTreeSet;
use std::convert::Infallible;

use chorus_litmus::judge::allowed;
use chorus_litmus::model::Model;
use chorus_litmus::test::{
    FenceKind, Instruction, Location, LocationId, Modify, Operand, Outcome, Program, Register, RegisterSpec, Thread,
};
use chorus_protocol::access::{Order, Scope};
use proptest::prelude::*;

use crate::wide::widened;

const LOCATIONS: u8 = 2;

/// Sequential consistency as a machine: threads take turns at one memory. The words of a vector access take their turns
/// in any order. `done` has a bit for each instruction of a thread that is over.
fn interleave(program: &Program, done: &mut [u64], state: &Outcome, found: &mut BTreeSet<Outcome>) {
    let mut finished = true;
    for (thread, spec) in program.threads.iter().enumerate() {
        let is_open = |place: &usize| done[thread] >> place & 1 == 0;
        let Some(first) = (0..spec.code.len()).find(is_open) else { continue };
        finished = false;
        let open: Vec<usize> = spec.parts(first).filter(is_open).collect();
        for place in open {
            done[thread] |= 1 << place;
            interleave(program, done, &after(program, thread, spec.code[place], state), found);
            done[thread] &= !(1 << place);
        }
    }
    if finished {
        found.insert(state.clone());
    }
}

/// The state after an instruction of a thread.
fn after(program: &Program, thread: usize, instruction: Instruction, state: &Outcome) -> Outcome {
    let mut next = state.clone();
    let value = |operand: Operand| match operand {
        Operand::Constant(value) => value,
        Operand::Register(register) => state.registers[program.register_index(thread, register)],
    };
    match instruction {
        Instruction::Load { to, at, .. } => {
            next.registers[program.register_index(thread, to)] = state.finals[usize::from(at.0)];
        }
        Instruction::Store { at, value: stored, .. } => next.finals[usize::from(at.0)] = value(stored),
        Instruction::Atomic { to, at, modify, .. } => {
            let old = state.finals[usize::from(at.0)];
            let Ok((operation, operand)) = modify.resolve(|operand| Ok::<u32, Infallible>(value(operand)));
            next.finals[usize::from(at.0)] = operation.apply(old, operand);
            if let Some(to) = to {
                next.registers[program.register_index(thread, to)] = old;
            }
        }
        Instruction::Add { to, a, b } => {
            next.registers[program.register_index(thread, to)] = value(a).wrapping_add(value(b));
        }
        _ => {}
    }
    next
}

fn interleaved(program: &Program) -> BTreeSet<Outcome> {
    let registers = program.threads.iter().flat_map(|thread| &thread.registers).map(|spec| spec.initial).collect();
    let start = Outcome { registers, finals: program.locations.iter().map(|location| location.initial).collect() };
    let mut found = BTreeSet::new();
    interleave(program, &mut vec![0; program.threads.len()], &start, &mut found);
    found
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![3 => (1..4u32).prop_map(Operand::Constant), 1 => (0..2u8).prop_map(|r| Operand::Register(Register(r)))]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let at = (0..LOCATIONS).prop_map(LocationId);
    let to = (0..2u8).prop_map(Register);
    let scope = prop_oneof![Just(Scope::WorkGroup), Just(Scope::Gpu), Just(Scope::System)];
    let order = 0..4usize;
    (0..9, at, to, operand(), operand(), order, scope).prop_map(|(kind, at, to, a, b, order, scope)| match kind {
        0..3 => {
            let order = [Order::Weak, Order::Relaxed, Order::Acquire, Order::Acquire][order];
            Instruction::Load { to, at, order, scope, joined: false }
        }
        3..6 => {
            let order = [Order::Weak, Order::Relaxed, Order::Release, Order::Release][order];
            Instruction::Store { at, value: a, order, scope, joined: false }
        }
        6 => {
            let order = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel][order];
            let modify =
                if order == Order::Relaxed { Modify::CompareExchange { expected: a, new: b } } else { Modify::Add(a) };
            Instruction::Atomic { to: Some(to), at, modify, order, scope, joined: false }
        }
        7 => Instruction::Fence { kind: if order > 1 { FenceKind::Sc } else { FenceKind::AcqRel }, scope },
        _ => Instruction::Add { to, a, b },
    })
}

/// Programs of at most `threads` threads and `threads * length` accesses. Some accesses are vectors of both words.
fn program(threads: usize, length: usize) -> impl Strategy<Value = Program> {
    let register = |name: &str| RegisterSpec { name: name.to_string(), initial: 0 };
    let code = prop::collection::vec((instruction(), any::<bool>()), 0..=length);
    let threads_drawn = prop::collection::vec((0..2u32, 0..2u32, code), 1..=threads);
    threads_drawn.prop_map(move |drawn| {
        let mut spare = threads * length - drawn.iter().map(|(_, _, code)| code.len()).sum::<usize>();
        let mut widen = |(instruction, marked): (Instruction, bool)| {
            let parts = if marked && spare > 0 { vector(instruction) } else { vec![instruction] };
            spare -= parts.len() - 1;
            parts
        };
        let mut thread = |(cta, gpu, code): (u32, u32, Vec<(Instruction, bool)>)| Thread {
            cta,
            gpu,
            registers: vec![register("r0"), register("r1")],
            code: code.into_iter().flat_map(&mut widen).collect(),
        };
        let location = |word| Location { name: format!("x{word}"), initial: 0, line: 0, word };
        Program {
            threads: drawn.into_iter().map(&mut thread).collect(),
            locations: (0..LOCATIONS).map(location).collect(),
        }
    })
}

/// An access of the first word as an access of both words.
fn vector(instruction: Instruction) -> Vec<Instruction> {
    match instruction {
        Instruction::Load { at: LocationId(0), .. }
        | Instruction::Store { at: LocationId(0), .. }
        | Instruction::Atomic { at: LocationId(0), .. } => widened(instruction, LocationId(1), 2),
        _ => vec![instruction],
    }
}

/// The programs in which every vector access is two accesses, one behind the other, in each order.
fn in_every_order(program: &Program) -> Vec<Program> {
    let mut all = vec![program.clone()];
    for (index, thread) in program.threads.iter().enumerate() {
        for parts in thread.instructions().filter(|parts| parts.len() == 2) {
            let [first, second] = [thread.code[parts.start], apart(thread.code[parts.start + 1])];
            let both = |program: Program| {
                [[first, second], [second, first]].map(|order| {
                    let mut program = program.clone();
                    program.threads[index].code[parts.clone()].copy_from_slice(&order);
                    program
                })
            };
            all = all.into_iter().flat_map(both).collect();
        }
    }
    all
}

fn apart(mut instruction: Instruction) -> Instruction {
    if let Instruction::Load { joined, .. } | Instruction::Store { joined, .. } | Instruction::Atomic { joined, .. } =
        &mut instruction
    {
        *joined = false;
    }
    instruction
}

fn outcomes(program: &Program, model: Model) -> BTreeSet<Outcome> {
    allowed(program, model).expect("a small program").outcomes
}

/// The program with every access strong at the scope of the system, and a full fence between any two instructions.
fn fenced(program: &Program) -> Program {
    let mut fenced = program.clone();
    for thread in &mut fenced.threads {
        let fence = Instruction::Fence { kind: FenceKind::Sc, scope: Scope::System };
        for instruction in &mut thread.code {
            match instruction {
                Instruction::Load { order, scope, .. } | Instruction::Store { order, scope, .. } => {
                    *order = Order::Relaxed;
                    *scope = Scope::System;
                }
                Instruction::Atomic { scope, .. } | Instruction::Fence { scope, .. } => *scope = Scope::System,
                _ => {}
            }
        }
        let whole = thread.instructions().map(|parts| &thread.code[parts]);
        thread.code = whole.flat_map(|parts| parts.iter().copied().chain([fence])).collect();
    }
    fenced
}

/// Whether a thread may acquire from its own write. With atomic writes it may see that before the write is performed
/// anywhere, and go on; where writes are performed for each thread, its own included, it may not.
fn acquires_from_itself(program: &Program) -> bool {
    program.threads.iter().any(|thread| {
        let mut written = [false; LOCATIONS as usize];
        thread.code.iter().any(|instruction| {
            let (at, order, writes) = match *instruction {
                Instruction::Load { at, order, .. } => (at, order, false),
                Instruction::Store { at, order, .. } | Instruction::Atomic { at, order, .. } => (at, order, true),
                _ => return false,
            };
            let acquires = matches!(order, Order::Acquire | Order::AcqRel) && written[usize::from(at.0)];
            written[usize::from(at.0)] |= writes;
            acquires
        })
    })
}

/// Models with those that allow less.
const WEAKER: [(Model, Model); 7] = [
    (Model::Tso, Model::Sc),
    (Model::RcPc, Model::Tso),
    (Model::RcSc, Model::Sc),
    (Model::RcPc, Model::RcSc),
    (Model::RcPcNonAtomic, Model::RcScNonAtomic),
    (Model::PerLocation, Model::RcPcNonAtomic),
    (Model::Ptx, Model::Sc),
];

/// Pairs of a model and a weaker one that are compared only on programs whose threads do not acquire from themselves.
const WEAKER_BETWEEN_THREADS: [(Model, Model); 2] =
    [(Model::RcScNonAtomic, Model::RcSc), (Model::RcPcNonAtomic, Model::RcPc)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn sequential_consistency_is_what_interleaving_gives(program in program(3, 3)) {
        prop_assert_eq!(outcomes(&program, Model::Sc), interleaved(&program));
    }

    #[test]
    fn weaker_models_allow_all_that_stronger_ones_do(program in program(3, 3)) {
        let further = WEAKER_BETWEEN_THREADS.into_iter().filter(|_| !acquires_from_itself(&program));
        for (weaker, stronger) in WEAKER.into_iter().chain(further) {
            let (weak, strong) = (outcomes(&program, weaker), outcomes(&program, stronger));
            prop_assert!(strong.is_subset(&weak), "{} forbids what {} allows", weaker.name(), stronger.name());
        }
    }

    #[test]
    fn a_vector_access_is_its_words_in_any_order(program in program(3, 3)) {
        let written_out = in_every_order(&program);
        let union = |model| written_out.iter().flat_map(|program| outcomes(program, model)).collect::<BTreeSet<_>>();
        for model in [Model::Sc, Model::Tso, Model::RcSc, Model::RcPc] {
            prop_assert_eq!(outcomes(&program, model), union(model), "{}", model.name());
        }
        for model in [Model::RcScNonAtomic, Model::RcPcNonAtomic, Model::PerLocation, Model::Ptx] {
            prop_assert!(union(model).is_subset(&outcomes(&program, model)), "{}", model.name());
        }
    }

    #[test]
    fn full_fences_everywhere_restore_sequential_consistency(program in program(3, 2)) {
        let program = fenced(&program);
        let expected = interleaved(&program);
        for model in [Model::Tso, Model::RcSc, Model::RcPc, Model::Ptx] {
            prop_assert_eq!(&outcomes(&program, model), &expected, "{}", model.name());
        }
    }

    #[test]
    fn a_program_without_races_under_small_scopes_has_none_without_scopes(program in program(3, 3)) {
        let racy = |model| allowed(&program, model).expect("a small program").race.is_some();
        let (drf, direct, indirect) =
            (racy(Model::ScForDrf), racy(Model::ScForHrfDirect), racy(Model::ScForHrfIndirect));
        prop_assert!(direct || !indirect, "chains through scopes order less than chains in one");
        prop_assert!(indirect || !drf, "scopes order more than none");
    }
}
