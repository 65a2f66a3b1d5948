//! Does `hopper` show everything that an H200 has shown, and does PTX's model allow it? The file with the outcomes is
//! not part of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chorus_litmus::judge::allowed;
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::{LitmusTest, Outcome};
use chorus_protocol::registry::{Protocol, find};
use chorus_verify::config::{Loads, MachineConfig};
use chorus_verify::explore::{End, Exploration, OnForbidden};
use chorus_verify::litmus::Placement;
use chorus_verify::settings::Settings;

fn hopper() -> &'static dyn Protocol {
    find("hopper").unwrap()
}

/// A form of a test: its scope, its instructions, and where its threads were.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    test: String,
    scope: String,
    variant: String,
    placement: String,
}

/// The outcomes that were seen of each form.
fn seen() -> BTreeMap<Form, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/hardware/h200/litmus.csv");
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut seen: BTreeMap<Form, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let Some((before, rest)) = line.split_once(",\"") else { continue };
        let Some((variant, rest)) = rest.split_once("\",") else { continue };
        let Some((test, scope)) = before.split_once(',') else { continue };
        let cells: Vec<&str> = rest.split(',').collect();
        let [placement, outcome, count, ..] = cells[..] else { continue };
        let scope = if scope == "-" { "gpu" } else { scope };
        let [test, scope, variant, placement] = [test, scope, variant, placement].map(str::to_owned);
        let outcomes = seen.entry(Form { test, scope, variant, placement }).or_default();
        if count != "0" {
            outcomes.insert(outcome.to_owned());
        }
    }
    seen
}

/// The instructions of a variant: how it reads and writes data and flags, and what lies between two of them.
struct Instructions {
    load: String,
    store: String,
    load_flag: String,
    store_flag: String,
    fence: Option<String>,
}

impl Instructions {
    fn of(form: &Form) -> Instructions {
        let scope = &form.scope;
        let [weak, relaxed] = ["weak".to_owned(), format!("relaxed.{scope}")];
        let [acquire, release] = [format!("acquire.{scope}"), format!("release.{scope}")];
        let plain = |data: &String, fence: Option<&str>| Instructions {
            load: data.clone(),
            store: data.clone(),
            load_flag: data.clone(),
            store_flag: data.clone(),
            fence: fence.map(|fence| format!("{fence}.{scope}")),
        };
        match form.variant.as_str() {
            "weak" => plain(&weak, None),
            "relaxed" => plain(&relaxed, None),
            "relaxed+fence.acq_rel" => plain(&relaxed, Some("fence.acq_rel")),
            "relaxed+fence.sc" => plain(&relaxed, Some("fence.sc")),
            "weak+fence.acq_rel" => plain(&weak, Some("fence.acq_rel")),
            "weak+fence.sc" => plain(&weak, Some("fence.sc")),
            "acq-rel" => Instructions { load_flag: acquire, store_flag: release, ..plain(&relaxed, None) },
            "acq-rel, weak data" | "acq-rel, ld.nc data" => {
                Instructions { load_flag: acquire, store_flag: release, ..plain(&weak, None) }
            }
            "relaxed flag, weak data" => {
                Instructions { load_flag: relaxed.clone(), store_flag: relaxed, ..plain(&weak, None) }
            }
            other => panic!("no variant {other}"),
        }
    }

    /// The code of each thread of a test: `W` and `R` are data, `w` and `r` are flags, and a fence is between two.
    fn threads(&self, test: &str) -> Vec<Vec<String>> {
        let shape: &[&[&str]] = match test {
            "MP" => &[&["W x 1", "w y 1"], &["r y", "R x"]],
            "SB" => &[&["w x 1", "r y"], &["w y 1", "r x"]],
            "LB" => &[&["r x", "w y 1"], &["r y", "w x 1"]],
            "IRIW" => &[&["w x 1"], &["w y 1"], &["r x", "r y"], &["r y", "r x"]],
            "IRIW, compiled" => &[&["w x 1"], &["w y 1"], &["r x", "r y"], &["r x", "r y"]],
            "WRC" => &[&["w x 1"], &["r x", "w y 1"], &["r y", "R x"]],
            "CoRR" => &[&["w x 1"], &["r x", "R x"]],
            "2+2W" => &[&["w x 1", "w y 2"], &["w y 1", "w x 2"]],
            other => panic!("no test {other}"),
        };
        shape.iter().map(|thread| self.code(thread)).collect()
    }

    fn code(&self, thread: &[&str]) -> Vec<String> {
        let mut code = Vec::new();
        let mut register = 0;
        for (index, access) in thread.iter().enumerate() {
            code.extend(self.fence.clone().filter(|_| index > 0));
            let words: Vec<&str> = access.split(' ').collect();
            let (load, store) = match words[0] {
                "R" | "W" => (&self.load, &self.store),
                _ => (&self.load_flag, &self.store_flag),
            };
            code.push(match words[..] {
                [_, at, value] => format!("st.{store} {at}, {value}"),
                [_, at] => {
                    register += 1;
                    format!("ld.{load} r{}, {at}", register - 1)
                }
                _ => panic!("{access}"),
            });
        }
        code
    }
}

/// The registers of a test in the order in which the file names their values; none if it names words of memory.
fn registers(test: &str) -> &'static [&'static str] {
    match test {
        "MP" | "CoRR" => &["P1:r0", "P1:r1"],
        "SB" | "LB" => &["P0:r0", "P1:r0"],
        "IRIW" => &["P2:r0", "P2:r1", "P3:r0", "P3:r1"],
        "IRIW, compiled" => &["P2:r0", "P2:r1", "P3:r1", "P3:r0"],
        "WRC" => &["P1:r0", "P2:r0", "P2:r1"],
        _ => &[],
    }
}

