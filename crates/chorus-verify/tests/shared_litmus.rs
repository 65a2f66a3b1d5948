//! Do public litmus tests that need scopes stay within the scoped memory model on HMG, and those that do not within SC
//! for data-race-free programs on machines with CPU cores? The tests are not part of the project.

use std::fs;
use std::path::{Path, PathBuf};

use chorus_litmus::parse::{Parsed, parse_all};
use chorus_litmus::test::{Instruction, Program};
use chorus_protocol::access::{Order, Scope};
use chorus_protocol::registry::find;
use chorus_verify::config::Stores;
use chorus_verify::litmus::{Placement, SuiteTest, run_litmus, run_placed};
use chorus_verify::settings::Settings;

/// Threads of the tests that are run here, and operations of all of them; `chorus litmus hmg FOLDER` runs the others,
/// in all placements.
const THREADS_MAX: usize = 2;
const OPERATIONS_MAX: usize = 6;

fn is_small(program: &Program) -> bool {
    let is_operation = |code: &&Instruction| {
        !matches!(code, Instruction::Add { .. } | Instruction::Branch { .. } | Instruction::Jump { .. })
    };
    let operations = program.threads.iter().flat_map(|thread| &thread.code).filter(is_operation).count();
    program.threads.len() <= THREADS_MAX && operations <= OPERATIONS_MAX
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "litmus") {
            found.push(path);
        }
    }
    found.sort();
}

/// Whether a test has several work-groups.
fn is_spread(program: &Program) -> bool {
    let work_group = |index: usize| (program.threads[index].gpu, program.threads[index].cta);
    (1..program.threads.len()).any(|index| work_group(index) != work_group(0))
}

/// How far what orders something in a test reaches.
fn scopes(program: &Program) -> impl Iterator<Item = Scope> {
    program.threads.iter().flat_map(|thread| &thread.code).filter_map(|instruction| match *instruction {
        Instruction::Load { order, scope, .. } | Instruction::Store { order, scope, .. } => {
            (order != Order::Weak).then_some(scope)
        }
        Instruction::Atomic { scope, .. } | Instruction::Fence { scope, .. } => Some(scope),
        Instruction::Barrier { .. } => Some(Scope::WorkGroup),
        Instruction::Add { .. } | Instruction::Branch { .. } | Instruction::Jump { .. } => None,
    })
}

/// The small tests that can be read; nothing where there are none.
fn tests() -> Vec<SuiteTest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/litmus");
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    let mut tests = Vec::new();
    for path in paths {
        let parsed = fs::read_to_string(&path).map_err(drop).and_then(|text| parse_all(&text).map_err(drop));
        let small = parsed.into_iter().flatten().filter_map(|parsed| match parsed {
            Parsed::Test(test) if is_small(&test.program) => Some(SuiteTest::new(test)),
            Parsed::Test(_) | Parsed::Unsupported { .. } => None,
        });
        tests.extend(small);
    }
    tests
}

#[test]
fn tests_that_need_scopes_stay_within_the_scoped_model_on_hmg() {
    let tests = tests();
    if tests.is_empty() {
        println!("skipped: the tests are not here");
        return;
    }
    let (mut ran, mut not_run) = (0, 0);
    for test in tests.iter().filter(|test| is_spread(&test.test.program) && scopes(&test.test.program).next().is_some())
    {
        match run_placed(find("hmg").unwrap(), None, test, Stores::Posted, Placement::Apart, &Settings::default()) {
            Ok(result) => {
                assert!(result.failure.is_none() && !result.bounded, "{}", result.to_text());
                ran += 1;
            }
            Err(_) => not_run += 1,
        }
    }
    println!("{ran} runs, {not_run} not possible");
    assert!(ran > 40, "{ran} runs, {not_run} not possible");
}

#[test]
fn tests_stay_within_sc_for_race_free_programs_beside_cpu_cores_and_compute_units() {
    let tests = tests();
    if tests.is_empty() {
        println!("skipped: the tests are not here");
        return;
    }
    let (mut ran, mut not_run) = (0, 0);
    // SC for programs without data races knows no scopes: what orders something has to reach everybody.
    let reaches_all = |program: &Program| !is_spread(program) || scopes(program).all(|scope| scope > Scope::WorkGroup);
    for test in tests.iter().filter(|test| reaches_all(&test.test.program)) {
        match run_litmus(find("smg").unwrap(), None, test, Stores::Posted) {
            Ok(result) => {
                assert!(result.failure.is_none() && !result.bounded, "{}", result.to_text());
                ran += 1;
            }
            Err(_) => not_run += 1,
        }
    }
    println!("{ran} runs, {not_run} not possible");
    assert!(ran > 40, "{ran} runs, {not_run} not possible");
}
