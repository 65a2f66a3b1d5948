//! The texts that the parser reads, and its messages about those that it cannot read.

use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::{
    Comparison, Condition, Instruction, LitmusTest, LocationId, Modify, Operand, Quantifier, Register, Term,
};
use chorus_protocol::access::{Order, Scope};

fn read(text: &str) -> LitmusTest {
    match parse(text) {
        Ok(Parsed::Test(test)) => test,
        other => panic!("{other:?}"),
    }
}

/// A test around the cells of one thread.
fn around(cells: &str) -> String {
    let rows: String = cells.split('\n').map(|cell| format!("{cell} ;\n")).collect();
    format!("PTX one\n{{ x = 0; y = 1; P0:r0 = 0; }}\nP0@cta 0,gpu 0 ;\n{rows}exists (x == 1)\n")
}

fn code(cells: &str) -> Vec<Instruction> {
    read(&around(cells)).program.threads[0].code.clone()
}

/// The message about a text, as for a file `t`.
fn complaint(text: &str) -> String {
    match parse(text) {
        Err(error) => error.render("t"),
        Ok(parsed) => panic!("{parsed:?}"),
    }
}

#[test]
fn a_whole_test_is_read() {
    let test = read(
        "PTX all-of-it
        \"says \"this\" of itself\"
        \"and that\"
        { x = 2; y @ line x = 3; z = -1; P1:r = 4 }
         P0@cta 0,gpu 0 | P1@cta 1,gpu 2 ;
         st.weak x, 1   | ld.weak r, z   ;
                        | end:           ;
        filter (1:r = 4)
        ~exists (P1:r >= 1 /\\ ~([y] < 2 \\/ x != y))",
    );
    assert_eq!((test.name.as_str(), test.quantifier), ("all-of-it", Quantifier::NotExists));
    assert_eq!(test.comments, ["says \"this\" of itself", "and that"]);
    let places: Vec<_> = test.program.locations.iter().map(|x| (x.name.as_str(), x.initial, x.line, x.word)).collect();
    assert_eq!(places, [("x", 2, 0, 0), ("y", 3, 0, 1), ("z", u32::MAX, 1, 0)]);
    let threads: Vec<_> = test.program.threads.iter().map(|t| (t.cta, t.gpu, t.code.len())).collect();
    assert_eq!(threads, [(0, 0, 1), (1, 2, 1)]);
    assert_eq!(test.program.threads[1].registers[0].initial, 4);
    let register = Term::Register { thread: 1, register: Register(0) };
    assert_eq!(test.filter, Some(Condition::Compare(register, Comparison::Equal, Term::Constant(4))));
    let Condition::And(left, right) = test.condition else { panic!("not both") };
    assert_eq!(*left, Condition::Compare(register, Comparison::GreaterOrEqual, Term::Constant(1)));
    let Condition::Not(either) = *right else { panic!("not denied") };
    assert!(matches!(*either, Condition::Or(..)));
}

#[test]
fn a_load_of_a_constant_is_a_move() {
    let (a, b) = (Operand::Constant(7), Operand::Constant(0));
    assert_eq!(code("ld r0, 7"), [Instruction::Add { to: Register(0), a, b }]);
}

#[test]
fn accesses_have_orders_and_scopes() {
    let (to, at) = (Register(0), LocationId(0));
    assert_eq!(
        code("ld.acquire.sys r0, x"),
        [Instruction::Load { to, at, order: Order::Acquire, scope: Scope::System, joined: false }]
    );
    assert_eq!(code("ld.volatile r0, x"), code("ld.relaxed.sys r0, x"));
    assert_eq!(code("ld r0, x"), code("ld.weak r0, x"));
    let modify = Modify::CompareExchange { expected: Operand::Constant(0), new: Operand::Register(to) };
    let (order, scope) = (Order::AcqRel, Scope::WorkGroup);
    assert_eq!(
        code("atom.acq_rel.cta.cas r0, x, 0, r0"),
        [Instruction::Atomic { to: Some(to), at, modify, order, scope, joined: false }]
    );
    let (modify, order, scope) = (Modify::Sub(Operand::Constant(1)), Order::Relaxed, Scope::Gpu);
    assert_eq!(
        code("red.relaxed.gpu.sub x, 1"),
        [Instruction::Atomic { to: None, at, modify, order, scope, joined: false }]
    );
}

/// The cells in a test whose line of `x` has four words.
fn wide(cells: &str) -> String {
    around(cells).replace("y = 1;", "x1 @ line x; x2 @ line x; x3 @ line x; y = 1;")
}

