//! The rows of instructions.

use std::collections::BTreeMap;

use chorus_protocol::access::{Order, Scope};

use crate::error::{LitmusError, Position};
use crate::parse::MAX_INSTRUCTIONS;
use crate::parse::lexer::{TokenKind, shortened};
use crate::parse::names::{Names, register_of};
use crate::parse::reader::Reader;
use crate::test::{BarrierMode, Comparison, FenceKind, Instruction, LocationId, Modify, Operand, Register, Thread};

/// The mnemonics that start an instruction.
const ACCEPTED: &str = "ld, st, atom, red, fence, bar.cta, add, goto, beq, bne, blt, ble, bgt, bge, a label, \
                        or exists, ~exists or forall behind the last row";

/// The threads, while their instructions are read row by row.
pub(crate) struct Cells {
    pub threads: Vec<Thread>,
    /// The places of each thread's labels.
    labels: Vec<BTreeMap<String, u16>>,
    /// Branches whose targets are not known yet: the thread, the instruction, the label, and the place where the label
    /// is named.
    targets: Vec<(usize, usize, String, Position)>,
}

/// One instruction, while it is read.
struct Cell<'a> {
    reader: &'a mut Reader,
    names: &'a mut Names,
    thread: &'a mut Thread,
    position: Position,
    mnemonic: String,
}

impl Cells {
    /// Threads without instructions at the given places.
    pub fn new(places: Vec<(u32, u32)>) -> Cells {
        let labels = vec![BTreeMap::new(); places.len()];
        let threads = places.into_iter().map(|(cta, gpu)| Thread { cta, gpu, ..Thread::default() }).collect();
        Cells { threads, labels, targets: Vec::new() }
    }

    /// Reads a row, which has a cell for each thread.
    pub fn row(&mut self, reader: &mut Reader, names: &mut Names) -> Result<(), LitmusError> {
        for thread in 0..self.threads.len() {
            while !reader.at_symbol("|") && !reader.at_symbol(";") {
                let labelled = self.cell(thread, reader, names)?;
                if !labelled {
                    break;
                }
            }
            if thread + 1 == self.threads.len() {
                reader.expect(";", "the row does not end")?;
            } else {
                reader.expect("|", "the row has too few cells")?;
            }
        }
        Ok(())
    }

    /// Reads a label or an instruction. Returns whether it was a label.
    fn cell(&mut self, index: usize, reader: &mut Reader, names: &mut Names) -> Result<bool, LitmusError> {
        if !matches!(reader.peek().kind, TokenKind::Word(_)) {
            return Err(reader.error("an instruction is missing", ACCEPTED));
        }
        let (mnemonic, position) = reader.word("an instruction")?;
        let thread = &mut self.threads[index];
        if reader.accept(":") {
            let before = self.labels[index].insert(mnemonic.clone(), thread.code.len() as u16);
            if before.is_some() {
                let found = format!("`{}`", shortened(&mnemonic));
                return Err(LitmusError::new(position, "a label stands twice in a thread", found, "a new label"));
            }
            return Ok(true);
        }
        if thread.code.len() == MAX_INSTRUCTIONS {
            let found = format!("`{}`", shortened(&mnemonic));
            let accepted = format!("at most {MAX_INSTRUCTIONS} in a thread");
            return Err(LitmusError::new(position, "too many instructions", found, accepted));
        }
        let mut cell = Cell { reader, names, thread, position, mnemonic };
        let (instruction, label) = cell.instruction()?;
        if let Some((label, position)) = label {
            self.targets.push((index, thread.code.len(), label, position));
        }
        thread.code.extend(instruction);
        Ok(false)
    }

    /// Gives branches their targets.
    pub fn resolve_targets(&mut self) -> Result<(), LitmusError> {
        for (thread, place, label, position) in self.targets.drain(..) {
            let Some(&found) = self.labels[thread].get(&label) else {
                let labels: Vec<String> = self.labels[thread].keys().map(|label| shortened(label)).collect();
                let accepted = if labels.is_empty() { "a label of the thread".to_string() } else { labels.join(", ") };
                let label = format!("`{}`", shortened(&label));
                return Err(LitmusError::new(position, "no such label in the thread", label, accepted));
            };
            match &mut self.threads[thread].code[place] {
                Instruction::Branch { target, .. } | Instruction::Jump { target } => *target = found,
                _ => {}
            }
        }
        Ok(())
    }
}

