//! Does a search find the same, however it searches?

use std::sync::atomic::AtomicBool;

use chorus_protocol::registry::{PROTOCOLS, Protocol, find};
use chorus_verify::check::{
    CheckConfig, CheckReport, Verdict, check_with, configurations, find_configuration, smoke_configurations,
};
use chorus_verify::config::MachineConfig;
use chorus_verify::explore::{End, Exploration, OnForbidden};
use chorus_verify::faults::find_fault;
use chorus_verify::litmus;
use chorus_verify::machine::ExploredMachine;
use chorus_verify::settings::{Bound, Orders, Reduction, Settings, Storage};
use chorus_verify::table::TransitionTable;

use crate::explored;

const UNREDUCED: Settings = Settings {
    reduction: Reduction::None,
    orders: Orders::Reduced,
    storage: Storage::Exact,
    states: 20_000_000,
    bytes: None,
    threads: None,
    stop: None,
};

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn smoke() -> CheckConfig {
    smoke_configurations().remove(0)
}

/// Without and with mirror images counted once.
fn both(protocol: &'static dyn Protocol, config: &CheckConfig) -> [CheckReport; 2] {
    [check_with(protocol, None, config, &UNREDUCED), explored::report(protocol, config).clone()]
}

#[test]
fn every_protocol_keeps_the_symmetries_of_its_machines() {
    for protocol in PROTOCOLS.iter().filter(|protocol| !protocol.name().starts_with("tc-weak")) {
        let [full, reduced] = both(*protocol, &smoke());
        assert_eq!((reduced.symmetry, reduced.configuration_symmetry), (2, 2), "{}", reduced.to_text());
        assert!(full.passed() && reduced.passed(), "{}", reduced.to_text());
        assert!(reduced.states < full.states && full.states <= 2 * reduced.states, "{}", reduced.to_text());
        assert_eq!((full.programs, full.executions), (reduced.programs, reduced.executions));
    }
}

#[test]
fn caches_lines_banks_and_words_are_exchanged() {
    for (name, symmetry) in [("words", 4), ("banks", 4), ("lines", 4)] {
        let config = find_configuration(protocol("no-l1"), name).unwrap();
        let [full, reduced] = both(protocol("no-l1"), &config);
        assert_eq!(reduced.symmetry, symmetry, "{}", reduced.to_text());
        assert!(full.passed() && reduced.passed());
        assert!(full.states <= symmetry * reduced.states, "{name}: {} and {}", full.states, reduced.states);
        assert_eq!((full.programs, full.executions), (reduced.programs, reduced.executions));
    }
}

#[test]
fn litmus_tests_reach_the_same_outcomes_with_mirror_images_counted_once() {
    let mut symmetric = 0;
    for test in litmus::tests().iter().filter(|test| test.test.program.threads.len() <= 3) {
        let config = MachineConfig::for_program(&test.test.program).unwrap();
        let [full, reduced] = [UNREDUCED, Settings::default()].map(|settings| {
            let mut exploration = Exploration::new(protocol("no-coh"), None, &config, OnForbidden::Collect);
            exploration.run(&settings);
            exploration
        });
        let [outcomes, reduced_outcomes] =
            [&full, &reduced].map(|exploration| exploration.judge().reached().into_keys().collect::<Vec<_>>());
        assert_eq!(outcomes, reduced_outcomes, "{}", test.test.name);
        assert!(full.states() <= reduced.symmetry() * reduced.states(), "{}", test.test.name);
        symmetric += usize::from(reduced.symmetry() > 1);
    }
    assert!(symmetric >= 5, "{symmetric} tests have symmetries");
}

/// Everything that the cells of the table of a search say.
fn cells(protocol: &'static dyn Protocol, settings: &Settings) -> Vec<String> {
    let mut cells = Vec::new();
    for config in smoke_configurations() {
        let mut exploration = Exploration::new(protocol, None, &config.machine, OnForbidden::Stop);
        assert_eq!(exploration.run(settings), End::Exhausted);
        let mut table = TransitionTable::empty(protocol);
        table.absorb(exploration.machine());
        for role in table.roles() {
            for (state, event) in role.states().flat_map(|state| role.events().map(move |event| (state, event))) {
                cells.push(format!("{} {state} {event} {:?}", config.name, role.cell(state, event)));
            }
        }
    }
    cells
}

#[test]
fn the_table_is_the_same_with_mirror_images_counted_once() {
    for name in ["gpu-vi", "tc-strong"] {
        assert_eq!(cells(protocol(name), &UNREDUCED), cells(protocol(name), &Settings::default()), "{name}");
    }
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let fault = find_fault(protocol("gpu-vi"), "lost-write-back");
    for (protocol, fault) in [(protocol("gpu-vi"), None), (protocol("gpu-vi"), fault), (protocol("tc-strong"), None)] {
        for config in smoke_configurations() {
            let [one, three] = [1, 3].map(|threads| {
                let settings = Settings { threads: Some(threads), ..Settings::default() };
                check_with(protocol, fault, &config, &settings)
            });
            assert_eq!(one, three);
        }
    }
}

