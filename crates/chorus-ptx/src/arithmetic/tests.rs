//! Edge cases, and the host's arithmetic against `rustc_apfloat`'s.

mod h200;

use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::convert::{ConvertMode, Scalar, convert, sign_extend, truncate};
use super::float::approximate::{div_approx, ex2_approx, lg2_approx, rcp_approx_ftz_f64, sin_approx, tanh_approx};
use super::float::{self, ExtremumMode, FloatClass, FloatCompare, FloatMode, Rounding};
use super::integer;
use super::integer::word::{self, Overrun};

const NEAREST: FloatMode = FloatMode { rounding: Rounding::Nearest, flush: false, saturate: false };
const ROUNDINGS: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
const NAN: u32 = 0x7fff_ffff;

fn directed(rounding: Rounding) -> FloatMode {
    FloatMode { rounding, ..NEAREST }
}

#[test]
fn one_third_is_rounded_in_four_ways() {
    let (one, three) = (1.0_f32.to_bits(), 3.0_f32.to_bits());
    let thirds = ROUNDINGS.map(|rounding| float::div::<f32>(one, three, directed(rounding)));
    assert_eq!(thirds, [0x3eaa_aaab, 0x3eaa_aaaa, 0x3eaa_aaaa, 0x3eaa_aaab]);
    let roots = ROUNDINGS.map(|rounding| float::sqrt::<f32>(2.0_f32.to_bits(), directed(rounding)));
    assert_eq!(roots, [0x3fb5_04f3, 0x3fb5_04f3, 0x3fb5_04f3, 0x3fb5_04f4]);
    let zeros = ROUNDINGS.map(|rounding| float::sub::<f32>(one, one, directed(rounding)));
    assert_eq!(zeros, [0, 0, 0x8000_0000, 0]);
}

#[test]
fn subnormal_numbers_are_flushed_with_their_sign() {
    let flush = FloatMode { flush: true, ..NEAREST };
    let (least, half) = (f32::MIN_POSITIVE.to_bits(), 0.5_f32.to_bits());
    assert_eq!(float::mul::<f32>(least, half, NEAREST), 0x0040_0000);
    assert_eq!(float::mul::<f32>(least, half, flush), 0);
    assert_eq!(float::mul::<f32>(least | 1 << 31, half, flush), 0x8000_0000);
    assert_eq!(float::add::<f32>(0x8000_0001, 0x8000_0000, flush), 0x8000_0000);
    assert!(float::compare::<f32>(FloatCompare::Eq, 1, 0, true));
    assert!(!float::compare::<f32>(FloatCompare::Eq, 1, 0, false));
}

#[test]
fn saturation_clamps_and_makes_nan_zero() {
    let saturate = FloatMode { saturate: true, ..NEAREST };
    let sum = |a: f32| float::add::<f32>(a.to_bits(), 0, saturate);
    assert_eq!([sum(2.0), sum(0.25), sum(-1.0), sum(f32::NAN)], [0x3f80_0000, 0x3e80_0000, 0, 0]);
}

#[test]
fn nan_is_one_of_32_bits_and_an_operand_of_64() {
    let infinity = f32::INFINITY.to_bits();
    assert_eq!(float::sub::<f32>(infinity, infinity, NEAREST), NAN);
    assert_eq!(float::add::<f32>(0xffc0_1234, 0, NEAREST), NAN);
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(float::sub::<f64>(infinity, infinity, NEAREST), 0xfff8_0000_0000_0000);
    assert_eq!(float::add::<f64>(0x7ff0_0000_0000_0001, 0, NEAREST), 0x7ff8_0000_0000_0001);
}

#[test]
fn extrema_prefer_numbers_and_order_zeros() {
    let plain = ExtremumMode::default();
    let nan = ExtremumMode { nan: true, ..plain };
    let one = 1.0_f32.to_bits();
    assert_eq!(float::min::<f32>(0x7fc0_0000, one, plain), one);
    assert_eq!(float::min::<f32>(0x7fc0_0000, one, nan), NAN);
    assert_eq!(float::min::<f32>(0, 0x8000_0000, plain), 0x8000_0000);
    assert_eq!(float::max::<f32>(0x8000_0000, 0, plain), 0);
    assert!(float::testp::<f32>(FloatClass::Normal, 0));
    assert!(float::selects_first(0x8000_0000, false));
}

