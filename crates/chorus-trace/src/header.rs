//! The header of a kernel file, and the blocks behind it.

use std::io::BufRead;

use crate::error::{TraceError, quote};
use crate::instruction::{Instruction, Layout, decimal, hexadecimal};
use crate::lines::Lines;

/// The newest version of the tracer whose files are read.
const VERSION_MAX: u64 = 6;

/// Warps of a work-group at most: CUDA has 1,024 threads in one.
pub(crate) const WARPS_MAX: u64 = 32;

/// Registers of a thread at most.
const REGISTERS_MAX: u64 = 255;

/// The most shared memory that a work-group of any GPU so far can have.
const SHARED_BYTES_MAX: u64 = 228 << 10;

/// The bytes of the windows through which generic addresses reach shared and local memory.
const WINDOW_BYTES: u64 = 16 << 20;

/// The header of a kernel file.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub name: String,
    pub layout: Layout,
    /// The version of the instruction set: 80 is Ampere. 0 is unknown.
    pub binary: u64,
    /// Registers of each thread, if the header says something possible.
    pub registers: Option<u32>,
    pub shared_bytes: Option<u32>,
    /// Where the windows of shared and local memory begin, if that is known.
    pub shared_base: Option<u64>,
    pub local_base: Option<u64>,
}

impl Header {
    /// Reads a header, up to the line that tells the format. The format is told by the version instead, because that
    /// line is often out of date.
    pub(crate) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, TraceError> {
        let layout = Layout { version: 0, line_info: false };
        let mut header = Header {
            name: String::new(),
            layout,
            binary: 0,
            registers: None,
            shared_bytes: None,
            shared_base: None,
            local_base: None,
        };
        loop {
            if !lines.advance()? {
                return Err(
                    lines.error("the file ends within its header; accepted: a line that begins with `#traces format`")
                );
            }
            if lines.line().starts_with(b"#traces format") {
                break;
            }
            let Some((key, value)) = lines.line().strip_prefix(b"-").and_then(split) else {
                return Err(lines.unexpected("`-KEY = VALUE` or `#traces format`"));
            };
            header
                .set(key, value)
                .map_err(|accepted| lines.error(format!("{} is {}; accepted: {accepted}", quote(key), quote(value))))?;
        }
        if header.name.is_empty() {
            "kernel".clone_into(&mut header.name);
        }
        Ok(header)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let number = || decimal(value);
        let base = || hexadecimal(value).filter(|&base| base > 0);
        match key {
            b"kernel name" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"accelsim tracer version" => {
                let known = number().filter(|&version| version <= VERSION_MAX);
                self.layout.version = known.ok_or("a version of the tracer from 0 to 6")? as u32;
            }
            b"enable lineinfo" => self.layout.line_info = number().filter(|&on| on < 2).ok_or("0 or 1")? == 1,
            b"binary version" => self.binary = number().unwrap_or(0),
            // Tracers write nonsense here for some launches.
            b"nregs" => self.registers = number().filter(|n| (1..=REGISTERS_MAX).contains(n)).map(|n| n as u32),
            b"shmem" => self.shared_bytes = number().filter(|&n| n <= SHARED_BYTES_MAX).map(|n| n as u32),
            b"shmem base_addr" => self.shared_base = base(),
            b"local mem base_addr" => self.local_base = base(),
            _ => {}
        }
        Ok(())
    }

    /// Whether a generic address is in shared memory.
    pub(crate) fn is_shared(&self, address: u64) -> bool {
        in_window(self.shared_base, address).is_some()
    }

    /// The offset of a generic address that is in local memory.
    pub(crate) fn local_offset(&self, address: u64) -> Option<u64> {
        in_window(self.local_base, address)
    }
}

fn in_window(base: Option<u64>, address: u64) -> Option<u64> {
    address.checked_sub(base?).filter(|&offset| offset < WINDOW_BYTES)
}

/// Splits `KEY = VALUE`.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = line.iter().position(|&byte| byte == b'=')?;
    Some((line[..equals].trim_ascii(), line[equals + 1..].trim_ascii()))
}

/// The number in a line such as `warp = 3`.
fn value_of(line: &[u8], key: &[u8]) -> Option<u64> {
    split(line).filter(|(found, _)| *found == key).and_then(|(_, value)| decimal(value))
}

/// Sees the contents of a block, in the order of the file. An error is a message about the present line.
pub(crate) trait Visitor {
    /// A warp of the block begins.
    fn warp(&mut self, warp: u32) -> Result<(), String>;

    /// An instruction of that warp.
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<(), String>;
}

/// The end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    /// The file says that the block has ended.
    Said,
    /// The file ends there.
    Silent,
}

/// Finds the beginning of the next block. Returns its place, or nothing at the end of the file.
pub(crate) fn next_block<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(u64, u64)>, TraceError> {
    if !lines.advance()? {
        return Ok(None);
    }
    if lines.line() != b"#BEGIN_TB" {
        return Err(lines.unexpected("`#BEGIN_TB`, or the end of the file"));
    }
    Ok(Some(lines.place()))
}

/// Reads a block whose beginning has been read.
pub(crate) fn read_block<R: BufRead>(
    lines: &mut Lines<R>,
    layout: Layout,
    visitor: &mut dyn Visitor,
) -> Result<BlockEnd, TraceError> {
    let mut seen = 0u64;
    while lines.advance()? {
        let line = lines.line();
        if line == b"#END_TB" {
            return Ok(BlockEnd::Said);
        }
        if line.starts_with(b"thread block =") || line.starts_with(b"cluster ") {
            continue;
        }
        let warp = value_of(line, b"warp").filter(|&warp| warp < WARPS_MAX);
        let Some(warp) = warp else {
            let accepted = "`warp = N` with N from 0 to 31, `thread block = X,Y,Z` or `#END_TB`";
            return Err(lines.unexpected(accepted));
        };
        if seen >> warp & 1 == 1 {
            return Err(lines.error(format!("warp {warp} occurs twice in its block")));
        }
        seen |= 1 << warp;
        visitor.warp(warp as u32).map_err(|what| lines.error(what))?;
        read_warp(lines, layout, visitor)?;
    }
    Ok(BlockEnd::Silent)
}

fn read_warp<R: BufRead>(lines: &mut Lines<R>, layout: Layout, visitor: &mut dyn Visitor) -> Result<(), TraceError> {
    let insts = if lines.advance()? { value_of(lines.line(), b"insts") } else { None };
    let Some(insts) = insts else {
        return Err(lines.unexpected("`insts = N`, the number of instructions of the warp"));
    };
    for read in 0..insts {
        if !lines.advance()? {
            return Err(lines.error(format!("the file ends after {read} of {insts} instructions of a warp")));
        }
        let instruction = Instruction::parse(lines.line(), layout).map_err(|what| lines.error(what))?;
        visitor.instruction(&instruction).map_err(|what| lines.error(what))?;
    }
    Ok(())
}
