//! Names: what is declared where, and what is meant by a name.

use std::collections::HashMap;

use super::{Lowering, Param, REGISTERS_MAX};
use crate::code::{LaneMask, Preset, Sight, Special};
use crate::error::Result;
use crate::layout::place;
use crate::registers::{BankKind, Register};
use crate::syntax::{Statement, Variable};
use crate::types::{ScalarType, Space};

/// The most bytes of local or shared memory.
pub(super) const MEMORY_MAX: u64 = 1 << 24;

/// The meaning of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    /// A register that is declared by itself.
    Register {
        register: Register,
        scalar: ScalarType,
    },
    /// Registers that have the name with a number behind it. They get their places when they are used.
    Row {
        count: u64,
        scalar: ScalarType,
    },
    Variable {
        space: Space,
        offset: u64,
    },
    /// Shared memory whose size the launch says.
    DynamicShared,
    Label(usize),
}

/// The names that can be seen, innermost last.
#[derive(Default)]
pub(super) struct Scopes<'m>(Vec<HashMap<Name<'m>, Symbol>>);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Name<'m> {
    Written(&'m str),
    /// A register of a row, by the name of the row and its number.
    Numbered(String),
}

impl<'m> Scopes<'m> {
    pub(super) fn enter(&mut self) {
        self.0.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Hides all names but those of the module, for the body of another function. Returns them.
    pub(super) fn hide(&mut self) -> Scopes<'m> {
        Scopes(self.0.split_off(1))
    }

    /// Shows the names again that were hidden, and forgets those of the other function.
    pub(super) fn restore(&mut self, hidden: Scopes<'m>) {
        self.0.truncate(1);
        self.0.extend(hidden.0);
    }

    pub(super) fn declare(&mut self, name: &'m str, symbol: Symbol) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert(Name::Written(name), symbol);
        }
    }

    fn find(&self, name: &str) -> Option<(usize, Symbol)> {
        let mut scopes = self.0.iter().enumerate().rev();
        scopes.find_map(|(depth, scope)| Some((depth, *scope.get(&Name::Written(name))?)))
    }

    pub(super) fn label(&self, name: &str) -> Option<usize> {
        match self.find(name)? {
            (_, Symbol::Label(label)) => Some(label),
            _ => None,
        }
    }
}

pub(super) fn bank_of(scalar: ScalarType) -> BankKind {
    match scalar.bits() {
        1 => BankKind::Predicate,
        64 => BankKind::Long,
        _ => BankKind::Word,
    }
}

impl<'m> Lowering<'m> {
    /// A register of its own, or the place that it shares.
    pub(super) fn new_register(&mut self, bank: BankKind) -> Result<Register> {
        let count = self.virtuals.entry(bank).or_default();
        let number = *count;
        *count += 1;
        if number >= REGISTERS_MAX {
            return self.fault(format!("an entry uses at most {REGISTERS_MAX} registers of a kind"));
        }
        let register = Register { bank, number: number as u16 };
        let register = match self.allocation {
            Some(allocation) => allocation.place(register),
            None => register,
        };
        let code = &mut self.code;
        let count = match bank {
            BankKind::Word => &mut code.words,
            BankKind::Long => &mut code.longs,
            BankKind::Predicate => &mut code.predicates,
        };
        *count = (*count).max(usize::from(register.number) + 1);
        Ok(register)
    }

    /// The register that holds a value from the start.
    pub(super) fn preset(&mut self, bank: BankKind, preset: Preset) -> Result<Register> {
        if let Some(&register) = self.presets.get(&(bank, preset)) {
            return Ok(register);
        }
        let register = self.new_register(bank)?;
        self.presets.insert((bank, preset), register);
        self.code.presets.push((register, preset));
        Ok(register)
    }

    pub(super) fn declare_module_variables(&mut self) {
        let (module, layout) = (self.module, self.layout);
        for (name, &(space, offset)) in &layout.places {
            self.scopes.declare(name, Symbol::Variable { space, offset });
        }
        for variable in module.variables.iter().filter(|variable| variable.space == Some(Space::Shared)) {
            self.declare_shared(variable);
        }
    }

    fn declare_shared(&mut self, variable: &'m Variable) {
        // A variable of a function is one and the same wherever the function's code stands.
        let known = self.shared.get(&std::ptr::from_ref(variable)).copied();
        let symbol = if let Some(offset) = known {
            Symbol::Variable { space: Space::Shared, offset }
        } else if variable.unsized_array {
            self.has_dynamic_shared = true;
            Symbol::DynamicShared
        } else {
            let offset = place(&mut self.shared_bytes, variable.align, variable.bytes);
            self.shared.insert(std::ptr::from_ref(variable), offset);
            Symbol::Variable { space: Space::Shared, offset }
        };
        self.scopes.declare(&variable.name, symbol);
    }

