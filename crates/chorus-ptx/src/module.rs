//! Modules of PTX, their entries, and launches of these.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use chorus_kernel::{Kernel, LANES, LaunchState, WaveStart};

use crate::error::{Fault, PtxError};
use crate::layout::Layout;
use crate::lower::{self, Lowered};
use crate::parser;
use crate::running::{Running, dynamic_offset, words_of};
use crate::space;
use crate::syntax;
use crate::types::ScalarType;
use crate::wave::{REDUCTION_BYTES, Wavefront};

/// The address of the first byte of global memory. Word `n` of the host's memory lies `4 n` bytes behind it.
pub const GLOBAL_MEMORY: u64 = space::GLOBAL;

/// A file of PTX.
#[derive(Clone, Debug)]
pub struct Module {
    file: String,
    syntax: Arc<syntax::Module>,
    layout: Arc<Layout>,
}

/// A kernel of a module, ready to be launched.
#[derive(Clone)]
pub struct Entry {
    name: String,
    file: String,
    lowered: Arc<Lowered>,
    layout: Arc<Layout>,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name as declared.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is a float.
    pub is_float: bool,
    /// Whether it is a signed integer.
    pub is_signed: bool,
}

/// A launch of an entry.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Work-groups in each dimension.
    pub grid: [u32; 3],
    /// Threads of a work-group in each dimension.
    pub block: [u32; 3],
    /// Bytes of shared memory besides the variables of the entry.
    pub dynamic_shared_bytes: u32,
    /// The bytes of each argument.
    pub arguments: Vec<Vec<u8>>,
    /// The part of the machine that the program takes for its GPU.
    pub device: Device,
}

/// The part of the machine that a program takes for its GPU. CUDA launches a kernel on one GPU, and scope `.gpu`
/// reaches all its threads. No such program knows a machine whose GPUs share the work-groups of one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// All GPUs of the machine together: scope `.gpu` reaches all of them.
    #[default]
    Machine,
    /// Each GPU: scope `.gpu` reaches one, and programs that communicate need `.sys`.
    Gpu,
}

/// Where a launch finds memory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The addresses of the bytes of each buffer that the kernel may access, in order.
    pub buffers: Arc<Vec<Range<u64>>>,
    /// The address of the module's variables in global memory, which lie in one of the buffers.
    pub variables: u64,
}

/// The text that the threads of a launch have printed.
#[derive(Clone)]
pub struct Printed(Arc<Running>);

impl Printed {
    /// The text since the last call, by work-groups and wavefronts in order.
    pub fn take(&self) -> String {
        self.0.take_printed()
    }
}

impl Module {
    /// Parses a file. What its entries ask for is examined by [`Module::entry`].
    pub fn parse(file: &str, text: &str) -> Result<Module, PtxError> {
        let parsed = parser::parse(text).and_then(|module| Ok((Layout::of(&module)?, module)));
        let (layout, module) = parsed.map_err(|fault| fault.in_file(file))?;
        Ok(Module { file: file.to_owned(), syntax: Arc::new(module), layout: Arc::new(layout) })
    }

    /// The version of PTX.
    pub fn version(&self) -> &str {
        &self.syntax.version
    }

    /// The GPU that the module was compiled for.
    pub fn target(&self) -> &str {
        &self.syntax.target
    }

    /// The names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let entries = self.syntax.functions.iter().filter(|function| function.is_entry && function.body.is_some());
        entries.map(|function| function.name.as_str())
    }

    /// How often each opcode stands in the module, by name.
    pub fn opcodes(&self) -> Vec<(String, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        let bodies = self.syntax.functions.iter().filter_map(|function| function.body.as_deref());
        bodies.for_each(|body| count_opcodes(body, &mut counts));
        counts.into_iter().collect()
    }

    /// Bytes of the module's variables in global memory.
    pub fn variable_bytes(&self) -> usize {
        self.layout.global.bytes.len()
    }

    /// The first contents of the module's variables in global memory, if they lie at this address.
    pub fn variables(&self, address: u64) -> Vec<u8> {
        self.layout.global.at(address)
    }

    /// The entry of a name, or what it asks for that is not supported.
    pub fn entry(&self, name: &str) -> Result<Entry, PtxError> {
        let function = self.syntax.functions.iter().find(|function| function.is_entry && function.name == name);
        let Some(function) = function else {
            let known: Vec<&str> = self.entries().collect();
            let message = format!("there is no entry `{name}`; there are: {}", known.join(", "));
            return Err(Fault::new(crate::error::Place { line: 1, column: 1 }, message).in_file(&self.file));
        };
        let lowered = lower::lower(&self.syntax, &self.layout, function).map_err(|fault| fault.in_file(&self.file))?;
        let (name, file, layout) = (name.to_owned(), self.file.clone(), Arc::clone(&self.layout));
        Ok(Entry { name, file, lowered: Arc::new(lowered), layout })
    }
}

