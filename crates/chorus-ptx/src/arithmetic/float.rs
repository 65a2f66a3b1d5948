//! Floating point of 32 and 64 bits: exact rounding, minima, comparisons, classes.
//!
//! Rounding to nearest is the host's own arithmetic, which is the same IEEE 754. The three directed roundings are rare
//! and go through `rustc_apfloat`. PTX promises nothing about the bits of a NaN; those here are an H200's: every NaN of
//! 32 bits is `0x7fffffff`, one of 64 bits comes from an operand that was one, made quiet, or is `0xfff8000000000000`.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Sub};

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float as _, Round};

pub(crate) mod approximate;
pub(crate) mod fused;

/// How an inexact result is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`, `.rni`: to the nearest, of two the even one.
    #[default]
    Nearest,
    /// `.rz`, `.rzi`: towards zero.
    Zero,
    /// `.rm`, `.rmi`: towards negative infinity.
    Down,
    /// `.rp`, `.rpi`: towards positive infinity.
    Up,
}

impl Rounding {
    /// The rounding's name in `rustc_apfloat`.
    pub(crate) fn soft(self) -> Round {
        match self {
            Rounding::Nearest => Round::NearestTiesToEven,
            Rounding::Zero => Round::TowardZero,
            Rounding::Down => Round::TowardNegative,
            Rounding::Up => Round::TowardPositive,
        }
    }
}

/// The modifiers of an arithmetic instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FloatMode {
    pub(crate) rounding: Rounding,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub(crate) flush: bool,
    /// `.sat`: the result is clamped to 0 to 1, and NaN becomes +0.
    pub(crate) saturate: bool,
}

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExtremumMode {
    pub(crate) flush: bool,
    /// `.NaN`: the result is NaN if an operand is; without it, the other operand.
    pub(crate) nan: bool,
    /// `.xorsign.abs`: of the magnitudes, with the product's sign.
    pub(crate) xor_sign: bool,
}

/// A comparison of `setp` and `set`. Where an operand is NaN, those whose names end in `u` hold, and `Nan`; the others,
/// `Ne` among them, do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatCompare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    /// Less, equal or unordered.
    Leu,
    Gtu,
    /// Greater, equal or unordered.
    Geu,
    Num,
    Nan,
}

impl FloatCompare {
    /// The comparison that a part of an opcode names.
    pub(crate) fn from_name(name: &str) -> Option<FloatCompare> {
        Some(match name {
            "eq" => FloatCompare::Eq,
            "ne" => FloatCompare::Ne,
            "lt" => FloatCompare::Lt,
            "le" => FloatCompare::Le,
            "gt" => FloatCompare::Gt,
            "ge" => FloatCompare::Ge,
            "equ" => FloatCompare::Equ,
            "neu" => FloatCompare::Neu,
            "ltu" => FloatCompare::Ltu,
            "leu" => FloatCompare::Leu,
            "gtu" => FloatCompare::Gtu,
            "geu" => FloatCompare::Geu,
            "num" => FloatCompare::Num,
            "nan" => FloatCompare::Nan,
            _ => return None,
        })
    }
}

/// The questions that `testp` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatClass {
    /// Neither infinite nor NaN.
    Finite,
    Infinite,
    Number,
    NotANumber,
    /// Finite and not subnormal: zeros are normal to `testp`.
    Normal,
    Subnormal,
}

impl FloatClass {
    /// The question that a part of an opcode names.
    pub(crate) fn from_name(name: &str) -> Option<FloatClass> {
        Some(match name {
            "finite" => FloatClass::Finite,
            "infinite" => FloatClass::Infinite,
            "number" => FloatClass::Number,
            "notanumber" => FloatClass::NotANumber,
            "normal" => FloatClass::Normal,
            "subnormal" => FloatClass::Subnormal,
            _ => return None,
        })
    }
}

