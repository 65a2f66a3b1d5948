//! Tests as text, in the format that [`crate::parse::parse`] reads.

use std::fmt::{self, Display, Write};

use chorus_protocol::access::{Order, Scope};

use crate::test::{
    BarrierMode, Comparison, Condition, FenceKind, Instruction, LitmusTest, Modify, Operand, Program, Quantifier, Term,
};

impl Display for LitmusTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "PTX {}", self.name)?;
        for comment in &self.comments {
            writeln!(f, "\"{comment}\"")?;
        }
        declarations(f, &self.program)?;
        table(f, &self.program)?;
        if let Some(filter) = &self.filter {
            write!(f, "filter (")?;
            condition(f, &self.program, filter)?;
            writeln!(f, ")")?;
        }
        let quantifier = match self.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        };
        write!(f, "{quantifier}\n(")?;
        condition(f, &self.program, &self.condition)?;
        writeln!(f, ")")
    }
}

fn declarations(f: &mut fmt::Formatter<'_>, program: &Program) -> fmt::Result {
    writeln!(f, "{{")?;
    for location in &program.locations {
        let base = program.locations.iter().find(|other| other.line == location.line && other.word == 0);
        match base.filter(|_| location.word > 0) {
            Some(base) => writeln!(f, "{} @ line {} = {};", location.name, base.name, location.initial)?,
            None => writeln!(f, "{} = {};", location.name, location.initial)?,
        }
    }
    for (index, thread) in program.threads.iter().enumerate() {
        for register in &thread.registers {
            writeln!(f, "P{index}:{} = {};", register.name, register.initial)?;
        }
    }
    writeln!(f, "}}")
}

fn table(f: &mut fmt::Formatter<'_>, program: &Program) -> fmt::Result {
    let mut columns: Vec<Vec<String>> = Vec::new();
    for (index, thread) in program.threads.iter().enumerate() {
        let mut column = vec![format!("P{index}@cta {},gpu {}", thread.cta, thread.gpu)];
        let end = thread.code.len();
        for place in thread.instructions().map(|parts| parts.start).chain([end]) {
            if is_target(&thread.code, place) {
                column.push(format!("L{place}:"));
            }
            if place < end {
                column.push(instruction(program, index, place));
            }
        }
        columns.push(column);
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(|column| column.iter().map(String::len).max().unwrap_or(0)).collect();
    for row in 0..rows {
        for (place, column) in columns.iter().enumerate() {
            let cell = column.get(row).map_or("", String::as_str);
            let end = if place + 1 == columns.len() { ";\n" } else { "|" };
            write!(f, " {cell:width$} {end}", width = widths[place])?;
        }
    }
    Ok(())
}

fn is_target(code: &[Instruction], place: usize) -> bool {
    code.iter().any(|instruction| {
        matches!(instruction, Instruction::Branch { target, .. } | Instruction::Jump { target } if usize::from(*target) == place)
    })
}

/// An instruction of a thread in the syntax of a litmus file. A vector access is printed as a whole, whichever of its
/// parts is at `place`.
pub fn instruction(program: &Program, thread: usize, place: usize) -> String {
    let names = Names { program, thread };
    let code = &program.threads[thread];
    let parts = &code.code[code.parts(place)];
    let width = if parts.len() > 1 { format!(".v{}", parts.len()) } else { String::new() };
    match parts[0] {
        Instruction::Load { at, order, scope, .. } => {
            format!("ld.{}{width} {}, {}", strength(order, scope), names.results(parts), names.location(at.0))
        }
        Instruction::Store { at, order, scope, .. } => {
            let stored = names.operands(parts, 0);
            format!("st.{}{width} {}, {stored}", strength(order, scope), names.location(at.0))
        }
        Instruction::Atomic { to, at, modify, order, scope, .. } => {
            let (mnemonic, result) = match to {
                Some(_) => ("atom", format!("{}, ", names.results(parts))),
                None => ("red", String::new()),
            };
            let mut given = names.operands(parts, 0);
            if let Modify::CompareExchange { .. } = modify {
                let _ = write!(given, ", {}", names.operands(parts, 1));
            }
            let (strength, operation) = (strength(order, scope), operation_name(modify));
            format!("{mnemonic}.{strength}.{operation}{width} {result}{}, {given}", names.location(at.0))
        }
        Instruction::Fence { kind: FenceKind::AcqRel, scope } => format!("fence.acq_rel.{}", scope_name(scope)),
        Instruction::Fence { kind: FenceKind::Sc, scope } => format!("fence.sc.{}", scope_name(scope)),
        Instruction::Barrier { mode, instance, id, quorum } => {
            let mode = match mode {
                BarrierMode::Arrive => "arrive",
                BarrierMode::Sync => "sync",
            };
            let mut text = format!("bar.cta.{mode} {instance}");
            for operand in [id, quorum].into_iter().flatten() {
                let _ = write!(text, ", {}", names.operand(operand));
            }
            text
        }
        Instruction::Add { to, a, b } => {
            format!("add {}, {}, {}", names.register(to.0), names.operand(a), names.operand(b))
        }
        Instruction::Branch { comparison, a, b, target } => {
            format!("{} {}, {}, L{target}", branch_name(comparison), names.operand(a), names.operand(b))
        }
        Instruction::Jump { target } => format!("goto L{target}"),
    }
}

/// The names of registers, locations and labels in a thread's instructions.
struct Names<'a> {
    program: &'a Program,
    thread: usize,
}

