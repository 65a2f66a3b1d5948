//! Definitions of the metrics of a run: every counter, traffic by class, and energy.

use chorus_protocol::message::TrafficClass;
use chorus_protocol::registry::Protocol;
use chorus_protocol::tally::TallySpec;

use crate::energy;
use crate::stats::{COUNTERS, CountedOn, Distance, Unit};

/// Ends the meaning of metrics that only machines of several modules have.
const SEVERAL_MODULES: &str = "; only on machines of several modules";

/// Ends the meaning of metrics that only machines with a memory-side L3 have.
const WITH_L3: &str = "; only on machines with a memory-side L3";

/// Ends the meaning of metrics that only machines with a coherent L3 have.
const WITH_COHERENT_L3: &str = "; only on machines with a coherent L3";

/// Ends the meaning of metrics that only machines with sectors have.
const WITH_SECTORS: &str = "; only on machines whose caches fetch lines by sectors";

/// Ends the meaning of metrics that only protocols with translation units have.
const WITH_TRANSLATION: &str = "; only under protocols with translation units";

/// Ends the meaning of metrics that only machines with routers have.
const WITH_ROUTERS: &str = "; only on machines whose network is a mesh, a ring or a dragonfly";

/// Ends the meaning of metrics about the commands that shared banks get between kernels.
const WITH_COMMANDS: &str =
    "; only under protocols whose command processor gives L2s commands, on machines of several modules";

/// A metric's key, unit and meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The key in `--json` and in results.
    pub key: String,
    /// The unit of its value.
    pub unit: &'static str,
    /// The quantity that it measures.
    pub meaning: String,
}

impl Definition {
    /// A definition of these three texts.
    pub fn new(key: &str, unit: &'static str, meaning: &str) -> Definition {
        Definition { key: key.to_owned(), unit, meaning: meaning.to_owned() }
    }
}

/// The key of what controllers count about themselves.
pub fn metric_key(tally: &TallySpec) -> String {
    format!("protocol.{}", tally.key)
}

/// Every metric of a run and of each of its kernels. A run has the tallies of its own protocol only; the list has those
/// of all the protocols that are given.
pub fn definitions(protocols: &[&'static dyn Protocol]) -> Vec<Definition> {
    let counter_unit = |unit| match unit {
        Unit::Count => "count",
        Unit::Cycles => "core cycles",
    };
    let where_counted = |machines| match machines {
        CountedOn::AllMachines => "",
        CountedOn::SeveralModules => SEVERAL_MODULES,
        CountedOn::MemorySideL3 => WITH_L3,
        CountedOn::CoherentL3 => WITH_COHERENT_L3,
        CountedOn::Sectors => WITH_SECTORS,
        CountedOn::TranslationUnits => WITH_TRANSLATION,
        CountedOn::BankCommands => WITH_COMMANDS,
    };
    let mut definitions: Vec<Definition> = COUNTERS
        .iter()
        .map(|counter| {
            let meaning = format!("{}{}", counter.definition, where_counted(counter.counted_on));
            Definition::new(counter.key, counter_unit(counter.unit), &meaning)
        })
        .collect();
    let totals = [
        ("flits", "flits", "flits sent through the networks of modules", ""),
        ("bytes", "bytes", "bytes of headers and payloads sent through the networks of modules", ""),
        ("flit_hops", "flits", "sum over flits of the routers that they pass, one more than hops", WITH_ROUTERS),
    ];
    for (measure, unit, meaning, machines) in totals {
        definitions.push(Definition::new(&format!("traffic.{measure}"), unit, &format!("{meaning}{machines}")));
        for class in TrafficClass::BY_CONTENTS.into_iter().chain(TrafficClass::BY_REQUEST) {
            let meaning = format!("the same of class {}: {}{machines}", class.label(), class.contents());
            definitions.push(Definition::new(&format!("traffic.{measure}.{}", class.key()), unit, &meaning));
        }
    }
    Distance::ALL.into_iter().for_each(|distance| definitions.extend(of_distance(distance)));
    let tallies = protocols.iter().flat_map(|protocol| protocol.tallies());
    for tally in tallies {
        let definition = Definition::new(&metric_key(tally), "count", tally.meaning);
        if !definitions.contains(&definition) {
            definitions.push(definition);
        }
    }
    definitions.extend(energy::definitions());
    definitions.extend([
        Definition::new(
            "table.rows_max",
            "count",
            "the most rows of the Chiplet Coherence Table in use; only under protocols that have one",
        ),
        Definition::new("table.structures", "count", "data structures that kernels declared, all of them together"),
        Definition::new("table.structures_max", "count", "the most data structures that one kernel declared"),
    ]);
    definitions.extend([
        Definition::new("energy.nj", "nJ", "interconnect energy, dynamic and static"),
        Definition::new("energy.dynamic_nj", "nJ", "interconnect energy spent per flit"),
        Definition::new("energy.static_nj", "nJ", "interconnect energy spent per virtual-channel buffer and time"),
    ]);
    definitions
}

/// The metrics of messages that go this distance.
fn of_distance(distance: Distance) -> Vec<Definition> {
    let (key, between) = (distance.key(), distance.between());
    let mut definitions = Vec::new();
    for (measure, unit, what) in
        [("messages", "count", "messages sent"), ("bytes", "bytes", "bytes of headers and payloads sent")]
    {
        let meaning = format!("{what} {between}{SEVERAL_MODULES}");
        definitions.push(Definition::new(&format!("{key}.{measure}"), unit, &meaning));
        for class in TrafficClass::BY_CONTENTS {
            let label = class.label();
            let meaning = format!("the same of class {label}: {}", class.contents());
            definitions.push(Definition::new(&format!("{key}.{measure}.{}", label.to_lowercase()), unit, &meaning));
        }
    }
    let meaning = match distance {
        Distance::InterGpm => "bytes that left modules, over what their ports out could move in the time",
        Distance::InterGpu => "bytes that left GPUs, over what their ports out could move in the time",
    };
    definitions.push(Definition::new(
        &format!("{key}.utilisation"),
        "fraction",
        &format!("{meaning}{SEVERAL_MODULES}"),
    ));
    definitions
}
