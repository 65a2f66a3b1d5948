//! From the statements of an entry to code: names become registers and addresses, calls become the code that they
//! call, and opcodes become actions.

mod arithmetic;
mod bits;
mod call;
mod class;
mod compare;
mod control;
mod convert;
mod form;
mod memory;
mod names;
mod operands;
mod warp;

use std::collections::HashMap;

use chorus_kernel::InstructionClass;

use crate::code::{Action, Code, Guard, Instruction, Preset};
use crate::error::{Fault, Place, Result};
use crate::flow;
use crate::layout::Layout;
use crate::registers::{BankKind, Register};
use crate::syntax::{self, Function, Module, Statement, Variable};
use form::Form;
use names::Scopes;

/// The most instructions of an entry with everything that it calls.
const INSTRUCTIONS_MAX: usize = 1 << 20;
/// The most registers of a bank.
pub(crate) const REGISTERS_MAX: usize = 1 << 15;

/// An entry whose statements have become code.
pub(crate) struct Lowered {
    pub(crate) code: Code,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: u64,
    /// Bytes of the variables in shared memory. Dynamic shared memory lies behind them.
    pub(crate) shared_bytes: u64,
    pub(crate) has_dynamic_shared: bool,
    /// Bytes of local memory of a thread.
    pub(crate) local_bytes: u64,
    /// Registers of 32 bits that a thread needs.
    pub(crate) registers: u32,
}

/// A parameter of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) scalar: crate::types::ScalarType,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Lowers an entry. It is done twice: the first time every register has a place of its own, and shows which ones are
/// in use together; the second time registers that are not share their place, so that wavefronts are small. Loads come
/// early in either.
pub(crate) fn lower(module: &Module, layout: &Layout, entry: &Function) -> Result<Lowered> {
    let mut first = Lowering::run(module, layout, entry, None)?;
    let order = flow::order(&first.code);
    flow::rearrange(&mut first.code.instructions, &order);
    // Atomics are where they were, so the second time it is known which of them nobody reads.
    let allocation = flow::allocate(&first.code);
    let mut lowered = Lowering::run(module, layout, entry, Some(&allocation))?;
    flow::rearrange(&mut lowered.code.instructions, &order);
    lowered.registers = allocation.pressure.max(1);
    if let Some(max) = entry.registers_max {
        lowered.registers = lowered.registers.min(max.max(1));
    }
    Ok(lowered)
}

struct Lowering<'m> {
    module: &'m Module,
    layout: &'m Layout,
    allocation: Option<&'m flow::Allocation>,
    code: Code,
    scopes: Scopes<'m>,
    /// The number of registers of each bank, before they share their places.
    virtuals: HashMap<BankKind, usize>,
    presets: HashMap<(BankKind, Preset), Register>,
    /// The instruction that each label stands before.
    labels: Vec<Option<u32>>,
    /// The functions that are being lowered, the entry first, each with the label of its end.
    calls: Vec<(&'m str, usize)>,
    params: Vec<Param>,
    param_bytes: u64,
    shared_bytes: u64,
    /// Where variables in shared memory lie that have been declared.
    shared: HashMap<*const Variable, u64>,
    has_dynamic_shared: bool,
    local_bytes: u64,
    /// The calls that have been replaced by code.
    inlined: usize,
    /// The registers that the instruction at hand reads and writes.
    reads: Vec<Register>,
    writes: Vec<Register>,
    guard: Option<Guard>,
    /// The class of the instruction at hand.
    class: InstructionClass,
    at: Place,
}

impl<'m> Lowering<'m> {
    fn run(
        module: &'m Module,
        layout: &'m Layout,
        entry: &'m Function,
        allocation: Option<&'m flow::Allocation>,
    ) -> Result<Lowered> {
        let mut lowering = Lowering {
            module,
            layout,
            allocation,
            code: Code::default(),
            scopes: Scopes::default(),
            virtuals: HashMap::new(),
            presets: HashMap::new(),
            labels: Vec::new(),
            calls: Vec::new(),
            params: Vec::new(),
            param_bytes: 0,
            shared_bytes: 0,
            shared: HashMap::new(),
            inlined: 0,
            has_dynamic_shared: false,
            local_bytes: 0,
            reads: Vec::new(),
            writes: Vec::new(),
            guard: None,
            class: InstructionClass::Move,
            at: entry.at,
        };
        lowering.entry(entry)?;
        let Lowering { code, params, param_bytes, shared_bytes, has_dynamic_shared, local_bytes, .. } = lowering;
        Ok(Lowered { code, params, param_bytes, shared_bytes, has_dynamic_shared, local_bytes, registers: 1 })
    }

