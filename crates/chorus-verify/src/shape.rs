//! Machines of any size by a line of text, as in `caches=4,lines=1,words=2,modules=3,gpus=2,banks=2,operations=2`.
//!
//! The text names the size of a machine and the operations of its threads. Caches are dealt out to the modules in turn,
//! and threads to the caches. Line 0 lies in the memory of the first module, line 1 in that of the second, and so on.
//! Every thread chooses each of its operations freely. Caches and banks have room for one line.

use std::fmt;
use std::str::FromStr;

use chorus_protocol::access::Scope;
use chorus_protocol::address::Topology;
use chorus_protocol::registry::{Protocol, Reach};
use thiserror::Error;

use crate::check::CheckConfig;
use crate::config::{Evictions, MachineConfig};
use crate::heterogeneous;
use crate::names::interned;
use crate::program::WORDS;
use crate::scoped::{Choice, steps};
use crate::words::Words;

/// The size of a machine and the operations of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    numbers: [u8; KEYS.len()],
    evictions: Evictions,
}

/// A number of a shape.
struct Key {
    name: &'static str,
    default: u8,
    range: (u8, u8),
    meaning: &'static str,
}

const fn key(name: &'static str, default: u8, range: (u8, u8), meaning: &'static str) -> Key {
    Key { name, default, range, meaning }
}

const GPUS: usize = 0;
const MODULES: usize = 1;
const BANKS: usize = 2;
const CACHES: usize = 3;
const CPUS: usize = 4;
const THREADS: usize = 5;
const LINES: usize = 6;
const LINE_WORDS: usize = 7;
const OPERATIONS: usize = 8;
const ATOMICS: usize = 9;
const FENCES: usize = 10;

/// A number of threads that means one for each cache.
const AS_CACHES: u8 = 0;

/// The numbers of a shape, by the constants above.
const KEYS: [Key; 11] = [
    key("gpus", 1, (1, 4), "GPUs"),
    key("modules", 1, (1, 4), "modules of each GPU"),
    key("banks", 1, (1, 4), "banks of the L2 in each module"),
    key("caches", 2, (1, 8), "private caches with threads"),
    key("cpus", 0, (0, 8), "private caches that belong to CPU cores"),
    key("threads", AS_CACHES, (0, 8), "threads; 0 means one for each cache"),
    key("lines", 1, (1, 4), "lines of memory that threads access"),
    key("words", 1, (1, WORDS as u8), "words of each line that threads access"),
    key("operations", 1, (1, 4), "operations of each thread"),
    key("atomics", 1, (0, 1), "whether threads exchange words"),
    key("fences", 1, (0, 1), "whether threads have fences"),
];

/// The moments at which lines leave, by name.
const EVICTIONS: [(&str, Evictions); 4] = [
    ("anytime", Evictions::Anytime),
    ("private", Evictions::PrivateAnytime),
    ("shared", Evictions::SharedAnytime),
    ("needed", Evictions::WhenNeeded),
];

/// The reason why a text is not a shape, or why a protocol has no machine of a shape.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// A part of the text is not `KEY=VALUE`, or its key is not known.
    #[error("`{0}` is not a part of a machine; accepted are {accepted}", accepted = accepted())]
    Part(String),
    /// A value is out of range.
    #[error("{key}={value} is not accepted; {key} ({meaning}) is {accepted}")]
    Value {
        /// The name of the number.
        key: &'static str,
        /// The value as it was given.
        value: String,
        /// A description of the number.
        meaning: &'static str,
        /// The values that are accepted.
        accepted: String,
    },
    /// The protocol is not made for such a machine.
    #[error("{protocol} has no machine with {what}; {reason}")]
    Unfit {
        /// The name of the protocol.
        protocol: &'static str,
        /// The part of the machine that does not fit.
        what: String,
        /// The reason in words.
        reason: &'static str,
    },
}

