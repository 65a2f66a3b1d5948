//! Comparisons, and choices that depend on them.

use super::Lowering;
use super::form::Form;
use super::names::bank_of;
use crate::arithmetic::float::{self, FloatClass, FloatCompare, Format};
use crate::arithmetic::integer::{self, Compare, Integer};
use crate::code::Action;
use crate::error::Result;
use crate::registers::{Bank, BankKind, Registers, Step, by_lane, ternary, unary};
use crate::syntax::Operand;
use crate::types::ScalarType;

/// How the result of a comparison is combined with another predicate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    And,
    Or,
    Xor,
}

impl Combine {
    fn named(name: &str) -> Option<Combine> {
        match name {
            "and" => Some(Combine::And),
            "or" => Some(Combine::Or),
            "xor" => Some(Combine::Xor),
            _ => None,
        }
    }

    fn of(self, a: bool, b: bool) -> bool {
        match self {
            Combine::And => a & b,
            Combine::Or => a | b,
            Combine::Xor => a ^ b,
        }
    }
}

/// Compares two registers in all lanes.
type Comparison = Box<dyn Fn(&Registers) -> u32 + Send + Sync>;

fn comparison<A: Bank>([a, b]: [u16; 2], f: impl Fn(A, A) -> bool + Send + Sync + 'static) -> Comparison {
    Box::new(move |registers| {
        let (row_a, row_b) = (A::row(registers, a), A::row(registers, b));
        let holds: [bool; chorus_kernel::LANES] = by_lane(|lane| f(A::lane(row_a, lane), A::lane(row_b, lane)));
        holds.iter().enumerate().fold(0, |bits, (lane, &holds)| bits | u32::from(holds) << lane)
    })
}

fn integer_comparison<T>(name: &str, ab: [u16; 2]) -> Option<Comparison>
where
    T: Integer + 'static,
    T::Register: Bank,
{
    Some(match name {
        "eq" => comparison(ab, |a, b| integer::compare::<T>(Compare::Eq, a, b)),
        "ne" => comparison(ab, |a, b| integer::compare::<T>(Compare::Ne, a, b)),
        "lt" | "lo" => comparison(ab, |a, b| integer::compare::<T>(Compare::Lt, a, b)),
        "le" | "ls" => comparison(ab, |a, b| integer::compare::<T>(Compare::Le, a, b)),
        "gt" | "hi" => comparison(ab, |a, b| integer::compare::<T>(Compare::Gt, a, b)),
        "ge" | "hs" => comparison(ab, |a, b| integer::compare::<T>(Compare::Ge, a, b)),
        _ => return None,
    })
}

fn float_comparison<F>(name: &str, ab: [u16; 2], flush: bool) -> Option<Comparison>
where
    F: Format + 'static,
    F::Bits: Bank,
{
    let compare = FloatCompare::from_name(name)?;
    Some(comparison(ab, move |a, b| float::compare::<F>(compare, a, b, flush)))
}

fn is_comparison(name: &str) -> Option<String> {
    const NAMES: [&str; 18] = [
        "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
        "nan",
    ];
    NAMES.contains(&name).then(|| name.to_owned())
}

impl<'m> Lowering<'m> {
    pub(super) fn compare(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        let step = match opcode {
            "setp" => self.set_predicate(form)?,
            "set" => self.set(form)?,
            "selp" => self.select(form)?,
            "slct" => self.select_by_sign(form)?,
            _ => self.test(form)?,
        };
        Ok(Action::Compute(step))
    }

    /// The comparison that the opcode names, of two operands.
    fn comparison(&mut self, [a, b]: [&Operand; 2], name: &str, flush: bool, scalar: ScalarType) -> Result<Comparison> {
        let ab = [self.read(a, scalar)?, self.read(b, scalar)?];
        let found = match scalar {
            ScalarType::Unsigned(16) | ScalarType::Bits(16) => integer_comparison::<u16>(name, ab),
            ScalarType::Signed(16) => integer_comparison::<i16>(name, ab),
            ScalarType::Unsigned(32) | ScalarType::Bits(32) => integer_comparison::<u32>(name, ab),
            ScalarType::Signed(32) => integer_comparison::<i32>(name, ab),
            ScalarType::Unsigned(64) | ScalarType::Bits(64) => integer_comparison::<u64>(name, ab),
            ScalarType::Signed(64) => integer_comparison::<i64>(name, ab),
            ScalarType::Float(32) => float_comparison::<f32>(name, ab, flush),
            ScalarType::Float(64) => float_comparison::<f64>(name, ab, flush),
            _ => None,
        };
        match found {
            Some(comparison) => Ok(comparison),
            None => self.fault(format!("values of this type have no comparison `.{name}`")),
        }
    }

