//! The setup of a run: names and overrides are resolved to a machine, the protocol's parameters and the workload's
//! sizes.
//!
//! An override is `KEY=VALUE`. It goes to the workload if its key begins with `workload.`, to the protocol if the
//! protocol declares the key as a parameter, and to the system otherwise. Only this module decides that, so that a
//! single run and a planned matrix accept and refuse the same overrides.

mod error;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use chorus_protocol::parameter::{ParameterSpec, Parameters};
use chorus_protocol::registry::Protocol;
use chorus_registry::{Registry, SIZE_PREFIX};
use chorus_system::{Resolved, Scale, SystemError, parse_whole};
use chorus_trace::Trace;
use chorus_workloads::size::SizeError;
use sha2::{Digest, Sha256};

pub use self::error::SetupError;
use crate::document::excerpt;
use crate::jobs::{self, Job};
use crate::own_graph::{self, OwnGraph};
use crate::run::RunSpec;

/// The number of bytes of the SHA-256 that are kept: 16 hexadecimal digits, as for systems.
const HASH_BYTES: usize = 8;

/// Everything that a run is made with, resolved from a [`RunSpec`].
#[derive(Clone)]
pub struct Setup {
    /// The machine with every value resolved.
    pub system: Resolved,
    /// The coherence protocol of the caches.
    pub protocol: &'static dyn Protocol,
    /// The values of the protocol's parameters.
    pub parameters: Parameters,
    /// The workloads and their sizes. The list is empty for a machine on which nothing runs.
    pub jobs: Vec<Job>,
    /// The user's own graph, if the run asks for one.
    pub graph: Option<Arc<OwnGraph>>,
    /// The trace that is replayed, if the run has one instead of workloads.
    pub trace: Option<Arc<Trace>>,
    /// 16 hexadecimal digits that identify the configuration. They change with any value of the machine, any parameter
    /// of the protocol, any size that differs from its scale's default, the contents of a user's graph and programs,
    /// and the source of annotations. If nothing differs from the system's file, they are the system's own hash.
    pub config_hash: String,
    /// The configuration as TOML, as it is stored with results: the machine, the parameters, the changed sizes, the
    /// graph, the programs and the source of annotations.
    pub config_text: String,
}

/// Resolves everything that a run asks for.
pub fn resolve(registry: &Registry, spec: &RunSpec) -> Result<Setup, SetupError> {
    let jobs = jobs::parse(registry, &spec.workload, spec.scale).map_err(SetupError::UnknownName)?;
    resolve_with(registry, spec, jobs)
}

/// Resolves the machine and the protocol of a run, without a workload.
pub fn resolve_idle(registry: &Registry, spec: &RunSpec) -> Result<Setup, SetupError> {
    resolve_with(registry, spec, Vec::new())
}

/// Resolves the machine and the protocol of a run that replays a trace.
pub fn resolve_trace(registry: &Registry, spec: &RunSpec, trace: Trace) -> Result<Setup, SetupError> {
    let setup = resolve_with(registry, spec, Vec::new())?;
    let (sha256, path) = (trace.sha256(), toml::Value::from(trace.path()));
    let text = format!("\n[trace]\npath = {path}\nsha256 = \"{sha256}\"\n");
    Ok(Setup {
        config_hash: hash(&setup.config_hash, sha256),
        config_text: format!("{}{text}", setup.config_text),
        trace: Some(Arc::new(trace)),
        ..setup
    })
}

