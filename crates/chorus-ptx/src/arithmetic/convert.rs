//! `cvt`: conversions among integers of 8 to 64 bits and floating point of 16 to 64.
//!
//! A value out of an integer's range becomes the nearest in it. The ISA leaves open which integer NaN becomes. On an
//! H200 it is 0, but where source or target has 64 bits: there it is the integer whose highest bit alone is set.

use std::cmp::Ordering;

use rustc_apfloat::ieee::{BFloat, Double, Half};
use rustc_apfloat::{Float, FloatConvert};

use super::float::{Format, Rounding, saturated};

/// A type that `cvt` converts from or to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Scalar {
    /// Bits of a value.
    #[inline]
    pub(crate) fn bits(self) -> u32 {
        match self {
            Scalar::U8 | Scalar::S8 => 8,
            Scalar::U16 | Scalar::S16 | Scalar::F16 | Scalar::Bf16 => 16,
            Scalar::U32 | Scalar::S32 | Scalar::F32 => 32,
            Scalar::U64 | Scalar::S64 | Scalar::F64 => 64,
        }
    }

    /// Whether it is floating point.
    #[inline]
    pub(crate) fn is_float(self) -> bool {
        match self {
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => true,
            Scalar::U8 | Scalar::S8 | Scalar::U16 | Scalar::S16 => false,
            Scalar::U32 | Scalar::S32 | Scalar::U64 | Scalar::S64 => false,
        }
    }

    #[inline]
    fn is_signed(self) -> bool {
        matches!(self, Scalar::S8 | Scalar::S16 | Scalar::S32 | Scalar::S64)
    }
}

/// The modifiers of `cvt`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConvertMode {
    /// The rounding, of integers (`.rni`) or of floating point (`.rn`).
    pub(crate) rounding: Rounding,
    /// Whether floating point is rounded to an integer that stays floating point: `cvt.rni.f32.f32`.
    pub(crate) integral: bool,
    /// `.ftz`: subnormal operands and results of 32 bits become zeros of their sign.
    pub(crate) flush: bool,
    /// `.sat`: floating point is clamped to 0 to 1, NaN becoming 0; integers to the target's range.
    pub(crate) saturate: bool,
}

/// The lower `width` bits (1 to 64) of a register.
#[inline]
pub(crate) fn truncate(bits: u64, width: u32) -> u64 {
    bits & (u64::MAX >> (u64::BITS - width))
}

/// The lower `width` bits (1 to 64) of a register, with copies of the highest of them above.
#[inline]
pub(crate) fn sign_extend(bits: u64, width: u32) -> u64 {
    let unused = u64::BITS - width;
    ((bits << unused) as i64 >> unused) as u64
}

/// `cvt.to.from` on a register, of which only the bits of the source's type count. An integer narrower than 32 bits
/// comes extended to 32 by its signedness, other results have zeros above them.
#[inline]
pub(crate) fn convert(bits: u64, from: Scalar, to: Scalar, mode: ConvertMode) -> u64 {
    match (from.is_float(), to.is_float()) {
        (false, false) => integer_to_integer(bits, from, to, mode.saturate),
        (false, true) => integer_to_float(bits, from, to, mode),
        (true, false) => float_to_integer(bits, from, to, mode),
        (true, true) => float_to_float(bits, from, to, mode),
    }
}

/// The register of an integer: the type's bits, extended to 32 by its signedness.
#[inline]
fn integer_register(bits: u64, to: Scalar) -> u64 {
    match to.is_signed() {
        true => truncate(sign_extend(bits, to.bits()), to.bits().max(32)),
        false => truncate(bits, to.bits()),
    }
}

#[inline]
fn integer(bits: u64, from: Scalar) -> i128 {
    match from.is_signed() {
        true => i128::from(sign_extend(bits, from.bits()) as i64),
        false => i128::from(truncate(bits, from.bits())),
    }
}

