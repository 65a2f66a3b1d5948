//! Hostile texts, and tests that are printed and read again.

use chorus_litmus::judge::decide;
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::{
    BarrierMode, Comparison, Condition, FenceKind, Instruction, LitmusTest, Location, LocationId, Modify, Operand,
    Program, Quantifier, Register, RegisterSpec, Term, Thread,
};
use chorus_protocol::access::{Order, Scope};
use proptest::prelude::*;

use crate::wide::widened;

/// A text that uses most of the language.
const VALID: &str = "PTX everything
\"a comment\"
{
x = 0; y @ line x; z = 3;
P0:r0 = 0; P1:r1 = 1;
}
 P0@cta 0,gpu 0                  | P1@cta 1,gpu 0          ;
 st.weak x, 1                    | top:                    ;
 fence.sc.gpu                    | ld.acquire.gpu r0, y    ;
 atom.acq_rel.gpu.add r0, z, 1   | bne r0, r1, out         ;
 red.relaxed.sys.exch y, 1       | goto top                ;
 bar.cta.sync 1, 2, 1            | out:                    ;
 add r0, r0, -1                  | ld.relaxed.gpu r2, x    ;
 st.release.gpu.v2 x, {1, r0}    | ld.acquire.gpu.v2 {r3, r4}, x ;
 atom.relaxed.gpu.cas.v2 {r1, r2}, x, {0, 1}, {2, 3} | red.relaxed.sys.exch.v2 x, {1, 2} ;
filter (P0:r0 != 9)
forall
((P1:r0 == 1 \\/ x != 0) /\\ ~(P1:r2 < 5) /\\ P0:r0 == P1:r1)
";

/// Pieces that a litmus file is made of.
const PIECES: [&str; 46] = [
    "PTX ",
    "t",
    "\n",
    "\"",
    "{",
    "}",
    "x",
    "y",
    "=",
    "0",
    "1",
    ";",
    "P0",
    "P1",
    ":",
    "r0",
    "@",
    "cta ",
    "gpu ",
    ",",
    "|",
    "st.weak ",
    "ld.acquire.gpu ",
    "ld.weak.v2 ",
    "st.relaxed.gpu.v2 ",
    "atom.relaxed.gpu.exch.v4 ",
    "{r0, r1}",
    "{1, 2}",
    "x1 @ line x;",
    "atom.acq_rel.sys.cas ",
    "bar.cta.sync ",
    "fence.sc.cta",
    "beq ",
    "goto ",
    "L:",
    "line ",
    "exists",
    "forall",
    "~",
    "(",
    ")",
    "/\\",
    "\\/",
    "==",
    "-",
    "é",
];

/// Reads a text. It must give a test that can be judged, or an error with a position in the text.
fn read(text: &str) {
    match parse(text) {
        Ok(Parsed::Test(test)) => {
            assert_eq!(test.program.check_vectors(), Ok(()), "{text}");
            for model in [Model::Sc, Model::RcPcNonAtomic, Model::ScForHrfIndirect, Model::Ptx] {
                let _ = decide(&test, model);
            }
        }
        Ok(Parsed::Unsupported { reason, .. }) => assert!(!reason.is_empty()),
        Err(error) => {
            let lines: Vec<&str> = text.split('\n').collect();
            let place = error.position;
            assert!((1..=lines.len()).contains(&place.line), "{error}");
            assert!((1..=lines[place.line - 1].chars().count() + 1).contains(&place.column), "{error}");
            assert!(error.render("file").starts_with(&format!("file:{}:{}: ", place.line, place.column)));
        }
    }
}

/// Changes a text at places between its characters.
fn mutated(kind: u8, from: usize, to: usize) -> String {
    let mut characters: Vec<char> = VALID.chars().collect();
    let (from, to) = (from % characters.len(), to % characters.len());
    let (from, to) = (from.min(to), from.max(to));
    match kind {
        0 => characters.truncate(to),
        1 => drop(characters.drain(from..to.min(from + 12))),
        2 => {
            let piece: Vec<char> = characters[from..to.min(from + 80)].to_vec();
            characters.splice(to..to, piece);
        }
        _ => characters.swap(from, to),
    }
    characters.into_iter().collect()
}

fn operand(registers: u8) -> impl Strategy<Value = Operand> {
    prop_oneof![any::<u32>().prop_map(Operand::Constant), (0..registers).prop_map(|r| Operand::Register(Register(r)))]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop_oneof![
        Just(Comparison::Equal),
        Just(Comparison::NotEqual),
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual),
        Just(Comparison::Greater),
        Just(Comparison::GreaterOrEqual),
    ]
}

fn modify() -> impl Strategy<Value = Modify> {
    (0..7, operand(3), operand(3)).prop_map(|(kind, a, b)| match kind {
        0 => Modify::Add(a),
        1 => Modify::Sub(a),
        2 => Modify::And(a),
        3 => Modify::Or(a),
        4 => Modify::Xor(a),
        5 => Modify::Exchange(a),
        _ => Modify::CompareExchange { expected: a, new: b },
    })
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let scope = prop_oneof![Just(Scope::WorkGroup), Just(Scope::Gpu), Just(Scope::System)];
    let to = (0..3u8).prop_map(Register);
    let at = (0..3u8).prop_map(LocationId);
    let values = (operand(3), operand(3), any::<u32>(), comparison(), modify());
    (0..8, to, at, 0..3usize, scope, 0..6u16, any::<bool>(), values).prop_map(
        |(kind, to, at, order, scope, target, flag, (a, b, instance, comparison, modify))| {
            let weak = |scope| if order == 0 { Scope::default() } else { scope };
            match kind {
                0 => {
                    let order = [Order::Weak, Order::Relaxed, Order::Acquire][order];
                    Instruction::Load { to, at, order, scope: weak(scope), joined: false }
                }
                1 => {
                    let order = [Order::Weak, Order::Relaxed, Order::Release][order];
                    Instruction::Store { at, value: a, order, scope: weak(scope), joined: false }
                }
                2 => {
                    let order = [Order::Relaxed, Order::Acquire, Order::AcqRel][order];
                    Instruction::Atomic { to: flag.then_some(to), at, modify, order, scope, joined: false }
                }
                3 => Instruction::Fence { kind: if flag { FenceKind::Sc } else { FenceKind::AcqRel }, scope },
                4 => {
                    let mode = if flag { BarrierMode::Sync } else { BarrierMode::Arrive };
                    let (id, quorum) = ((order > 0).then_some(a), (order > 1).then_some(b));
                    Instruction::Barrier { mode, instance, id, quorum }
                }
                5 => Instruction::Add { to, a, b },
                6 => Instruction::Branch { comparison, a, b, target },
                _ => Instruction::Jump { target },
            }
        },
    )
}

