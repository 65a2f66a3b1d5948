//! Calls. The code of a function stands wherever it is called, so that lanes need no stack.

use super::Lowering;
use super::form::Form;
use super::names::{Symbol, bank_of};
use crate::code::{Action, Print};
use crate::error::Result;
use crate::registers::{BankKind, unary};
use crate::syntax::{Function, Operand, Variable};
use crate::types::{ScalarType, Space};

/// The deepest chain of calls.
const CALLS_MAX: usize = 64;

/// The most calls of an entry, with those of the functions that it calls.
const INLINED_MAX: usize = 1 << 16;

const ADDRESS: ScalarType = ScalarType::Unsigned(64);
const WORD: ScalarType = ScalarType::Unsigned(32);

impl<'m> Lowering<'m> {
    pub(super) fn call(&mut self, form: &mut Form<'m>) -> Result<()> {
        form.take("uni");
        let (results, name, arguments): (&[Operand], _, &[Operand]) = match form.operands() {
            [Operand::Name(name)] => (&[], name, &[]),
            [Operand::Name(name), Operand::List(arguments)] => (&[], name, arguments),
            [Operand::List(results), Operand::Name(name)] => (results, name, &[]),
            [Operand::List(results), Operand::Name(name), Operand::List(arguments)] => (results, name, arguments),
            _ => return self.fault("a call names a function, its results and its arguments; others are not supported"),
        };
        match name.as_str() {
            "vprintf" => return self.print(results, arguments),
            "__assertfail" => return self.assertion(arguments),
            _ => {}
        }
        let module = self.module;
        // A function may be declared first and defined later.
        let named = || module.functions.iter().filter(|function| function.name == *name && !function.is_entry);
        let function = named().find(|function| function.body.is_some()).or_else(|| named().next());
        let Some((function, body)) = function.and_then(|function| Some((function, function.body.as_ref()?))) else {
            return self.fault(format!("the module has no function `{name}` with a body"));
        };
        self.inlined += 1;
        if self.inlined > INLINED_MAX {
            return self
                .fault(format!("an entry has at most {INLINED_MAX} calls with those of the functions that it calls"));
        }
        if self.calls.len() > CALLS_MAX || self.calls.iter().any(|(caller, _)| caller == name) {
            return self.fault(format!("`{name}` calls itself, which is not supported"));
        }
        self.inline(function, body, results, arguments)
    }

