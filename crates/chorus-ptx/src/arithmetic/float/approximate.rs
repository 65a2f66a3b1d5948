//! The approximations, `.approx` and `.full`.
//!
//! The PTX ISA bounds their errors and leaves the results open. Here a result of 32 bits is the exact one, computed in
//! 64 bits and rounded to nearest: off by half a unit in the last place, where the ISA grants one (`rcp`), two (`div`,
//! `ex2`), 2⁻²³ (`sqrt`) or 2^−22.9 relative (`rsqrt`), 2⁻²² (`lg2`), 2^−20.5 absolute (`sin`, `cos`) or 2⁻¹¹ relative
//! (`tanh`). The results of hardware thus differ from those here in the last bits. The functions are `libm`'s on every
//! host, so that a program has the same results on all of them.

use super::{Format, read};

/// The register of a result of 32 bits that was computed in 64.
#[inline]
fn rounded(result: f64, flush: bool) -> u32 {
    let result = result as f32;
    if result.is_nan() { f32::nan(&[]) } else { super::flushed(result, flush) }.to_bits()
}

#[inline]
fn wide(a: u32, flush: bool) -> f64 {
    f64::from(read::<f32>(a, flush))
}

/// `div.approx.f32`. A divisor above 2¹²⁶ gives zero, or NaN for an infinite dividend, as the ISA says.
#[inline]
pub(crate) fn div_approx(a: u32, b: u32, flush: bool) -> u32 {
    let (dividend, divisor) = (wide(a, flush), wide(b, flush));
    let huge = divisor.abs() > 2_f64.powi(126) && divisor.is_finite();
    rounded(if huge { dividend * 0.0_f64.copysign(divisor) } else { dividend / divisor }, flush)
}

#[inline]
pub(crate) fn div_full(a: u32, b: u32, flush: bool) -> u32 {
    rounded(wide(a, flush) / wide(b, flush), flush)
}

#[inline]
pub(crate) fn rcp_approx(a: u32, flush: bool) -> u32 {
    rounded(1.0 / wide(a, flush), flush)
}

#[inline]
pub(crate) fn sqrt_approx(a: u32, flush: bool) -> u32 {
    rounded(wide(a, flush).sqrt(), flush)
}

#[inline]
pub(crate) fn rsqrt_approx(a: u32, flush: bool) -> u32 {
    rounded(1.0 / wide(a, flush).sqrt(), flush)
}

/// `ex2.approx.f32`: two to the power of `a`.
#[inline]
pub(crate) fn ex2_approx(a: u32, flush: bool) -> u32 {
    rounded(libm::exp2(wide(a, flush)), flush)
}

/// `lg2.approx.f32`: the logarithm to base two.
#[inline]
pub(crate) fn lg2_approx(a: u32, flush: bool) -> u32 {
    rounded(libm::log2(wide(a, flush)), flush)
}

#[inline]
pub(crate) fn sin_approx(a: u32, flush: bool) -> u32 {
    rounded(libm::sin(wide(a, flush)), flush)
}

#[inline]
pub(crate) fn cos_approx(a: u32, flush: bool) -> u32 {
    rounded(libm::cos(wide(a, flush)), flush)
}

#[inline]
pub(crate) fn tanh_approx(a: u32) -> u32 {
    rounded(libm::tanh(wide(a, false)), false)
}

/// `rsqrt.approx.f64`: in full precision.
#[inline]
pub(crate) fn rsqrt_approx_f64(a: u64) -> u64 {
    let a = f64::from_bits(a);
    let result = 1.0 / a.sqrt();
    if result.is_nan() { f64::nan(&[a]) } else { result }.to_bits()
}

/// `rcp.approx.ftz.f64`: only the upper half of the operand counts, and only that of the result is not zero.
#[inline]
pub(crate) fn rcp_approx_ftz_f64(a: u64) -> u64 {
    upper_half(a, |a| 1.0 / a)
}

/// `rsqrt.approx.ftz.f64`: only the upper half of the operand counts, and only that of the result is not zero.
#[inline]
pub(crate) fn rsqrt_approx_ftz_f64(a: u64) -> u64 {
    upper_half(a, |a| 1.0 / a.sqrt())
}

/// A function on the upper halves of numbers, subnormal ones zero; its NaN is the upper half of ones but the sign.
#[inline]
fn upper_half(a: u64, function: impl Fn(f64) -> f64) -> u64 {
    const LOWER: u64 = 0xffff_ffff;
    let result = function(super::flushed(f64::from_bits(a & !LOWER), true));
    if result.is_nan() {
        return 0x7fff_ffff_0000_0000;
    }
    // Half a unit of the upper half, to round to it.
    let bits = super::flushed(result, true).to_bits();
    if result.is_finite() { (bits + (LOWER / 2 + 1)) & !LOWER } else { bits }
}