/// A format of numbers: `f32` or `f64`.
pub(crate) trait Format:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The register that holds one.
    type Bits: Copy;
    /// The format in `rustc_apfloat`.
    type Soft: rustc_apfloat::Float;
    const ZERO: Self;
    const ONE: Self;
    /// The least number that is not subnormal.
    const LEAST_NORMAL: Self;
    /// A power of two by which a result near the least normal number is scaled to tell whether it is one.
    const SCALE: Self;
    fn read(bits: Self::Bits) -> Self;
    fn write(self) -> Self::Bits;
    /// The NaN that an operation with these operands gives, one of them perhaps a NaN, the first of them preferred.
    fn nan(operands: &[Self]) -> Self;
    /// Whether it is NaN.
    fn is_nan(self) -> bool;
    /// Whether it is infinite.
    fn is_infinite(self) -> bool;
    /// Whether it is subnormal.
    fn is_subnormal(self) -> bool;
    /// Whether the sign is set.
    fn is_negative(self) -> bool;
    /// With the sign set or not.
    fn with_sign(self, negative: bool) -> Self;
    /// `self * b + c` rounded once, to nearest.
    fn fused(self, b: Self, c: Self) -> Self;
    /// The square root, to nearest.
    fn root(self) -> Self;
    /// How the square of a root compares with the number, positive and finite, whose rounded root it is.
    fn compare_square(self, root: Self) -> Ordering;
    /// The next greater number.
    fn above(self) -> Self;
    /// The next smaller number.
    fn below(self) -> Self;
    /// The number in `rustc_apfloat`.
    fn soft(self) -> Self::Soft;
    /// A number of `rustc_apfloat`.
    fn of_soft(soft: Self::Soft) -> Self;
}

macro_rules! format {
    ($type:ident, $bits:ty, $soft:ty) => {
        type Bits = $bits;
        type Soft = $soft;
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const LEAST_NORMAL: Self = $type::MIN_POSITIVE;
        const SCALE: Self = (1_u64 << 60) as $type;
        #[inline]
        fn read(bits: $bits) -> Self {
            $type::from_bits(bits)
        }
        #[inline]
        fn write(self) -> $bits {
            self.to_bits()
        }
        #[inline]
        fn is_nan(self) -> bool {
            self.is_nan()
        }
        #[inline]
        fn is_infinite(self) -> bool {
            self.is_infinite()
        }
        #[inline]
        fn is_subnormal(self) -> bool {
            self != 0.0 && self.abs() < $type::MIN_POSITIVE
        }
        #[inline]
        fn is_negative(self) -> bool {
            self.is_sign_negative()
        }
        #[inline]
        fn with_sign(self, negative: bool) -> Self {
            self.copysign(if negative { -1.0 } else { 1.0 })
        }
        #[inline]
        fn root(self) -> Self {
            self.sqrt()
        }
        fn above(self) -> Self {
            self.next_up()
        }
        fn below(self) -> Self {
            self.next_down()
        }
        fn soft(self) -> $soft {
            <$soft>::from_bits(self.to_bits().into())
        }
        fn of_soft(soft: $soft) -> Self {
            $type::from_bits(soft.to_bits() as $bits)
        }
    };
}

impl Format for f32 {
    format!(f32, u32, Single);

    #[inline]
    fn nan(_: &[Self]) -> Self {
        f32::from_bits(0x7fff_ffff)
    }

    /// Computed in 64 bits, where the product is exact, which hosts without a fused instruction do much faster than the
    /// function that stands in for it. The sum has 53 bits; rounding it again to 24 is right but where the first
    /// rounding made it a tie of the second. There, and where the result may be subnormal and ties are elsewhere, an
    /// inexact sum is first made odd: a tie it then cannot be.
    #[inline]
    fn fused(self, b: f32, c: f32) -> f32 {
        let (product, c) = (f64::from(self) * f64::from(b), f64::from(c));
        let sum = product + c;
        let is_tie = sum.to_bits() & 0x1fff_ffff == 0x1000_0000;
        if !is_tie && sum.abs() >= f64::from(f32::MIN_POSITIVE) {
            return sum as f32;
        }
        rounded_to_odd(product, c, sum) as f32
    }

