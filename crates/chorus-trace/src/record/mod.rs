//! Traces that are written: what the wavefronts of a program ask for, in the format that Accel-Sim reads.
//!
//! A recorded program has sources around those of its own wavefronts, which see what these queue. Nothing else of a run
//! knows of it, and a run that is not recorded pays nothing. CPU threads are not recorded: a trace has none.

mod kernel_file;
mod sass;
mod wave;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chorus_kernel::{HostMemory, Kernel, Program, Verdict};

use self::kernel_file::KernelFile;
use self::sass::BASE;
use self::wave::RecordedWave;
use crate::error::TraceError;
use crate::list::LIST;
use crate::replay::lock;

/// Writes the trace of a run into a directory.
pub struct Recorder {
    folder: PathBuf,
    progress: Arc<Mutex<Progress>>,
}

/// Everything that has been recorded so far.
#[derive(Default)]
struct Progress {
    /// Lines of the list about buffers, and the names of the launches' files.
    copies: Option<Vec<String>>,
    launches: Vec<String>,
    instructions: u64,
    cpu_threads: bool,
    failure: Option<TraceError>,
}

/// A trace that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Number of launches that were recorded.
    pub kernels: usize,
    /// Number of instructions of warps.
    pub instructions: u64,
    /// Whether there were CPU threads, which are not in the trace.
    pub cpu_threads: bool,
}

impl Recorder {
    /// Makes the directory. One that has files in it is refused, so that nothing is overwritten.
    pub fn create(folder: &Path) -> Result<Recorder, TraceError> {
        let refuse =
            |error: std::io::Error| TraceError::of_file(folder.display(), format!("cannot be written: {error}"));
        fs::create_dir_all(folder).map_err(refuse)?;
        if fs::read_dir(folder).map_err(refuse)?.next().is_some() {
            let what = "has files in it; accepted: a directory that is empty or does not exist";
            return Err(TraceError::of_file(folder.display(), what));
        }
        Ok(Recorder { folder: folder.to_path_buf(), progress: Arc::default() })
    }

    /// A program that does what `program` does, and is recorded meanwhile.
    pub fn record(&self, program: Box<dyn Program>) -> Box<dyn Program> {
        let (folder, progress) = (self.folder.clone(), Arc::clone(&self.progress));
        Box::new(RecordedProgram { program, folder, progress, running: None })
    }

    /// Writes the list of launches, after the run. Without it, a directory is no trace.
    pub fn finish(self) -> Result<Recorded, TraceError> {
        let mut progress = lock(&self.progress);
        if let Some(failure) = progress.failure.take() {
            return Err(failure);
        }
        let copies = progress.copies.take().unwrap_or_default();
        let lines: String = copies.iter().chain(&progress.launches).map(|line| format!("{line}\n")).collect();
        let path = self.folder.join(LIST);
        fs::write(&path, lines)
            .map_err(|error| TraceError::of_file(path.display(), format!("cannot be written: {error}")))?;
        let Progress { instructions, cpu_threads, .. } = *progress;
        Ok(Recorded { kernels: progress.launches.len(), instructions, cpu_threads })
    }
}

struct RecordedProgram {
    program: Box<dyn Program>,
    folder: PathBuf,
    progress: Arc<Mutex<Progress>>,
    running: Option<Arc<KernelFile>>,
}

impl RecordedProgram {
    /// Writes the file of the launch that is over.
    fn end_launch(&mut self) {
        let Some(file) = self.running.take() else { return };
        let written = file.write(&self.folder);
        let mut progress = lock(&self.progress);
        match written {
            Ok(instructions) => progress.instructions += instructions,
            Err(error) => {
                let path = self.folder.join(file.name());
                let failure = TraceError::of_file(path.display(), format!("cannot be written: {error}"));
                progress.failure.get_or_insert(failure);
            }
        }
    }
}

impl Program for RecordedProgram {
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
        self.end_launch();
        let kernel = self.program.next_kernel(memory)?;
        let mut progress = lock(&self.progress);
        let copy = |words: &std::ops::Range<usize>| {
            format!("MemcpyHtoD,{:#018x},{}", BASE + 4 * words.start as u64, 4 * words.len())
        };
        progress.copies.get_or_insert_with(|| memory.buffers().iter().map(copy).collect());
        progress.cpu_threads |= kernel.cpu_threads() > 0;
        if kernel.work_groups == 0 {
            return Some(kernel);
        }
        let file = Arc::new(KernelFile::new(progress.launches.len() + 1, &kernel));
        progress.launches.push(file.name());
        self.running = Some(Arc::clone(&file));
        Some(kernel.wrapped(move |id, inner| RecordedWave::new(inner, id, Arc::clone(&file))))
    }

    fn kernels(&self) -> Option<usize> {
        self.program.kernels()
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        self.program.check(memory)
    }
}
