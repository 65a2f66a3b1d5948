//! Loads, stores, atomics and fences.

use chorus_protocol::access::{AtomicOp, Order, PairOp, Scope};

use super::Lowering;
use super::form::Form;
use crate::code::{Action, Address, Atomic, Element, Elements, Load, Store};
use crate::error::Result;
use crate::registers::{BankKind, Register};
use crate::syntax::Operand;
use crate::types::{ScalarType, Space};

/// The scope of a part of an opcode. A cluster is as large as a GPU here.
fn scope(name: &str) -> Option<Scope> {
    match name {
        "cta" => Some(Scope::WorkGroup),
        "cluster" | "gpu" | "gl" => Some(Scope::Gpu),
        "sys" => Some(Scope::System),
        _ => None,
    }
}

fn order(name: &str) -> Option<Order> {
    match name {
        "weak" => Some(Order::Weak),
        "relaxed" => Some(Order::Relaxed),
        "acquire" => Some(Order::Acquire),
        "release" => Some(Order::Release),
        "acq_rel" | "sc" => Some(Order::AcqRel),
        _ => None,
    }
}

/// The order and the scope that a cache operator stands for. Those that only advise are weak.
fn cache_operator(name: &str) -> Option<(Order, Scope)> {
    match name {
        "ca" | "cs" | "lu" | "wb" | "nc" => Some((Order::Weak, Scope::Gpu)),
        "cg" => Some((Order::Relaxed, Scope::Gpu)),
        "cv" | "wt" | "volatile" => Some((Order::Relaxed, Scope::System)),
        _ => None,
    }
}

/// Advice about which lines to keep, which changes no value.
fn is_advice(name: &str) -> Option<()> {
    (name.starts_with("L1::") || name.starts_with("L2::") || name.starts_with("level::")).then_some(())
}

impl<'m> Lowering<'m> {
    pub(super) fn memory(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        match opcode {
            "ld" | "ldu" => self.load(form),
            "st" => self.store(form),
            "atom" | "red" => self.atomic(opcode, form),
            "fence" | "membar" => self.fence(form),
            // What only advises a cache has no effect here.
            "prefetch" | "prefetchu" | "discard" | "applypriority" => {
                while form.find(|_| Some(())).is_some() {}
                Ok(Action::Nothing)
            }
            _ => form.wrong_type(),
        }
    }

    fn order_and_scope(&self, form: &mut Form<'m>) -> Result<(Order, Scope)> {
        let advised = form.find(cache_operator);
        let (order, scope) = (form.find(order), form.find(scope));
        while form.find(is_advice).is_some() {}
        form.take("mmio");
        match (order, scope, advised) {
            (None, None, Some(advised)) => Ok(advised),
            (None, None, None) | (Some(Order::Weak), None, _) => Ok((Order::Weak, Scope::Gpu)),
            (Some(order), Some(scope), _) => Ok((order, scope)),
            _ => self.fault("an order needs a scope, `.cta`, `.cluster`, `.gpu` or `.sys`"),
        }
    }

    fn load(&mut self, form: &mut Form<'m>) -> Result<Action> {
        let space = form.find(Space::named).unwrap_or(Space::Generic);
        let (order, scope) = self.order_and_scope(form)?;
        let (count, scalar) = (vector(form), form.scalar()?);
        // `[address], policy` may follow.
        let [to, from] = form.exactly()?;
        let address = self.address(from, space)?;
        let elements = self.elements(to, count, scalar)?;
        let registers: Vec<Register> = elements.iter().filter_map(|element| element.register).collect();
        self.writes.extend(registers);
        if matches!(order, Order::Release | Order::AcqRel) {
            return form.wrong_type();
        }
        Ok(Action::Load(Load { address, elements, order, scope }))
    }

    fn store(&mut self, form: &mut Form<'m>) -> Result<Action> {
        let space = form.find(Space::named).unwrap_or(Space::Generic);
        let (order, scope) = self.order_and_scope(form)?;
        let (count, scalar) = (vector(form), form.scalar()?);
        let [to, from] = form.exactly()?;
        let address = self.address(to, space)?;
        let elements = self.elements(from, count, scalar)?;
        let registers: Vec<Register> = elements.iter().filter_map(|element| element.register).collect();
        self.reads.extend(registers);
        if address.space == Space::Const || matches!(order, Order::Acquire | Order::AcqRel) {
            return form.wrong_type();
        }
        Ok(Action::Store(Store { address, elements, order, scope }))
    }

    fn elements(&mut self, operand: &Operand, count: u8, scalar: ScalarType) -> Result<Elements> {
        let operands = match operand {
            Operand::Vector(operands) if count > 1 => operands.as_slice(),
            operand => std::slice::from_ref(operand),
        };
        let bytes = scalar.bytes();
        if operands.len() != usize::from(count) || scalar == ScalarType::Predicate {
            return self.fault("a load or a store has as many registers as its vector has elements");
        }
        if u32::from(bytes) * u32::from(count) > 16 {
            return self.fault("a load or a store moves at most 16 bytes");
        }
        let mut list = [Element { register: None, signed: scalar.is_signed() }; 4];
        for (element, operand) in list.iter_mut().zip(operands) {
            element.register = match operand {
                Operand::Name(name) if name == "_" => None,
                operand => Some(self.element(operand, scalar)?),
            };
        }
        Ok(Elements { bytes, count, list })
    }