fn resolve_with(registry: &Registry, spec: &RunSpec, mut jobs: Vec<Job>) -> Result<Setup, SetupError> {
    let protocol = registry.expect_protocol(&spec.protocol).map_err(SetupError::UnknownName)?;
    let specs = protocol.parameters();
    let mut parameters = Parameters::defaults(specs);
    let mut of_system = Vec::new();
    for text in &spec.set {
        let key = key(text);
        if let Some(size) = key.strip_prefix(SIZE_PREFIX) {
            set_size(text, size, spec, &mut jobs)?;
        } else if let Some(parameter) = specs.iter().find(|parameter| parameter.key == key) {
            parameters.set(parameter.key, parameter_value(text, protocol, parameter)?);
        } else {
            of_system.push(text.clone());
        }
    }
    for job in &jobs {
        if let Some(reason) = job.workload.misfit(&job.sizes) {
            return Err(SetupError::Misfit { workload: job.workload.name(), reason });
        }
    }
    refuse_foreign(registry, &of_system, Some(protocol))?;
    let system = registry
        .resolve_system(&spec.system, spec.scale, &of_system)
        .map_err(|source| with_parameters(source, protocol))?;
    let graph = match (&spec.graph, jobs.first()) {
        (Some(file), Some(job)) => Some(own_graph::read(registry, file, job.workload).map_err(SetupError::Graph)?),
        (None, _) | (_, None) => None,
    };
    let parameters_text = parameters_text(protocol, &parameters);
    let sizes_text: String = jobs.iter().map(|job| sizes_text(job, spec.scale)).collect();
    let identity = graph.as_ref().map(|own| &own.identity);
    let annotate_text = spec.annotate.text();
    let contents = identity.map_or_else(String::new, |identity| identity.contents());
    let programs: BTreeMap<&str, &str> =
        jobs.iter().filter_map(|job| job.workload.own_file()).map(|own| (own.path, own.sha256)).collect();
    let program_contents: String = programs.values().copied().collect();
    let beside = format!("{parameters_text}{sizes_text}{contents}{program_contents}{annotate_text}");
    let graph_text = identity.map_or_else(String::new, |identity| identity.text());
    let table = |(path, sha256): (&&str, &&str)| format!("\n[program.{}]\nsha256 = \"{sha256}\"\n", toml_key(path));
    let program_text: String = programs.iter().map(table).collect();
    Ok(Setup {
        config_hash: if beside.is_empty() { system.hash.clone() } else { hash(&system.hash, &beside) },
        config_text: format!("{}{parameters_text}{sizes_text}{graph_text}{program_text}{annotate_text}", system.text),
        system,
        protocol,
        parameters,
        jobs,
        graph: graph.map(Arc::new),
        trace: None,
    })
}

/// Sets a size of the run's workloads. If several workloads run at the same time, every one that declares the size gets
/// the value.
fn set_size(text: &str, size: &str, spec: &RunSpec, jobs: &mut [Job]) -> Result<(), SetupError> {
    if spec.graph.is_some() {
        return Err(SetupError::SizeOfGraph { text: excerpt(text) });
    }
    let mut is_known = false;
    for job in jobs.iter_mut() {
        let Some(declared) = job.workload.sizes().iter().find(|declared| declared.key == size) else { continue };
        let refused = || SetupError::SizeValue {
            text: excerpt(text),
            given: excerpt(given(text)),
            workload: job.workload.name(),
            size: declared,
        };
        let value = parse_whole(given(text)).map_err(|_| refused())?;
        job.sizes.set(size, value).map_err(|error| match error {
            SizeError::Unknown | SizeError::Refused(_) => refused(),
        })?;
        is_known = true;
    }
    let sizes = jobs.iter().flat_map(|job| job.workload.sizes()).map(|declared| declared.key).collect();
    let workload = spec.workload.clone();
    let unknown = || SetupError::UnknownSize { text: excerpt(text), given: size.to_owned(), workload, sizes };
    if is_known { Ok(()) } else { Err(unknown()) }
}

/// Resolves a system alone, without a protocol.
pub fn resolve_system(registry: &Registry, system: &str, scale: Scale, set: &[String]) -> Result<Resolved, SetupError> {
    refuse_foreign(registry, set, None)?;
    registry.resolve_system(system, scale, set).map_err(SetupError::System)
}

impl Setup {
    /// The values of the protocol's parameters by their keys.
    pub fn parameter_values(&self) -> BTreeMap<String, u64> {
        let specs = self.protocol.parameters().iter();
        specs.map(|spec| (spec.key.to_owned(), self.parameters.get(spec.key))).collect()
    }

    /// The values of all sizes by their keys. If there are several workloads, the workload's name precedes the key. A
    /// run on the user's own graph has no sizes.
    pub fn size_values(&self) -> BTreeMap<String, u64> {
        let sizes_of = |job: &Job| {
            let prefix = if self.jobs.len() == 1 { String::new() } else { format!("{}.", job.workload.name()) };
            job.sizes.iter().map(|(size, value)| (format!("{prefix}{}", size.key), value)).collect::<Vec<_>>()
        };
        let jobs = self.jobs.iter().filter(|_| self.graph.is_none());
        jobs.flat_map(sizes_of).collect()
    }
}

