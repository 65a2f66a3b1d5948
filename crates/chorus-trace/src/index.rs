//! One pass over a kernel file: everything in it is checked, and the places of its blocks are noted. Afterwards a block
//! can be read alone when its work-group starts, and thrown away when it ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::Sha256;

use crate::address_map::Pages;
use crate::error::TraceError;
use crate::file::open_stream;
use crate::header::{BlockEnd, Header, Visitor, next_block, read_block};
use crate::instruction::Instruction;
use crate::lines::Lines;
use crate::opcode::{Class, CopyLines, Opcode, Space};
use crate::polling::{Polled, Polling};

/// The largest offset in local memory: the window through which generic addresses reach it has 16 MiB.
const LOCAL_OFFSET_MAX: u64 = 16 << 20;

/// A kernel file that has been read once.
#[derive(Debug)]
pub(crate) struct KernelIndex {
    pub path: PathBuf,
    /// The path of the file, as messages name it.
    pub file: Arc<str>,
    pub header: Header,
    /// The byte and the line at which each block begins.
    pub blocks: Vec<(u64, u64)>,
    pub waves_per_group: u32,
    /// Offsets in local memory that are used: the first word, and the word behind the last.
    pub local_words: (u32, u32),
    /// Whether there are fences.
    pub fences: bool,
    /// The number of instructions of all warps.
    pub instructions: u64,
    /// Remarks about the kernel that its user should know.
    pub warnings: Vec<String>,
}

impl KernelIndex {
    /// Reads a kernel file, and adds the pages that it touches to `pages`. Returns the digest with its contents.
    pub(crate) fn read(path: &Path, digest: Sha256, pages: &mut Pages) -> Result<(KernelIndex, Sha256), TraceError> {
        let file: Arc<str> = path.display().to_string().into();
        let mut lines = Lines::new(open_stream(path)?, Arc::clone(&file)).digested(digest);
        let header = Header::read(&mut lines)?;
        let mut blocks = Vec::new();
        let mut pass = Pass::new(&header, pages);
        let mut end = BlockEnd::Said;
        while let Some(place) = next_block(&mut lines)? {
            blocks.push(place);
            end = read_block(&mut lines, header.layout, &mut pass)?;
        }
        let Pass { waves, local, fences, instructions, polled, unseen, unknown, .. } = pass;
        let mut warnings = Vec::new();
        let mut warn = |what: String| warnings.push(format!("{file}: kernel {}: {what}", header.name));
        if let Some(Polled { pc, address }) = polled {
            warn(format!(
                "the loop at PC {pc:#06x} polls address {address:#x}; it is replayed with as many rounds as it had on \
                 the traced GPU"
            ));
        }
        if let Some(opcode) = unseen {
            warn(format!("{opcode} accesses memory at addresses that a trace does not have; it counts as arithmetic"));
        }
        if let Some(opcode) = unknown {
            warn(format!("it is not known what {opcode} does to memory; it counts as arithmetic"));
        }
        if end == BlockEnd::Silent && !blocks.is_empty() {
            warn("the file ends without `#END_TB`; it may have been cut off".to_owned());
        }
        if blocks.is_empty() {
            warn("no work-group was traced; the launch is left out".to_owned());
        }
        let local_words = local.map_or((0, 0), |(first, end)| ((first / 4) as u32, end.div_ceil(4) as u32));
        let waves_per_group = waves.max(1);
        let path = path.to_path_buf();
        let index =
            KernelIndex { path, file, header, blocks, waves_per_group, local_words, fences, instructions, warnings };
        Ok((index, lines.into_digest()))
    }

    /// Words of local memory that all wavefronts of the launch need together.
    pub(crate) fn all_local_words(&self) -> u64 {
        let (first, end) = self.local_words;
        let of_wave = u64::from(end - first) * chorus_kernel::LANES as u64;
        of_wave * u64::from(self.waves_per_group) * self.blocks.len() as u64
    }
}

