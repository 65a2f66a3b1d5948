//! The parts of an opcode, which are taken one by one, so that none is left unread.

use crate::error::{Fault, Place, Result};
use crate::syntax::{Instruction, Operand};
use crate::types::ScalarType;

/// An instruction whose opcode is being read.
pub(super) struct Form<'m> {
    instruction: &'m Instruction,
    /// The parts that nobody has taken.
    rest: Vec<&'m str>,
}

impl<'m> Form<'m> {
    pub(super) fn of(instruction: &'m Instruction) -> Form<'m> {
        Form { instruction, rest: instruction.opcode.iter().skip(1).map(String::as_str).collect() }
    }

    /// The opcode without its suffixes.
    pub(super) fn opcode(&self) -> &'m str {
        &self.instruction.opcode[0]
    }

    pub(super) fn name(&self) -> String {
        self.instruction.name()
    }

    pub(super) fn at(&self) -> Place {
        self.instruction.at
    }

    pub(super) fn operands(&self) -> &'m [Operand] {
        &self.instruction.operands
    }

    /// The operands, if there are as many as the instruction has.
    pub(super) fn exactly<const N: usize>(&self) -> Result<&'m [Operand; N]> {
        self.operands().try_into().map_err(|_| {
            Fault::new(self.at(), format!("`{}` has {N} operands, not {}", self.name(), self.operands().len()))
        })
    }

    /// Takes a part, if it is there.
    pub(super) fn take(&mut self, part: &str) -> bool {
        let found = self.rest.iter().position(|&other| other == part);
        found.map(|index| self.rest.remove(index)).is_some()
    }

    /// Takes the first part that `find` knows.
    pub(super) fn find<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (index, found) = self.rest.iter().enumerate().find_map(|(index, part)| Some((index, find(part)?)))?;
        self.rest.remove(index);
        Some(found)
    }

    /// Takes the first part if it is one that `find` knows. The order of types matters.
    pub(super) fn scalar(&mut self) -> Result<ScalarType> {
        self.find(ScalarType::named)
            .ok_or_else(|| Fault::new(self.at(), format!("`{}` has no type that is supported", self.name())))
    }

    /// An error about a type that the instruction does not have.
    pub(super) fn wrong_type<T>(&self) -> Result<T> {
        Err(Fault::new(self.at(), format!("`{}` is not supported with this type", self.name())))
    }

    /// An error about parts that nobody has taken.
    pub(super) fn finish(&self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some(part) => Err(Fault::new(self.at(), format!("`.{part}` of `{}` is not supported", self.name()))),
        }
    }
}
