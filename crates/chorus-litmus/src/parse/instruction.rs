//! The rows of instructions.

use std::collections::BTreeMap;

use chorus_protocol::access::Scope;

use crate::error::{LitmusError, Position};
use crate::parse::MAX_INSTRUCTIONS;
use crate::parse::lexer::{TokenKind, shortened};
use crate::parse::names::{Names, register_of};
use crate::parse::reader::Reader;
use crate::test::{BarrierMode, Comparison, FenceKind, Instruction, LocationId, Operand, Register, Thread};

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
pub(super) struct Cell<'a> {
    pub reader: &'a mut Reader,
    pub names: &'a mut Names,
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
        let mut cell = Cell { reader, names, thread, position, mnemonic };
        let (instructions, label) = cell.instruction()?;
        if cell.thread.code.len() + instructions.len() > MAX_INSTRUCTIONS {
            let accepted = format!("at most {MAX_INSTRUCTIONS} in a thread, where each word of a vector counts");
            return Err(cell.unknown("too many instructions", &accepted));
        }
        if let Some((label, position)) = label {
            self.targets.push((index, thread.code.len(), label, position));
        }
        thread.code.extend(instructions);
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

/// The parts of an instruction, none if it is not modelled, and the label that it names.
type Read = (Vec<Instruction>, Option<(String, Position)>);

impl Cell<'_> {
    fn instruction(&mut self) -> Result<Read, LitmusError> {
        let mnemonic = self.mnemonic.clone();
        let parts: Vec<&str> = mnemonic.split('.').collect();
        let instruction = match parts[0] {
            "ld" => return Ok((self.load(&parts[1..])?, None)),
            "st" => return Ok((self.store(&parts[1..])?, None)),
            "atom" => return Ok((self.atomic(&parts[1..], true)?, None)),
            "red" => return Ok((self.atomic(&parts[1..], false)?, None)),
            "fence" if parts.get(1) == Some(&"proxy") => return self.proxy_fence(&parts[2..]),
            "fence" => self.fence(&parts[1..])?,
            "bar" => self.barrier(&parts[1..])?,
            "add" if parts.len() == 1 => {
                let to = self.register()?;
                Instruction::Add { to, a: self.next_operand()?, b: self.next_operand()? }
            }
            "goto" if parts.len() == 1 => {
                let label = self.reader.word("a label")?;
                return Ok((vec![Instruction::Jump { target: 0 }], Some(label)));
            }
            "tld" | "suld" | "cold" | "suatom" => return self.proxy_access(true),
            "sust" | "sured" => return self.proxy_access(false),
            _ => return self.branch(),
        };
        Ok((vec![instruction], None))
    }

    pub(super) fn unknown(&self, message: &str, accepted: &str) -> LitmusError {
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
        Ok((vec![Instruction::Branch { comparison, a, b, target: 0 }], Some(label)))
    }

    pub(super) fn comma(&mut self) -> Result<(), LitmusError> {
        self.reader.expect(",", "an operand is missing")
    }

    pub(super) fn register(&mut self) -> Result<Register, LitmusError> {
        let (name, position) = self.reader.name("a register")?;
        register_of(self.thread, &name, position)
    }

    /// Reads the name of a location. Also gives the position of the name.
    pub(super) fn location(&mut self) -> Result<(LocationId, Position), LitmusError> {
        let bracketed = self.reader.accept("[");
        let (name, position) = self.reader.name("a location")?;
        if bracketed {
            self.reader.expect("]", "a bracket does not end")?;
        }
        Ok((self.names.location(&name, position)?, position))
    }

    pub(super) fn operand(&mut self) -> Result<Operand, LitmusError> {
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
        Ok((Vec::new(), None))
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
        Ok((Vec::new(), None))
    }

    fn unsupported(&mut self) {
        let reason = format!("proxies are not modelled: `{}` in line {}", self.mnemonic, self.position.line);
        self.names.unsupported(reason);
    }
}

pub(super) fn scope_of(name: &str) -> Option<Scope> {
    match name {
        "cta" => Some(Scope::WorkGroup),
        "gpu" => Some(Scope::Gpu),
        "sys" => Some(Scope::System),
        _ => None,
    }
}