fn count_opcodes(body: &[syntax::Statement], counts: &mut std::collections::BTreeMap<String, usize>) {
    for statement in body {
        match statement {
            syntax::Statement::Instruction(instruction) => *counts.entry(instruction.name()).or_default() += 1,
            syntax::Statement::Block(block) => count_opcodes(block, counts),
            _ => {}
        }
    }
}

impl Entry {
    /// The name of the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> Vec<Parameter> {
        let parameter = |param: &lower::Param| Parameter {
            name: param.name.clone(),
            bytes: param.bytes,
            is_float: param.scalar.is_float(),
            is_signed: matches!(param.scalar, ScalarType::Signed(_)),
        };
        self.lowered.params.iter().map(parameter).collect()
    }

    /// Registers of 32 bits that a thread needs.
    pub fn registers(&self) -> u32 {
        self.lowered.registers
    }

    /// Bytes of the variables in shared memory.
    pub fn shared_bytes(&self) -> u64 {
        self.lowered.shared_bytes
    }

    /// Whether it uses shared memory whose size the launch says.
    pub fn has_dynamic_shared(&self) -> bool {
        self.lowered.has_dynamic_shared
    }

    /// Bytes of local memory of a thread.
    pub fn local_bytes(&self) -> u64 {
        self.lowered.local_bytes
    }

    /// Instructions, with those of the functions that it calls.
    pub fn instructions(&self) -> usize {
        self.lowered.code.instructions.len()
    }

    /// Whether its work-groups may exchange data while it runs: it has fences, accesses with an order, or atomics whose
    /// old value or order it needs. Atomics that only add to memory are no communication.
    pub fn communicates(&self) -> bool {
        self.lowered.code.communicates()
    }

    /// The kernel of a launch, and what its threads print. An error says what is wrong with the launch.
    pub fn kernel(&self, launch: &Launch, memory: &Memory) -> Result<(Kernel, Printed), String> {
        let threads = launch.block.iter().try_fold(1u32, |all, &size| all.checked_mul(size)).unwrap_or(u32::MAX);
        if threads == 0 || threads > 1024 {
            return Err(format!("a block has 1 to 1,024 threads, not {threads}"));
        }
        let groups = launch.grid.iter().try_fold(1u32, |all, &size| all.checked_mul(size)).unwrap_or(0);
        if groups == 0 {
            return Err("a grid has at least one block and fewer than 2^32".to_owned());
        }
        let arguments = self.arguments(&launch.arguments)?;
        let shared = dynamic_offset(self.lowered.shared_bytes) + u64::from(launch.dynamic_shared_bytes);
        let shared_bytes = u32::try_from(shared).map_err(|_| "too much shared memory".to_owned())?;
        let mut running = Running {
            name: self.name.clone(),
            file: self.file.clone(),
            entry: Arc::clone(&self.lowered),
            grid: launch.grid,
            block: launch.block,
            shared_bytes,
            spans_machine: launch.device == Device::Machine,
            globals: memory.variables,
            global: Arc::new(self.layout.global.bytes.clone()),
            constant: words_of(&self.layout.constant.at(memory.variables)),
            constant_bytes: self.layout.constant.bytes.len() as u64,
            arguments,
            buffers: Arc::clone(&memory.buffers),
            template: Default::default(),
            printed: Mutex::default(),
        };
        running.prepare();
        let running = Arc::new(running);
        let printed = Printed(Arc::clone(&running));
        let state: Arc<dyn LaunchState> = Arc::<Running>::clone(&running);
        let waves = threads.div_ceil(LANES as u32);
        let start = move |start: WaveStart| Wavefront::start(Arc::clone(&running), start);
        let lds_bytes = if shared_bytes > 0 || self.reduces() { shared_bytes + REDUCTION_BYTES } else { 0 };
        let kernel = Kernel::of_sources(self.name.clone(), groups, waves, start);
        Ok((kernel.registers(self.lowered.registers).lds(lds_bytes).with_state(state), printed))
    }

    /// Whether a barrier of the entry counts predicates.
    fn reduces(&self) -> bool {
        self.lowered.code.reduces()
    }

    fn arguments(&self, arguments: &[Vec<u8>]) -> Result<Vec<u32>, String> {
        let params = &self.lowered.params;
        if arguments.len() != params.len() {
            return Err(format!("`{}` takes {} arguments, not {}", self.name, params.len(), arguments.len()));
        }
        let mut bytes = vec![0; self.lowered.param_bytes.next_multiple_of(4) as usize];
        for (param, argument) in params.iter().zip(arguments) {
            if argument.len() as u64 != param.bytes {
                let (name, has, takes) = (&param.name, argument.len(), param.bytes);
                return Err(format!("argument `{name}` has {has} bytes, and the entry takes {takes}"));
            }
            let start = param.offset as usize;
            bytes[start..start + argument.len()].copy_from_slice(argument);
        }
        Ok(words_of(&bytes))
    }
}
