//! `fma` of all lanes at once, in the usual case.
//!
//! One lane after the other, each in the way of [`super::fma`], a wavefront would take thousands of host instructions,
//! and programs that multiply matrices do little else. Here the compiler computes several lanes at once.

use chorus_kernel::LANES;

use super::{FloatMode, Rounding, fma};

/// `fma` of 32-bit numbers.
pub(crate) fn fma_lanes(a: [u32; LANES], b: [u32; LANES], c: [u32; LANES], mode: FloatMode) -> [u32; LANES] {
    let is_usual = mode.rounding == Rounding::Nearest && !mode.saturate;
    let usual = if is_usual { usual(&a, &b, &c, mode.flush) } else { None };
    usual.unwrap_or_else(|| std::array::from_fn(|lane| fma::<f32>(a[lane], b[lane], c[lane], mode)))
}

/// The results, unless some lane may need more care. The sum is computed in 64 bits, where the product is exact, and is
/// rounded to 32 bits. That is wrong only where the first rounding makes it a tie of the second, or where the result
/// may be subnormal. A NaN has rules of its own, and so do subnormal operands that count as zeros.
fn usual(a: &[u32; LANES], b: &[u32; LANES], c: &[u32; LANES], flush: bool) -> Option<[u32; LANES]> {
    let wide = |bits: u32| f64::from(f32::from_bits(bits));
    let mut values = [0; LANES];
    let mut doubts = 0;
    for lane in 0..LANES {
        let sum = wide(a[lane]) * wide(b[lane]) + wide(c[lane]);
        values[lane] = (sum as f32).to_bits();
        let is_tie = sum.to_bits() & 0x1fff_ffff == 0x1000_0000;
        let is_small = sum != 0.0 && sum.abs() < f64::from(f32::MIN_POSITIVE);
        doubts |= u32::from(is_tie) | u32::from(is_small) | u32::from(sum.is_nan());
    }
    if flush {
        let is_subnormal = |bits: u32| u32::from((bits & 0x7fff_ffff).wrapping_sub(1) < 0x007f_ffff);
        doubts |= [a, b, c].into_iter().flatten().fold(0, |doubts, &bits| doubts | is_subnormal(bits));
    }
    (doubts == 0).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every kind: small integers, ties, subnormal and huge ones, infinities and NaNs.
    fn number(seed: u64) -> u32 {
        let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (mixed >> 32) as u32;
        match mixed % 5 {
            0 => (f32::from(bits as i8)).to_bits(),
            1 => bits & 0x807f_ffff,
            2 => 0x3f80_0000 | bits & 0x007f_f000,
            3 => bits & 0x8000_0000 | [0, 0x7f80_0000, 0x7fc0_0000, 0x7f7f_ffff, 1][bits as usize % 5],
            _ => bits,
        }
    }

    #[test]
    fn lanes_at_once_are_as_one_by_one() {
        for seed in 0..20_000 {
            // Some wavefronts have usual numbers alone.
            let is_usual = seed % 2 == 0;
            let row = |operand: u64| -> [u32; LANES] {
                std::array::from_fn(|lane| {
                    let bits = number((seed * 3 + operand) * LANES as u64 + lane as u64);
                    if is_usual { 0x3f00_0000 | bits & 0x80ff_ffff } else { bits }
                })
            };
            let (a, b, c) = (row(0), row(1), row(2));
            for (flush, saturate) in [(false, false), (true, false), (false, true)] {
                let mode = FloatMode { rounding: Rounding::Nearest, flush, saturate };
                let expected = std::array::from_fn(|lane| fma::<f32>(a[lane], b[lane], c[lane], mode));
                assert_eq!(fma_lanes(a, b, c, mode), expected, "{a:x?} {b:x?} {c:x?} {mode:?}");
            }
        }
    }
}