/// The key of an override, even if the rest of the override is malformed.
fn key(text: &str) -> &str {
    text.split_once('=').map_or(text, |(key, _)| key).trim()
}

/// The value of an override, as it was given.
fn given(text: &str) -> &str {
    text.split_once('=').map_or("", |(_, value)| value).trim()
}

/// The value that an override gives to a parameter.
fn parameter_value(text: &str, protocol: &dyn Protocol, spec: &'static ParameterSpec) -> Result<u64, SetupError> {
    let whole = parse_whole(given(text)).ok().filter(|whole| (spec.min..=spec.max).contains(whole));
    whole.ok_or_else(|| SetupError::Value {
        text: excerpt(text),
        given: excerpt(given(text)),
        protocol: protocol.name(),
        parameter: spec,
    })
}

fn keys(protocol: &dyn Protocol) -> Vec<&'static str> {
    protocol.parameters().iter().map(|parameter| parameter.key).collect()
}

/// Refuses overrides of parameters that only other protocols declare.
fn refuse_foreign(
    registry: &Registry,
    set: &[String],
    protocol: Option<&'static dyn Protocol>,
) -> Result<(), SetupError> {
    for text in set {
        let has = |owner: &&&dyn Protocol| keys(**owner).contains(&key(text));
        let owners: Vec<&dyn Protocol> = registry.protocols().iter().filter(has).copied().collect();
        let found = owners.first().and_then(|owner| keys(*owner).into_iter().find(|found| *found == key(text)));
        if let Some(key) = found {
            return Err(SetupError::OtherProtocols {
                text: excerpt(text),
                key,
                owners: owners.iter().map(|owner| owner.name()).collect(),
                protocol: protocol.map(|protocol| (protocol.name(), keys(protocol))),
            });
        }
    }
    Ok(())
}

/// Adds the keys that the protocol accepts to the message about an unknown key.
fn with_parameters(mut source: SystemError, protocol: &'static dyn Protocol) -> SetupError {
    let parameters = keys(protocol);
    match &mut source {
        SystemError::UnknownKey { place, key, nearest, .. } if place.is_override() && !parameters.is_empty() => {
            let known = nearest.iter().map(String::as_str).chain(parameters.iter().copied());
            if let Some(nearer) = chorus_system::nearest(key, known) {
                *nearest = Some(nearer);
            }
            SetupError::UnknownKey { source: Box::new(source), protocol: protocol.name(), parameters }
        }
        _ => SetupError::System(source),
    }
}

/// The parameters as a table of the stored configuration. The text is empty for a protocol without parameters.
fn parameters_text(protocol: &dyn Protocol, parameters: &Parameters) -> String {
    let mut text = String::new();
    for (index, spec) in protocol.parameters().iter().enumerate() {
        if index == 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n[parameters] # of {}\n", protocol.name());
        }
        let _ = writeln!(text, "{} = {}", spec.key, parameters.get(spec.key));
    }
    text
}

/// The sizes of a job that differ from its scale's defaults, as a table of the stored configuration.
fn sizes_text(job: &Job, scale: Scale) -> String {
    let changed = job.sizes.iter().filter(|(size, value)| size.default_at(scale) != *value);
    let lines: String = changed.map(|(size, value)| format!("{} = {value}\n", size.key)).collect();
    if lines.is_empty() { lines } else { format!("\n[workload.{}]\n{lines}", toml_key(job.workload.name())) }
}

/// A name as a key of TOML. Paths must be quoted.
fn toml_key(name: &str) -> String {
    let is_bare = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { toml::Value::from(name).to_string() }
}