/// A form as a litmus test that asks for an outcome.
fn litmus(form: &Form, outcome: &str) -> LitmusTest {
    // The assembler gives both readers of weak loads the same order of them.
    let compiled = form.test == "IRIW" && form.variant == "weak";
    let test = if compiled { "IRIW, compiled" } else { &form.test };
    let threads = Instructions::of(form).threads(test);
    let cta = |thread: usize| if form.placement == "same CTA" { 0 } else { thread };
    let head: Vec<String> = (0..threads.len()).map(|thread| format!("P{thread}@cta {},gpu 0", cta(thread))).collect();
    let rows = (0..threads.iter().map(Vec::len).max().unwrap_or(0)).map(|row| {
        let cells: Vec<&str> = threads.iter().map(|code| code.get(row).map_or("", String::as_str)).collect();
        format!(" {} ;\n", cells.join(" | "))
    });
    let values = outcome.split(';').map(|value| value.split_once('=').unwrap());
    let registers = registers(test);
    let terms: Vec<String> = values
        .enumerate()
        .map(|(index, (name, value))| {
            let name = registers.get(index).map_or(name.trim_matches(['[', ']']), |register| register);
            format!("{name} == {value}")
        })
        .collect();
    let rows: String = rows.collect();
    let text = format!(
        "PTX {}\n{{ x=0; y=0; }}\n {} ;\n{rows}exists ({})\n",
        form.test,
        head.join(" | "),
        terms.join(" /\\ ")
    );
    match parse(&text).unwrap_or_else(|error| panic!("{text}{error}")) {
        Parsed::Test(test) => test,
        Parsed::Unsupported { reason, .. } => panic!("{text}{reason}"),
    }
}

/// The placements of threads that are on different SMs: in one half of the L2 or both, and lines here and there.
const APART: [Placement; 5] =
    [Placement::OneModule, Placement::Apart, Placement::AtWriter, Placement::AtReader, Placement::Together];

/// The machines of a form, whose cores have several loads in flight.
fn machines(form: &Form, test: &LitmusTest) -> Vec<MachineConfig> {
    let placements = if form.placement == "different SMs" { &APART[..] } else { &APART[..1] };
    let machine = |&placement: &Placement| {
        let mut config = MachineConfig::for_placed(&test.program, placement).unwrap();
        config.loads = Loads::NonBlocking;
        if form.placement == "same SM" {
            for (wave, thread) in (0..).zip(&mut config.threads) {
                (thread.cache, thread.wave) = (0, wave);
            }
            config.topology.l1s = 1;
        }
        config
    };
    placements.iter().map(machine).collect()
}

/// Outcomes are looked for in searches of so many states. Most of them are complete.
const STATES: usize = 2_000_000;

/// The outcome that cores of Chorus cannot show: on an H200, `fence.sc.cta` does not wait for loads.
fn is_out_of_reach(form: &Form, outcome: &str) -> bool {
    form.test == "LB" && form.variant == "relaxed+fence.sc" && form.scope == "cta" && outcome == "x=1;y=1"
}

/// Whether a test's outcome is among these.
fn is_among(test: &LitmusTest, outcomes: &BTreeSet<Outcome>) -> bool {
    outcomes.iter().any(|outcome| test.program.holds(&test.condition, outcome))
}

/// Looks for the outcomes of a form on one machine after the other, until all are found.
fn check(form: &Form, outcomes: &BTreeSet<String>) {
    let tests: Vec<(&String, LitmusTest)> = outcomes.iter().map(|outcome| (outcome, litmus(form, outcome))).collect();
    let Some((_, first)) = tests.first() else { return };
    let model = allowed(&first.program, Model::Ptx).unwrap().outcomes;
    for (outcome, test) in &tests {
        assert!(is_among(test, &model), "{form:?}: {outcome} was seen, and PTX forbids it");
    }
    let mut missing: Vec<&(&String, LitmusTest)> =
        tests.iter().filter(|(outcome, _)| !is_out_of_reach(form, outcome)).collect();
    for config in machines(form, first) {
        let mut exploration = Exploration::new(hopper(), None, &config, OnForbidden::Stop);
        let end = exploration.run(&Settings::with_states(STATES));
        assert!(!matches!(end, End::Violated(_)), "{form:?}: {end:?}");
        let reached: BTreeSet<Outcome> = exploration.judge().reached().into_keys().collect();
        missing.retain(|(_, test)| !is_among(test, &reached));
        let out_of_reach =
            tests.iter().find(|(outcome, test)| is_out_of_reach(form, outcome) && is_among(test, &reached));
        assert!(out_of_reach.is_none(), "{form:?} is no longer out of reach");
        if missing.is_empty() {
            return;
        }
    }
    let missing: Vec<&str> = missing.iter().map(|(outcome, _)| outcome.as_str()).collect();
    panic!("{form:?}: {missing:?} were seen on an H200 and not reached");
}

fn check_all(tests: &[&str]) {
    let seen = seen();
    if seen.is_empty() {
        println!("skipped: the outcomes are not here");
        return;
    }
    seen.iter()
        .filter(|(form, _)| tests.contains(&form.test.as_str()))
        .for_each(|(form, outcomes)| check(form, outcomes));
}

#[test]
fn what_an_h200_shows_of_two_threads_is_allowed_and_reached() {
    check_all(&["MP", "SB", "LB", "CoRR", "2+2W"]);
}

#[test]
fn what_an_h200_shows_of_a_witness_is_allowed_and_reached() {
    check_all(&["WRC"]);
}

#[test]
fn what_an_h200_shows_of_two_witnesses_is_allowed_and_reached() {
    check_all(&["IRIW"]);
}