#[test]
fn a_vector_access_is_an_access_of_each_word() {
    let code = |cells: &str| read(&wide(cells)).program.threads[0].code.clone();
    let (order, scope) = (Order::Acquire, Scope::Gpu);
    let load = |to, at, joined| Instruction::Load { to: Register(to), at: LocationId(at), order, scope, joined };
    assert_eq!(code("ld.acquire.gpu.v2 {r0, r1}, x1"), [load(0, 1, false), load(1, 2, true)]);
    assert_eq!(code("ld.acquire.gpu.v2 {r0, r1}, [x1]"), [load(0, 1, false), load(1, 2, true)]);
    let four = [load(0, 0, false), load(1, 1, true), load(2, 2, true), load(3, 3, true)];
    assert_eq!(code("ld.acquire.gpu.v4 {r0, r1, r2, r3}, x"), four);
    let (order, scope) = (Order::Weak, Scope::default());
    let store = |at, value, joined| Instruction::Store { at: LocationId(at), value, order, scope, joined };
    let values = [Operand::Constant(7), Operand::Register(Register(0))];
    assert_eq!(code("st.v2 x, {7, r0}"), [store(0, values[0], false), store(1, values[1], true)]);
    assert_eq!(code("st.v2 x, {7, r0}"), code("st.weak.v2 x, {7, r0}"));
    let (order, scope) = (Order::AcqRel, Scope::Gpu);
    let cas = |to, at, expected, new, joined| {
        let modify = Modify::CompareExchange { expected: Operand::Constant(expected), new: Operand::Constant(new) };
        Instruction::Atomic { to: Some(Register(to)), at: LocationId(at), modify, order, scope, joined }
    };
    assert_eq!(
        code("atom.acq_rel.gpu.cas.v2 {r0, r1}, x, {1, 2}, {3, 4}"),
        [cas(0, 0, 1, 3, false), cas(1, 1, 2, 4, true)]
    );
    let sum = |at, value, joined| {
        let modify = Modify::Add(Operand::Constant(value));
        Instruction::Atomic { to: None, at: LocationId(at), modify, order, scope, joined }
    };
    assert_eq!(code("red.acq_rel.gpu.add.v2 x2, {1, 2}"), [sum(2, 1, false), sum(3, 2, true)]);
}

#[test]
fn vectors_are_printed_as_they_are_read() {
    let cells = "ld.weak.v4 {r0, r1, r2, r3}, x\nst.release.gpu.v2 x2, {r0, 5}\n\
                 atom.relaxed.sys.cas.v2 {r0, r1}, x, {0, r0}, {1, 2}\nred.relaxed.gpu.or.v2 x, {1, 2}";
    let cells = cells.replace("{0, r0}", "{0, r2}");
    let test = read(&wide(&cells));
    let printed = test.to_string();
    for cell in cells.split('\n') {
        assert!(printed.contains(cell), "{printed}");
    }
    assert_eq!(test.program.to_string(), format!("P0: {}", cells.replace('\n', "; ")));
    assert_eq!(read(&printed), test);
}

#[test]
fn mistakes_in_vectors_are_told_with_their_place() {
    let check = |cells: &str, expected: &str| assert_eq!(complaint(&wide(cells)), expected);
    check(
        "ld.weak.v2 {r0, r1}, x3",
        "t:4:22: the line ends before the vector: found `x3`, accepted: a location with enough words behind it; \
         `NAME @ line x;` declares one",
    );
    check(
        "st.weak.v2 y, {1, 2}",
        "t:4:12: the line ends before the vector: found `y`, accepted: a location with enough words behind it; \
         `NAME @ line y;` declares one",
    );
    check("ld.weak.v3 {r0, r1, r2}, x", "t:4:1: no such number of words: found `ld.weak.v3`, accepted: v2 or v4");
    check("ld.weak.v2 r0, x", "t:4:12: a vector is missing: found `r0`, accepted: `{`");
    check("ld.weak.v2 {r0}, x", "t:4:15: a vector has too few words: found `}`, accepted: `,`");
    check("st.weak.v2 x, {1, 2, 3}", "t:4:20: a vector does not end: found `,`, accepted: `}`");
    check("st.weak x, {1, 2}", "t:4:12: an operand is missing: found `{`, accepted: a register or a number");
    check("ld.weak.v2 {r0, r1}, 5", "t:4:22: a location is missing: found `5`, accepted: a name");
    let again = "a register that a vector access sets stands in it again";
    check(
        "ld.weak.v2 {r0, r0}, x",
        &format!("t:4:1: {again}: found `ld.weak.v2`, accepted: a register of its own for each word"),
    );
    check(
        "atom.relaxed.gpu.exch.v2 {r0, r1}, x, {r1, r0}",
        &format!("t:4:1: {again}: found `atom.relaxed.gpu.exch.v2`, accepted: a register of its own for each word"),
    );
    assert!(complaint(&wide(&"st.weak.v2 x, {1, 2}\n".repeat(33))).starts_with("t:36:1: too many instructions"));
    assert!(complaint(&wide("atom.relaxed.gpu.v2.exch {r0, r1}, x, {1, 2}")).starts_with("t:4:1: no such atomic"));
}

