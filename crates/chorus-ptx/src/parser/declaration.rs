//! Directives of a module, and declarations of registers and variables.

use super::Parser;
use crate::error::{Fault, Place, Result};
use crate::lexer::Token;
use crate::syntax::{Function, Module, Statement, Variable};
use crate::types::{ScalarType, Space};

/// The most bytes of a variable.
const BYTES_MAX: u64 = 1 << 32;

/// The words before a variable or a function that say who can see it.
#[derive(Default)]
struct Linkage {
    external: bool,
}

impl Parser {
    /// One directive at the level of the module.
    pub(super) fn directive(&mut self, module: &mut Module) -> Result<()> {
        let at = self.at();
        let Token::Dotted(word) = self.peek().clone() else { return self.fault("a directive") };
        match word.as_str() {
            "version" => {
                self.take();
                module.version = self.version()?;
            }
            "target" => {
                self.take();
                module.target = self.expect_word("a target like sm_90")?;
                while self.takes_sign(',') {
                    self.expect_word("an option of the target")?;
                }
            }
            "address_size" => {
                self.take();
                if self.expect_integer("64")? != 64 {
                    return Err(Fault::new(at, "addresses of 32 bits are not supported; compile for 64 bits"));
                }
            }
            "file" | "loc" | "pragma" | "section" => self.skip_debugging(at)?,
            "alias" => return Err(Fault::new(at, "`.alias` is not supported")),
            _ => {
                let linkage = self.linkage();
                match self.peek() {
                    Token::Dotted(word) if word == "entry" || word == "func" => {
                        let function = self.function()?;
                        module.functions.push(function);
                    }
                    _ => self.variables(&linkage, &mut |variable| module.variables.push(variable))?,
                }
            }
        }
        Ok(())
    }

    /// `9.0`, which is a number with a fraction, or a whole one with another behind the dot.
    fn version(&mut self) -> Result<String> {
        match self.take() {
            Token::Double(bits) => Ok(format!("{:.1}", f64::from_bits(bits))),
            Token::Integer(value) => Ok(value.to_string()),
            _ => {
                self.next = self.next.saturating_sub(1);
                self.fault("a version like 8.0")
            }
        }
    }

    /// Directives for debuggers, up to the end of their line or their closing brace.
    fn skip_debugging(&mut self, at: Place) -> Result<()> {
        let is_section = matches!(self.take(), Token::Dotted(word) if word == "section");
        if is_section {
            while *self.peek() != Token::End && !self.takes_sign('}') {
                self.take();
            }
            return Ok(());
        }
        while *self.peek() != Token::End && self.at().line == at.line {
            self.take();
        }
        Ok(())
    }

    fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::default();
        loop {
            if self.takes_dotted("extern") {
                linkage.external = true;
            } else if !(self.takes_dotted("visible") || self.takes_dotted("weak") || self.takes_dotted("common")) {
                return linkage;
            }
        }
    }

    fn function(&mut self) -> Result<Function> {
        let is_entry = matches!(self.take(), Token::Dotted(word) if word == "entry");
        while let Token::Dotted(_) = self.peek() {
            self.take(); // `.noreturn` and its like stand before the name, too.
        }
        let returns = if *self.peek() == Token::Sign('(') { self.parameters()? } else { Vec::new() };
        let at = self.at();
        let name = self.expect_word("the name of a function")?;
        let params = if *self.peek() == Token::Sign('(') { self.parameters()? } else { Vec::new() };
        let mut function = Function { at, name, is_entry, returns, params, registers_max: None, body: None };
        self.bounds(&mut function)?;
        if self.takes_sign('{') {
            function.body = Some(self.block()?);
        } else {
            self.takes_sign(';');
        }
        Ok(function)
    }

    /// The bounds that a function gives for its launches, of which only the registers matter here.
    fn bounds(&mut self, function: &mut Function) -> Result<()> {
        while let Token::Dotted(word) = self.peek().clone() {
            match word.as_str() {
                "maxnreg" => {
                    self.take();
                    function.registers_max = Some(self.expect_integer("a number of registers")? as u32);
                }
                "maxntid" | "reqntid" | "minnctapersm" | "maxnctapersm" | "noreturn" | "pragma"
                | "reqnctapercluster" | "maxclusterrank" | "explicitcluster" => {
                    self.take();
                    while matches!(self.peek(), Token::Integer(_) | Token::Text(_) | Token::Sign(',')) {
                        self.take();
                    }
                    self.takes_sign(';');
                }
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn parameters(&mut self) -> Result<Vec<Variable>> {
        self.expect_sign('(')?;
        let mut parameters = Vec::new();
        if self.takes_sign(')') {
            return Ok(parameters);
        }
        loop {
            let (space, align, scalar, vector) = self.variable_type()?;
            parameters.push(self.variable(space, align, scalar, vector)?);
            if self.takes_sign(')') {
                return Ok(parameters);
            }
            self.expect_sign(',')?;
        }
    }

    /// One declaration inside a function.
    pub(super) fn declaration(&mut self, statements: &mut Vec<Statement>) -> Result<()> {
        let at = self.at();
        match self.peek() {
            Token::Dotted(word) if word == "reg" => {
                self.take();
                self.registers(statements)
            }
            Token::Dotted(word) if matches!(word.as_str(), "loc" | "file") => self.skip_debugging(at),
            Token::Dotted(word) if word == "pragma" => {
                while *self.peek() != Token::End && !self.takes_sign(';') {
                    self.take();
                }
                Ok(())
            }
            Token::Dotted(word) if matches!(word.as_str(), "branchtargets" | "calltargets" | "callprototype") => {
                Err(Fault::new(at, format!("`.{word}` is not supported: calls and branches must name their target")))
            }
            _ => {
                let linkage = self.linkage();
                self.variables(&linkage, &mut |variable| statements.push(Statement::Variable(variable)))
            }
        }
    }

    fn registers(&mut self, statements: &mut Vec<Statement>) -> Result<()> {
        let at = self.at();
        let (_, _, scalar, vector) = self.variable_type()?;
        if vector > 1 {
            return Err(Fault::new(at, "vectors of registers are not supported"));
        }
        loop {
            let name = self.expect_word("a register")?;
            let count = if self.takes_sign('<') {
                let count = self.expect_integer("a number of registers")?;
                self.expect_sign('>')?;
                Some(count)
            } else {
                None
            };
            statements.push(Statement::Register { name, count, scalar });
            if self.takes_sign(';') {
                return Ok(());
            }
            self.expect_sign(',')?;
        }
    }

    fn variables(&mut self, linkage: &Linkage, declare: &mut dyn FnMut(Variable)) -> Result<()> {
        let (space, align, scalar, vector) = self.variable_type()?;
        if space.is_none() {
            return self.fault("`.global`, `.const`, `.shared`, `.local` or `.param`");
        }
        loop {
            let mut variable = self.variable(space, align, scalar, vector)?;
            variable.external = linkage.external;
            declare(variable);
            if self.takes_sign(';') {
                return Ok(());
            }
            self.expect_sign(',')?;
        }
    }

    /// Space, alignment, type and number of elements of a vector, in any order that compilers write.
    fn variable_type(&mut self) -> Result<(Option<Space>, u32, ScalarType, u64)> {
        let (mut space, mut align, mut scalar, mut vector) = (None, 0, None, 1);
        loop {
            let at = self.at();
            let Token::Dotted(word) = self.peek().clone() else { break };
            self.take();
            match word.as_str() {
                "align" => {
                    let value = self.expect_integer("an alignment")?;
                    if !value.is_power_of_two() || value > 4096 {
                        return Err(Fault::new(at, "an alignment is a power of two up to 4096"));
                    }
                    align = align.max(value as u32);
                }
                "ptr" | "reg" | "attribute" => {}
                "v2" => vector = 2,
                "v4" => vector = 4,
                _ => match (Space::named(&word), ScalarType::named(&word)) {
                    // The space that a parameter points into comes after its type and says nothing here.
                    (Some(_), _) if scalar.is_some() => {}
                    (Some(named), _) => space = Some(named),
                    (_, Some(named)) => scalar = Some(named),
                    _ => {
                        return Err(Fault::new(
                            at,
                            format!("`.{word}` is not a type or a space that is supported (8 to 64 bits)"),
                        ));
                    }
                },
            }
        }
        let Some(scalar) = scalar else { return self.fault("a type like `.u32`") };
        Ok((space, align, scalar, vector))
    }

    fn variable(&mut self, space: Option<Space>, align: u32, scalar: ScalarType, vector: u64) -> Result<Variable> {
        let at = self.at();
        let name = self.expect_word("a name")?;
        let name = if self.takes_sign('<') {
            self.expect_integer("a number of variables")?;
            return Err(Fault::new(at, format!("`{name}<…>`: rows of variables are not supported")));
        } else {
            name
        };
        let (mut elements, mut unsized_array) = (vector, false);
        while self.takes_sign('[') {
            if self.takes_sign(']') {
                unsized_array = true;
                continue;
            }
            let length = self.expect_integer("a number of elements")?;
            self.expect_sign(']')?;
            elements = elements.saturating_mul(length);
        }
        let mut initial = Vec::new();
        if self.takes_sign('=') {
            self.initial_values(scalar, &mut initial)?;
        }
        if unsized_array && !initial.is_empty() {
            (elements, unsized_array) = (initial.len() as u64, false);
        }
        let size = u64::from(scalar.bytes());
        let bytes = if unsized_array { 0 } else { elements.saturating_mul(size) };
        if bytes > BYTES_MAX || initial.len() as u64 > elements {
            return Err(Fault::new(at, format!("`{name}` is too large, or has more values than elements")));
        }
        let align = align.max(u32::from(scalar.bytes()) * vector as u32);
        Ok(Variable { at, name, space, scalar, align, bytes, unsized_array, external: false, initial })
    }
}