    pub(super) fn declare_param(&mut self, param: &'m Variable) -> Result<()> {
        let offset = place(&mut self.param_bytes, param.align, param.bytes);
        if self.param_bytes > 1 << 16 {
            return self.fault("parameters take at most 64 KiB");
        }
        let (name, scalar, bytes) = (param.name.clone(), param.scalar, param.bytes);
        self.params.push(Param { name, scalar, offset, bytes });
        self.scopes.declare(&param.name, Symbol::Variable { space: Space::Param, offset });
        Ok(())
    }

    pub(super) fn declare_register(&mut self, name: &'m str, count: Option<u64>, scalar: ScalarType) -> Result<()> {
        let symbol = match count {
            Some(count) => Symbol::Row { count, scalar },
            None => Symbol::Register { register: self.new_register(bank_of(scalar))?, scalar },
        };
        self.scopes.declare(name, symbol);
        Ok(())
    }

    pub(super) fn declare_variable(&mut self, variable: &'m Variable) -> Result<()> {
        self.at = variable.at;
        match variable.space {
            Some(Space::Shared) => self.declare_shared(variable),
            // What a function hands over in parameter space lies with its local variables.
            Some(Space::Local | Space::Param) => {
                let offset = self.local(variable.align, variable.bytes);
                self.scopes.declare(&variable.name, Symbol::Variable { space: Space::Local, offset });
            }
            _ => return self.fault(format!("`{}` must be declared outside of functions", variable.name)),
        }
        if self.local_bytes > MEMORY_MAX || self.shared_bytes > MEMORY_MAX {
            return self.fault("local and shared variables take at most 16 MiB each");
        }
        Ok(())
    }

    /// The offset of new bytes of local memory. They begin at words, which are what local memory consists of.
    pub(super) fn local(&mut self, align: u32, bytes: u64) -> u64 {
        place(&mut self.local_bytes, align.max(4), bytes)
    }

    pub(super) fn declare_labels(&mut self, statements: &'m [Statement]) -> Result<()> {
        for statement in statements {
            if let Statement::Label { name, at } = statement {
                self.at = *at;
                let label = self.new_label();
                self.scopes.declare(name, Symbol::Label(label));
            }
        }
        Ok(())
    }

    /// The meaning of a name: something declared, a register of a row, or nothing.
    pub(super) fn symbol(&mut self, name: &str) -> Result<Option<Symbol>> {
        let numbered = Name::Numbered(name.to_owned());
        if let Some(symbol) = self.scopes.0.iter().rev().find_map(|scope| scope.get(&numbered)) {
            return Ok(Some(*symbol));
        }
        if let Some((_, symbol)) = self.scopes.find(name).filter(|(_, symbol)| !matches!(symbol, Symbol::Row { .. })) {
            return Ok(Some(symbol));
        }
        let row = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let Ok(number) = name[row.len()..].parse::<u64>() else { return Ok(None) };
        match self.scopes.find(row) {
            Some((depth, Symbol::Row { count, scalar })) if number < count => {
                let register = self.new_register(bank_of(scalar))?;
                let symbol = Symbol::Register { register, scalar };
                self.scopes.0[depth].insert(numbered, symbol);
                Ok(Some(symbol))
            }
            _ => Ok(None),
        }
    }

    /// The register that the machine sets, if a name is that of one.
    pub(super) fn special(&self, name: &str) -> Result<Option<Special>> {
        let vector = |of: fn(usize) -> Special| {
            let dimension = ["x", "y", "z"].iter().position(|&d| name.ends_with(&format!(".{d}")));
            dimension.map(of)
        };
        let special = match name.split('.').next().unwrap_or(name) {
            "%tid" => vector(Special::Thread),
            "%ntid" => vector(Special::Threads),
            "%ctaid" => vector(Special::Group),
            "%nctaid" => vector(Special::Groups),
            "%laneid" => Some(Special::Lane),
            "%warpid" => Some(Special::Wave),
            "%nwarpid" => Some(Special::Waves),
            "%lanemask_eq" => Some(Special::LaneMask(LaneMask::Equal)),
            "%lanemask_lt" => Some(Special::LaneMask(LaneMask::Below)),
            "%lanemask_le" => Some(Special::LaneMask(LaneMask::UpTo)),
            "%lanemask_gt" => Some(Special::LaneMask(LaneMask::Above)),
            "%lanemask_ge" => Some(Special::LaneMask(LaneMask::From)),
            "%dynamic_smem_size" => Some(Special::DynamicBytes),
            "%total_smem_size" => Some(Special::TotalBytes),
            _ if Sight::named(name).is_some() => {
                return self.fault(format!("`{name}` has another value whenever it is read; only `mov` reads it"));
            }
            "%gridid" => return self.fault("`%gridid` is not supported: results must not depend on it"),
            _ => None,
        };
        Ok(special)
    }
}
