//! Can `hopper` show everything that an H200 has shown, and does PTX's model allow it? The outcomes were measured by
//! this project; the file with them is not part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chorus_litmus::judge::allowed;
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::{LitmusTest, Outcome};
use chorus_protocol::registry::{Protocol, find};
use chorus_verify::config::{Loads, MachineConfig};
use chorus_verify::explore::{Exploration, OnForbidden};
use chorus_verify::litmus::Placement;
use chorus_verify::settings::Settings;

fn hopper() -> &'static dyn Protocol {
    find("hopper").unwrap()
}

/// A row of the file: which test in which form, where its threads were, and an outcome that was seen.
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
        "WRC" => &["P1:r0", "P2:r0", "P2:r1"],
        _ => &[],
    }
}

/// A form as a litmus test that asks for an outcome.
fn litmus(form: &Form, outcome: &str) -> LitmusTest {
    let threads = Instructions::of(form).threads(&form.test);
    let cta = |thread: usize| if form.placement == "same CTA" { 0 } else { thread };
    let head: Vec<String> = (0..threads.len()).map(|thread| format!("P{thread}@cta {},gpu 0", cta(thread))).collect();
    let rows = (0..threads.iter().map(Vec::len).max().unwrap_or(0)).map(|row| {
        let cells: Vec<&str> = threads.iter().map(|code| code.get(row).map_or("", String::as_str)).collect();
        format!(" {} ;\n", cells.join(" | "))
    });
    let values = outcome.split(';').map(|value| value.split_once('=').unwrap());
    let registers = registers(&form.test);
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

/// The machines of a form: its threads beside one private cache or several, in one half of the L2 or both.
fn machines(form: &Form, test: &LitmusTest) -> Vec<MachineConfig> {
    let placements = match form.placement.as_str() {
        "different SMs" => vec![Placement::Apart, Placement::AtWriter, Placement::AtReader, Placement::Together],
        _ => vec![Placement::OneModule],
    };
    let machine = |placement| {
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
    placements.into_iter().map(machine).collect()
}

/// The outcomes that the protocol reaches.
fn reached(form: &Form, test: &LitmusTest) -> (BTreeSet<Outcome>, usize, bool) {
    let (mut outcomes, mut states, mut bounded) = (BTreeSet::new(), 0, false);
    for config in machines(form, test) {
        let mut exploration = Exploration::new(hopper(), None, &config, OnForbidden::Collect);
        let end = exploration.run(&Settings::with_states(300_000));
        bounded |= format!("{end:?}").starts_with("Bounded");
        assert!(!format!("{end:?}").starts_with("Violated"), "{end:?}");
        outcomes.extend(exploration.judge().reached().into_keys());
        states += exploration.states();
    }
    (outcomes, states, bounded)
}

#[test]
fn everything_that_an_h200_shows_is_allowed_and_reachable() {
    let seen = seen();
    if seen.is_empty() {
        println!("skipped: the outcomes are not here");
        return;
    }
    let only = std::env::var("ONLY").ok();
    for (form, outcomes) in &seen {
        if only.as_ref().is_some_and(|only| !only.split(',').any(|test| test == form.test)) {
            continue;
        }
        let tests: Vec<LitmusTest> = outcomes.iter().map(|outcome| litmus(form, outcome)).collect();
        let Some(first) = tests.first() else { continue };
        let model = allowed(&first.program, Model::Ptx).unwrap().outcomes;
        let (reached, states, bounded) = reached(form, first);
        let holds = |test: &LitmusTest, outcomes: &BTreeSet<Outcome>| {
            outcomes.iter().any(|outcome| test.program.holds(&test.condition, outcome))
        };
        let forbidden: Vec<&String> =
            outcomes.iter().zip(&tests).filter(|(_, test)| !holds(test, &model)).map(|(o, _)| o).collect();
        let missing: Vec<&String> =
            outcomes.iter().zip(&tests).filter(|(_, test)| !holds(test, &reached)).map(|(o, _)| o).collect();
        let beyond = reached.difference(&model).count();
        println!(
            "{} {} {} {}: {states} states{}, {} of {} reached; forbidden {forbidden:?}, not reached {missing:?}, reached against the model {beyond}",
            form.test,
            form.scope,
            form.variant,
            form.placement,
            if bounded { " bounded" } else { "" },
            reached.len(),
            model.len()
        );
    }
}