/// An instruction, if it is modelled, and the label that it names.
type Read = (Option<Instruction>, Option<(String, Position)>);

impl Cell<'_> {
    fn instruction(&mut self) -> Result<Read, LitmusError> {
        let mnemonic = self.mnemonic.clone();
        let parts: Vec<&str> = mnemonic.split('.').collect();
        let instruction = match parts[0] {
            "ld" => self.load(&parts[1..])?,
            "st" => self.store(&parts[1..])?,
            "atom" => self.atomic(&parts[1..], true)?,
            "red" => self.atomic(&parts[1..], false)?,
            "fence" if parts.get(1) == Some(&"proxy") => return self.proxy_fence(&parts[2..]),
            "fence" => self.fence(&parts[1..])?,
            "bar" => self.barrier(&parts[1..])?,
            "add" if parts.len() == 1 => {
                let to = self.register()?;
                Instruction::Add { to, a: self.next_operand()?, b: self.next_operand()? }
            }
            "goto" if parts.len() == 1 => {
                let label = self.reader.word("a label")?;
                return Ok((Some(Instruction::Jump { target: 0 }), Some(label)));
            }
            "tld" | "suld" | "cold" | "suatom" => return self.proxy_access(true),
            "sust" | "sured" => return self.proxy_access(false),
            _ => return self.branch(),
        };
        Ok((Some(instruction), None))
    }

    fn unknown(&self, message: &str, accepted: &str) -> LitmusError {
        LitmusError::new(self.position, message, format!("`{}`", shortened(&self.mnemonic)), accepted)
    }

    fn branch(&mut self) -> Result<Read, LitmusError> {
        let comparison = match self.mnemonic.as_str() {
            "beq" => Comparison::Equal,
            "bne" => Comparison::NotEqual,
            "blt" => Comparison::Less,
            "ble" => Comparison::LessOrEqual,
            "bgt" => Comparison::Greater,
            "bge" => Comparison::GreaterOrEqual,
            _ => return Err(self.unknown("no such instruction", ACCEPTED)),
        };
        let a = self.operand()?;
        let b = self.next_operand()?;
        self.comma()?;
        let label = self.reader.word("a label")?;
        Ok((Some(Instruction::Branch { comparison, a, b, target: 0 }), Some(label)))
    }

    fn comma(&mut self) -> Result<(), LitmusError> {
        self.reader.expect(",", "an operand is missing")
    }

    fn register(&mut self) -> Result<Register, LitmusError> {
        let (name, position) = self.reader.name("a register")?;
        register_of(self.thread, &name, position)
    }

    fn location(&mut self) -> Result<LocationId, LitmusError> {
        let bracketed = self.reader.accept("[");
        let (name, position) = self.reader.name("a location")?;
        if bracketed {
            self.reader.expect("]", "a bracket does not end")?;
        }
        self.names.location(&name, position)
    }

    fn operand(&mut self) -> Result<Operand, LitmusError> {
        match self.reader.peek().kind {
            TokenKind::Number(value) => {
                self.reader.take();
                Ok(Operand::Constant(value))
            }
            TokenKind::Word(_) => Ok(Operand::Register(self.register()?)),
            _ => Err(self.reader.error("an operand is missing", "a register or a number")),
        }
    }

    fn next_operand(&mut self) -> Result<Operand, LitmusError> {
        self.comma()?;
        self.operand()
    }

    /// The order and the scope that a load or store names.
    fn strength(&self, parts: &[&str], strongest: (&str, Order)) -> Result<(Order, Scope), LitmusError> {
        let accepted = format!("weak without a scope; relaxed or {} with cta, gpu or sys", strongest.0);
        let refuse = || self.unknown("no such kind of access", &accepted);
        match parts {
            [] | ["weak"] => Ok((Order::Weak, Scope::default())),
            ["volatile"] => Ok((Order::Relaxed, Scope::System)),
            [order, scope] => {
                let order = match *order {
                    "relaxed" => Order::Relaxed,
                    name if name == strongest.0 => strongest.1,
                    _ => return Err(refuse()),
                };
                Ok((order, scope_of(scope).ok_or_else(refuse)?))
            }
            _ => Err(refuse()),
        }
    }

    fn load(&mut self, parts: &[&str]) -> Result<Instruction, LitmusError> {
        let (order, scope) = self.strength(parts, ("acquire", Order::Acquire))?;
        let to = self.register()?;
        self.comma()?;
        if let TokenKind::Number(value) = self.reader.peek().kind {
            self.reader.take();
            return Ok(Instruction::Add { to, a: Operand::Constant(value), b: Operand::Constant(0) });
        }
        Ok(Instruction::Load { to, at: self.location()?, order, scope })
    }

    fn store(&mut self, parts: &[&str]) -> Result<Instruction, LitmusError> {
        let (order, scope) = self.strength(parts, ("release", Order::Release))?;
        let at = self.location()?;
        Ok(Instruction::Store { at, value: self.next_operand()?, order, scope })
    }

    fn atomic(&mut self, parts: &[&str], returns: bool) -> Result<Instruction, LitmusError> {
        const FORM: &str =
            "relaxed, acquire, release or acq_rel, then cta, gpu or sys, then add, sub, and, or, xor, exch or cas";
        let [order, scope, operation] = parts else {
            return Err(self.unknown("no such atomic", FORM));
        };
        let order = match *order {
            "relaxed" => Order::Relaxed,
            "acquire" => Order::Acquire,
            "release" => Order::Release,
            "acq_rel" => Order::AcqRel,
            _ => return Err(self.unknown("no such order of an atomic", FORM)),
        };
        let scope = scope_of(scope).ok_or_else(|| self.unknown("no such scope", FORM))?;
        let make: fn(Operand) -> Modify = match *operation {
            "add" => Modify::Add,
            "sub" => Modify::Sub,
            "and" => Modify::And,
            "or" => Modify::Or,
            "xor" => Modify::Xor,
            "exch" => Modify::Exchange,
            "cas" => |expected| Modify::CompareExchange { expected, new: expected },
            _ => return Err(self.unknown("no such operation of an atomic", FORM)),
        };
        let to = if returns { Some(self.register()?) } else { None };
        if returns {
            self.comma()?;
        }
        let at = self.location()?;
        let mut modify = make(self.next_operand()?);
        if let Modify::CompareExchange { expected, .. } = modify {
            modify = Modify::CompareExchange { expected, new: self.next_operand()? };
        }
        Ok(Instruction::Atomic { to, at, modify, order, scope })
    }

    fn fence(&self, parts: &[&str]) -> Result<Instruction, LitmusError> {
        const FORM: &str = "fence.acq_rel or fence.sc, then cta, gpu or sys";
        let [kind, scope] = parts else {
            return Err(self.unknown("no such fence", FORM));
        };
        let kind = match *kind {
            "acq_rel" => FenceKind::AcqRel,
            "sc" => FenceKind::Sc,
            _ => return Err(self.unknown("no such fence", FORM)),
        };
        Ok(Instruction::Fence { kind, scope: scope_of(scope).ok_or_else(|| self.unknown("no such scope", FORM))? })
    }

    fn barrier(&mut self, parts: &[&str]) -> Result<Instruction, LitmusError> {
        let mode = match parts {
            ["cta", "sync"] => BarrierMode::Sync,
            ["cta", "arrive"] => BarrierMode::Arrive,
            _ => return Err(self.unknown("no such barrier", "bar.cta.sync or bar.cta.arrive")),
        };
        let instance = self.reader.number("the barrier's instance")?;
        let id = if self.reader.at_symbol(",") { Some(self.next_operand()?) } else { None };
        let quorum = if self.reader.at_symbol(",") { Some(self.next_operand()?) } else { None };
        Ok(Instruction::Barrier { mode, instance, id, quorum })
    }

    fn proxy_fence(&mut self, parts: &[&str]) -> Result<Read, LitmusError> {
        if !matches!(parts, ["alias" | "constant" | "surface" | "texture"]) {
            return Err(self.unknown("no such fence", "fence.proxy of alias, constant, surface or texture"));
        }
        self.unsupported();
        Ok((None, None))
    }

    fn proxy_access(&mut self, returns: bool) -> Result<Read, LitmusError> {
        if returns {
            self.register()?;
            self.comma()?;
        }
        self.location()?;
        while self.reader.at_symbol(",") {
            self.next_operand()?;
        }
        self.unsupported();
        Ok((None, None))
    }

    fn unsupported(&mut self) {
        let reason = format!("proxies are not modelled: `{}` in line {}", self.mnemonic, self.position.line);
        self.names.unsupported(reason);
    }
}

fn scope_of(name: &str) -> Option<Scope> {
    match name {
        "cta" => Some(Scope::WorkGroup),
        "gpu" => Some(Scope::Gpu),
        "sys" => Some(Scope::System),
        _ => None,
    }
}
