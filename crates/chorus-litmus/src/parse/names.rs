//! The locations and registers that a file declares.

use crate::error::{LitmusError, Position};
use crate::parse::lexer::shortened;
use crate::parse::{MAX_LOCATIONS, MAX_REGISTERS};
use crate::test::{Location, LocationId, Register, RegisterSpec, Thread};

/// The declared names, in the order of their declarations.
#[derive(Default)]
pub(crate) struct Names {
    pub locations: Vec<Location>,
    /// The number of lines in use.
    lines: u8,
    /// Further names of locations. Only tests that are not supported have such names.
    aliases: Vec<(String, LocationId)>,
    /// The initial values of registers. They are declared before the threads are known.
    registers: Vec<(usize, String, u32, Position)>,
    /// The first reason for which the test is not supported, if there is one.
    pub unsupported: Option<String>,
}

impl Names {
    /// Notes that the test uses a feature that is not modelled.
    pub fn unsupported(&mut self, reason: String) {
        self.unsupported.get_or_insert(reason);
    }

    fn find(&self, name: &str) -> Option<LocationId> {
        let place = self.locations.iter().position(|location| location.name == name);
        let alias = || self.aliases.iter().find(|(alias, _)| alias == name).map(|(_, location)| *location);
        place.map(|place| LocationId(place as u8)).or_else(alias)
    }

    /// The location with this name.
    pub fn location(&self, name: &str, position: Position) -> Result<LocationId, LitmusError> {
        self.find(name).ok_or_else(|| {
            let known: Vec<String> = self.locations.iter().map(|location| shortened(&location.name)).collect();
            let accepted = if known.is_empty() { "a declared location".to_string() } else { known.join(", ") };
            LitmusError::new(position, "no such location", format!("`{}`", shortened(name)), accepted)
        })
    }

    /// The line of the location with this name.
    pub fn line_of(&self, name: &str, position: Position) -> Result<u8, LitmusError> {
        let at = self.location(name, position)?;
        Ok(self.locations[usize::from(at.0)].line)
    }

    fn check_new(&self, name: &str, position: Position) -> Result<(), LitmusError> {
        if self.find(name).is_some() {
            let found = format!("`{}`", shortened(name));
            return Err(LitmusError::new(position, "a location is declared twice", found, "a new name"));
        }
        if self.locations.len() + self.aliases.len() == MAX_LOCATIONS {
            let found = format!("`{}`", shortened(name));
            return Err(LitmusError::new(position, "too many locations", found, format!("at most {MAX_LOCATIONS}")));
        }
        Ok(())
    }

    /// Declares a location. It gets a line of its own unless one is given.
    pub fn declare(
        &mut self,
        name: String,
        initial: u32,
        line: Option<u8>,
        position: Position,
    ) -> Result<(), LitmusError> {
        self.check_new(&name, position)?;
        let line = line.unwrap_or_else(|| {
            self.lines += 1;
            self.lines - 1
        });
        let word = self.locations.iter().filter(|location| location.line == line).count() as u8;
        self.locations.push(Location { name, initial, line, word });
        Ok(())
    }

    /// Declares another name of a location.
    pub fn alias(
        &mut self,
        name: String,
        position: Position,
        other: &str,
        other_position: Position,
    ) -> Result<(), LitmusError> {
        self.check_new(&name, position)?;
        let location = self.location(other, other_position)?;
        self.aliases.push((name, location));
        Ok(())
    }

    /// Notes the initial value of a register of a thread that is declared later.
    pub fn initial_register(
        &mut self,
        thread: &str,
        register: String,
        value: u32,
        position: Position,
    ) -> Result<(), LitmusError> {
        let Some(index) = thread_index(thread) else {
            let found = format!("`{}`", shortened(thread));
            return Err(LitmusError::new(position, "not a thread", found, "`P0`, `P1` and so on"));
        };
        self.registers.push((index, register, value, position));
        Ok(())
    }

    /// Passes the initial values of registers to the threads.
    pub fn give_registers(&mut self, threads: &mut [Thread]) -> Result<(), LitmusError> {
        let last = threads.len().saturating_sub(1);
        for (index, name, value, position) in self.registers.drain(..) {
            let Some(thread) = threads.get_mut(index) else {
                let found = format!("`P{index}`");
                return Err(LitmusError::new(position, "no such thread", found, format!("`P0` to `P{last}`")));
            };
            let register = register_of(thread, &name, position)?;
            thread.registers[usize::from(register.0)].initial = value;
        }
        Ok(())
    }
}

/// The number of a thread called `P0` or `0`.
pub(crate) fn thread_index(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('P').unwrap_or(name);
    let number: u16 = digits.parse().ok()?;
    Some(usize::from(number))
}

/// The register with this name. It is created if there is none yet.
pub(crate) fn register_of(thread: &mut Thread, name: &str, position: Position) -> Result<Register, LitmusError> {
    let known = thread.registers.iter().position(|register| register.name == name);
    let index = match known {
        Some(index) => index,
        None if thread.registers.len() == MAX_REGISTERS => {
            let found = format!("`{}`", shortened(name));
            let accepted = format!("at most {MAX_REGISTERS} in a thread");
            return Err(LitmusError::new(position, "too many registers", found, accepted));
        }
        None => {
            thread.registers.push(RegisterSpec { name: name.to_string(), initial: 0 });
            thread.registers.len() - 1
        }
    };
    Ok(Register(index as u8))
}