    /// Exact in 64 bits: the root has 24 bits, its square 48.
    fn compare_square(self, root: f32) -> Ordering {
        (f64::from(root) * f64::from(root)).total_cmp(&f64::from(self))
    }
}

/// The sum of two numbers, given rounded to nearest, rounded to odd instead: of the two neighbours of an inexact sum,
/// the one whose last bit is set.
fn rounded_to_odd(a: f64, b: f64, sum: f64) -> f64 {
    let from_b = sum - a;
    let error = (a - (sum - from_b)) + (b - from_b);
    match sum.to_bits() & 1 == 0 && sum.is_finite() {
        true if error > 0.0 => sum.next_up(),
        true if error < 0.0 => sum.next_down(),
        _ => sum,
    }
}

impl Format for f64 {
    format!(f64, u64, Double);

    #[inline]
    fn nan(operands: &[Self]) -> Self {
        let quiet = 0x0008_0000_0000_0000;
        let operand = operands.iter().find(|operand| operand.is_nan());
        operand.map_or(f64::from_bits(0xfff8_0000_0000_0000), |nan| f64::from_bits(nan.to_bits() | quiet))
    }

    #[inline]
    fn fused(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }

    /// The difference is a number of the format unless it is very small: small numbers are scaled.
    fn compare_square(self, root: f64) -> Ordering {
        let (square, root) = match self < 1e-200 {
            true => (self * 2_f64.powi(200), root * 2_f64.powi(100)),
            false => (self, root),
        };
        root.mul_add(root, -square).partial_cmp(&0.0).expect("both are finite")
    }
}

#[inline]
fn read<F: Format>(bits: F::Bits, flush: bool) -> F {
    flushed(F::read(bits), flush)
}

#[inline]
fn flushed<F: Format>(value: F, flush: bool) -> F {
    if flush && value.is_subnormal() { F::ZERO.with_sign(value.is_negative()) } else { value }
}

/// The register of a result: NaN as the operands ask, flushed and saturated.
#[inline]
fn finish<F: Format>(result: F, operands: &[F], mode: FloatMode) -> F::Bits {
    if result.is_nan() {
        return if mode.saturate { F::ZERO } else { F::nan(operands) }.write();
    }
    let result = flushed(result, mode.flush);
    if mode.saturate { saturated(result) } else { result }.write()
}

/// Clamped to 0 to 1; zeros and NaN become +0.
#[inline]
pub(crate) fn saturated<F: Format>(value: F) -> F {
    if value >= F::ONE {
        F::ONE
    } else if value > F::ZERO {
        value
    } else {
        F::ZERO
    }
}

#[inline]
pub(crate) fn add<F: Format>(a: F::Bits, b: F::Bits, mode: FloatMode) -> F::Bits {
    let (a, b) = (read::<F>(a, mode.flush), read::<F>(b, mode.flush));
    let result = match mode.rounding {
        Rounding::Nearest => a + b,
        directed => F::of_soft(a.soft().add_r(b.soft(), directed.soft()).value),
    };
    finish(result, &[b, a], mode)
}

#[inline]
pub(crate) fn sub<F: Format>(a: F::Bits, b: F::Bits, mode: FloatMode) -> F::Bits {
    let (a, b) = (read::<F>(a, mode.flush), read::<F>(b, mode.flush));
    let result = match mode.rounding {
        Rounding::Nearest => a - b,
        directed => F::of_soft(a.soft().sub_r(b.soft(), directed.soft()).value),
    };
    finish(result, &[b, a], mode)
}

#[inline]
pub(crate) fn mul<F: Format>(a: F::Bits, b: F::Bits, mode: FloatMode) -> F::Bits {
    let (a, b) = (read::<F>(a, mode.flush), read::<F>(b, mode.flush));
    let result = without_tiny(|scale| product(a * scale, b, mode.rounding), mode.flush);
    finish(result, &[b, a], mode)
}

