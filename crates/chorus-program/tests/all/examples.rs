//! Do the shipped programs leave what the host computes, from each of three compilers?

use std::path::{Path, PathBuf};

use chorus_kernel::{HostMemory, flat};
use chorus_program::ProgramFile;
use chorus_system::Scale;
use chorus_workloads::Workload;

use super::own::words;
use super::reference::{Expected, expected};

const COMPILERS: [&str; 3] = ["compute_70", "compute_75", "sm_90"];

/// The compiler whose modules the shipped program files name.
const NAMED: &str = "sm_90";

/// The programs and whether their work-groups communicate.
const PROGRAMS: [(&str, bool); 19] = [
    ("bfs", false),
    ("fir", false),
    ("grid_barrier", true),
    ("histogram_global", false),
    ("histogram_shared", false),
    ("matmul_naive", false),
    ("matmul_tiled", false),
    ("pipeline_flags", true),
    ("reduce_atomic", false),
    ("saxpy", false),
    ("scan_lookback", true),
    ("spin_lock", true),
    ("spin_lock_lanes", true),
    ("spmv_pr", false),
    ("stencil2d", false),
    ("ticket_lock", true),
    ("transpose_naive", false),
    ("transpose_tiled", false),
    ("work_queue", true),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cuda")
}

/// Runs a program with the module of a compiler, and compares its memory with what the host computes.
fn check(name: &str, compiler: &str) {
    let path = folder().join(name).join("program.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(NAMED), "{name}");
    let program = ProgramFile::parse(&path.display().to_string(), &text.replace(NAMED, compiler));
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let sizes = program.sizes_at(Scale::Quick);
    assert_eq!(program.misfit(&sizes), None, "{name}");
    let mut memory = HostMemory::default();
    let mut built = program.prepare(&sizes, 1, &mut memory);
    flat::run(built.as_mut(), &memory).unwrap_or_else(|wrong| panic!("{name} from {compiler}: {wrong}"));
    let values: Vec<(&str, u64)> = sizes.iter().map(|(spec, value)| (spec.key, value)).collect();
    for (buffer, expected) in expected(name, &values) {
        let bits = words(&memory, buffer, expected.len());
        expected.compare(&bits).unwrap_or_else(|wrong| panic!("{name} from {compiler}: {wrong}"));
    }
    let communicates = PROGRAMS.iter().find(|(program, _)| *program == name).is_some_and(|(_, it)| *it);
    assert_eq!(program.communicates(), communicates, "{name} from {compiler}");
}

fn check_all(names: &[(&str, bool)]) {
    names.iter().for_each(|(name, _)| COMPILERS.iter().for_each(|compiler| check(name, compiler)));
}

#[test]
fn the_first_programs_are_right() {
    check_all(&PROGRAMS[..5]);
}

#[test]
fn the_second_programs_are_right() {
    check_all(&PROGRAMS[5..9]);
}

#[test]
fn the_third_programs_are_right() {
    check_all(&PROGRAMS[9..15]);
}

#[test]
fn the_last_programs_are_right() {
    check_all(&PROGRAMS[15..]);
}

#[test]
fn every_folder_of_examples_is_tested_and_accepts_its_sizes_at_every_scale() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| folder().join(name).is_dir())
        .collect();
    found.sort();
    assert_eq!(found, PROGRAMS.map(|(name, _)| name.to_owned()));
    for name in found {
        let program = chorus_program::load(&folder().join(&name).join("program.toml").display().to_string());
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        for scale in [Scale::Quick, Scale::Medium, Scale::Paper] {
            assert_eq!(program.misfit(&program.sizes_at(scale)), None, "{name} at {scale:?} scale");
        }
    }
}

#[test]
fn a_wrong_bit_in_a_checked_buffer_is_found() {
    let program = chorus_program::load(&folder().join("saxpy/program.toml").display().to_string()).unwrap();
    let mut memory = HostMemory::default();
    let mut built = program.prepare(&program.sizes_at(Scale::Quick), 1, &mut memory);
    while let Some(kernel) = built.next_kernel(&memory) {
        flat::run_kernel(&kernel, &memory).unwrap();
    }
    assert_eq!(built.check(&memory).not_wrong(), Ok(()));
    let word = memory.buffers()[1].start + 5;
    memory.store(word, memory.load(word) ^ 1);
    assert!(built.check(&memory).not_wrong().unwrap_err().0.starts_with("y[5] is "));
    assert_eq!(Expected::Words(vec![1, 2]).compare(&[1, 3]), Err("word 1 is 3 instead of 2".to_owned()));
}
