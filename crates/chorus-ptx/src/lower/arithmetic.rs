//! Arithmetic on integers and floats.

use super::Lowering;
use super::form::Form;
use super::names::bank_of;
use crate::arithmetic::float::approximate as approximations;
use crate::arithmetic::float::fused::fma_lanes;
use crate::arithmetic::float::{self, ExtremumMode, FloatMode, Format, Rounding};
use crate::arithmetic::integer::word::{self, Half};
use crate::arithmetic::integer::{self, Integer, Narrow};
use crate::code::{Action, Preset};
use crate::error::Result;
use crate::registers::{Bank, BankKind, Register, Step, binary, by_rows, ternary, unary};
use crate::syntax::Operand;
use crate::types::ScalarType;

/// The mode of a float instruction: rounding, flushing and saturation.
fn mode(form: &mut Form<'_>) -> FloatMode {
    let rounding = form.find(rounding).unwrap_or(Rounding::Nearest);
    FloatMode { rounding, flush: form.take("ftz"), saturate: form.take("sat") }
}

/// The rounding of a float instruction, by its name.
pub(super) fn rounding(name: &str) -> Option<Rounding> {
    match name {
        "rn" => Some(Rounding::Nearest),
        "rz" => Some(Rounding::Zero),
        "rm" => Some(Rounding::Down),
        "rp" => Some(Rounding::Up),
        _ => None,
    }
}

fn half(form: &mut Form<'_>) -> Option<Half> {
    if form.take("hi") {
        Some(Half::High)
    } else if form.take("lo") {
        Some(Half::Low)
    } else {
        None
    }
}

impl<'m> Lowering<'m> {
    pub(super) fn arithmetic(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        if form.take("cc") || matches!(opcode, "addc" | "subc" | "madc") {
            return self.with_carry(opcode, form);
        }
        match opcode {
            "mul24" | "mad24" => return self.of_24_bits(opcode, form),
            "dp4a" | "dp2a" => return self.dot_product(opcode, form),
            _ => {}
        }
        let scalar = form.scalar()?;
        let step =
            if scalar.is_float() { self.float(opcode, scalar, form)? } else { self.integer(opcode, scalar, form)? };
        Ok(Action::Compute(step))
    }

    /// Reads `N` operands behind the destination and the destination, all of one type.
    fn operands<const N: usize>(&mut self, operands: &[Operand], scalar: ScalarType) -> Result<(u16, [u16; N])> {
        if operands.len() != N + 1 {
            return self.fault(format!("expected {} operands, found {}", N + 1, operands.len()));
        }
        let mut sources = [0; N];
        for (source, operand) in sources.iter_mut().zip(&operands[1..]) {
            *source = self.read(operand, scalar)?;
        }
        Ok((self.write(&operands[0], scalar)?, sources))
    }

    fn integer(&mut self, opcode: &str, scalar: ScalarType, form: &mut Form<'m>) -> Result<Step> {
        if matches!(opcode, "mul" | "mad") && form.take("wide") {
            return self.wide(opcode, scalar, form);
        }
        match scalar {
            ScalarType::Unsigned(16) | ScalarType::Bits(16) => self.integer_of::<u16>(opcode, scalar, form),
            ScalarType::Signed(16) => self.integer_of::<i16>(opcode, scalar, form),
            ScalarType::Unsigned(32) | ScalarType::Bits(32) => self.integer_of::<u32>(opcode, scalar, form),
            ScalarType::Signed(32) => self.integer_of::<i32>(opcode, scalar, form),
            ScalarType::Unsigned(64) | ScalarType::Bits(64) => self.integer_of::<u64>(opcode, scalar, form),
            ScalarType::Signed(64) => self.integer_of::<i64>(opcode, scalar, form),
            _ => form.wrong_type(),
        }
    }

