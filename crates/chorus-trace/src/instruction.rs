//! One line of a kernel file: an instruction of a warp.

use chorus_kernel::LANES;

use crate::error::quote;

/// Registers that an instruction lists at most, as sources or destinations.
const REGISTERS_MAX: usize = 32;

/// The highest address that a GPU has: 57 bits.
pub(crate) const ADDRESS_MAX: u64 = (1 << 57) - 1;

/// The widest access of a lane, in bytes.
const WIDTH_MAX: u64 = 128;

/// The first number of a uniform register.
const UNIFORM: u16 = 1024;

/// The layout of the lines of a kernel file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The version of the tracer.
    pub version: u32,
    /// Whether lines begin with the number of a source line.
    pub line_info: bool,
}

/// The registers that an instruction lists, without those that read as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    numbers: [u16; REGISTERS_MAX],
    len: usize,
}

impl Registers {
    fn none() -> Registers {
        Registers { numbers: [0; REGISTERS_MAX], len: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[u16] {
        &self.numbers[..self.len]
    }
}

/// An instruction of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Instruction<'a> {
    pub pc: u64,
    /// The lanes that take part.
    pub mask: u32,
    pub destinations: Registers,
    pub opcode: &'a str,
    pub sources: Registers,
    /// Bytes of each lane. An instruction with 0 bytes accesses no memory.
    pub width: u32,
    /// The address of each lane that takes part, where memory is accessed.
    pub addresses: [u64; LANES],
}

struct Tokens<'a>(&'a [u8]);

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let first = self.0.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &self.0[first..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }

    fn expect<T>(&mut self, what: &str, read: impl Fn(&[u8]) -> Option<T>) -> Result<T, String> {
        match self.next() {
            Some(token) => read(token).ok_or_else(|| format!("found {}; accepted: {what}", quote(token))),
            None => Err(format!("the line ends early; accepted: {what}")),
        }
    }
}

/// A whole number in decimal digits.
pub(crate) fn decimal(token: &[u8]) -> Option<u64> {
    std::str::from_utf8(token).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

fn signed(token: &[u8]) -> Option<i64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// A number in hexadecimal digits, with or without `0x`.
pub(crate) fn hexadecimal(token: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(token).ok()?;
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| all)
}

fn mask(token: &[u8]) -> Option<u32> {
    hexadecimal(token).filter(|_| token.len() == 8)?.try_into().ok()
}

/// The number of a register such as `R12` or `UR4`; 0 for one that reads as zero, as no real one has this number.
fn register(token: &[u8]) -> Option<u16> {
    let (digits, first, zero) = match token {
        [b'U', b'R', digits @ ..] => (digits, UNIFORM, [63, 255]),
        [b'R', digits @ ..] => (digits, 1, [255, 255]),
        _ => return None,
    };
    let number = decimal(digits).filter(|&number| number <= 255)? as u16;
    Some(if zero.contains(&number) { 0 } else { first + number })
}

fn registers(tokens: &mut Tokens<'_>, what: &str) -> Result<Registers, String> {
    let accepted = format!("the number of {what}, at most {REGISTERS_MAX}");
    let count = tokens.expect(&accepted, |token| decimal(token).filter(|&count| count <= REGISTERS_MAX as u64))?;
    let mut registers = Registers::none();
    for _ in 0..count {
        let number = tokens.expect("a register such as `R12` or `UR4`", register)?;
        if number > 0 {
            registers.numbers[registers.len] = number;
            registers.len += 1;
        }
    }
    Ok(registers)
}