/// The least and the greatest value of an integer type.
#[inline]
fn range(of: Scalar) -> (i128, i128) {
    match of.is_signed() {
        true => (-(1 << (of.bits() - 1)), (1 << (of.bits() - 1)) - 1),
        false => (0, (1 << of.bits()) - 1),
    }
}

#[inline]
fn integer_to_integer(bits: u64, from: Scalar, to: Scalar, saturate: bool) -> u64 {
    let extended = if from.is_signed() { sign_extend(bits, from.bits()) } else { truncate(bits, from.bits()) };
    if !saturate {
        return integer_register(extended, to);
    }
    let (least, greatest) = range(to);
    integer_register(integer(bits, from).clamp(least, greatest) as u64, to)
}

#[inline]
fn integer_to_float(bits: u64, from: Scalar, to: Scalar, mode: ConvertMode) -> u64 {
    let value = integer(bits, from);
    match to {
        Scalar::F32 => {
            let nearest = i64::try_from(value).map_or(value as u64 as f32, |value| value as f32);
            // The nearest number is an integer below 2⁶⁵ in magnitude, which `i128` holds.
            let result = toward(nearest, || (nearest as i128).cmp(&value), mode.rounding);
            u64::from(if mode.saturate { saturated(result) } else { result }.to_bits())
        }
        Scalar::F64 => {
            let nearest = i64::try_from(value).map_or(value as u64 as f64, |value| value as f64);
            let result = toward(nearest, || (nearest as i128).cmp(&value), mode.rounding);
            if mode.saturate { saturated(result) } else { result }.to_bits()
        }
        Scalar::F16 if mode.saturate => Half::from_i128(value.clamp(0, 1)).value.to_bits() as u64,
        Scalar::F16 => Half::from_i128_r(value, mode.rounding.soft()).value.to_bits() as u64,
        Scalar::Bf16 => BFloat::from_i128_r(value, mode.rounding.soft()).value.to_bits() as u64,
        Scalar::U8 | Scalar::S8 | Scalar::U16 | Scalar::S16 => unreachable!("the target is floating point"),
        Scalar::U32 | Scalar::S32 | Scalar::U64 | Scalar::S64 => unreachable!("the target is floating point"),
    }
}

/// The result of a directed rounding: the nearest number, or its neighbour if the nearest lies, compared with the exact
/// value, on the wrong side.
#[inline]
fn toward<F: Format>(nearest: F, compare: impl FnOnce() -> Ordering, rounding: Rounding) -> F {
    let down = match rounding {
        Rounding::Nearest => return nearest,
        Rounding::Zero => !nearest.is_negative(),
        Rounding::Down => true,
        Rounding::Up => false,
    };
    match compare() {
        Ordering::Greater if down => nearest.below(),
        Ordering::Less if !down => nearest.above(),
        _ => nearest,
    }
}

/// A number of any format in 64 bits, which hold each exactly; of a NaN, what the conversion keeps of its bits.
#[inline]
fn widened(bits: u64, from: Scalar, flush: bool) -> f64 {
    match from {
        Scalar::F64 => {
            let value = f64::from_bits(bits);
            if value.is_nan() { f64::nan(&[value]) } else { value }
        }
        Scalar::F32 => {
            let value = f32::from_bits(bits as u32);
            match flush && value.is_subnormal() {
                true => 0.0_f64.copysign(f64::from(value)),
                false if value.is_nan() => widened_nan(bits, 32, 23),
                false => f64::from(value),
            }
        }
        Scalar::Bf16 => widened(truncate(bits, 16) << 16, Scalar::F32, flush),
        _ => {
            let value = Half::from_bits(u128::from(bits as u16));
            let wide: Double = value.convert(&mut false).value;
            if value.is_nan() { widened_nan(bits, 16, 10) } else { f64::from_bits(wide.to_bits() as u64) }
        }
    }
}

/// A NaN of 64 bits, quiet, with the sign and the fraction of a narrower one.
fn widened_nan(bits: u64, width: u32, fraction: u32) -> f64 {
    let sign = (bits >> (width - 1) & 1) << 63;
    f64::from_bits(sign | 0x7ff8_0000_0000_0000 | truncate(bits, fraction) << (52 - fraction))
}