#[test]
fn approximations_meet_their_special_cases() {
    let two = 2.0_f32.to_bits();
    assert_eq!(div_approx(two, 0x7f00_0000, false), 0);
    assert_eq!(div_approx(f32::INFINITY.to_bits(), 0x7f00_0000, false), NAN);
    assert_eq!(ex2_approx(10.0_f32.to_bits(), false), 1024.0_f32.to_bits());
    assert_eq!(ex2_approx((-149.0_f32).to_bits(), true), 0);
    assert_eq!(lg2_approx((-1.0_f32).to_bits(), false), NAN);
    assert_eq!(sin_approx(f32::INFINITY.to_bits(), false), NAN);
    assert_eq!(tanh_approx(f32::NEG_INFINITY.to_bits()), (-1.0_f32).to_bits());
    assert_eq!(rcp_approx_ftz_f64(4.0_f64.to_bits() | 1), 0.25_f64.to_bits());
    assert_eq!(rcp_approx_ftz_f64(1), f64::INFINITY.to_bits());
}

#[test]
fn integers_wrap_and_nothing_panics() {
    let least = i32::MIN as u32;
    assert_eq!(integer::div::<i32>(least, u32::MAX), least);
    assert_eq!(integer::rem::<i32>(least, u32::MAX), 0);
    assert_eq!(integer::div::<u32>(7, 0), u32::MAX);
    assert_eq!(integer::rem::<u16>(7, 0), 0xffff);
    assert_eq!(integer::abs::<i32>(least), least);
    assert_eq!(integer::add_sat::<i32>(i32::MAX as u32, 1), i32::MAX as u32);
    assert_eq!(integer::shl::<u32>(1, 32), 0);
    assert_eq!(integer::shr::<i16>(0x8000, 99), 0xffff);
    assert_eq!(integer::shr::<u64>(u64::MAX, 64), 0);
    assert_eq!(integer::bfind::<i32>(u32::MAX, false), u32::MAX);
    assert_eq!(integer::bfe::<i32>(0x0000_0080, 0, 8), 0xffff_ff80);
    assert_eq!(integer::bfi::<u64>(u64::MAX, 0, 60, 255), 0xf000_0000_0000_0000);
}

#[test]
fn words_are_masked_and_shuffled() {
    assert_eq!(word::lop3(0xf0, 0xcc, 0xaa, 0x96) & 0xff, 0x96);
    assert_eq!(word::shf_left(0xaaaa_aaaa, 1, 32, Overrun::Clamp), 0xaaaa_aaaa);
    assert_eq!(word::shf_left(0xaaaa_aaaa, 1, 32, Overrun::Wrap), 1);
    assert_eq!(word::bmsk(28, 8, Overrun::Clamp), 0xf000_0000);
    assert_eq!(word::szext_signed(0x80, 8, Overrun::Clamp), 0xffff_ff80);
    // The examples of the ISA.
    let found = [(3, 1), (3, -1), (2, 1), (2, -1)].map(|(base, offset)| word::fns(0xaaaa_aaaa, base, offset as u32));
    assert_eq!(found, [3, 3, 3, 1]);
}

#[test]
fn conversions_saturate_truncate_and_extend() {
    let mode = ConvertMode::default();
    let of = |value: f32, to| convert(u64::from(value.to_bits()), Scalar::F32, to, mode);
    assert_eq!([of(2.5, Scalar::S32), of(3.5, Scalar::S32), of(-1.0, Scalar::U32)], [2, 4, 0]);
    assert_eq!(of(-300.0, Scalar::S8), 0xffff_ff80);
    assert_eq!([of(f32::NAN, Scalar::U32), of(f32::NAN, Scalar::S64)], [0, 1 << 63]);
    assert_eq!(convert(0xff80, Scalar::S8, Scalar::S64, mode), 0xffff_ffff_ffff_ff80);
    let saturate = ConvertMode { saturate: true, ..mode };
    assert_eq!(convert(0xffff_ffff, Scalar::S32, Scalar::U16, saturate), 0);
    assert_eq!(convert(70_000, Scalar::S32, Scalar::U16, saturate), 0xffff);
    assert_eq!((truncate(0x1ff, 8), sign_extend(0x1ff, 8)), (0xff, u64::MAX));
}

