//! Every instruction gives what an H200 gave, operand by operand.
//!
//! `h200.txt` has a line for each execution: the instruction, its operands, `=` and the result, in hexadecimal. They
//! were recorded on an H200 with driver 580.159 (CUDA 13.0). Operands are random, with many edge cases among them. The
//! file has a few executions of each instruction; all 167,928 that were recorded gave the same. Left out is what PTX
//! calls undefined: fields beyond 255 of `bfe` and `bfi`, bases beyond 31 of `fns`. Approximations only have to be
//! near.

use crate::arithmetic::convert::{ConvertMode, Scalar, convert};
use crate::arithmetic::float::approximate as approx;
use crate::arithmetic::float::{self, ExtremumMode, FloatClass, FloatCompare, FloatMode, Format, Rounding};
use crate::arithmetic::integer::word::{self, Half, Overrun, Permute};
use crate::arithmetic::integer::{self, Compare, Integer, Narrow};

/// Registers from and to the numbers of the recording.
trait Lane: Copy {
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Lane for u32 {
    fn of(number: u64) -> u32 {
        number as u32
    }
    fn number(self) -> u64 {
        u64::from(self)
    }
}

impl Lane for u64 {
    fn of(number: u64) -> u64 {
        number
    }
    fn number(self) -> u64 {
        self
    }
}

#[test]
fn every_instruction_gives_what_an_h200_gave() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/arithmetic/tests/h200.txt");
    let recording = std::fs::read_to_string(path).expect("the recording");
    let mut wrong: Vec<String> = Vec::new();
    for line in recording.lines() {
        let (left, expected) = line.split_once(" = ").expect("a result");
        let (instruction, operands) = left.split_once(' ').expect("operands");
        let hexadecimal = |digits| u64::from_str_radix(digits, 16).expect("a number");
        let operands: Vec<u64> = operands.split(' ').map(hexadecimal).collect();
        let expected = hexadecimal(expected);
        let got = execute(instruction, &operands);
        if got != expected && !(is_approximate(instruction) && is_near(instruction, &operands, got, expected)) {
            wrong.push(format!("{line}, not {got:x}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), recording.lines().count(), wrong.join("\n"));
}

fn is_approximate(instruction: &str) -> bool {
    instruction.contains(".approx") || instruction.contains(".full")
}

/// Whether a result is as near to the H200's as the bounds of the ISA let two be.
fn is_near(instruction: &str, operands: &[u64], got: u64, expected: u64) -> bool {
    if instruction.ends_with("f64") {
        let (got, expected) = (f64::from_bits(got), f64::from_bits(expected));
        return (got - expected).abs() <= expected.abs() * 2_f64.powi(-19);
    }
    let [got, expected, operand] = [got, expected, operands[0]].map(|bits| f64::from(f32::from_bits(bits as u32)));
    let error = (got - expected).abs();
    // A unit in the last place of subnormal numbers.
    let least = 2_f64.powi(-148);
    match instruction.split('.').next().expect("a name") {
        "sin" | "cos" if operand.abs() > 6.3 => error <= 2.0,
        "sin" | "cos" => error <= 2_f64.powi(-20),
        "tanh" => error <= expected.abs() * 2_f64.powi(-10),
        "lg2" => error <= (expected.abs() * 2_f64.powi(-21)).max(2_f64.powi(-21)),
        _ => error <= (expected.abs() * 2_f64.powi(-21)).max(least),
    }
}

fn execute(instruction: &str, operands: &[u64]) -> u64 {
    let parts: Vec<&str> = instruction.split('.').collect();
    let result = if parts[0] == "cvt" {
        Some(cvt(&parts, operands))
    } else {
        on_words(instruction, &parts, operands).or_else(|| typed(instruction, &parts, operands))
    };
    result.unwrap_or_else(|| panic!("no such instruction: {instruction}"))
}

fn typed(instruction: &str, parts: &[&str], operands: &[u64]) -> Option<u64> {
    let (name, scalar) = instruction.rsplit_once('.')?;
    match scalar {
        "u16" | "b16" => integer_result::<u16>(name, operands).or_else(|| wide_result::<u16>(name, operands)),
        "s16" => integer_result::<i16>(name, operands).or_else(|| wide_result::<i16>(name, operands)),
        "u32" | "b32" => integer_result::<u32>(name, operands).or_else(|| wide_result::<u32>(name, operands)),
        "s32" => integer_result::<i32>(name, operands).or_else(|| wide_result::<i32>(name, operands)),
        "u64" | "b64" => integer_result::<u64>(name, operands),
        "s64" => integer_result::<i64>(name, operands),
        "f32" => approximate_result(name, parts, operands).or_else(|| float_result::<f32>(parts, operands)),
        "f64" => approximate_f64_result(name, operands).or_else(|| float_result::<f64>(parts, operands)),
        _ => None,
    }
}

fn integer_result<T: Integer<Register: Lane>>(name: &str, operands: &[u64]) -> Option<u64> {
    let r = |operand: usize| T::Register::of(operands[operand]);
    let word = |operand: usize| operands[operand] as u32;
    let result = match name {
        "add" => integer::add::<T>(r(0), r(1)),
        "sub" => integer::sub::<T>(r(0), r(1)),
        "add.sat" => integer::add_sat::<T>(r(0), r(1)),
        "sub.sat" => integer::sub_sat::<T>(r(0), r(1)),
        "mul.lo" => integer::mul_lo::<T>(r(0), r(1)),
        "mul.hi" => integer::mul_hi::<T>(r(0), r(1)),
        "mad.lo" => integer::mad_lo::<T>(r(0), r(1), r(2)),
        "mad.hi" => integer::mad_hi::<T>(r(0), r(1), r(2)),
        "mad.hi.sat" => integer::mad_hi_sat::<T>(r(0), r(1), r(2)),
        "div" => integer::div::<T>(r(0), r(1)),
        "rem" => integer::rem::<T>(r(0), r(1)),
        "abs" => integer::abs::<T>(r(0)),
        "neg" => integer::neg::<T>(r(0)),
        "min" => integer::min::<T>(r(0), r(1)),
        "max" => integer::max::<T>(r(0), r(1)),
        "sad" => integer::sad::<T>(r(0), r(1), r(2)),
        "not" => integer::not::<T>(r(0)),
        "cnot" => integer::cnot::<T>(r(0)),
        "shl" => integer::shl::<T>(r(0), word(1)),
        "shr" => integer::shr::<T>(r(0), word(1)),
        "brev" => integer::brev::<T>(r(0)),
        "bfe" => integer::bfe::<T>(r(0), word(1), word(2)),
        "bfi" => integer::bfi::<T>(r(0), r(1), word(2), word(3)),
        "popc" => return Some(integer::popc::<T>(r(0)).number()),
        "clz" => return Some(integer::clz::<T>(r(0)).number()),
        "bfind" => return Some(integer::bfind::<T>(r(0), false).number()),
        "bfind.shiftamt" => return Some(integer::bfind::<T>(r(0), true).number()),
        "setp.eq" => return Some(integer::compare::<T>(Compare::Eq, r(0), r(1)).into()),
        "setp.lt" => return Some(integer::compare::<T>(Compare::Lt, r(0), r(1)).into()),
        "setp.ge" => return Some(integer::compare::<T>(Compare::Ge, r(0), r(1)).into()),
        _ => return None,
    };
    Some(result.number())
}

fn wide_result<T>(name: &str, operands: &[u64]) -> Option<u64>
where
    T: Narrow<Register: Lane, Wide: Integer<Register: Lane>>,
{
    let r = |operand: usize| T::Register::of(operands[operand]);
    match name {
        "mul.wide" => Some(integer::mul_wide::<T>(r(0), r(1)).number()),
        "mad.wide" => Some(integer::mad_wide::<T>(r(0), r(1), Lane::of(operands[2])).number()),
        _ => None,
    }
}

fn on_words(instruction: &str, parts: &[&str], operands: &[u64]) -> Option<u64> {
    let r = |operand: usize| operands[operand] as u32;
    let overrun = if parts.contains(&"wrap") { Overrun::Wrap } else { Overrun::Clamp };
    let half = if parts.contains(&"hi") { Half::High } else { Half::Low };
    let signed = parts.last() == Some(&"s32");
    let result = match parts[0] {
        "lop3" => word::lop3(r(0), r(1), r(2), parts[2].parse().expect("a table")),
        "prmt" => word::prmt(r(0), r(1), r(2), permute(parts.get(2))),
        "shf" if parts[1] == "l" => word::shf_left(r(0), r(1), r(2), overrun),
        "shf" => word::shf_right(r(0), r(1), r(2), overrun),
        "bmsk" => word::bmsk(r(0), r(1), overrun),
        "szext" if signed => word::szext_signed(r(0), r(1), overrun),
        "szext" => word::szext_unsigned(r(0), r(1), overrun),
        "fns" => word::fns(r(0), r(1), r(2)),
        "mul24" => word::mul24(r(0), r(1), signed, half),
        "mad24" if parts.contains(&"sat") => word::mad24_hi_sat(r(0), r(1), r(2)),
        "mad24" => word::mad24(r(0), r(1), r(2), signed, half),
        "dp4a" => word::dp4a(r(0), r(1), r(2), parts[1] == "s32", signed),
        "dp2a" => word::dp2a(r(0), r(1), r(2), parts[2] == "s32", signed, half),
        "slct" if parts[2] == "s32" => integer::slct::<u32>(r(0), r(1), r(2)),
        "slct" => {
            let first = float::selects_first(r(2), parts.contains(&"ftz"));
            return Some(operands[usize::from(!first)]);
        }
        _ => return with_carry(instruction, operands),
    };
    Some(u64::from(result))
}

fn permute(mode: Option<&&str>) -> Permute {
    match mode.copied() {
        Some("f4e") => Permute::Forward,
        Some("b4e") => Permute::Backward,
        Some("rc8") => Permute::Byte,
        Some("ecl") => Permute::ClampLow,
        Some("ecr") => Permute::ClampHigh,
        Some("rc16") => Permute::Half,
        _ => Permute::Selectors,
    }
}

/// The result below, and above it that of `addc 0, 0` or, after a subtraction, `subc 0, 0`. The third operand of
/// additions and subtractions is the carry or borrow that comes in.
fn with_carry(instruction: &str, operands: &[u64]) -> Option<u64> {
    let (a, b, c) = (operands[0] as u32, operands.get(1).map_or(0, |&b| b as u32), operands.get(2).copied());
    let c = c.unwrap_or(0) as u32;
    let (result, carry) = match instruction {
        "add.cc" => integer::add_carry::<u32>(a, b, false),
        "addc.cc" => integer::add_carry::<u32>(a, b, c != 0),
        "sub.cc" | "sub.cc.then.addc" => integer::sub_carry::<u32>(a, b, true),
        "subc.cc" => integer::sub_carry::<u32>(a, b, c == 0),
        "mad.lo.cc.u32" => integer::mad_lo_carry::<u32>(a, b, c, false),
        "mad.lo.cc.s32" => integer::mad_lo_carry::<i32>(a, b, c, false),
        "mad.hi.cc.u32" => integer::mad_hi_carry::<u32>(a, b, c, false),
        "mad.hi.cc.s32" => integer::mad_hi_carry::<i32>(a, b, c, false),
        _ => return None,
    };
    let above = match instruction {
        "sub.cc" | "subc.cc" => integer::sub_carry::<u32>(0, 0, carry).0,
        _ => integer::add_carry::<u32>(0, 0, carry).0,
    };
    Some(u64::from(above) << 32 | u64::from(result))
}

fn rounding(parts: &[&str]) -> Rounding {
    let is = |name: &str, of_integers: &str| parts.contains(&name) || parts.contains(&of_integers);
    match () {
        () if is("rz", "rzi") => Rounding::Zero,
        () if is("rm", "rmi") => Rounding::Down,
        () if is("rp", "rpi") => Rounding::Up,
        () => Rounding::Nearest,
    }
}

fn float_result<F: Format<Bits: Lane>>(parts: &[&str], operands: &[u64]) -> Option<u64> {
    let r = |operand: usize| F::Bits::of(operands[operand]);
    let (flush, saturate) = (parts.contains(&"ftz"), parts.contains(&"sat"));
    let mode = FloatMode { rounding: rounding(parts), flush, saturate };
    let (nan, xor_sign) = (parts.contains(&"NaN"), parts.contains(&"xorsign"));
    let extremum = ExtremumMode { flush, nan, xor_sign };
    let result = match parts[0] {
        "add" => float::add::<F>(r(0), r(1), mode),
        "sub" => float::sub::<F>(r(0), r(1), mode),
        "mul" => float::mul::<F>(r(0), r(1), mode),
        "fma" => float::fma::<F>(r(0), r(1), r(2), mode),
        "div" => float::div::<F>(r(0), r(1), mode),
        "sqrt" => float::sqrt::<F>(r(0), mode),
        "rcp" => float::rcp::<F>(r(0), mode),
        "neg" => float::neg::<F>(r(0), flush),
        "abs" => float::abs::<F>(r(0), flush),
        "min" => float::min::<F>(r(0), r(1), extremum),
        "max" => float::max::<F>(r(0), r(1), extremum),
        "copysign" => float::copysign::<F>(r(0), r(1)),
        "setp" => return Some(float::compare::<F>(FloatCompare::from_name(parts[1])?, r(0), r(1), flush).into()),
        "testp" => return Some(float::testp::<F>(FloatClass::from_name(parts[1])?, r(0)).into()),
        _ => return None,
    };
    Some(result.number())
}

fn approximate_result(name: &str, parts: &[&str], operands: &[u64]) -> Option<u64> {
    let (flush, a) = (parts.contains(&"ftz"), operands[0] as u32);
    let b = || operands[1] as u32;
    let result = match name.trim_end_matches(".ftz") {
        "div.approx" => approx::div_approx(a, b(), flush),
        "div.full" => approx::div_full(a, b(), flush),
        "rcp.approx" => approx::rcp_approx(a, flush),
        "sqrt.approx" => approx::sqrt_approx(a, flush),
        "rsqrt.approx" => approx::rsqrt_approx(a, flush),
        "ex2.approx" => approx::ex2_approx(a, flush),
        "lg2.approx" => approx::lg2_approx(a, flush),
        "sin.approx" => approx::sin_approx(a, flush),
        "cos.approx" => approx::cos_approx(a, flush),
        "tanh.approx" => approx::tanh_approx(a),
        _ => return None,
    };
    Some(u64::from(result))
}

fn approximate_f64_result(name: &str, operands: &[u64]) -> Option<u64> {
    match name {
        "rcp.approx.ftz" => Some(approx::rcp_approx_ftz_f64(operands[0])),
        "rsqrt.approx" => Some(approx::rsqrt_approx_f64(operands[0])),
        "rsqrt.approx.ftz" => Some(approx::rsqrt_approx_ftz_f64(operands[0])),
        _ => None,
    }
}

fn cvt(parts: &[&str], operands: &[u64]) -> u64 {
    let [.., to, from] = parts else { panic!("two types") };
    let mode = ConvertMode {
        rounding: rounding(parts),
        integral: ["rni", "rzi", "rmi", "rpi"].iter().any(|name| parts.contains(name)),
        flush: parts.contains(&"ftz"),
        saturate: parts.contains(&"sat"),
    };
    convert(operands[0], scalar(from), scalar(to), mode)
}

fn scalar(name: &str) -> Scalar {
    match name {
        "u8" => Scalar::U8,
        "s8" => Scalar::S8,
        "u16" => Scalar::U16,
        "s16" => Scalar::S16,
        "u32" => Scalar::U32,
        "s32" => Scalar::S32,
        "u64" => Scalar::U64,
        "s64" => Scalar::S64,
        "f16" => Scalar::F16,
        "bf16" => Scalar::Bf16,
        "f32" => Scalar::F32,
        "f64" => Scalar::F64,
        _ => panic!("no such type: {name}"),
    }
}