fn condition(threads: u8) -> impl Strategy<Value = Condition> {
    let term = prop_oneof![
        any::<u32>().prop_map(Term::Constant),
        (0..threads, 0..3u8).prop_map(|(thread, register)| Term::Register { thread, register: Register(register) }),
        (0..3u8).prop_map(|at| Term::Final(LocationId(at))),
    ];
    let leaf = prop_oneof![
        1 => Just(Condition::True),
        4 => (term.clone(), comparison(), term).prop_map(|(a, comparison, b)| Condition::Compare(a, comparison, b)),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        (0..3, inner.clone(), inner).prop_map(|(kind, a, b)| match kind {
            0 => Condition::And(Box::new(a), Box::new(b)),
            1 => Condition::Or(Box::new(a), Box::new(b)),
            _ => Condition::Not(Box::new(a)),
        })
    })
}

/// The code with those accesses widened that are marked and of the word before another one of its line, and branches
/// that lead to whole instructions.
fn with_vectors(code: &[(Instruction, bool)], shared: bool) -> Vec<Instruction> {
    let (mut wide, mut starts) = (Vec::new(), Vec::new());
    for &(instruction, marked) in code {
        let is_first = matches!(
            instruction,
            Instruction::Load { at: LocationId(0), .. }
                | Instruction::Store { at: LocationId(0), .. }
                | Instruction::Atomic { at: LocationId(0), .. }
        );
        starts.push(wide.len() as u16);
        if marked && shared && is_first {
            wide.extend(widened(instruction, LocationId(1), 3));
        } else {
            wide.push(instruction);
        }
    }
    starts.push(wide.len() as u16);
    for instruction in &mut wide {
        if let Instruction::Branch { target, .. } | Instruction::Jump { target } = instruction {
            *target = starts[usize::from(*target)];
        }
    }
    wide
}

fn program(threads: usize) -> impl Strategy<Value = Program> {
    let code = prop::collection::vec((instruction(), any::<bool>()), 5);
    let thread = (any::<u32>(), any::<u32>(), code, any::<[u32; 3]>());
    (prop::collection::vec(thread, threads), any::<[u32; 3]>(), any::<bool>()).prop_map(|(threads, initial, shared)| {
        let register = |(index, initial)| RegisterSpec { name: format!("r{index}"), initial };
        let thread = |(cta, gpu, code, initial): (u32, u32, Vec<(Instruction, bool)>, [u32; 3])| Thread {
            cta,
            gpu,
            registers: initial.into_iter().enumerate().map(register).collect(),
            code: with_vectors(&code, shared),
        };
        let threads = threads.into_iter().map(thread).collect();
        let place = |index: u8| if shared && index == 1 { (0, 1) } else { (index - u8::from(shared && index > 1), 0) };
        let location = |(index, initial): (usize, u32)| {
            let (line, word) = place(index as u8);
            Location { name: format!("x{index}"), initial, line, word }
        };
        Program { locations: initial.into_iter().enumerate().map(location).collect(), threads }
    })
}

fn litmus_test() -> impl Strategy<Value = LitmusTest> {
    (1..4usize).prop_flat_map(|threads| {
        let conditions = (prop::option::of(condition(threads as u8)), condition(threads as u8));
        let quantifier = prop_oneof![Just(Quantifier::Exists), Just(Quantifier::NotExists), Just(Quantifier::Forall)];
        let words = ("[a-zA-Z0-9+.-]{1,12}", prop::collection::vec("[a-z0-9,. \n]{0,20}", 0..3));
        (words, program(threads), conditions, quantifier).prop_map(
            |((name, comments), program, (filter, condition), quantifier)| LitmusTest {
                name,
                comments,
                program,
                filter,
                quantifier,
                condition,
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_test_that_is_printed_is_read_as_it_was(test in litmus_test()) {
        let text = test.to_string();
        prop_assert_eq!(parse(&text), Ok(Parsed::Test(test)), "{}", text);
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        read(&text);
        read(&format!("PTX t\n{{ x = 0; }}\n{text}"));
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_heap_of_pieces_is_answered(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..60)) {
        read(&pieces.concat());
        read(&format!("PTX t\n{{ x = 0; x1 @ line x; }}\nP0@cta 0,gpu 0 ;\n{}", pieces.concat()));
    }

    #[test]
    fn a_damaged_file_is_answered(kind in 0..4u8, from in any::<usize>(), to in any::<usize>()) {
        read(&mutated(kind, from, to));
    }
}

#[test]
fn the_undamaged_file_is_a_test() {
    assert!(matches!(parse(VALID), Ok(Parsed::Test(_))), "{:?}", parse(VALID));
}