    fn set_predicate(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let Some(name) = form.find(is_comparison) else { return form.wrong_type() };
        let combine = form.find(Combine::named);
        let flush = form.take("ftz");
        let scalar = form.scalar()?;
        let [to, a, b, rest @ ..] = form.operands() else { return self.fault("`setp` has at least 3 operands") };
        let compare = self.comparison([a, b], &name, flush, scalar)?;
        let other = match (combine, rest) {
            (None, []) => None,
            (Some(combine), [predicate]) => Some((combine, self.read_predicate(predicate)?)),
            _ => return self.fault("`setp` has a fourth operand where it combines two predicates, and else none"),
        };
        let (to, negation) = match to {
            Operand::Pair(to, negation) => {
                (self.write(to, ScalarType::Predicate)?, Some(self.write(negation, ScalarType::Predicate)?))
            }
            _ => (self.write(to, ScalarType::Predicate)?, None),
        };
        let Some((combine, (predicate, negated))) = other else {
            return Ok(Box::new(move |registers, mask| {
                let holds = compare(registers);
                put(registers, to, mask, holds);
                if let Some(negation) = negation {
                    put(registers, negation, mask, !holds);
                }
            }));
        };
        Ok(Box::new(move |registers, mask| {
            let holds = compare(registers);
            let other = registers.predicates[usize::from(predicate)] ^ if negated { u32::MAX } else { 0 };
            let combined = |holds: u32| match combine {
                Combine::And => holds & other,
                Combine::Or => holds | other,
                Combine::Xor => holds ^ other,
            };
            put(registers, to, mask, combined(holds));
            if let Some(negation) = negation {
                put(registers, negation, mask, combined(!holds));
            }
        }))
    }

    /// `set`, which writes all ones or 1.0 where the comparison holds.
    fn set(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let Some(name) = form.find(is_comparison) else { return form.wrong_type() };
        let combine = form.find(Combine::named);
        let flush = form.take("ftz");
        let (result, scalar) = (form.scalar()?, form.scalar()?);
        let [to, a, b, rest @ ..] = form.operands() else { return self.fault("`set` has at least 3 operands") };
        let compare = self.comparison([a, b], &name, flush, scalar)?;
        let other = match (combine, rest) {
            (None, []) => None,
            (Some(combine), [predicate]) => Some((combine, self.read_predicate(predicate)?)),
            _ => return self.fault("`set` has a fourth operand where it combines two predicates, and else none"),
        };
        if bank_of(result) != BankKind::Word {
            return form.wrong_type();
        }
        let to = self.write(to, result)?;
        let yes = if result.is_float() { 1f32.to_bits() } else { u32::MAX };
        Ok(Box::new(move |registers, mask| {
            let mut holds = compare(registers);
            if let Some((combine, (predicate, negated))) = other {
                let other = registers.predicates[usize::from(predicate)];
                let combined = |lane: usize| combine.of(holds >> lane & 1 == 1, (other >> lane & 1 == 1) != negated);
                holds = (0..chorus_kernel::LANES).fold(0, |bits, lane| bits | u32::from(combined(lane)) << lane);
            }
            let values: [u32; chorus_kernel::LANES] =
                std::array::from_fn(|lane| if holds >> lane & 1 == 1 { yes } else { 0 });
            Bank::write(registers, to, mask, &values);
        }))
    }

    fn select(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let scalar = form.scalar()?;
        let [to, a, b, predicate] = form.exactly()?;
        let (a, b) = (self.read(a, scalar)?, self.read(b, scalar)?);
        let (predicate, negated) = self.read_predicate(predicate)?;
        let to = self.write(to, scalar)?;
        let abc = [a, b, predicate];
        Ok(match bank_of(scalar) {
            BankKind::Word => ternary(to, abc, move |a: u32, b: u32, p: bool| if p != negated { a } else { b }),
            BankKind::Long => ternary(to, abc, move |a: u64, b: u64, p: bool| if p != negated { a } else { b }),
            BankKind::Predicate => return form.wrong_type(),
        })
    }

    fn select_by_sign(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let flush = form.take("ftz");
        let (scalar, sign) = (form.scalar()?, form.scalar()?);
        let [to, a, b, c] = form.exactly()?;
        let abc = [self.read(a, scalar)?, self.read(b, scalar)?, self.read(c, sign)?];
        let to = self.write(to, scalar)?;
        match (bank_of(scalar), sign) {
            (BankKind::Word, ScalarType::Signed(32)) => Ok(ternary(to, abc, integer::slct::<u32>)),
            (BankKind::Long, ScalarType::Signed(32)) => Ok(ternary(to, abc, integer::slct::<u64>)),
            (BankKind::Word, ScalarType::Float(32)) => {
                Ok(ternary(to, abc, move |a: u32, b: u32, c| if float::selects_first(c, flush) { a } else { b }))
            }
            (BankKind::Long, ScalarType::Float(32)) => {
                Ok(ternary(to, abc, move |a: u64, b: u64, c| if float::selects_first(c, flush) { a } else { b }))
            }
            _ => form.wrong_type(),
        }
    }

    fn test(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let class = form.find(FloatClass::from_name);
        let Some(class) = class else { return form.wrong_type() };
        let scalar = form.scalar()?;
        let [to, a] = form.exactly()?;
        let a = self.read(a, scalar)?;
        let to = self.write(to, ScalarType::Predicate)?;
        match scalar {
            ScalarType::Float(32) => Ok(unary(to, a, move |a| float::testp::<f32>(class, a))),
            ScalarType::Float(64) => Ok(unary(to, a, move |a| float::testp::<f64>(class, a))),
            _ => form.wrong_type(),
        }
    }
}

/// Writes a predicate in the lanes of a mask.
fn put(registers: &mut Registers, to: u16, mask: u32, holds: u32) {
    let row = &mut registers.predicates[usize::from(to)];
    *row = *row & !mask | holds & mask;
}
