//! Programs of users as workloads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use chorus_kernel::{HostMemory, Kernel, flat};
use chorus_ptx::Printed;
use chorus_workloads::program::HostProgram;
use chorus_workloads::registry::OwnFile;
use chorus_workloads::{SizeSpec, Sizes, Workload};

use crate::course::Course;
use crate::error::{ProgramError, Result};
use crate::facts::Facts;
use crate::launch::{Write, examine, kernel, resolve, warps};
use crate::layout::Layout;
use crate::manifest::{Expected, Manifest, Step};
use crate::printing::{print, prints};
use crate::read::{PASSES, REPLAY_MIB, leak, read};
use crate::reading::Reader;
use crate::replay::{REPLAYS, Replay};
use crate::reset::Reset;
use crate::verify::{self, Comparison};

/// Begins the message of a panic about a program that went wrong while it ran.
pub const PANIC: &str = "program ";

/// The most warps of a launch on the flat machine, which starts all of them at once. They take about 4 GiB.
const FLAT_WARPS_MAX: u64 = 1 << 20;

/// A program file, which is a workload like those that Chorus ships.
pub struct ProgramFile {
    path: &'static str,
    manifest: &'static Manifest,
    communicates: bool,
}

/// Whether the name of a workload is the path of a program file.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// The program at a path. It is read once: registries, setups and runs hold workloads for as long as the process lives,
/// so a program is leaked, and a second one from the same path would be leaked too.
pub fn load(path: &str) -> std::result::Result<&'static ProgramFile, ProgramError> {
    static LOADED: Mutex<BTreeMap<String, &'static ProgramFile>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = loaded.get(path) {
        return Ok(program);
    }
    let text = chorus_system::read_text(path).map_err(|reason| ProgramError {
        file: path.to_owned(),
        line: 0,
        key: String::new(),
        message: format!("it cannot be read as a program file: {reason}"),
    })?;
    let program: &'static ProgramFile = Box::leak(Box::new(ProgramFile::parse(path, &text)?));
    loaded.insert(path.to_owned(), program);
    Ok(program)
}

impl ProgramFile {
    /// Reads the text of a program file at a path, relative to which it names others.
    pub fn parse(path: &str, text: &str) -> std::result::Result<ProgramFile, ProgramError> {
        let manifest = read(path, text)?;
        let communicates = manifest.communicates.unwrap_or_else(|| launches_communicate(&manifest.steps));
        Ok(ProgramFile { path: leak(path.to_owned()), manifest: Box::leak(Box::new(manifest)), communicates })
    }

    fn needs_flat(&self) -> bool {
        self.manifest.checks.iter().any(|check| matches!(check.expected, Expected::Flat))
    }

    /// Goes through the whole course without running it. Loops that wait for a value are passed once.
    fn examine(&self, sizes: &Sizes) -> Result<()> {
        let manifest = self.manifest;
        let facts = Facts::of(manifest, sizes, None)?;
        let mut course = Course::new(&manifest.steps, facts.values.clone());
        while let Some(step) = course.next(&mut |until, values| {
            let last = i128::from(facts.lengths[until.buffer]) - 1;
            until.index.within(values, 0, last, "the number of an element")?;
            facts.bits(&manifest.buffers[until.buffer], &until.equals, values).map(|_| true)
        })? {
            match &*step {
                Step::Launch(launch) => {
                    let resolved = resolve(launch, manifest, &facts, &course.values, None)?;
                    if self.needs_flat() && warps(&resolved) > FLAT_WARPS_MAX {
                        let most = format!("the flat machine runs at most {FLAT_WARPS_MAX} warps at once");
                        let instead = "checks with `file` or `equals` do without it";
                        let message = format!("it has {} warps, and {most}; {instead}", warps(&resolved));
                        return Err(launch.place.mistake(message));
                    }
                }
                Step::Set(set) => drop(examine(set, manifest, &facts, &course.values)?),
                Step::Loop(_) => {}
            }
        }
        manifest.readings.iter().try_for_each(|reading| Reader::examine(reading, &facts))?;
        manifest.checks.iter().try_for_each(|check| verify::examine(check, manifest, &facts))
    }

