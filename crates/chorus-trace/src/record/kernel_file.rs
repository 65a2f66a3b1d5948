//! The file of one launch that is recorded. Work-groups end in any order, and a file has them in the order of their
//! numbers. So they wait in a temporary file without a name until the launch is over.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use chorus_kernel::{Kernel, LANES, WaveId};

use super::sass::WarpText;
use crate::file::nameless;
use crate::replay::lock;

/// A launch that is recorded.
pub(super) struct KernelFile {
    /// The number of the launch, from 1 on.
    pub(super) id: usize,
    header: String,
    waves_per_group: u32,
    groups: Mutex<Groups>,
}

#[derive(Default)]
struct Groups {
    spool: Option<File>,
    end: u64,
    /// Where in the temporary file each work-group lies that has ended.
    places: Vec<Option<(u64, u64)>>,
    /// Wavefronts that have ended, of work-groups that have not.
    running: HashMap<u32, Vec<Option<(u64, String)>>>,
    instructions: u64,
    failure: Option<io::Error>,
}

impl KernelFile {
    pub(super) fn new(id: usize, kernel: &Kernel) -> KernelFile {
        let name: String = kernel.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let threads = kernel.waves_per_group * LANES as u32;
        let header = format!(
            "-kernel name = {name}\n\
             -kernel id = {id}\n\
             -grid dim = ({},1,1)\n\
             -block dim = ({threads},1,1)\n\
             -shmem = {}\n\
             -nregs = {}\n\
             -binary version = 80\n\
             -cuda stream id = 0\n\
             -shmem base_addr = 0x00007e0000000000\n\
             -local mem base_addr = 0x00007e0001000000\n\
             -nvbit version = 1.5.5\n\
             -accelsim tracer version = 5\n\
             -enable lineinfo = 0\n\n\
             #traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [address_mode] \
             [mem_addresses] immediate\n\n",
            kernel.work_groups, kernel.lds_bytes, kernel.registers_per_item
        );
        let groups = Groups { places: vec![None; kernel.work_groups as usize], ..Groups::default() };
        KernelFile { id, header, waves_per_group: kernel.waves_per_group, groups: Mutex::new(groups) }
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        format!("kernel-{}.traceg", self.id)
    }

    /// A wavefront has ended.
    pub(super) fn put(&self, id: WaveId, text: WarpText) {
        let (count, lines) = text.into_lines();
        let mut groups = lock(&self.groups);
        groups.instructions += count;
        let waves = groups.running.entry(id.work_group).or_insert_with(|| vec![None; self.waves_per_group as usize]);
        waves[id.wave as usize] = Some((count, lines));
        if waves.iter().any(Option::is_none) {
            return;
        }
        let waves = groups.running.remove(&id.work_group).unwrap_or_default();
        if let Err(error) = groups.spool(id.work_group, waves) {
            groups.failure.get_or_insert(error);
        }
    }

    /// Writes the file. Returns the number of its instructions.
    pub(super) fn write(&self, folder: &Path) -> io::Result<u64> {
        let mut groups = lock(&self.groups);
        if let Some(error) = groups.failure.take() {
            return Err(error);
        }
        let mut file = BufWriter::new(File::create_new(folder.join(self.name()))?);
        file.write_all(self.header.as_bytes())?;
        let places: Vec<(u64, u64)> = groups.places.iter().flatten().copied().collect();
        for (first, bytes) in places {
            let Some(spool) = &mut groups.spool else { break };
            spool.seek(SeekFrom::Start(first))?;
            io::copy(&mut spool.take(bytes), &mut file)?;
        }
        file.flush()?;
        Ok(groups.instructions)
    }
}

impl Groups {
    /// Puts a work-group that has ended into the temporary file.
    fn spool(&mut self, group: u32, waves: Vec<Option<(u64, String)>>) -> io::Result<()> {
        let mut text = format!("#BEGIN_TB\n\nthread block = {group},0,0\n\n");
        for (wave, (count, lines)) in (0..).zip(waves.into_iter().flatten()) {
            text.push_str(&format!("warp = {wave}\ninsts = {count}\n{lines}\n"));
        }
        text.push_str("#END_TB\n\n");
        let spool = match &mut self.spool {
            Some(spool) => spool,
            None => self.spool.insert(nameless()?),
        };
        spool.seek(SeekFrom::Start(self.end))?;
        spool.write_all(text.as_bytes())?;
        self.places[group as usize] = Some((self.end, text.len() as u64));
        self.end += text.len() as u64;
        Ok(())
    }
}