/// All keys with their ranges.
fn accepted() -> String {
    let ranges = KEYS.iter().map(|key| format!("{}={}..{}", key.name, key.range.0, key.range.1));
    let evictions = EVICTIONS.map(|(name, _)| name).join("|");
    ranges.chain([format!("evictions={evictions}")]).collect::<Vec<_>>().join(", ")
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { numbers: std::array::from_fn(|index| KEYS[index].default), evictions: Evictions::SharedAnytime }
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Shape, ShapeError> {
        let mut shape = Shape::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| ShapeError::Part(part.to_owned()))?;
            if key == "evictions" {
                shape.evictions = evictions(value)?;
                continue;
            }
            let index = KEYS.iter().position(|known| known.name == key);
            let index = index.ok_or_else(|| ShapeError::Part(part.to_owned()))?;
            let Key { name, range: (min, max), meaning, .. } = KEYS[index];
            let number = value.parse().ok().filter(|number| (min..=max).contains(number));
            shape.numbers[index] = number.ok_or_else(|| ShapeError::Value {
                key: name,
                value: value.to_owned(),
                meaning,
                accepted: format!("a number from {min} to {max}"),
            })?;
        }
        Ok(shape)
    }
}

fn evictions(value: &str) -> Result<Evictions, ShapeError> {
    let found = EVICTIONS.iter().find(|(name, _)| *name == value);
    found.map(|(_, evictions)| *evictions).ok_or_else(|| ShapeError::Value {
        key: "evictions",
        value: value.to_owned(),
        meaning: "the caches that lines leave at any moment",
        accepted: format!("one of {}", EVICTIONS.map(|(name, _)| name).join(", ")),
    })
}

/// Numbers that are not the default, and evictions unless they are those of shared banks.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = KEYS.iter().zip(self.numbers).filter(|(key, number)| key.default != *number);
        let mut parts: Vec<String> = numbers.map(|(key, number)| format!("{}={number}", key.name)).collect();
        let evictions = EVICTIONS.iter().find(|(_, evictions)| *evictions == self.evictions);
        if let Some((name, _)) = evictions.filter(|(_, evictions)| *evictions != Shape::default().evictions) {
            parts.push(format!("evictions={name}"));
        }
        if parts.is_empty() {
            parts.push(format!("{}={}", KEYS[CACHES].name, KEYS[CACHES].default));
        }
        f.write_str(&parts.join(","))
    }
}

impl Shape {
    fn number(&self, index: usize) -> u16 {
        u16::from(self.numbers[index])
    }

    fn modules(&self) -> u16 {
        self.number(GPUS) * self.number(MODULES)
    }

    /// The private caches of each module.
    fn caches_of_module(&self) -> u16 {
        self.number(CACHES).div_ceil(self.modules())
    }

    /// The cache beside a thread.
    fn cache_of(&self, thread: u16) -> u16 {
        let cache = thread % self.number(CACHES);
        cache % self.modules() * self.caches_of_module() + cache / self.modules()
    }

    fn threads(&self) -> u16 {
        if self.numbers[THREADS] == AS_CACHES { self.number(CACHES) } else { self.number(THREADS) }
    }

    /// The operations that a thread chooses from.
    fn alphabet(&self, protocol: &dyn Protocol) -> Vec<Choice> {
        let several_modules = protocol.reach() == Reach::AnyMachine;
        let is_weak = several_modules || heterogeneous::applies(protocol);
        let widest = if is_weak { Scope::System } else { Scope::Gpu };
        let mut choices = Vec::new();
        for line in 0..self.numbers[LINES] {
            let mut words: Vec<Words> = (0..self.numbers[LINE_WORDS]).map(|word| Words::one(line, word)).collect();
            words.extend((self.numbers[LINE_WORDS] > 1).then_some(Words::all(line)));
            for at in words {
                choices.extend(if is_weak {
                    [Choice::WeakLoad(at), Choice::WeakStore(at)]
                } else {
                    [Choice::Load(at, widest), Choice::Store(at, widest)]
                });
            }
            let all = if self.numbers[LINE_WORDS] > 1 { Words::all(line) } else { Words::one(line, 0) };
            choices.extend((self.numbers[ATOMICS] > 0).then_some(Choice::Exchange(all, widest)));
        }
        if self.numbers[FENCES] > 0 {
            choices.push(Choice::Fence(widest));
            choices.extend(several_modules.then_some(Choice::Fence(Scope::Gpu)));
        }
        choices
    }

