//! Descriptions of programs, conditions and outcomes in one line each.

use std::fmt::{self, Display, Write};

use crate::print::{condition_text, instruction};
use crate::test::{LitmusTest, LocationId, Outcome, Program};

impl LitmusTest {
    /// The condition in the syntax of the test.
    pub fn condition_text(&self) -> String {
        condition_text(&self.program, &self.condition)
    }
}

impl Program {
    /// An outcome in words: the registers of each thread, then the final values of the locations that the program
    /// writes.
    pub fn describe(&self, outcome: &Outcome) -> String {
        let mut text = String::new();
        let mut values = outcome.registers.iter();
        for (index, thread) in self.threads.iter().enumerate() {
            for (register, value) in thread.registers.iter().zip(&mut values) {
                let _ = write!(text, "P{index}:{}={value} ", register.name);
            }
        }
        text.push_str("finally");
        for (index, (location, value)) in self.locations.iter().zip(&outcome.finals).enumerate() {
            if self.uses(LocationId(index as u8)) {
                let _ = write!(text, " {}={value}", location.name);
            }
        }
        text
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, thread) in self.threads.iter().enumerate() {
            let code: Vec<String> = thread.instructions().map(|parts| instruction(self, index, parts.start)).collect();
            let separator = if index == 0 { "" } else { " | " };
            write!(f, "{separator}P{index}: {}", if code.is_empty() { "-".to_owned() } else { code.join("; ") })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Parsed, parse};
    use crate::test::Outcome;

    #[test]
    fn a_test_in_words() {
        let text = "PTX t\n{ x=0; y=0; z=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\nst.weak x, 1 | ld.relaxed.gpu r0, y ;\n\
                    exists (P1:r0 == 1 /\\ x == 0)\n";
        let Ok(Parsed::Test(test)) = parse(text) else { panic!("it is a test") };
        assert_eq!(test.condition_text(), "P1:r0 == 1 /\\ x == 0");
        assert_eq!(test.program.to_string(), "P0: st.weak x, 1 | P1: ld.relaxed.gpu r0, y");
        let outcome = Outcome { registers: vec![7], finals: vec![1, 2, 3] };
        assert_eq!(test.program.describe(&outcome), "P1:r0=7 finally x=1 y=2");
    }
}