#[inline]
fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

#[inline]
fn float_to_integer(bits: u64, from: Scalar, to: Scalar, mode: ConvertMode) -> u64 {
    let value = widened(bits, from, mode.flush);
    if value.is_nan() {
        let wide = from == Scalar::F64 || to.bits() == 64;
        return if wide { integer_register(1 << (to.bits() - 1), to) } else { 0 };
    }
    // `as` truncates, so that rounding to zero needs nothing before it; and it saturates.
    let value = if mode.rounding == Rounding::Zero { value } else { integral(value, mode.rounding) };
    match to {
        Scalar::U8 => u64::from(value as u8),
        Scalar::S8 => u64::from(value as i8 as u32),
        Scalar::U16 => u64::from(value as u16),
        Scalar::S16 => u64::from(value as i16 as u32),
        Scalar::U32 => u64::from(value as u32),
        Scalar::S32 => u64::from(value as i32 as u32),
        Scalar::U64 => value as u64,
        Scalar::S64 => value as i64 as u64,
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => unreachable!("the target is an integer"),
    }
}

fn float_to_float(bits: u64, from: Scalar, to: Scalar, mode: ConvertMode) -> u64 {
    // An H200 does not flush what it rounds to 16 bits, which matters to directed roundings alone.
    let mut value = widened(bits, from, mode.flush && to != Scalar::F16);
    if value.is_nan() {
        return if mode.saturate { 0 } else { nan(value, bits, from, to, mode) };
    }
    if mode.integral {
        value = integral(value, mode.rounding);
    }
    let rounded = match to {
        Scalar::F64 => value,
        Scalar::F32 => f64::from(narrowed(value, mode)),
        Scalar::F16 => return half::<Half>(value, mode),
        _ => return half::<BFloat>(value, mode),
    };
    let result = if mode.saturate { saturated(rounded) } else { rounded };
    if to == Scalar::F64 { result.to_bits() } else { u64::from((result as f32).to_bits()) }
}

#[inline]
fn narrowed(value: f64, mode: ConvertMode) -> f32 {
    let nearest = value as f32;
    let result = toward(nearest, || f64::from(nearest).total_cmp(&value), mode.rounding);
    if mode.flush && result.is_subnormal() { 0.0_f32.copysign(result) } else { result }
}

/// A number rounded to one of the formats of 16 bits.
fn half<F>(value: f64, mode: ConvertMode) -> u64
where
    F: Float,
    Double: FloatConvert<F>,
{
    let value = if mode.saturate { saturated(value) } else { value };
    let soft = Double::from_bits(u128::from(value.to_bits()));
    let result: F = soft.convert_r(mode.rounding.soft(), &mut false).value;
    result.to_bits() as u64
}

/// The NaN that a NaN becomes.
fn nan(value: f64, bits: u64, from: Scalar, to: Scalar, mode: ConvertMode) -> u64 {
    let (sign, fraction) = (value.to_bits() >> 63, truncate(value.to_bits(), 52));
    match (from, to) {
        (Scalar::F32, Scalar::F32) if !mode.flush && !mode.integral => bits,
        (Scalar::F64, Scalar::F32) => sign << 31 | 0x7f80_0000 | fraction >> 29,
        (Scalar::F64, Scalar::F16) => sign << 15 | 0x7c00 | fraction >> 42,
        (Scalar::F64, Scalar::Bf16) => sign << 15 | 0x7f80 | fraction >> 45,
        (Scalar::F64, Scalar::F64) if !mode.integral => bits,
        (Scalar::Bf16, Scalar::F32) if !mode.flush => truncate(bits, 16) << 16,
        (_, Scalar::F32) => 0x7fff_ffff,
        (_, Scalar::F16 | Scalar::Bf16) => 0x7fff,
        (Scalar::F32, _) if mode.flush => 0x7fff_ffff_e000_0000,
        (_, _) => value.to_bits(),
    }
}
