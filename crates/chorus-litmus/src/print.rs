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
        for place in 0..=thread.code.len() {
            if is_target(&thread.code, place) {
                column.push(format!("L{place}:"));
            }
            if place < thread.code.len() {
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

/// An instruction of a thread in the syntax of a litmus file.
pub fn instruction(program: &Program, thread: usize, place: usize) -> String {
    let names = Names { program, thread };
    match program.threads[thread].code[place] {
        Instruction::Load { to, at, order, scope } => {
            format!("ld.{} {}, {}", strength(order, scope), names.register(to.0), names.location(at.0))
        }
        Instruction::Store { at, value, order, scope } => {
            format!("st.{} {}, {}", strength(order, scope), names.location(at.0), names.operand(value))
        }
        Instruction::Atomic { to, at, modify, order, scope } => {
            let (operation, operands) = names.modify(modify);
            let (mnemonic, result) = match to {
                Some(to) => ("atom", format!("{}, ", names.register(to.0))),
                None => ("red", String::new()),
            };
            let strength = strength(order, scope);
            format!("{mnemonic}.{strength}.{operation} {result}{}, {operands}", names.location(at.0))
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

    fn modify(&self, modify: Modify) -> (&'static str, String) {
        match modify {
            Modify::Add(operand) => ("add", self.operand(operand)),
            Modify::Sub(operand) => ("sub", self.operand(operand)),
            Modify::And(operand) => ("and", self.operand(operand)),
            Modify::Or(operand) => ("or", self.operand(operand)),
            Modify::Xor(operand) => ("xor", self.operand(operand)),
            Modify::Exchange(operand) => ("exch", self.operand(operand)),
            Modify::CompareExchange { expected, new } => {
                ("cas", format!("{}, {}", self.operand(expected), self.operand(new)))
            }
        }
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