    fn integer_of<T>(&mut self, opcode: &str, scalar: ScalarType, form: &mut Form<'m>) -> Result<Step>
    where
        T: Integer + 'static,
        T::Register: Bank,
    {
        let half = if matches!(opcode, "mul" | "mad") { half(form) } else { None };
        let saturates = form.take("sat");
        match opcode {
            "neg" | "abs" => {
                let (to, [a]) = self.operands(form.operands(), scalar)?;
                Ok(if opcode == "neg" { unary(to, a, integer::neg::<T>) } else { unary(to, a, integer::abs::<T>) })
            }
            "mad" | "sad" => {
                let (to, abc) = self.operands(form.operands(), scalar)?;
                match (opcode, half, saturates) {
                    ("sad", None, false) => Ok(ternary(to, abc, integer::sad::<T>)),
                    ("mad", Some(Half::Low), false) => Ok(ternary(to, abc, integer::mad_lo::<T>)),
                    ("mad", Some(Half::High), false) => Ok(ternary(to, abc, integer::mad_hi::<T>)),
                    ("mad", Some(Half::High), true) => Ok(ternary(to, abc, integer::mad_hi_sat::<T>)),
                    _ => form.wrong_type(),
                }
            }
            _ => {
                let (to, ab) = self.operands(form.operands(), scalar)?;
                match (opcode, half, saturates) {
                    ("add", None, false) => Ok(binary(to, ab, integer::add::<T>)),
                    ("sub", None, false) => Ok(binary(to, ab, integer::sub::<T>)),
                    ("add", None, true) => Ok(binary(to, ab, integer::add_sat::<T>)),
                    ("sub", None, true) => Ok(binary(to, ab, integer::sub_sat::<T>)),
                    ("mul", Some(Half::Low), false) => Ok(binary(to, ab, integer::mul_lo::<T>)),
                    ("mul", Some(Half::High), false) => Ok(binary(to, ab, integer::mul_hi::<T>)),
                    ("div", None, false) => Ok(binary(to, ab, integer::div::<T>)),
                    ("rem", None, false) => Ok(binary(to, ab, integer::rem::<T>)),
                    ("min", None, false) => Ok(binary(to, ab, integer::min::<T>)),
                    ("max", None, false) => Ok(binary(to, ab, integer::max::<T>)),
                    _ => form.wrong_type(),
                }
            }
        }
    }

    /// Products of twice the width.
    fn wide(&mut self, opcode: &str, scalar: ScalarType, form: &mut Form<'m>) -> Result<Step> {
        match scalar {
            ScalarType::Unsigned(16) => self.wide_of::<u16>(opcode, scalar, ScalarType::Unsigned(32), form),
            ScalarType::Signed(16) => self.wide_of::<i16>(opcode, scalar, ScalarType::Signed(32), form),
            ScalarType::Unsigned(32) => self.wide_of::<u32>(opcode, scalar, ScalarType::Unsigned(64), form),
            ScalarType::Signed(32) => self.wide_of::<i32>(opcode, scalar, ScalarType::Signed(64), form),
            _ => form.wrong_type(),
        }
    }

    fn wide_of<T>(&mut self, opcode: &str, scalar: ScalarType, wide: ScalarType, form: &mut Form<'m>) -> Result<Step>
    where
        T: Narrow + 'static,
        T::Register: Bank,
        <T::Wide as Integer>::Register: Bank,
    {
        if opcode == "mul" {
            let [to, a, b] = form.exactly()?;
            let ab = [self.read(a, scalar)?, self.read(b, scalar)?];
            return Ok(binary(self.write(to, wide)?, ab, integer::mul_wide::<T>));
        }
        let [to, a, b, c] = form.exactly()?;
        let abc = [self.read(a, scalar)?, self.read(b, scalar)?, self.read(c, wide)?];
        Ok(ternary(self.write(to, wide)?, abc, integer::mad_wide::<T>))
    }

    fn of_24_bits(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Action> {
        let Some(half) = half(form) else { return form.wrong_type() };
        let saturates = form.take("sat");
        let scalar = form.scalar()?;
        if !matches!(scalar, ScalarType::Signed(32) | ScalarType::Unsigned(32)) {
            return form.wrong_type();
        }
        let signed = scalar.is_signed();
        let step = if opcode == "mul24" {
            let (to, ab) = self.operands(form.operands(), scalar)?;
            binary(to, ab, move |a, b| word::mul24(a, b, signed, half))
        } else {
            let (to, abc) = self.operands(form.operands(), scalar)?;
            if saturates {
                ternary(to, abc, word::mad24_hi_sat)
            } else {
                ternary(to, abc, move |a, b, c| word::mad24(a, b, c, signed, half))
            }
        };
        Ok(Action::Compute(step))
    }

    fn dot_product(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Action> {
        let half = half(form);
        let (a, b) = (form.scalar()?.is_signed(), form.scalar()?.is_signed());
        let (to, abc) = self.operands(form.operands(), ScalarType::Bits(32))?;
        let step = match (opcode, half) {
            ("dp4a", None) => ternary(to, abc, move |x, y, z| word::dp4a(x, y, z, a, b)),
            ("dp2a", Some(half)) => ternary(to, abc, move |x, y, z| word::dp2a(x, y, z, a, b, half)),
            _ => return form.wrong_type(),
        };
        Ok(Action::Compute(step))
    }

    /// The register of the carry, which `.cc` writes and `addc` and its like read.
    fn carry(&mut self) -> Result<Register> {
        self.preset(BankKind::Predicate, Preset::Value(0))
    }

    fn with_carry(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Action> {
        let writes = form.take("cc") || !matches!(opcode, "addc" | "subc" | "madc");
        // `.cc` has been taken where the opcode does not read the carry.
        let reads = matches!(opcode, "addc" | "subc" | "madc");
        let half = half(form);
        let scalar = form.scalar()?;
        let carry = self.carry()?;
        if reads {
            self.reads.push(carry);
        }
        let step = match scalar.bits() {
            32 => self.with_carry_of::<u32>(opcode, scalar, half, [reads, writes], carry.number, form)?,
            64 => self.with_carry_of::<u64>(opcode, scalar, half, [reads, writes], carry.number, form)?,
            _ => return form.wrong_type(),
        };
        if writes {
            self.writes.push(carry);
        }
        Ok(Action::Compute(step))
    }

    fn with_carry_of<T>(
        &mut self,
        opcode: &str,
        scalar: ScalarType,
        half: Option<Half>,
        [reads, writes]: [bool; 2],
        carry: u16,
        form: &Form<'m>,
    ) -> Result<Step>
    where
        T: Integer + 'static,
        T::Register: Bank,
    {
        type Sum<T> = fn([<T as Integer>::Register; 3], bool) -> (<T as Integer>::Register, bool);
        let sum: Sum<T> = match (opcode, half) {
            ("add" | "addc", None) => |[a, b, _], carry| integer::add_carry::<T>(a, b, carry),
            ("sub" | "subc", None) => |[a, b, _], carry| integer::sub_carry::<T>(a, b, carry),
            ("mad" | "madc", Some(Half::Low)) => |[a, b, c], carry| integer::mad_lo_carry::<T>(a, b, c, carry),
            ("mad" | "madc", Some(Half::High)) => |[a, b, c], carry| integer::mad_hi_carry::<T>(a, b, c, carry),
            _ => return form.wrong_type(),
        };
        let (to, abc) = if half.is_some() {
            self.operands::<3>(form.operands(), scalar)?
        } else {
            let (to, [a, b]) = self.operands::<2>(form.operands(), scalar)?;
            (to, [a, b, b])
        };
        // Of a difference, the carry says that nothing was borrowed.
        let initial = opcode == "sub";
        Ok(Box::new(move |registers, mask| {
            let rows = abc.map(|number| T::Register::row(registers, number));
            let carries = bool::row(registers, carry);
            let results: [_; chorus_kernel::LANES] = std::array::from_fn(|lane| {
                let carry = if reads { bool::lane(carries, lane) } else { initial };
                sum(rows.map(|row| T::Register::lane(row, lane)), carry)
            });
            T::Register::write(registers, to, mask, &results.map(|(value, _)| value));
            if writes {
                bool::write(registers, carry, mask, &results.map(|(_, carry)| carry));
            }
        }))
    }

    fn float(&mut self, opcode: &str, scalar: ScalarType, form: &mut Form<'m>) -> Result<Step> {
        let approximate = form.take("approx") || form.take("full");
        let is_transcendental = matches!(opcode, "sin" | "cos" | "lg2" | "ex2" | "tanh" | "rsqrt");
        if approximate || is_transcendental {
            let full = form.name().contains(".full");
            return self.approximate(opcode, full, scalar, form);
        }
        match scalar {
            ScalarType::Float(32) if matches!(opcode, "fma" | "mad") => {
                let (mode, (to, abc)) = (mode(form), self.operands(form.operands(), scalar)?);
                Ok(by_rows(to, abc, move |a, b, c| fma_lanes(a, b, c, mode)))
            }
            ScalarType::Float(32) => self.float_of::<f32>(opcode, scalar, form),
            ScalarType::Float(64) => self.float_of::<f64>(opcode, scalar, form),
            _ => form.wrong_type(),
        }
    }

    fn float_of<F>(&mut self, opcode: &str, scalar: ScalarType, form: &mut Form<'m>) -> Result<Step>
    where
        F: Format + 'static,
        F::Bits: Bank,
    {
        let mode = mode(form);
        let FloatMode { rounding, flush, saturate } = mode;
        let extremum =
            ExtremumMode { flush, nan: form.take("NaN"), xor_sign: form.take("xorsign") && form.take("abs") };
        match opcode {
            "neg" | "abs" | "sqrt" | "rcp" => {
                let (to, [a]) = self.operands(form.operands(), scalar)?;
                Ok(match opcode {
                    "neg" => unary(to, a, move |a| float::neg::<F>(a, flush)),
                    "abs" => unary(to, a, move |a| float::abs::<F>(a, flush)),
                    "sqrt" => unary(to, a, move |a| float::sqrt::<F>(a, mode)),
                    _ => unary(to, a, move |a| float::rcp::<F>(a, mode)),
                })
            }
            "fma" | "mad" => {
                let (to, abc) = self.operands(form.operands(), scalar)?;
                Ok(ternary(to, abc, move |a, b, c| float::fma::<F>(a, b, c, mode)))
            }
            _ => {
                let (to, ab) = self.operands(form.operands(), scalar)?;
                let plain = rounding == Rounding::Nearest && !flush && !saturate;
                Ok(match opcode {
                    // The usual mode is known to the compiler, which then adds several lanes at once.
                    "add" if plain => binary(to, ab, |a, b| float::add::<F>(a, b, FloatMode::default())),
                    "sub" if plain => binary(to, ab, |a, b| float::sub::<F>(a, b, FloatMode::default())),
                    "mul" if plain => binary(to, ab, |a, b| float::mul::<F>(a, b, FloatMode::default())),
                    "add" => binary(to, ab, move |a, b| float::add::<F>(a, b, mode)),
                    "sub" => binary(to, ab, move |a, b| float::sub::<F>(a, b, mode)),
                    "mul" => binary(to, ab, move |a, b| float::mul::<F>(a, b, mode)),
                    "div" => binary(to, ab, move |a, b| float::div::<F>(a, b, mode)),
                    "min" => binary(to, ab, move |a, b| float::min::<F>(a, b, extremum)),
                    "max" => binary(to, ab, move |a, b| float::max::<F>(a, b, extremum)),
                    "copysign" => binary(to, ab, float::copysign::<F>),
                    _ => return form.wrong_type(),
                })
            }
        }
    }

    fn approximate(&mut self, opcode: &str, full: bool, scalar: ScalarType, form: &mut Form<'m>) -> Result<Step> {
        let flush = form.take("ftz");
        if opcode == "div" {
            let (to, ab) = self.operands(form.operands(), scalar)?;
            return match (scalar, full) {
                (ScalarType::Float(32), true) => Ok(binary(to, ab, move |a, b| approximations::div_full(a, b, flush))),
                (ScalarType::Float(32), false) => {
                    Ok(binary(to, ab, move |a, b| approximations::div_approx(a, b, flush)))
                }
                _ => form.wrong_type(),
            };
        }
        let (to, [a]) = self.operands(form.operands(), scalar)?;
        if scalar == ScalarType::Float(64) {
            return match (opcode, flush) {
                ("rcp", true) => Ok(unary(to, a, approximations::rcp_approx_ftz_f64)),
                ("rsqrt", true) => Ok(unary(to, a, approximations::rsqrt_approx_ftz_f64)),
                ("rsqrt", false) => Ok(unary(to, a, approximations::rsqrt_approx_f64)),
                _ => form.wrong_type(),
            };
        }
        let function: fn(u32, bool) -> u32 = match opcode {
            "rcp" => approximations::rcp_approx,
            "sqrt" => approximations::sqrt_approx,
            "rsqrt" => approximations::rsqrt_approx,
            "ex2" => approximations::ex2_approx,
            "lg2" => approximations::lg2_approx,
            "sin" => approximations::sin_approx,
            "cos" => approximations::cos_approx,
            "tanh" => |a, _| approximations::tanh_approx(a),
            _ => return form.wrong_type(),
        };
        if bank_of(scalar) != BankKind::Word || scalar != ScalarType::Float(32) {
            return form.wrong_type();
        }
        Ok(unary(to, a, move |a| function(a, flush)))
    }
}