    /// The register of an element, which may be wider than the element.
    fn element(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Register> {
        match self.any_register(operand)? {
            Some(Register { bank: BankKind::Predicate, .. }) => self.fault("predicates do not lie in memory"),
            Some(Register { bank: BankKind::Word, .. }) if scalar.bits() == 64 => {
                self.fault("this register has 32 bits, and the element 64")
            }
            Some(register) => Ok(register),
            None => {
                // A constant is not noted as read: it never changes.
                let register = self.source(operand, scalar)?;
                Ok(register)
            }
        }
    }

    pub(super) fn local_load(&self, offset: u64, register: Register, scalar: ScalarType) -> Action {
        let (address, elements) = local(offset, register, scalar);
        Action::Load(Load { address, elements, order: Order::Weak, scope: Scope::WorkGroup })
    }

    pub(super) fn local_store(&self, offset: u64, register: Register, scalar: ScalarType) -> Action {
        let (address, elements) = local(offset, register, scalar);
        Action::Store(Store { address, elements, order: Order::Weak, scope: Scope::WorkGroup })
    }

    fn fence(&mut self, form: &mut Form<'m>) -> Result<Action> {
        let [] = form.exactly()?;
        let order = form.find(order).unwrap_or(Order::AcqRel);
        match form.find(scope) {
            Some(scope) => Ok(Action::Fence(order, scope)),
            None => self.fault("a fence needs a scope; fences between proxies are not supported"),
        }
    }

    fn atomic(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Action> {
        let space = form.find(Space::named).unwrap_or(Space::Generic);
        let (order, scope) = (form.find(order).unwrap_or(Order::Relaxed), form.find(scope).unwrap_or(Scope::Gpu));
        while form.find(is_advice).is_some() {}
        if space == Space::Local || form.take("noftz") {
            return form.wrong_type();
        }
        let name = form.find(|name| {
            const NAMES: [&str; 10] = ["add", "cas", "exch", "min", "max", "and", "or", "xor", "inc", "dec"];
            NAMES.iter().find(|&&known| known == name).copied()
        });
        let scalar = form.scalar()?;
        let Some(op) = name.and_then(|name| operation(name, scalar)) else { return form.wrong_type() };
        let mut operands = form.operands().iter();
        let to = if opcode == "atom" { operands.next() } else { None };
        let (Some(address), Some(first)) = (operands.next(), operands.next()) else {
            return self.fault(format!("`{opcode}` has too few operands"));
        };
        let address = self.address(address, space)?;
        let first = self.source(first, scalar)?;
        let (operand, expected) = match (name, operands.next()) {
            (Some("cas"), Some(second)) => (self.source(second, scalar)?, Some(first)),
            (Some("cas"), None) => return self.fault("`cas` has an expected and a new value"),
            (_, None) => (first, None),
            (_, Some(_)) => return self.fault(format!("`{opcode}` has too many operands")),
        };
        let to = match to {
            Some(Operand::Name(name)) if name == "_" => None,
            Some(to) => Some(self.destination(to, scalar)?),
            None => None,
        };
        let bytes = scalar.bytes();
        Ok(Action::Atomic(Atomic { address, op, bytes, to, operand, expected, order, scope }))
    }
}

/// The number of elements of a vector.
fn vector(form: &mut Form<'_>) -> u8 {
    if form.take("v2") {
        2
    } else if form.take("v4") {
        4
    } else {
        1
    }
}

fn local(offset: u64, register: Register, scalar: ScalarType) -> (Address, Elements) {
    let element = Element { register: Some(register), signed: scalar.is_signed() };
    (
        Address { space: Space::Local, base: None, offset },
        Elements { bytes: scalar.bytes(), count: 1, list: [element; 4] },
    )
}

/// The operation of an atomic of this type.
fn operation(name: &str, scalar: ScalarType) -> Option<AtomicOp> {
    use ScalarType::{Bits, Float, Signed, Unsigned};
    Some(match (name, scalar) {
        ("add", Unsigned(32) | Signed(32)) => AtomicOp::Add,
        ("add", Float(32)) => AtomicOp::AddF32,
        ("min", Unsigned(32)) => AtomicOp::Min,
        ("max", Unsigned(32)) => AtomicOp::Max,
        ("min", Signed(32)) => AtomicOp::MinSigned,
        ("max", Signed(32)) => AtomicOp::MaxSigned,
        ("inc", Unsigned(32)) => AtomicOp::Inc,
        ("dec", Unsigned(32)) => AtomicOp::Dec,
        ("add", Unsigned(64) | Signed(64)) => AtomicOp::Pair(PairOp::Add),
        ("add", Float(64)) => AtomicOp::Pair(PairOp::AddF64),
        ("min", Unsigned(64)) => AtomicOp::Pair(PairOp::Min),
        ("max", Unsigned(64)) => AtomicOp::Pair(PairOp::Max),
        ("min", Signed(64)) => AtomicOp::Pair(PairOp::MinSigned),
        ("max", Signed(64)) => AtomicOp::Pair(PairOp::MaxSigned),
        // Bits of 64 are those of two words.
        ("and", Bits(32 | 64)) => AtomicOp::And,
        ("or", Bits(32 | 64)) => AtomicOp::Or,
        ("xor", Bits(32 | 64)) => AtomicOp::Xor,
        ("exch", Bits(32 | 64)) => AtomicOp::Exchange,
        ("cas", Bits(32)) => AtomicOp::CompareExchange { expected: 0 },
        ("cas", Bits(64)) => AtomicOp::Pair(PairOp::CompareExchange { expected: [0, 0] }),
        _ => return None,
    })
}