/// The state of the pass.
struct Pass<'p> {
    header: &'p Header,
    pages: &'p mut Pages,
    /// One more than the highest warp.
    waves: u32,
    local: Option<(u64, u64)>,
    fences: bool,
    instructions: u64,
    copies: CopyLines,
    polling: Polling,
    polled: Option<Polled>,
    unseen: Option<String>,
    unknown: Option<String>,
}

impl<'p> Pass<'p> {
    fn new(header: &'p Header, pages: &'p mut Pages) -> Pass<'p> {
        Pass {
            header,
            pages,
            waves: 0,
            local: None,
            fences: false,
            instructions: 0,
            copies: CopyLines::default(),
            polling: Polling::default(),
            polled: None,
            unseen: None,
            unknown: None,
        }
    }

    fn access(&mut self, instruction: &Instruction<'_>, space: Space, width: u64) -> Result<(), String> {
        for address in instruction.lanes().map(|lane| instruction.addresses[lane]) {
            match place_of(self.header, space, address) {
                Place::Global => {
                    self.pages.add(address)?;
                    self.pages.add(address + width - 1)?;
                }
                Place::Shared => {}
                Place::Local(offset) if offset + width <= LOCAL_OFFSET_MAX => {
                    let (first, end) = self.local.unwrap_or((offset, offset));
                    self.local = Some((first.min(offset), end.max(offset + width)));
                }
                Place::Local(offset) => {
                    return Err(format!("offset {offset:#x} in local memory is impossible; accepted: up to 16 MiB"));
                }
            }
        }
        Ok(())
    }
}

/// The memory that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Global,
    Shared,
    /// The memory of each thread alone, at this offset.
    Local(u64),
}

/// Finds the memory that an address of an instruction is in.
pub(crate) fn place_of(header: &Header, space: Space, address: u64) -> Place {
    match space {
        Space::Global => Place::Global,
        Space::Shared => Place::Shared,
        Space::Local => Place::Local(header.local_offset(address).unwrap_or(address)),
        Space::Generic if header.is_shared(address) => Place::Shared,
        Space::Generic => header.local_offset(address).map_or(Place::Global, Place::Local),
    }
}

/// Whether an instruction with addresses reads constants, or moves no data at all, as prefetches do.
fn has_no_data(opcode: &str) -> bool {
    ["LDC", "ULDC", "LDCU", "CCTL", "CCTLL"].contains(&opcode.split('.').next().unwrap_or_default())
}

/// Bytes that each lane accesses: as the opcode says, or else as the tracer says, which does not know all opcodes.
pub(crate) fn width_of(instruction: &Instruction<'_>, opcode: &Opcode) -> u32 {
    opcode.width.unwrap_or(instruction.width).max(1)
}

impl Visitor for Pass<'_> {
    fn warp(&mut self, warp: u32) -> Result<(), String> {
        self.waves = self.waves.max(warp + 1);
        self.copies = CopyLines::default();
        self.polling = Polling::default();
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<(), String> {
        self.instructions += 1;
        let opcode = Opcode::parse(instruction.opcode);
        if self.polled.is_none() {
            self.polled = self.polling.see(instruction, &opcode);
        }
        let accesses = instruction.width > 0 && instruction.mask != 0;
        let width = u64::from(width_of(instruction, &opcode));
        match opcode.class {
            Class::Load(space) | Class::Store(space) | Class::Atomic(space, _) if accesses => {
                self.access(instruction, space, width)?;
            }
            Class::Copy => {
                let is_global = self.copies.is_global(self.header.layout.version, instruction.pc);
                if is_global && accesses {
                    self.access(instruction, Space::Global, width)?;
                }
            }
            Class::Fence { .. } | Class::Invalidate => self.fences = true,
            Class::Arithmetic if accesses && self.unknown.is_none() && !has_no_data(instruction.opcode) => {
                self.unknown = Some(instruction.opcode.to_owned());
            }
            Class::Unseen if self.unseen.is_none() => self.unseen = Some(instruction.opcode.to_owned()),
            _ => {}
        }
        Ok(())
    }
}
