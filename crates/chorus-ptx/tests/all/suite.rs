//! The kernels that were measured on an H200, from three compilers. They are read from where they lie beside the
//! project; where they are absent, these tests pass and say so.

use std::fs;
use std::path::Path;

use chorus_kernel::HostMemory;
use chorus_ptx::Module;

use super::host::{Argument, run};

const COMPILERS: [&str; 3] = ["compute_70", "compute_75", "sm_90"];

/// The modules of a compiler, or of all.
fn modules(name: Option<&str>) -> Vec<Module> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/hardware/h200/ptx");
    let mut modules = Vec::new();
    for compiler in COMPILERS {
        let Ok(files) = fs::read_dir(root.join(compiler)) else { continue };
        for path in files.flatten().map(|file| file.path()) {
            if name.is_none_or(|name| path.file_stem().is_some_and(|stem| stem == name)) {
                let text = fs::read_to_string(&path).unwrap();
                modules.push(Module::parse(&path.display().to_string(), &text).unwrap());
            }
        }
    }
    if modules.is_empty() {
        eprintln!("skipped: the measured kernels are not beside the project");
    }
    modules
}

#[test]
fn every_entry_is_supported() {
    let modules = modules(None);
    assert!(modules.is_empty() || modules.len() == 57);
    for module in modules {
        for name in module.entries().map(str::to_owned).collect::<Vec<_>>() {
            let entry = module.entry(&name).unwrap();
            assert!((1..256).contains(&entry.registers()), "{name}: {} registers", entry.registers());
        }
    }
}

#[test]
fn saxpy_and_locks_among_lanes_are_right() {
    for module in modules(Some("saxpy")) {
        let mut memory = HostMemory::default();
        let values: Vec<f32> = (0..1000).map(|i| i as f32 * 0.5).collect();
        let [x, y] = [(); 2].map(|()| memory.alloc_from(&values.iter().map(|v| v.to_bits()).collect::<Vec<u32>>()));
        let arguments =
            [Argument::Word(1000), Argument::Word(1.5f32.to_bits()), Argument::Buffer(x), Argument::Buffer(y)];
        run(&module, "saxpy", [4, 256], &memory, &[x, y], &arguments).unwrap();
        let expected: Vec<u32> = values.iter().map(|&v| 1.5f32.mul_add(v, v).to_bits()).collect();
        assert_eq!(memory.read(y), expected);
    }
    for module in modules(Some("spin_lock_lanes")) {
        let mut memory = HostMemory::default();
        let [lock, count] = [(); 2].map(|()| memory.alloc::<u32>(1));
        let arguments = [Argument::Buffer(lock), Argument::Buffer(count)];
        run(&module, "spin_lock_lanes", [3, 64], &memory, &[lock, count], &arguments).unwrap();
        assert_eq!(memory.get(count, 0), 192);
    }
}