#[inline]
fn product<F: Format>(a: F, b: F, rounding: Rounding) -> F {
    match rounding {
        Rounding::Nearest => a * b,
        directed => F::of_soft(a.soft().mul_r(b.soft(), directed.soft()).value),
    }
}

/// `fma`, and `mad` of floating point, which is the same.
#[inline]
pub(crate) fn fma<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, mode: FloatMode) -> F::Bits {
    let (a, b, c) = (read::<F>(a, mode.flush), read::<F>(b, mode.flush), read::<F>(c, mode.flush));
    let result = without_tiny(|scale| fused(a * scale, b, c * scale, mode.rounding), mode.flush);
    finish(result, &[b, c, a], mode)
}

#[inline]
fn fused<F: Format>(a: F, b: F, c: F, rounding: Rounding) -> F {
    match rounding {
        Rounding::Nearest => a.fused(b, c),
        directed => F::of_soft(a.soft().mul_add_r(b.soft(), c.soft(), directed.soft()).value),
    }
}

#[inline]
pub(crate) fn div<F: Format>(a: F::Bits, b: F::Bits, mode: FloatMode) -> F::Bits {
    let (a, b) = (read::<F>(a, mode.flush), read::<F>(b, mode.flush));
    let result = without_tiny(|scale| quotient(a * scale, b, mode.rounding), mode.flush);
    finish(result, &[a, b], mode)
}

#[inline]
pub(crate) fn rcp<F: Format>(a: F::Bits, mode: FloatMode) -> F::Bits {
    let a = read::<F>(a, mode.flush);
    let result = without_tiny(|scale| quotient(scale, a, mode.rounding), mode.flush);
    finish(result, &[a], mode)
}

#[inline]
fn quotient<F: Format>(a: F, b: F, rounding: Rounding) -> F {
    match rounding {
        Rounding::Nearest => a / b,
        directed => F::of_soft(a.soft().div_r(b.soft(), directed.soft()).value),
    }
}

/// The result of an operation, given how to compute a multiple of it. To flush, hardware asks whether the result would
/// be less than the least normal number if it were rounded to as many digits as normal numbers have: one that only the
/// fewer digits of subnormal numbers round up to it is flushed. The multiple tells, being normal.
#[inline]
fn without_tiny<F: Format>(scaled: impl Fn(F) -> F, flush: bool) -> F {
    let result = scaled(F::ONE);
    let is_tiny = flush
        && result.with_sign(false) == F::LEAST_NORMAL
        && scaled(F::SCALE).with_sign(false) < F::LEAST_NORMAL * F::SCALE;
    if is_tiny { F::ZERO.with_sign(result.is_negative()) } else { result }
}

#[inline]
pub(crate) fn sqrt<F: Format>(a: F::Bits, mode: FloatMode) -> F::Bits {
    let a = read::<F>(a, mode.flush);
    let nearest = a.root();
    let inexact = mode.rounding != Rounding::Nearest && a > F::ZERO && !a.is_infinite();
    finish(if inexact { directed_root(a, nearest, mode.rounding) } else { nearest }, &[a], mode)
}

fn directed_root<F: Format>(a: F, nearest: F, rounding: Rounding) -> F {
    match (a.compare_square(nearest), rounding) {
        (Ordering::Greater, Rounding::Zero | Rounding::Down) => nearest.below(),
        (Ordering::Less, Rounding::Up) => nearest.above(),
        (Ordering::Less | Ordering::Equal | Ordering::Greater, _) => nearest,
    }
}

/// `neg`. A NaN keeps its sign.
#[inline]
pub(crate) fn neg<F: Format>(a: F::Bits, flush: bool) -> F::Bits {
    let a = read::<F>(a, flush);
    if a.is_nan() { F::nan(&[a]) } else { a.with_sign(!a.is_negative()) }.write()
}

