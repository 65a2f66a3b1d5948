//! The program that a trace is: its launches, one after the other.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chorus_kernel::{HostMemory, Kernel, Mismatch, Program, Verdict, WaveId, WaveStart};

use crate::address_map::AddressMap;
use crate::error::TraceError;
use crate::file::open_anywhere;
use crate::header::read_block;
use crate::index::KernelIndex;
use crate::lines::Lines;
use crate::lower::{LocalMemory, Lowering};
use crate::step::Step;
use crate::trace::Trace;
use crate::wave::TracedWave;

/// Registers of a thread, where the trace says nothing that is possible.
const REGISTERS: u32 = 32;

/// The least and the most bytes that are read for a work-group at once.
const CHUNK_BYTES: (u64, u64) = (1 << 12, 1 << 18);

/// Reads what others may have left behind when they panicked, which is never half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Launches the kernels of a trace in the order of its list. They run one after the other, whatever streams they were
/// in.
pub struct Replay {
    trace: Arc<Trace>,
    map: Arc<AddressMap>,
    local: LocalMemory,
    next: usize,
}

impl Replay {
    pub(crate) fn new(trace: &Arc<Trace>, memory: &mut HostMemory) -> Replay {
        let map = Arc::new(AddressMap::new(&trace.pages, memory));
        let words = trace.local_words();
        let local = (words > 0).then(|| memory.alloc::<u32>(words as usize).start());
        Replay { trace: Arc::clone(trace), map, local, next: 0 }
    }
}

impl Program for Replay {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        if self.trace.failure().is_some() {
            return None;
        }
        let index = Arc::clone(self.trace.launches().get(self.next)?);
        self.next += 1;
        let file = open_anywhere(&index.path).map_err(|error| self.trace.fail(error)).ok()?;
        let local = self.local.filter(|_| self.trace.has_local_memory(&index));
        let header = &index.header;
        let kernel = (header.name.clone(), index.blocks.len() as u32, index.waves_per_group);
        let (registers, lds) = (header.registers.unwrap_or(REGISTERS), header.shared_bytes.unwrap_or(0));
        let launch = Launch {
            index,
            map: Arc::clone(&self.map),
            local,
            file: Mutex::new(file),
            started: Mutex::default(),
            trace: Arc::clone(&self.trace),
        };
        let (name, work_groups, waves) = kernel;
        let start = move |start: WaveStart| TracedWave::new(launch.steps(start.id));
        Some(Kernel::of_sources(name, work_groups, waves, start).registers(registers).lds(lds))
    }

    fn kernels(&self) -> Option<usize> {
        Some(self.trace.kernels())
    }

    fn check(&self, _: &HostMemory) -> Verdict {
        match self.trace.failure() {
            Some(error) => Verdict::Wrong(Mismatch(error.to_string())),
            None => Verdict::Unchecked,
        }
    }
}

/// A launch whose work-groups run.
struct Launch {
    index: Arc<KernelIndex>,
    map: Arc<AddressMap>,
    local: LocalMemory,
    file: Mutex<File>,
    /// The steps of work-groups some of whose wavefronts have not started: none for a wavefront that has.
    started: Mutex<HashMap<u32, Vec<Option<Vec<Step>>>>>,
    trace: Arc<Trace>,
}

impl Launch {
    /// The steps of a wavefront. The first wavefront of a work-group reads the file for all of them.
    fn steps(&self, id: WaveId) -> Vec<Step> {
        let taken = lock(&self.started).get_mut(&id.work_group).map(|waves| take(waves, id.wave));
        let (steps, is_last) = taken.unwrap_or_else(|| {
            let mut waves = self.read(id.work_group).unwrap_or_else(|error| {
                self.trace.fail(error);
                vec![None; self.index.waves_per_group as usize]
            });
            let taken = take(&mut waves, id.wave);
            lock(&self.started).insert(id.work_group, waves);
            taken
        });
        if is_last {
            lock(&self.started).remove(&id.work_group);
        }
        steps
    }

    /// Reads the block of a work-group.
    fn read(&self, group: u32) -> Result<Vec<Option<Vec<Step>>>, TraceError> {
        let place = self.index.blocks[group as usize];
        let end = self.index.blocks.get(group as usize + 1).map_or(u64::MAX, |&(next, _)| next);
        let chunk = (end - place.0).clamp(CHUNK_BYTES.0, CHUNK_BYTES.1) as usize;
        let reader = BufReader::with_capacity(chunk, At { file: &self.file, offset: place.0 });
        let mut lines = Lines::from_place(reader, Arc::clone(&self.index.file), place);
        if !lines.advance()? {
            return Err(lines.error("the file has become shorter since it was first read"));
        }
        let mut lowering = Lowering::new(&self.index, &self.map, self.local, group);
        read_block(&mut lines, self.index.header.layout, &mut lowering)?;
        Ok(lowering.into_waves().into_iter().map(Some).collect())
    }
}

/// Takes the steps of a wavefront. Returns whether it was the last one.
fn take(waves: &mut [Option<Vec<Step>>], wave: u32) -> (Vec<Step>, bool) {
    let steps = waves.get_mut(wave as usize).and_then(Option::take).unwrap_or_default();
    (steps, waves.iter().all(Option::is_none))
}

/// A file that several threads read, each at a place of its own.
struct At<'f> {
    file: &'f Mutex<File>,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = lock(self.file);
        file.seek(SeekFrom::Start(self.offset))?;
        let read = file.read(buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}
