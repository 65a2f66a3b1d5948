//! Branches and ends.

use super::Lowering;
use super::form::Form;
use crate::code::Action;
use crate::error::Result;
use crate::syntax::Operand;

impl<'m> Lowering<'m> {
    pub(super) fn control(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        form.take("uni");
        match opcode {
            "bra" => {
                let [target] = form.exactly()?;
                let Operand::Name(name) = target else { return self.fault("a branch goes to a label") };
                match self.scopes.label(name) {
                    Some(label) => Ok(branch(label)),
                    None => self.fault(format!("there is no label `{name}` in this function")),
                }
            }
            "ret" => {
                let end = self.calls.last().map_or(0, |&(_, end)| end);
                Ok(if self.calls.len() > 1 { branch(end) } else { Action::Exit })
            }
            "exit" => Ok(Action::Exit),
            // A thread that sleeps for a while may as well go on: nothing depends on time.
            "nanosleep" => {
                form.take("u32");
                Ok(Action::Nothing)
            }
            "pmevent" => {
                form.take("mask");
                Ok(Action::Nothing)
            }
            _ => self.fault(format!("`{opcode}` is not supported: it stops the program for a debugger")),
        }
    }
}

/// A branch whose target is a label, until all are known.
pub(super) fn branch(label: usize) -> Action {
    Action::Branch { target: label as u32, meeting: None, waits: false }
}