impl<'a> Instruction<'a> {
    /// Reads a line of a kernel file.
    pub(crate) fn parse(line: &'a [u8], layout: Layout) -> Result<Instruction<'a>, String> {
        let mut tokens = Tokens(line);
        let columns = if layout.version < 3 { 4 } else { 0 } + usize::from(layout.line_info);
        for _ in 0..columns {
            tokens.expect("a decimal number before the program counter", decimal)?;
        }
        let pc = tokens.expect("a program counter in hexadecimal digits", hexadecimal)?;
        let mask = tokens.expect("a mask of 8 hexadecimal digits", mask)?;
        let destinations = registers(&mut tokens, "destination registers")?;
        let opcode = match tokens.next().map(std::str::from_utf8) {
            Some(Ok(opcode)) => opcode,
            Some(Err(_)) | None => return Err("the line has no opcode".to_owned()),
        };
        let sources = registers(&mut tokens, "source registers")?;
        let accepted = format!("the bytes of a memory access, at most {WIDTH_MAX}");
        let width = tokens.expect(&accepted, |token| decimal(token).filter(|&width| width <= WIDTH_MAX))? as u32;
        let addresses = if width > 0 { addresses(&mut tokens, mask)? } else { [0; LANES] };
        rest(&mut tokens, layout)?;
        Ok(Instruction { pc, mask, destinations, opcode, sources, width, addresses })
    }

    /// The lanes that take part, in ascending order.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = usize> {
        lanes(self.mask)
    }
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// Reads the addresses of the lanes in one of three forms: a list, a base with a stride, or a base with differences
/// from lane to lane.
fn addresses(tokens: &mut Tokens<'_>, mask: u32) -> Result<[u64; LANES], String> {
    const BASE: &str = "an address in hexadecimal digits";
    let mode =
        tokens.expect("the form of the addresses: 0, 1 or 2", |token| decimal(token).filter(|&mode| mode < 3))?;
    let mut addresses = [0; LANES];
    if mode == 0 {
        for lane in lanes(mask) {
            addresses[lane] = in_range(tokens.expect(BASE, hexadecimal)?.into())?;
        }
        return Ok(addresses);
    }
    let mut address = i128::from(tokens.expect(BASE, hexadecimal)?);
    let stride = if mode == 1 { tokens.expect("a stride in decimal digits", signed)? } else { 0 };
    for (index, lane) in lanes(mask).enumerate() {
        if index > 0 {
            let step = if mode == 1 { stride } else { tokens.expect("a difference in decimal digits", signed)? };
            address += i128::from(step);
        }
        addresses[lane] = in_range(address)?;
    }
    Ok(addresses)
}

fn in_range(address: i128) -> Result<u64, String> {
    let refuse = || {
        let sign = if address < 0 { "-" } else { "" };
        format!("address {sign}{:#x} is impossible; accepted: 0 to {ADDRESS_MAX:#x}", address.unsigned_abs())
    };
    u64::try_from(address).ok().filter(|&address| address <= ADDRESS_MAX - WIDTH_MAX).ok_or_else(refuse)
}

/// Reads what stands behind the addresses: nothing, an immediate, or immediates and values.
fn rest(tokens: &mut Tokens<'_>, layout: Layout) -> Result<(), String> {
    if layout.version >= 6 {
        return Ok(());
    }
    if layout.version == 5 && tokens.next().is_some_and(|token| signed(token).is_none()) {
        return Err("the line does not end with an immediate in decimal digits".to_owned());
    }
    match tokens.next() {
        Some(token) => Err(format!("found {} behind the end of the instruction", quote(token))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V3: Layout = Layout { version: 3, line_info: false };
    const V5: Layout = Layout { version: 5, line_info: false };

    fn parse(line: &str, layout: Layout) -> Result<Instruction<'_>, String> {
        Instruction::parse(line.as_bytes(), layout)
    }

    #[test]
    fn every_version_has_its_columns() {
        let v0 =
            parse("0 0 0 0 0290 ffff0000 1 R8 LDG.E.SYS 1 R2 4 1 0x00007fe033702880 4", Layout { version: 0, ..V3 });
        let v0 = v0.unwrap();
        assert_eq!((v0.pc, v0.mask, v0.opcode, v0.width), (0x290, 0xffff_0000, "LDG.E.SYS", 4));
        assert_eq!((v0.addresses[16], v0.addresses[31]), (0x7fe0_3370_2880, 0x7fe0_3370_2880 + 60));
        assert_eq!((v0.destinations.as_slice(), v0.sources.as_slice()), (&[9][..], &[3][..]));
        let v3 = parse("00a0 ffffffff 1 R0 LDG.E.U8 1 R10 1 1 0x7fc841521000 1", V3).unwrap();
        assert_eq!(v3.addresses[31], 0x7fc8_4152_101f);
        let v5 = parse("01e0 ffffffff 0 STG.E.128.SYS 2 R8 R12 16 1 0x7f580fb3c400 16 0", V5).unwrap();
        assert_eq!(v5.sources.as_slice(), [9, 13]);
        let v6 = Layout { version: 6, ..V5 };
        let line = "0130 ffffffff 1 R11 LDG.E 2 R2 UR4 4 1 0x7f7b7dc40800 4 0 0 Val 1 1 2 3";
        assert_eq!(parse(line, v6).unwrap().sources.as_slice(), [3, UNIFORM + 4]);
        assert_eq!(parse("17 0050 00000000 0 EXIT 0 0 0", Layout { line_info: true, ..V5 }).unwrap().pc, 0x50);
    }

    #[test]
    fn addresses_come_in_three_forms() {
        let list = parse("0000 80000001 1 R0 LDG.E 1 R2 4 0 0x10 20 0", V5).unwrap();
        assert_eq!((list.addresses[0], list.addresses[31]), (0x10, 0x20));
        let differences = parse("0000 0000000d 1 R0 LDG.E 1 R2 4 2 0x100 -16 32", V3).unwrap();
        assert_eq!([0, 2, 3].map(|lane| differences.addresses[lane]), [0x100, 0xf0, 0x110]);
        let one = parse("0000 00000010 1 R0 LDG.E 1 R2 4 2 0x100 0", V5).unwrap();
        assert_eq!(one.addresses[4], 0x100);
        assert!(parse("0270 00000000 0 STG.E 2 R12 R11 4 1 0x0 0", V5).is_ok(), "no lane takes part");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_is_accepted() {
        let message = |line| parse(line, V5).unwrap_err();
        assert!(message("00g0 ffffffff 0 EXIT 0 0 0").contains("`00g0`; accepted: a program counter"));
        assert!(message("0000 ffff 0 EXIT 0 0 0").contains("mask of 8 hexadecimal digits"));
        assert!(message("0000 ffffffff 1 P0 EXIT 0 0 0").contains("`P0`; accepted: a register"));
        assert!(message("0000 ffffffff 99 R0").contains("destination registers"));
        assert!(message("0000 ffffffff 0").contains("no opcode"));
        assert!(message("0000 ffffffff 0 LDG.E 0 4 3 0x0").contains("0, 1 or 2"));
        assert!(message("0000 ffffffff 0 LDG.E 0 4 1 0x8 -4").contains("address -0x4 is impossible"));
        assert!(message("0000 00000001 0 LDG.E 0 4 0 0xffffffffffffffff").contains("impossible"));
        assert!(message("0000 ffffffff 0 EXIT 0 0 0 7").contains("`7` behind the end"));
    }
}