    fn fault<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Fault::new(self.at, message))
    }

    fn entry(&mut self, entry: &'m Function) -> Result<()> {
        let Some(body) = &entry.body else { return self.fault(format!("`{}` has no body", entry.name)) };
        self.scopes.enter();
        self.declare_module_variables();
        if self.shared_bytes > names::MEMORY_MAX {
            return self.fault("shared variables take at most 16 MiB");
        }
        self.scopes.enter();
        for param in &entry.params {
            self.declare_param(param)?;
        }
        let end = self.new_label();
        self.calls.push((&entry.name, end));
        self.block(body)?;
        self.place_label(end);
        self.at = entry.at;
        self.emit(Action::Exit)?;
        self.finish()
    }

    /// Lowers statements with names of their own.
    fn block(&mut self, statements: &'m [Statement]) -> Result<()> {
        self.scopes.enter();
        self.declare_labels(statements)?;
        for statement in statements {
            match statement {
                Statement::Register { name, count, scalar } => self.declare_register(name, *count, *scalar)?,
                Statement::Variable(variable) => self.declare_variable(variable)?,
                Statement::Label { name, .. } => {
                    if let Some(label) = self.scopes.label(name) {
                        self.place_label(label);
                    }
                }
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Block(block) => self.block(block)?,
            }
        }
        self.scopes.leave();
        Ok(())
    }

    fn new_label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    fn place_label(&mut self, label: usize) {
        self.labels[label] = Some(self.code.instructions.len() as u32);
    }

    /// Adds an instruction with the guard, and with the registers that it was seen to use.
    fn emit(&mut self, mut action: Action) -> Result<()> {
        if self.code.instructions.len() >= INSTRUCTIONS_MAX {
            return self
                .fault(format!("an entry has at most {INSTRUCTIONS_MAX} instructions with those that it calls"));
        }
        if let Action::Atomic(atomic) = &mut action
            && self.allocation.is_some_and(|allocation| allocation.is_unread(self.code.instructions.len()))
        {
            atomic.to = None;
            self.writes.clear();
        }
        let start = self.code.uses.len() as u32;
        self.code.uses.append(&mut self.reads);
        if let Some(guard) = self.guard {
            self.code.uses.push(Register { bank: BankKind::Predicate, number: guard.predicate });
        }
        let middle = self.code.uses.len() as u32;
        self.code.uses.append(&mut self.writes);
        let end = self.code.uses.len() as u32;
        let (at, guard) = (self.at, self.guard);
        let class = class::of_action(&action, self.class);
        let instruction = Instruction { at, guard, action, class, reads: start..middle, writes: middle..end };
        self.code.instructions.push(instruction);
        Ok(())
    }

    fn instruction(&mut self, instruction: &'m syntax::Instruction) -> Result<()> {
        self.at = instruction.at;
        self.reads.clear();
        self.writes.clear();
        self.guard = match &instruction.guard {
            Some(guard) => Some(Guard { predicate: self.predicate_named(&guard.register)?, negated: guard.negated }),
            None => None,
        };
        self.reads.clear(); // The guard is added when the instruction is.
        self.class = class::of_opcode(&instruction.opcode);
        let mut form = Form::of(instruction);
        let action = self.action(&mut form)?;
        form.finish()?;
        if let Some(action) = action {
            self.emit(action)?;
        }
        Ok(())
    }

    /// The action of an instruction. There is none where it has become several instructions, which are there already.
    fn action(&mut self, form: &mut Form<'m>) -> Result<Option<Action>> {
        let opcode = form.opcode();
        let action = match opcode {
            "add" | "sub" | "mul" | "div" | "rem" | "min" | "max" | "mad" | "fma" | "mul24" | "mad24" | "sad"
            | "addc" | "subc" | "madc" | "neg" | "abs" | "sqrt" | "rcp" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2"
            | "tanh" | "copysign" | "dp4a" | "dp2a" => self.arithmetic(opcode, form)?,
            "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" | "popc" | "clz" | "brev"
            | "bfind" | "bfe" | "bfi" | "fns" | "prmt" | "bmsk" | "szext" => self.bits(opcode, form)?,
            "setp" | "set" | "selp" | "slct" | "testp" => self.compare(opcode, form)?,
            "mov" | "cvt" | "cvta" | "isspacep" => self.convert(opcode, form)?,
            "ld" | "ldu" | "st" | "atom" | "red" | "fence" | "membar" | "prefetch" | "prefetchu" | "discard"
            | "applypriority" => self.memory(opcode, form)?,
            "bra" | "exit" | "ret" | "trap" | "brkpt" | "nanosleep" | "pmevent" => self.control(opcode, form)?,
            "call" => {
                self.call(form)?;
                return Ok(None);
            }
            "bar" | "barrier" | "vote" | "shfl" | "activemask" | "elect" => self.warp(opcode, form)?,
            _ => return self.fault(format!("`{}` is not supported", form.name())),
        };
        Ok(Some(action))
    }

    /// Gives branches the instructions that their labels stand before, and their meeting points.
    fn finish(&mut self) -> Result<()> {
        for instruction in &mut self.code.instructions {
            if let Action::Branch { target, .. } = &mut instruction.action {
                match self.labels[*target as usize] {
                    Some(place) => *target = place,
                    None => return Err(Fault::new(instruction.at, "this branch goes to a label that stands nowhere")),
                }
            }
        }
        flow::connect(&mut self.code);
        Ok(())
    }
}