    fn inline(
        &mut self,
        function: &'m Function,
        body: &'m [crate::syntax::Statement],
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<()> {
        let (call, guard) = (self.at, self.guard);
        if (results.len(), arguments.len()) != (function.returns.len(), function.params.len()) {
            let (name, takes) = (&function.name, function.params.len());
            return self
                .fault(format!("`{name}` takes {takes} arguments and gives {} results", function.returns.len()));
        }
        let skip = self.new_label();
        if let Some(guard) = guard {
            // Lanes without the predicate go past the whole function.
            self.guard = Some(crate::code::Guard { negated: !guard.negated, ..guard });
            self.emit(super::control::branch(skip))?;
            self.guard = None;
        }
        let mut bound = Vec::new();
        for (variable, operand) in function.params.iter().zip(arguments) {
            bound.push((variable, self.bind(variable, operand, true)?));
        }
        let mut given = Vec::new();
        for (variable, operand) in function.returns.iter().zip(results) {
            let symbol = self.bind(variable, operand, false)?;
            given.push((symbol, operand));
            bound.push((variable, symbol));
        }
        let hidden = self.scopes.hide();
        self.scopes.enter();
        bound.into_iter().for_each(|(variable, symbol)| self.scopes.declare(&variable.name, symbol));
        let end = self.new_label();
        self.calls.push((&function.name, end));
        self.block(body)?;
        self.place_label(end);
        self.calls.pop();
        self.scopes.restore(hidden);
        (self.at, self.guard) = (call, None);
        for (symbol, operand) in given {
            if let Symbol::Register { register, scalar } = symbol {
                self.move_register(operand, scalar, register.number, false)?;
            }
        }
        self.place_label(skip);
        self.guard = guard;
        Ok(())
    }

    /// The meaning of a function's parameter during a call: the caller's variable, or a register of its own.
    fn bind(&mut self, variable: &Variable, operand: &Operand, is_argument: bool) -> Result<Symbol> {
        if variable.space == Some(Space::Param) {
            let Operand::Name(name) = operand else { return self.fault("this argument must be a variable") };
            return match self.symbol(name)? {
                Some(symbol @ Symbol::Variable { space: Space::Local, .. }) => Ok(symbol),
                _ => self.fault(format!("`{name}` is no variable in parameter space")),
            };
        }
        let register = self.new_register(bank_of(variable.scalar))?;
        if is_argument {
            self.move_register(operand, variable.scalar, register.number, true)?;
        }
        Ok(Symbol::Register { register, scalar: variable.scalar })
    }

    /// Copies between an operand of the caller and a register of the function.
    fn move_register(&mut self, operand: &Operand, scalar: ScalarType, own: u16, into: bool) -> Result<()> {
        self.reads.clear();
        self.writes.clear();
        let bank = bank_of(scalar);
        let own_register = crate::registers::Register { bank, number: own };
        let (to, from) = if into {
            let from =
                if bank == BankKind::Predicate { self.read_predicate(operand)?.0 } else { self.read(operand, scalar)? };
            self.writes.push(own_register);
            (own, from)
        } else {
            self.reads.push(own_register);
            (self.write(operand, scalar)?, own)
        };
        let step = match bank {
            BankKind::Word => unary(to, from, |value: u32| value),
            BankKind::Long => unary(to, from, |value: u64| value),
            BankKind::Predicate => unary(to, from, |value: bool| value),
        };
        self.emit(Action::Compute(step))
    }

    /// The register that a variable in parameter space is loaded into, for functions that the machine has.
    fn loaded(&mut self, operand: &Operand, scalar: ScalarType) -> Result<u16> {
        if let Some(register) = self.any_register(operand)? {
            self.reads.push(register);
            return Ok(register.number);
        }
        let Operand::Name(name) = operand else { return self.fault("this argument must be a variable") };
        let Some(Symbol::Variable { space: Space::Local, offset }) = self.symbol(name)? else {
            return self.fault(format!("`{name}` is no variable in parameter space"));
        };
        let register = self.new_register(bank_of(scalar))?;
        let reads = std::mem::take(&mut self.reads);
        self.writes = vec![register];
        let load = self.local_load(offset, register, scalar);
        self.emit(load)?;
        self.reads = reads;
        self.reads.push(register);
        Ok(register.number)
    }

    fn print(&mut self, results: &[Operand], arguments: &[Operand]) -> Result<()> {
        let [format, values] = arguments else { return self.fault("`vprintf` takes a format and its arguments") };
        let (format, arguments) = (self.loaded(format, ADDRESS)?, self.loaded(values, ADDRESS)?);
        let to = self.new_register(BankKind::Word)?;
        self.writes.push(to);
        self.emit(Action::Print(Print { format, arguments, to: Some(to.number) }))?;
        let Some(Operand::Name(name)) = results.first() else { return Ok(()) };
        match self.symbol(name)? {
            Some(Symbol::Variable { space: Space::Local, offset }) => {
                self.reads = vec![to];
                let store = self.local_store(offset, to, WORD);
                self.emit(store)
            }
            _ => self.move_register(&results[0], WORD, to.number, false),
        }
    }

    fn assertion(&mut self, arguments: &[Operand]) -> Result<()> {
        let [message, file, line, function, _] = arguments else {
            return self
                .fault("`__assertfail` takes a message, a file, a line, a function and the size of a character");
        };
        let (message, file) = (self.loaded(message, ADDRESS)?, self.loaded(file, ADDRESS)?);
        let (line, function) = (self.loaded(line, WORD)?, self.loaded(function, ADDRESS)?);
        self.emit(Action::Assert { message, file, line, function })
    }
}