#[test]
fn labels_stand_alone_or_before_an_instruction() {
    let alone = code("beq r0, 0, end\nst.weak x, 1\nend:");
    assert_eq!(alone, code("beq r0, 0, end\nst.weak x, 1 \n end :"));
    assert!(matches!(alone[0], Instruction::Branch { target: 2, .. }));
    let before = code("top: ld.weak r0, x\ngoto top");
    assert!(matches!(before[1], Instruction::Jump { target: 0 }));
}

#[test]
fn proxies_are_not_supported_and_said_to_be() {
    let reason = |text: &str| match parse(text) {
        Ok(Parsed::Unsupported { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(&around("fence.proxy.alias")), "proxies are not modelled: `fence.proxy.alias` in line 4");
    assert_eq!(reason(&around("suld.weak r9, x")), "proxies are not modelled: `suld.weak` in line 4");
    let alias = around("sust.weak s, 1").replace("y = 1;", "s @ surface aliases x;");
    assert_eq!(reason(&alias), "proxies are not modelled: a surface alias in line 2");
}

#[test]
fn a_mistake_beside_a_proxy_is_still_a_mistake() {
    assert!(complaint(&around("fence.proxy.alias\nld.weak r0, q")).starts_with("t:5:13: no such location"));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let check = |text: &str, expected: &str| assert_eq!(complaint(text), expected);
    check("X86 SB\n", "t:1:1: not a PTX litmus test: found `X86`, accepted: `PTX` and a name");
    check("", "t:1:1: not a PTX litmus test: found the end of the file, accepted: `PTX` and a name");
    check("PTX\n{ }", "t:1:4: the test has no name: found the end of the line, accepted: `PTX` and a name");
    check(&around("ld.weak r0, q"), "t:4:13: no such location: found `q`, accepted: x, y");
    check(
        &around("ld.release.gpu r0, x"),
        "t:4:1: no such kind of access: found `ld.release.gpu`, accepted: weak without a scope; relaxed or acquire with cta, \
         gpu or sys",
    );
    check(&around("goto away"), "t:4:6: no such label in the thread: found `away`, accepted: a label of the thread");
    check(
        &around("fence.sc"),
        "t:4:1: no such fence: found `fence.sc`, accepted: fence.acq_rel or fence.sc, then cta, gpu or sys",
    );
    check(
        &around("st.weak x, 4294967296"),
        "t:4:12: not a number: found `4294967296`, accepted: a number of at most 32 bits, in decimal",
    );
    check(&around("st.weak x 1"), "t:4:11: an operand is missing: found `1`, accepted: `,`");
    check(&around("").replace("x == 1", "P0:r9 == 1"), "t:5:12: no such register: found `r9`, accepted: r0");
    check(&around("").replace("x == 1", "P3:r0 == 1"), "t:5:9: no such thread: found `P3`, accepted: `P0` to `P0`");
    check(
        &around("").replace("x = 0;", "x = 0; x = 1;"),
        "t:2:10: a location is declared twice: found `x`, accepted: a new name",
    );
    check(&around("").replace("(x", "?"), "t:5:8: unknown character: found `?`, accepted: names, numbers and signs");
    check(
        &around("").replace("exists", "never"),
        "t:5:1: no such instruction: found `never`, accepted: ld, st, atom, red, fence, bar.cta, add, goto, beq, bne, blt, ble, \
         bgt, bge, a label, or exists, ~exists or forall behind the last row",
    );
}

#[test]
fn a_row_with_too_few_cells_is_a_mistake() {
    let text = "PTX two\n{ x = 0; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 1)";
    assert_eq!(complaint(text), "t:4:14: the row has too few cells: found `;`, accepted: `|`");
}

#[test]
fn sizes_are_limited() {
    let starts = |text: &str, expected: &str| {
        let complaint = complaint(text);
        assert!(complaint.contains(expected), "{complaint}");
    };
    starts(&" ".repeat(70_000), "the file is too large");
    starts(&around(&"st.weak x, 1\n".repeat(65)), "too many instructions");
    starts(
        &around("").replace("x = 0;", &(0..40).map(|n| format!("a{n} = 0; ")).collect::<String>()),
        "too many locations",
    );
    starts(&around(&(0..64).map(|n| format!("add q{n}, 0, 0")).collect::<Vec<_>>().join("\n")), "too many registers");
    starts(&around("").replace("(x", &format!("{}(x", "(".repeat(10_000))), "nested too deep");
    starts(&around("").replace("(x", &format!("{}(x", "~".repeat(10_000))), "nested too deep");
    starts(&around("").replace("(x", &format!("({}x", "x == 1 /\\ ".repeat(300))), "too long");
    let many: Vec<String> = (0..17).map(|thread| format!("P{thread}@cta 0,gpu 0")).collect();
    starts(&around("").replace("P0@cta 0,gpu 0", &many.join(" | ")), "too many threads");
}