fn hash(system: &str, beside: &str) -> String {
    let digest = Sha256::digest(format!("{system}\n{beside}").as_bytes());
    digest.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::Annotate;
    use crate::own_graph::GraphFile;

    fn spec(protocol: &str, set: &[&str]) -> RunSpec {
        RunSpec {
            system: "tc".to_owned(),
            protocol: protocol.to_owned(),
            workload: "stn".to_owned(),
            scale: Scale::Quick,
            seed: 1,
            graph: None,
            annotate: Annotate::Hand,
            observed: false,
            set: set.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    fn resolve(spec: &RunSpec) -> Result<Setup, SetupError> {
        super::resolve(&Registry::standard(), spec)
    }

    fn setup(protocol: &str, set: &[&str]) -> Setup {
        resolve(&spec(protocol, set)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn check_message(protocol: &str, set: &str, expected: &str) {
        assert_eq!(resolve(&spec(protocol, &[set])).err().map(|error| error.to_string()).as_deref(), Some(expected));
    }

    #[test]
    fn a_parameter_goes_to_the_protocol_and_every_other_key_to_the_system() {
        let setup = setup("tc-weak-fixed", &["lease.cycles=400", "l1.ways=8", "lease.cycles = 1_600"]);
        assert_eq!(setup.parameter_values()["lease.cycles"], 1600, "later ones win");
        assert_eq!(setup.system.config.l1.ways, 8);
        assert!(
            setup
                .config_text
                .ends_with("\n[parameters] # of tc-weak-fixed\nlease.cycles = 1600\ntimestamp.bits = 32\n")
        );
        assert!(setup.config_text.parse::<toml::Table>().is_ok(), "{}", setup.config_text);
    }

    #[test]
    fn the_hash_of_a_configuration_follows_machine_protocol_and_parameters() {
        let hash = |protocol, set: &[&str]| setup(protocol, set).config_hash;
        assert_eq!(hash("gpu-vi", &[]), chorus_system::resolve("tc", Scale::Quick, &[]).unwrap().hash);
        assert_eq!(hash("tc-strong", &[]), hash("tc-strong", &["lease.cycles=800"]), "the value that it has anyway");
        let others = [
            hash("tc-strong", &[]),
            hash("tc-strong", &["lease.cycles=801"]),
            hash("tc-strong", &["l1.ways=8"]),
            hash("tc-weak-fixed", &["lease.cycles=800"]),
            hash("gpu-vi", &[]),
        ];
        for (index, other) in others.iter().enumerate() {
            assert!(!others[..index].contains(other), "{others:?}");
        }
    }

    #[test]
    fn the_hash_of_a_configuration_follows_the_contents_of_a_graph_and_not_its_place() {
        let directory = std::env::temp_dir().join(format!("chorus-setup-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let setup = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).unwrap();
            let graph = Some(GraphFile { path: path.display().to_string(), format: None });
            resolve(&RunSpec { workload: "bfs".to_owned(), graph, ..spec("tc-strong", &[]) }).unwrap()
        };
        let [one, same, other] =
            [("one.txt", "1 2\n"), ("same.txt", "1 2\n"), ("other.txt", "1 3\n")].map(|(name, text)| setup(name, text));
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(one.config_hash, same.config_hash);
        assert_ne!(one.config_hash, other.config_hash);
        assert_ne!(one.config_hash, super::tests::setup("tc-strong", &[]).config_hash);
        let config: toml::Table = one.config_text.parse().unwrap();
        assert_eq!(config["graph"]["format"].as_str(), Some("snap"));
        assert_eq!(config["graph"]["nodes"].as_integer(), Some(2));
        assert_eq!(config["graph"]["sha256"].as_str().map(str::len), Some(64));
        assert!(config["graph"]["file"].as_str().is_some_and(|file| file.ends_with("one.txt")));
    }

    #[test]
    fn the_stored_configuration_has_the_contents_of_programs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cuda/saxpy/program.toml");
        let set = vec!["workload.n=1024".to_owned()];
        let setup = resolve(&RunSpec { workload: path.to_owned(), set, ..spec("gpu-vi", &[]) }).unwrap();
        let config: toml::Table = setup.config_text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config["program"][path]["sha256"].as_str().map(str::len), Some(64));
        assert_eq!(config["workload"][path]["n"].as_integer(), Some(1024));
    }

    #[test]
    fn the_hash_of_a_configuration_follows_who_annotates() {
        let setup = |annotate| resolve(&RunSpec { annotate, ..spec("tc-strong", &[]) }).unwrap();
        let [hand, auto, none] = Annotate::ALL.map(setup);
        assert_eq!(hand.config_hash, super::tests::setup("tc-strong", &[]).config_hash);
        assert!(hand.config_hash != auto.config_hash && auto.config_hash != none.config_hash);
        assert!(!hand.config_text.contains("annotate"));
        let config: toml::Table = auto.config_text.parse().unwrap();
        assert_eq!(config["annotations"]["annotate"].as_str(), Some("auto"));
    }

    #[test]
    fn a_value_that_a_parameter_does_not_take_is_named_with_what_it_takes() {
        for given in ["many", "-1", "1.5", "2000000", ""] {
            check_message(
                "tc-strong",
                &format!("lease.cycles={given}"),
                &format!(
                    "--set lease.cycles={given}: parameter `lease.cycles` of tc-strong is given as `{given}`; expected a \
                     whole number from 0 to 1000000 (length of a lease, in core cycles)"
                ),
            );
        }
    }

    #[test]
    fn a_parameter_of_other_protocols_names_them() {
        check_message(
            "gpu-vi",
            "lease.cycles=1",
            "--set lease.cycles=1: `lease.cycles` is a parameter of tc-strong, tc-weak-fixed; gpu-vi has none",
        );
        check_message(
            "gpu-vini",
            "lease.cycles=1",
            "--set lease.cycles=1: `lease.cycles` is a parameter of tc-strong, tc-weak-fixed; gpu-vini has \
             `directory.ratio`, `directory.associativity`",
        );
        let error =
            resolve_system(&Registry::standard(), "tc", Scale::Quick, &["lease.cycles=1".to_owned()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--set lease.cycles=1: `lease.cycles` is a parameter of tc-strong, tc-weak-fixed, not a key of a system"
        );
    }

    #[test]
    fn an_unknown_key_suggests_the_nearest_of_system_and_protocol() {
        let message = |set: &str| resolve(&spec("tc-strong", &[set])).err().expect(set).to_string();
        let parameters = "\nhint: the parameters of tc-strong are `lease.cycles`, `timestamp.bits`";
        for (set, nearest) in [("lease.cycle=1", "lease.cycles"), ("l1.wayz=1", "l1.ways"), ("ways=1", "l1.ways")] {
            let message = message(set);
            assert!(message.contains(&format!("did you mean `{nearest}`?")), "{message}");
            assert!(message.ends_with(parameters), "{message}");
        }
    }

    #[test]
    fn sizes_go_to_the_workload_and_are_part_of_the_identity_of_a_run() {
        let saxpy = |set: &[&str]| resolve(&RunSpec { workload: "saxpy".to_owned(), ..spec("gpu-vi", set) });
        let (plain, changed) = (saxpy(&[]).unwrap(), saxpy(&["workload.elements=1000"]).unwrap());
        assert_eq!(plain.config_hash, setup("gpu-vi", &[]).config_hash, "the scale says the sizes");
        assert_eq!(changed.size_values()["elements"], 1000);
        assert_ne!(plain.config_hash, changed.config_hash);
        assert!(changed.config_text.ends_with("\n[workload.saxpy]\nelements = 1000\n"), "{}", changed.config_text);
        let same = saxpy(&["workload.elements=262_000"]).unwrap();
        assert_eq!(plain.config_hash, same.config_hash, "the value that it has anyway");
    }

    #[test]
    fn a_size_that_cannot_be_is_refused_with_the_range() {
        let message = |set: &str| {
            let spec = RunSpec { workload: "saxpy".to_owned(), ..spec("gpu-vi", &[set]) };
            resolve(&spec).err().expect(set).to_string()
        };
        for given in ["0", "-1", "many", "268435457"] {
            let expected = format!(
                "--set workload.elements={given}: size `elements` of saxpy is given as `{given}`; expected a whole number from \
                 1 to 268435456 (elements of each vector)"
            );
            assert_eq!(message(&format!("workload.elements={given}")), expected);
        }
        let unknown = message("workload.element=5");
        let expected = "--set workload.element=5: saxpy has no size `element`; did you mean `workload.elements`? \
                        its sizes are `elements`";
        assert_eq!(unknown, expected);
    }

    #[test]
    fn no_parameter_is_also_a_key_of_a_system() {
        for parameter in Registry::standard().protocols().iter().flat_map(|protocol| protocol.parameters()) {
            let set = [format!("{}={}", parameter.key, parameter.default)];
            let refused = chorus_system::resolve("tc", Scale::Quick, &set);
            assert!(matches!(refused, Err(SystemError::UnknownKey { .. })), "{}", parameter.key);
        }
    }
}