    /// The machine of this shape for a protocol.
    pub fn machine(&self, protocol: &dyn Protocol) -> Result<MachineConfig, ShapeError> {
        self.fits(protocol)?;
        let choices = self.alphabet(protocol);
        let places = vec![choices.as_slice(); self.number(OPERATIONS).into()];
        let threads = 0..self.threads();
        let caches: Vec<u16> = threads.clone().map(|thread| self.cache_of(thread)).collect();
        let config = MachineConfig::for_choices(
            &caches,
            self.numbers[LINES],
            threads.map(|thread| steps(usize::from(thread), &places)),
        );
        let modules = [self.number(GPUS), self.number(MODULES)];
        let config = config.on_banks(modules, self.caches_of_module(), self.number(BANKS), 0);
        let evictions = match self.evictions {
            Evictions::SharedAnytime if self.modules() == 1 => Evictions::Anytime,
            other => other,
        };
        let topology = Topology { cpus: self.number(CPUS), ..config.topology };
        Ok(MachineConfig { evictions, topology, ..config })
    }

    fn fits(&self, protocol: &dyn Protocol) -> Result<(), ShapeError> {
        let protocol_name = protocol.name();
        let unfit = |what, reason| Err(ShapeError::Unfit { protocol: protocol_name, what, reason });
        if self.modules() > 1 && protocol.reach() == Reach::OneModule {
            return unfit(format!("{} modules", self.modules()), "it is for one module");
        }
        if self.number(CPUS) > 0 && !heterogeneous::applies(protocol) {
            return unfit(format!("{} CPU cores", self.number(CPUS)), "it knows compute units only");
        }
        if self.number(CPUS) > self.number(CACHES) {
            return unfit(format!("{} CPU cores", self.number(CPUS)), "there are fewer private caches");
        }
        Ok(())
    }

    /// The configuration of this shape, under its text as a name.
    pub fn configuration(&self, protocol: &dyn Protocol) -> Result<CheckConfig, ShapeError> {
        let machine = self.machine(protocol)?;
        Ok(CheckConfig { name: interned(self.to_string()), description: interned(self.describe()), machine })
    }

    fn describe(&self) -> String {
        let parts = KEYS.iter().zip(self.numbers).take(ATOMICS).filter(|(key, number)| {
            *number > 1 || (key.name == "cpus" && *number > 0) || matches!(key.name, "lines" | "operations")
        });
        parts.map(|(key, number)| counted(number, key.meaning)).collect::<Vec<_>>().join(", ")
    }
}

/// A number of things whose name in the plural begins with a word that ends in s.
fn counted(number: u8, things: &str) -> String {
    match things.split_once("s ") {
        Some((thing, rest)) if number == 1 => format!("1 {thing} {rest}"),
        Some(_) | None => format!("{number} {things}"),
    }
}

/// Larger and other machines than the rest of a protocol's configurations have. There is one for each kind that the
/// protocol can have: four private caches, three and four modules of a GPU, two banks of a module, three threads of a
/// module, two GPUs of two modules with a thread in each, and four GPUs.
pub fn configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let shapes: &[&str] = if heterogeneous::applies(protocol) {
        &["caches=4,cpus=2,atomics=0,evictions=private"]
    } else if protocol.reach() == Reach::OneModule {
        &[
            "caches=4,atomics=0,fences=0,evictions=needed",
            "banks=2,lines=2,caches=3,atomics=0,fences=0,evictions=needed",
        ]
    } else {
        &[
            "modules=3,caches=3,fences=0",
            "modules=4,caches=4,atomics=0,fences=0,evictions=needed",
            "gpus=2,modules=2,caches=4,atomics=0,fences=0,evictions=needed",
            "modules=2,banks=2,lines=2,atomics=0,fences=0",
            "modules=2,caches=6,threads=5,atomics=0,fences=0,evictions=needed",
            "gpus=4,caches=4,atomics=0,fences=0,evictions=needed",
        ]
    };
    of_texts(protocol, shapes)
}