/// The way to a violation, made again on a machine that knows nothing of mirror images; the text of what is wrong after
/// its last move.
fn replayed(protocol: &'static dyn Protocol, fault: u8, config: &CheckConfig) -> Option<(String, Option<String>)> {
    let mut exploration = Exploration::new(protocol, Some(fault), &config.machine, OnForbidden::Stop);
    let End::Violated(failure) = exploration.run(&Settings::default()) else { return None };
    let (start, actions) = exploration.path_to(failure.state);
    let mut machine = ExploredMachine::new(protocol, Some(fault), &config.machine);
    let mut state = if start == exploration.machine().cold() { machine.cold() } else { machine.warm().unwrap() };
    for action in actions {
        assert_eq!(machine.apply(action, &mut state), Ok(true), "{}", failure.violation);
    }
    let last = failure.last.first().map(|&action| machine.apply(action, &mut state).unwrap_err().to_string());
    let promised = chorus_verify::invariants::Promised::of(protocol.promises());
    let shown = last.or_else(|| Some(promised.check(&machine, &state).err()?.to_string()));
    Some((failure.violation.to_string(), shown))
}

#[test]
fn the_way_to_a_violation_leads_there_on_a_machine_of_its_own() {
    let (mut ways, mut shown) = (0, 0);
    for protocol in [protocol("gpu-vi"), protocol("no-coh"), protocol("mesi")] {
        for fault in 0..protocol.faults().len() {
            for config in smoke_configurations().iter().filter(|config| config.name != "smoke-lines") {
                let Some((violation, again)) = replayed(protocol, fault as u8, config) else { continue };
                ways += 1;
                if let Some(again) = again {
                    assert_eq!(again, violation);
                    shown += 1;
                }
            }
        }
    }
    assert!(ways >= 10 && shown >= 5, "{ways} ways, {shown} violations shown again");
}

#[test]
fn counterexamples_are_as_short_with_mirror_images_counted_once() {
    let length = |protocol, fault, settings: &Settings| {
        let mut exploration = Exploration::new(protocol, Some(fault), &smoke().machine, OnForbidden::Stop);
        match exploration.run(settings) {
            End::Violated(failure) => {
                let (_, actions) = exploration.path_to(failure.state);
                Some(actions.len() + failure.last.len())
            }
            End::Exhausted | End::Bounded(_) => None,
        }
    };
    for protocol in ["no-l1", "no-coh", "gpu-vi", "mesi"].map(protocol) {
        for fault in 0..protocol.faults().len() as u8 {
            let lengths = [UNREDUCED, Settings::default()].map(|settings| length(protocol, fault, &settings));
            assert_eq!(lengths[0], lengths[1], "{} with fault {fault}", protocol.name());
        }
    }
}

#[test]
fn fingerprints_find_as_many_states_and_say_what_they_may_have_missed() {
    let compact = Settings { storage: Storage::Fingerprints, ..Settings::default() };
    let [exact, compact] =
        [Settings::default(), compact].map(|settings| check_with(protocol("mesi"), None, &smoke(), &settings));
    assert_eq!(
        (compact.states, compact.transitions, compact.executions),
        (exact.states, exact.transitions, exact.executions)
    );
    assert!(compact.bytes < exact.bytes, "{} and {} bytes", compact.bytes, exact.bytes);
    let states = compact.states as f64;
    assert_eq!(compact.omission_probability, Some(states * states / 2_f64.powi(65)));
    assert!(compact.to_text().contains("one was missed with a probability below"), "{}", compact.to_text());
    assert_eq!(exact.omission_probability, None);
}

#[test]
fn fingerprints_lead_to_the_same_violation() {
    let fault = find_fault(protocol("gpu-vi"), "lost-write-back");
    let compact = Settings { storage: Storage::Fingerprints, ..Settings::default() };
    let verdicts = [Settings::default(), compact].map(|settings| {
        let report = check_with(protocol("gpu-vi"), fault, &smoke(), &settings);
        assert!(matches!(report.verdict, Verdict::Violated(_)), "{}", report.to_text());
        report.verdict
    });
    assert_eq!(verdicts[0], verdicts[1]);
}

#[test]
fn a_search_that_meets_its_bound_on_memory_says_so() {
    let limit = 2 << 20;
    let settings = Settings { bytes: Some(limit), ..UNREDUCED };
    let report = check_with(protocol("mesi"), None, &smoke(), &settings);
    assert_eq!(report.verdict, Verdict::Bounded(Bound::Bytes(limit)));
    assert!(
        !report.passed() && report.to_text().contains("the bound of 2 MiB of memory was met"),
        "{}",
        report.to_text()
    );
}

#[test]
fn a_search_that_is_stopped_shows_nothing() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let settings = Settings { stop: Some(&STOP), ..Settings::default() };
    let endless = configurations(protocol("mesi")).into_iter().find(|config| config.machine.is_endless());
    for config in [smoke(), endless.unwrap()] {
        let report = check_with(protocol("mesi"), None, &config, &settings);
        assert_eq!(report.verdict, Verdict::Bounded(Bound::Stopped), "{}", config.name);
        assert!(!report.passed());
    }
}