    fn program(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> Result<HostProgram> {
        let manifest = self.manifest;
        let facts = Arc::new(Facts::of(manifest, sizes, Some(seed))?);
        let layout = Arc::new(Layout::of(manifest, &facts, seed, memory)?);
        let size = |key: &str| sizes.iter().find(|(spec, _)| spec.key == key).map(|(_, value)| value);
        let replay = Replay::of(size(REPLAY_MIB).unwrap_or(0), manifest, memory);
        let passes = size(PASSES).unwrap_or(1) + replay.as_ref().map_or(0, |_| REPLAYS);
        let resets: Arc<[Reset]> = match &manifest.reset {
            Some(reset) if passes > 1 => {
                reset.iter().map(|&buffer| Reset::of(buffer, manifest, &layout, memory)).collect()
            }
            Some(_) | None => Arc::default(),
        };
        let host = |prints, passes: u64, replay: Option<Replay>| Host {
            passes,
            resets: Arc::clone(&resets),
            replay,
            ready: VecDeque::new(),
            manifest,
            facts: Arc::clone(&facts),
            layout: Arc::clone(&layout),
            course: Course::new(&manifest.steps, facts.values.clone()),
            printed: None,
            prints,
            launches: 0,
            launched: false,
        };
        let reference = self.needs_flat().then(|| {
            let memory = memory.clone();
            let mut reference = host(false, 1, None);
            let mut program = HostProgram::deciding(move |memory| reference.next(memory), Vec::new());
            match flat::run(&mut program, &memory) {
                Ok(()) => memory,
                Err(mismatch) => panic!("{PANIC}{}: on the flat machine, {mismatch}", self.path),
            }
        });
        let mut host = host(prints(), passes, replay);
        let mut program = HostProgram::deciding(move |memory| host.next(memory), Vec::new());
        for check in &manifest.checks {
            let comparison = Comparison::of(check, manifest, &facts, &layout, reference.as_ref())?;
            program = program.invariant(move |memory| comparison.compare(memory));
        }
        let readers = manifest.readings.iter().map(|reading| Reader::of(reading, manifest, &facts, &layout));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        Ok(program.reading(move |memory| readers.iter().map(|reader| reader.read(memory)).collect()))
    }
}

fn launches_communicate(steps: &[Arc<Step>]) -> bool {
    steps.iter().any(|step| match &**step {
        Step::Launch(launch) => launch.entry.communicates(),
        Step::Set(_) => false,
        Step::Loop(inner) => launches_communicate(&inner.steps),
    })
}

/// The host's side of one run.
struct Host {
    /// Passes over the steps that have not ended.
    passes: u64,
    /// The buffers that get their first contents again between passes.
    resets: Arc<[Reset]>,
    /// The last passes, which replay launches.
    replay: Option<Replay>,
    /// Kernels that come before anything else.
    ready: VecDeque<Kernel>,
    manifest: &'static Manifest,
    facts: Arc<Facts>,
    layout: Arc<Layout>,
    course: Course,
    /// Text that the threads of the last launch have printed.
    printed: Option<Printed>,
    prints: bool,
    /// The launches of this pass.
    launches: u64,
    launched: bool,
}

impl Host {
    /// The next kernel.
    ///
    /// # Panics
    ///
    /// Where the values that kernels have left make the program ask for something that cannot be. The panic begins with
    /// [`PANIC`], and drivers show it as a mistake in the program.
    fn next(&mut self, memory: &HostMemory) -> Option<Kernel> {
        loop {
            if let Some(kernel) = self.ready.pop_front() {
                return Some(kernel);
            }
            if let Some(printed) = self.printed.take().filter(|_| self.prints) {
                print(&printed.take());
            }
            if self.advance(memory).unwrap_or_else(|error| panic!("{PANIC}{error}")) {
                continue;
            }
            self.passes -= 1;
            if self.replay.is_some() && self.passes == REPLAYS && self.launches == 1 {
                self.passes -= 1;
            }
            self.launches = 0;
            if self.passes == 0 {
                return None;
            }
            self.course = Course::new(&self.manifest.steps, self.facts.values.clone());
            self.ready.extend(self.resets.iter().map(Reset::kernel));
        }
    }

    /// Makes the next kernel ready, with what comes before it. Returns whether there is one.
    fn advance(&mut self, memory: &HostMemory) -> Result<bool> {
        let (manifest, facts, layout) = (self.manifest, &*self.facts, &*self.layout);
        let mut is_over = |until: &crate::manifest::Until, values: &crate::expression::Values| {
            let last = i128::from(facts.lengths[until.buffer]) - 1;
            let index = until.index.within(values, 0, last, "the number of an element")? as u64;
            let buffer = &manifest.buffers[until.buffer];
            let found = buffer.element.load(memory, layout.start(until.buffer), index);
            Ok(found == facts.bits(buffer, &until.equals, values)?)
        };
        while let Some(step) = self.course.next(&mut is_over)? {
            match &*step {
                Step::Launch(launch) => {
                    let (kernel, printed) = kernel(launch, manifest, facts, &self.course.values, layout)?;
                    (self.printed, self.launched) = (Some(printed), true);
                    self.launches += 1;
                    if let Some(replay) = self.replay.as_ref().filter(|_| self.passes <= REPLAYS) {
                        self.ready.push_back(replay.empty_caches());
                        if self.passes == 1 {
                            self.ready.extend(replay.restore(manifest, layout, memory));
                        }
                    }
                    self.ready.push_back(kernel);
                    return Ok(true);
                }
                Step::Set(set) => {
                    let write = Write::of(set, manifest, facts, &self.course.values, layout)?;
                    if self.launched {
                        self.ready.push_back(write.kernel());
                        return Ok(true);
                    }
                    write.make(memory);
                }
                Step::Loop(_) => {}
            }
        }
        Ok(false)
    }
}

impl Workload for ProgramFile {
    fn name(&self) -> &'static str {
        self.path
    }

    fn title(&self) -> &'static str {
        self.manifest.title
    }

    fn summary(&self) -> &'static str {
        self.manifest.summary
    }

    fn source(&self) -> &'static str {
        self.manifest.source
    }

    fn communicates(&self) -> bool {
        self.communicates
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        self.manifest.sizes
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        self.examine(sizes).err().map(|error| error.to_string())
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        self.program(sizes, seed, memory).unwrap_or_else(|error| panic!("{PANIC}{error}"))
    }

    fn own_file(&self) -> Option<OwnFile> {
        Some(OwnFile { path: self.path, sha256: &self.manifest.sha256 })
    }
}