/// Bits of numbers, edge cases often, and often of like magnitude, so that sums cancel and round.
fn single() -> impl Strategy<Value = u32> {
    let edges = [0, 1, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x3f7f_ffff, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000];
    let magnitude = prop_oneof![
        proptest::sample::select(edges.to_vec()),
        0..0x8000_0000_u32,
        0x3f00_0000..0x4100_0000_u32,
        (0..0xff_u32, 0..8_u32, 0..24_u32).prop_map(|(exponent, bits, at)| exponent << 23 | (bits << at & 0x7f_ffff)),
    ];
    (magnitude, any::<bool>()).prop_map(|(magnitude, negative)| magnitude | u32::from(negative) << 31)
}

fn double() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        single().prop_map(|bits| f64::from(f32::from_bits(bits)).to_bits()),
        (0..0x7ff_u64, 0..8_u64, 0..53_u32)
            .prop_map(|(exponent, bits, at)| exponent << 52 | (bits << at & ((1 << 52) - 1))),
    ]
}

fn soft(bits: u32) -> Single {
    Single::from_bits(u128::from(bits))
}

/// The bits of a result, of which there is one NaN.
fn bits(value: Single) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() as u32 }
}

fn same(got: u64, expected: Double) -> bool {
    if expected.is_nan() { f64::from_bits(got).is_nan() } else { u128::from(got) == expected.to_bits() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn singles_are_rounded_as_ieee_754_says(a in single(), b in single(), c in single()) {
        for rounding in ROUNDINGS {
            let (mode, round) = (directed(rounding), rounding.soft());
            prop_assert_eq!(float::add::<f32>(a, b, mode), bits(soft(a).add_r(soft(b), round).value));
            prop_assert_eq!(float::sub::<f32>(a, b, mode), bits(soft(a).sub_r(soft(b), round).value));
            prop_assert_eq!(float::mul::<f32>(a, b, mode), bits(soft(a).mul_r(soft(b), round).value));
            prop_assert_eq!(float::div::<f32>(a, b, mode), bits(soft(a).div_r(soft(b), round).value));
            prop_assert_eq!(float::fma::<f32>(a, b, c, mode), bits(soft(a).mul_add_r(soft(b), soft(c), round).value));
        }
    }

    #[test]
    fn doubles_are_rounded_as_ieee_754_says(a in double(), b in double(), c in double()) {
        let soft = |bits: u64| Double::from_bits(u128::from(bits));
        let round = Round::NearestTiesToEven;
        prop_assert!(same(float::add::<f64>(a, b, NEAREST), soft(a).add_r(soft(b), round).value));
        prop_assert!(same(float::mul::<f64>(a, b, NEAREST), soft(a).mul_r(soft(b), round).value));
        prop_assert!(same(float::div::<f64>(a, b, NEAREST), soft(a).div_r(soft(b), round).value));
        prop_assert!(same(float::fma::<f64>(a, b, c, NEAREST), soft(a).mul_add_r(soft(b), soft(c), round).value));
    }

    /// A root rounded down and up encloses the number: the squares, rounded away from it, lie on both sides.
    #[test]
    fn roots_are_enclosed(a in double()) {
        let a = a & (u64::MAX >> 1);
        let [down, up] = [Rounding::Down, Rounding::Up].map(|rounding| float::sqrt::<f64>(a, directed(rounding)));
        let square = |root, rounding| f64::from_bits(float::mul::<f64>(root, root, directed(rounding)));
        let number = f64::from_bits(a);
        prop_assert!(number.is_nan() || square(down, Rounding::Down) <= number);
        prop_assert!(number.is_nan() || square(up, Rounding::Up) >= number);
        prop_assert!(number.is_nan() || up - down <= 1);
    }

    #[test]
    fn conversions_are_rounded_as_ieee_754_says(a in double(), integer in any::<i64>(), shift in 0..64_u32) {
        let integer = integer >> shift;
        for rounding in ROUNDINGS {
            let mode = ConvertMode { rounding, ..ConvertMode::default() };
            let narrow: Single =
                Double::from_bits(u128::from(a)).convert_r(rounding.soft(), &mut false).value;
            let got = convert(a, Scalar::F64, Scalar::F32, mode);
            prop_assert!(narrow.is_nan() || u128::from(got) == narrow.to_bits());
            let of_integer = Single::from_i128_r(i128::from(integer), rounding.soft()).value;
            let got = convert(integer as u64, Scalar::S64, Scalar::F32, mode);
            prop_assert_eq!(u128::from(got), of_integer.to_bits());
            let of_integer = Double::from_i128_r(i128::from(integer), rounding.soft()).value;
            let got = convert(integer as u64, Scalar::S64, Scalar::F64, mode);
            prop_assert_eq!(u128::from(got), of_integer.to_bits());
        }
    }
}