/// Still larger machines, which together take a minute or several.
pub fn larger_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let shapes: &[&str] = if heterogeneous::applies(protocol) {
        &[
            "caches=4,cpus=2,evictions=needed",
            "caches=3,cpus=1,words=2,atomics=0,evictions=needed",
            "caches=3,cpus=1,operations=2,atomics=0,fences=0,evictions=needed",
        ]
    } else if protocol.reach() == Reach::OneModule {
        &["caches=4,fences=0", "caches=3,words=2,fences=0", "caches=3,lines=2,atomics=0,fences=0"]
    } else {
        &[
            "modules=4,caches=4,fences=0",
            "gpus=3,caches=3,fences=0",
            "gpus=2,modules=2,caches=3,operations=2,atomics=0,fences=0,evictions=needed",
            "modules=3,caches=3,operations=2,atomics=0,fences=0,evictions=needed",
            "modules=3,caches=2,operations=2,atomics=0,evictions=needed",
            "modules=2,banks=2,lines=2,atomics=0,operations=2,evictions=needed",
        ]
    };
    of_texts(protocol, shapes)
}

fn of_texts(protocol: &dyn Protocol, shapes: &[&str]) -> Vec<CheckConfig> {
    let of = |text: &&str| text.parse::<Shape>().ok()?.configuration(protocol).ok();
    shapes.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chorus_protocol::registry::{PROTOCOLS, find};
    use proptest::prelude::*;

    #[test]
    fn a_shape_is_a_machine_of_that_size() {
        let shape: Shape = "caches=4,lines=1,words=2,modules=3,gpus=2,banks=2,operations=2".parse().unwrap();
        let machine = shape.machine(find("hmg").unwrap()).unwrap();
        let Topology { gpus, gpms, l1s, l2s, .. } = machine.topology;
        assert_eq!((gpus, gpms, l1s, l2s), (2, 3, 6, 12));
        assert_eq!(machine.threads.iter().map(|thread| thread.cache).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(machine.longest(), 2);
    }

    #[track_caller]
    fn check_refused(protocol: &str, text: &str, expected: &str) {
        let protocol = find(protocol).unwrap();
        let refused = text.parse().and_then(|shape: Shape| shape.machine(protocol)).unwrap_err();
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }

    #[test]
    fn what_is_not_a_machine_is_refused_with_what_would_be_accepted() {
        check_refused("hmg", "caches", "`caches` is not a part of a machine; accepted are gpus=1..4, ");
        check_refused("hmg", "caches=9", "caches=9 is not accepted; caches (private caches with threads) is a number");
        check_refused("hmg", "evictions=never", "evictions=never is not accepted; evictions (the caches that");
        check_refused("gpu-vi", "modules=2", "gpu-vi has no machine with 2 modules; it is for one module");
        check_refused("gpu-vi", "cpus=1", "gpu-vi has no machine with 1 CPU cores; it knows compute units only");
        check_refused("smg", "cpus=3", "smg has no machine with 3 CPU cores; there are fewer private caches");
    }

    #[test]
    fn every_protocol_has_larger_machines() {
        for protocol in PROTOCOLS {
            let machines = configurations(*protocol);
            assert!(!machines.is_empty(), "{}", protocol.name());
            assert!(larger_configurations(*protocol).len() > 1, "{}", protocol.name());
            if protocol.reach() == Reach::AnyMachine {
                assert_eq!(machines.len(), 6, "{}", protocol.name());
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_shape_panic(text in "([a-z]{1,9}=[0-9a-z]{0,4},?){0,6}") {
            if let Ok(shape) = text.parse::<Shape>() {
                prop_assert_eq!(shape.to_string().parse::<Shape>(), Ok(shape));
                let _ = shape.machine(find("hmg").unwrap());
            }
        }
    }
}