/// `abs`. A NaN keeps its sign.
#[inline]
pub(crate) fn abs<F: Format>(a: F::Bits, flush: bool) -> F::Bits {
    let a = read::<F>(a, flush);
    if a.is_nan() { F::nan(&[a]) } else { a.with_sign(false) }.write()
}

/// `copysign`: the magnitude of `b` with the sign of `a`.
#[inline]
pub(crate) fn copysign<F: Format>(a: F::Bits, b: F::Bits) -> F::Bits {
    F::read(b).with_sign(F::read(a).is_negative()).write()
}

/// `min`; −0 is less than +0.
#[inline]
pub(crate) fn min<F: Format>(a: F::Bits, b: F::Bits, mode: ExtremumMode) -> F::Bits {
    extremum::<F>(a, b, mode, |a, b| a < b || (a == b && a.is_negative()))
}

/// `max`; +0 is greater than −0.
#[inline]
pub(crate) fn max<F: Format>(a: F::Bits, b: F::Bits, mode: ExtremumMode) -> F::Bits {
    extremum::<F>(a, b, mode, |a, b| a > b || (a == b && b.is_negative()))
}

#[inline]
fn extremum<F: Format>(a: F::Bits, b: F::Bits, mode: ExtremumMode, first: impl Fn(F, F) -> bool) -> F::Bits {
    let (mut a, mut b) = (read::<F>(a, mode.flush), read::<F>(b, mode.flush));
    let negative = a.is_negative() != b.is_negative();
    if mode.xor_sign {
        (a, b) = (a.with_sign(false), b.with_sign(false));
    }
    let result = match (a.is_nan(), b.is_nan()) {
        (true, true) => return F::nan(&[b]).write(),
        (true, false) | (false, true) if mode.nan => return F::nan(&[b, a]).write(),
        (true, false) => b,
        (false, true) => a,
        (false, false) if first(a, b) => a,
        (false, false) => b,
    };
    if mode.xor_sign { result.with_sign(negative) } else { result }.write()
}

/// Whether a comparison of `setp` holds.
#[inline]
pub(crate) fn compare<F: Format>(compare: FloatCompare, a: F::Bits, b: F::Bits, flush: bool) -> bool {
    let (a, b) = (read::<F>(a, flush), read::<F>(b, flush));
    let nan = a.is_nan() || b.is_nan();
    match compare {
        FloatCompare::Eq => a == b,
        FloatCompare::Ne => !nan && a != b,
        FloatCompare::Lt => a < b,
        FloatCompare::Le => a <= b,
        FloatCompare::Gt => a > b,
        FloatCompare::Ge => a >= b,
        FloatCompare::Equ => nan || a == b,
        FloatCompare::Neu => a != b,
        FloatCompare::Ltu => nan || a < b,
        FloatCompare::Leu => nan || a <= b,
        FloatCompare::Gtu => nan || a > b,
        FloatCompare::Geu => nan || a >= b,
        FloatCompare::Num => !nan,
        FloatCompare::Nan => nan,
    }
}

#[inline]
pub(crate) fn testp<F: Format>(class: FloatClass, a: F::Bits) -> bool {
    let a = F::read(a);
    match class {
        FloatClass::Finite => !a.is_nan() && !a.is_infinite(),
        FloatClass::Infinite => a.is_infinite(),
        FloatClass::Number => !a.is_nan(),
        FloatClass::NotANumber => a.is_nan(),
        FloatClass::Normal => !a.is_nan() && !a.is_infinite() && !a.is_subnormal(),
        FloatClass::Subnormal => a.is_subnormal(),
    }
}

/// Whether `slct` by a float takes its first operand: `c` is at least zero, −0 too, and not NaN.
#[inline]
pub(crate) fn selects_first(c: u32, flush: bool) -> bool {
    read::<f32>(c, flush) >= 0.0
}