impl Names<'_> {
    fn register(&self, register: u8) -> &str {
        &self.program.threads[self.thread].registers[usize::from(register)].name
    }

    fn location(&self, location: u8) -> &str {
        &self.program.locations[usize::from(location)].name
    }

    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Constant(value) => value.to_string(),
            Operand::Register(register) => self.register(register.0).to_string(),
        }
    }

    /// The registers that the parts of an access set.
    fn results(&self, parts: &[Instruction]) -> String {
        let results = parts.iter().filter_map(Instruction::sets);
        braced(results.map(|register| self.register(register.0).to_string()).collect())
    }

    /// The operand with number `number` of each part of an access.
    fn operands(&self, parts: &[Instruction], number: usize) -> String {
        let operands = parts.iter().filter_map(|part| match *part {
            Instruction::Store { value, .. } => Some(value),
            Instruction::Atomic { modify, .. } => Some(modify.operands()[number]),
            _ => None,
        });
        braced(operands.map(|operand| self.operand(operand)).collect())
    }
}

/// Words of a vector access, in braces where there are several.
fn braced(words: Vec<String>) -> String {
    if words.len() > 1 { format!("{{{}}}", words.join(", ")) } else { words.concat() }
}

fn operation_name(modify: Modify) -> &'static str {
    match modify {
        Modify::Add(_) => "add",
        Modify::Sub(_) => "sub",
        Modify::And(_) => "and",
        Modify::Or(_) => "or",
        Modify::Xor(_) => "xor",
        Modify::Exchange(_) => "exch",
        Modify::CompareExchange { .. } => "cas",
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::WorkGroup => "cta",
        Scope::Gpu => "gpu",
        Scope::System => "sys",
    }
}

fn strength(order: Order, scope: Scope) -> String {
    let order = match order {
        Order::Weak => return "weak".to_string(),
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
    };
    format!("{order}.{}", scope_name(scope))
}

fn branch_name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "beq",
        Comparison::NotEqual => "bne",
        Comparison::Less => "blt",
        Comparison::LessOrEqual => "ble",
        Comparison::Greater => "bgt",
        Comparison::GreaterOrEqual => "bge",
    }
}

/// A condition in the syntax of a litmus file.
pub fn condition_text(program: &Program, shown: &Condition) -> String {
    struct Shown<'a>(&'a Program, &'a Condition);
    impl Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            condition(f, self.0, self.1)
        }
    }
    Shown(program, shown).to_string()
}

fn condition(f: &mut fmt::Formatter<'_>, program: &Program, shown: &Condition) -> fmt::Result {
    match shown {
        Condition::True => write!(f, "true"),
        Condition::Compare(a, comparison, b) => {
            let sign = match comparison {
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            write!(f, "{} {sign} {}", term(program, *a), term(program, *b))
        }
        Condition::And(a, b) => {
            operand(f, program, a, matches!(**a, Condition::Or(..)))?;
            write!(f, " /\\ ")?;
            operand(f, program, b, matches!(**b, Condition::Or(..) | Condition::And(..)))
        }
        Condition::Or(a, b) => {
            operand(f, program, a, false)?;
            write!(f, " \\/ ")?;
            operand(f, program, b, matches!(**b, Condition::Or(..)))
        }
        Condition::Not(a) => {
            write!(f, "~")?;
            operand(f, program, a, true)
        }
    }
}

/// A part of a condition. It is put into parentheses where it would be read differently without them.
fn operand(f: &mut fmt::Formatter<'_>, program: &Program, shown: &Condition, parentheses: bool) -> fmt::Result {
    if !parentheses {
        return condition(f, program, shown);
    }
    write!(f, "(")?;
    condition(f, program, shown)?;
    write!(f, ")")
}

fn term(program: &Program, term: Term) -> String {
    match term {
        Term::Constant(value) => value.to_string(),
        Term::Register { thread, register } => {
            let spec = &program.threads[usize::from(thread)].registers[usize::from(register.0)];
            format!("P{thread}:{}", spec.name)
        }
        Term::Final(at) => program.locations[usize::from(at.0)].name.clone(),
    }
}
