//! The registry: everything that a command line, an experiment or a test can name.
//!
//! A [`Registry`] is a value. [`Registry::standard`] holds everything that Chorus ships. A crate of your own adds to it
//! and passes it to `chorus::main_with`. Every verb, page, replay line and test walks the registry that it is given, so
//! your additions are treated like the shipped entries.
//!
//! ```
//! use chorus_registry::Registry;
//!
//! let text = r#"
//!     base = "tc"
//!     name = "tiny"
//!     title = "A tiny machine"
//!     source = "none"
//! "#;
//! let registry = Registry::standard().system("tiny.toml", text);
//! assert!(registry.errors().is_empty());
//! assert!(registry.find_protocol("gpu-vi").is_some() && registry.find_system("tiny").is_some());
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `lib.rs` | the registry: adding, finding |
//! | `error.rs` | names that clash, and texts that cannot be read |
//! | `experiment.rs` | experiments and claims as text, and the papers that Chorus ships |
//! | `wording.rs` | the wording of messages about names |

mod error;
mod experiment;
pub mod wording;

use std::fmt;
use std::sync::Arc;

use chorus_litmus::model::Model;
use chorus_protocol::registry::{PROTOCOLS, Protocol};
use chorus_system::{Resolved, SYSTEMS, Scale, SystemError, SystemFile, resolve_among, scales_among};
use chorus_verify::litmus::{AppliesTo, LitmusSuite, SUITES, SuiteTest, read_for, read_suites};
use chorus_workloads::{Workload, workloads};

pub use error::RegistryError;
pub use experiment::{NamedExperiment, PAPERS};
pub use wording::unknown;

/// Prefix of the keys of workload sizes on the command line, as in `--set workload.elements=1000`.
pub const SIZE_PREFIX: &str = "workload.";

/// Everything that a command line, an experiment or a test can name: protocols, systems, workloads, experiments, memory
/// models and litmus suites.
#[derive(Clone)]
pub struct Registry {
    protocols: Vec<&'static dyn Protocol>,
    systems: Vec<SystemFile>,
    workloads: Vec<&'static dyn Workload>,
    experiments: Vec<NamedExperiment>,
    models: Vec<Model>,
    suites: Vec<LitmusSuite>,
    errors: Vec<RegistryError>,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::standard()
    }
}

impl Registry {
    /// A registry that knows the memory models and nothing else.
    pub fn empty() -> Registry {
        Registry {
            protocols: Vec::new(),
            systems: Vec::new(),
            workloads: Vec::new(),
            experiments: Vec::new(),
            models: Model::ALL.to_vec(),
            suites: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// A registry with everything that Chorus ships.
    pub fn standard() -> Registry {
        let registry = PROTOCOLS.iter().fold(Registry::empty(), |registry, &protocol| registry.protocol(protocol));
        let registry = SYSTEMS.iter().fold(registry, |registry, system| registry.add_system(*system));
        let registry = workloads().fold(registry, Registry::workload);
        let registry = SUITES.iter().fold(registry, |registry, suite| registry.litmus_suite(*suite));
        PAPERS.iter().fold(registry, |registry, paper| registry.experiment(*paper))
    }

    /// Adds a protocol; a name that another protocol has is an error.
    #[must_use]
    pub fn protocol(mut self, protocol: &'static dyn Protocol) -> Registry {
        let words = |protocol: &dyn Protocol| format!("{} ({})", protocol.title(), protocol.citation());
        match self.find_protocol(protocol.name()) {
            Some(first) => self.clash("protocol", protocol.name(), words(first), words(protocol)),
            None => self.protocols.push(protocol),
        }
        self
    }

    /// Adds a workload; a name that another workload has is an error.
    #[must_use]
    pub fn workload(mut self, workload: &'static dyn Workload) -> Registry {
        let words = |workload: &dyn Workload| format!("{} ({})", workload.title(), workload.source());
        match self.find_workload(workload.name()) {
            Some(first) => self.clash("workload", workload.name(), words(first), words(workload)),
            None => self.workloads.push(workload),
        }
        self
    }

    /// Adds a system. `file` is the path that messages name. `text` is the system's TOML: it states the system's name,
    /// and may build on another system with `base`.
    #[must_use]
    pub fn system(mut self, file: &'static str, text: &'static str) -> Registry {
        match SystemFile::new(file, text) {
            Ok(system) => self.add_system(system),
            Err(error) => {
                self.errors.push(RegistryError::System(Arc::new(error)));
                self
            }
        }
    }

    fn add_system(mut self, system: SystemFile) -> Registry {
        let words = |system: &SystemFile| format!("the file {}", system.file);
        match self.find_system(system.name) {
            Some(first) => self.clash("system", system.name, words(first), words(&system)),
            None => self.systems.push(system),
        }
        self
    }

    /// Adds litmus tests, which are run on every protocol. `file` is the path that messages name; `text` has the tests.
    #[must_use]
    pub fn litmus(self, file: &'static str, text: &'static str) -> Registry {
        self.litmus_suite(LitmusSuite { name: file, text, applies_to: AppliesTo::EveryProtocol })
    }

    /// Adds a suite of litmus tests.
    #[must_use]
    pub fn litmus_suite(mut self, suite: LitmusSuite) -> Registry {
        self.suites.push(suite);
        self
    }

    /// Adds an experiment; a name that another experiment has is an error.
    #[must_use]
    pub fn experiment(mut self, experiment: NamedExperiment) -> Registry {
        let words = |experiment: &NamedExperiment| format!("the file {}", experiment.file);
        match self.find_experiment(experiment.name) {
            Some(first) => self.clash("experiment", experiment.name, words(first), words(&experiment)),
            None => self.experiments.push(experiment),
        }
        self
    }

    fn clash(&mut self, kind: &'static str, name: &str, first: String, second: String) {
        self.errors.push(RegistryError::Clash { kind, name: name.to_owned(), first, second });
    }

    /// Everything that could not be added, and every litmus suite that cannot be read. A program should end with the
    /// first of these errors.
    pub fn errors(&self) -> Vec<RegistryError> {
        let suites = read_suites(&self.suites).err().map(RegistryError::Litmus);
        self.errors.iter().cloned().chain(suites).collect()
    }

    /// The protocols, in the order in which they were added.
    pub fn protocols(&self) -> &[&'static dyn Protocol] {
        &self.protocols
    }

    /// The systems, in the order in which they were added.
    pub fn systems(&self) -> &[SystemFile] {
        &self.systems
    }

    /// The workloads, in the order in which they were added.
    pub fn workloads(&self) -> &[&'static dyn Workload] {
        &self.workloads
    }

    /// The experiments, in the order in which they were added.
    pub fn experiments(&self) -> &[NamedExperiment] {
        &self.experiments
    }

    /// The memory models that Chorus knows.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The litmus suites, in the order in which they were added.
    pub fn suites(&self) -> &[LitmusSuite] {
        &self.suites
    }

    /// The litmus tests of all suites. A registry with an unreadable suite has none; [`Registry::errors`] names it.
    pub fn litmus_tests(&self) -> Vec<SuiteTest> {
        read_suites(&self.suites).unwrap_or_default()
    }

    /// The litmus tests that are run on a protocol.
    pub fn litmus_tests_of(&self, protocol: &dyn Protocol) -> Vec<SuiteTest> {
        read_for(&self.suites, protocol).unwrap_or_default()
    }

    /// The names of all protocols, in the order in which they were added.
    pub fn protocol_names(&self) -> Vec<&'static str> {
        self.protocols.iter().map(|protocol| protocol.name()).collect()
    }

    /// The names of all systems, in the order in which they were added.
    pub fn system_names(&self) -> Vec<&'static str> {
        self.systems.iter().map(|system| system.name).collect()
    }

    /// The names of all workloads, in the order in which they were added.
    pub fn workload_names(&self) -> Vec<&'static str> {
        self.workloads.iter().map(|workload| workload.name()).collect()
    }

    /// The names of all experiments, in the order in which they were added.
    pub fn experiment_names(&self) -> Vec<&'static str> {
        self.experiments.iter().map(|experiment| experiment.name).collect()
    }

    /// The protocol of this name.
    pub fn find_protocol(&self, name: &str) -> Option<&'static dyn Protocol> {
        self.protocols.iter().copied().find(|protocol| protocol.name() == name)
    }

    /// The workload of this name.
    pub fn find_workload(&self, name: &str) -> Option<&'static dyn Workload> {
        self.workloads.iter().copied().find(|workload| workload.name() == name)
    }

    /// The system of this name.
    pub fn find_system(&self, name: &str) -> Option<&SystemFile> {
        self.systems.iter().find(|system| system.name == name)
    }

    /// The experiment of this name.
    pub fn find_experiment(&self, name: &str) -> Option<&NamedExperiment> {
        self.experiments.iter().find(|experiment| experiment.name == name)
    }

    /// The memory model of this name.
    pub fn find_model(&self, name: &str) -> Option<Model> {
        self.models.iter().copied().find(|model| model.name() == name)
    }

    /// The protocol of this name, or a message that lists the known names.
    pub fn expect_protocol(&self, name: &str) -> Result<&'static dyn Protocol, String> {
        self.find_protocol(name).ok_or_else(|| unknown("protocol", name, &self.protocol_names()))
    }

    /// The workload of this name, or a message that lists the known names.
    pub fn expect_workload(&self, name: &str) -> Result<&'static dyn Workload, String> {
        self.find_workload(name).ok_or_else(|| unknown("workload", name, &self.workload_names()))
    }

    /// Finds a system by name or path, and applies a scale and overrides. An override is `key=value`; of several for
    /// one key the last one wins.
    pub fn resolve_system(&self, name_or_path: &str, scale: Scale, set: &[String]) -> Result<Resolved, SystemError> {
        resolve_among(&self.systems, name_or_path, scale, set)
    }

    /// The scales that a system has.
    pub fn scales(&self, name_or_path: &str) -> Result<Vec<Scale>, SystemError> {
        scales_among(&self.systems, name_or_path)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("protocols", &self.protocol_names())
            .field("systems", &self.system_names())
            .field("workloads", &self.workload_names())
            .field("experiments", &self.experiment_names())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_registry_holds_everything_that_is_shipped_without_clashes() {
        let registry = Registry::standard();
        assert!(registry.errors().is_empty(), "{:?}", registry.errors());
        assert_eq!(registry.protocols().len(), PROTOCOLS.len());
        assert_eq!(registry.systems().len(), SYSTEMS.len());
        assert_eq!(registry.workloads().len(), workloads().count());
        assert_eq!(registry.experiment_names(), ["tc", "hmg", "rec", "cpelide", "spandex"]);
    }

    #[test]
    fn a_name_that_is_given_twice_is_a_clash_that_names_both() {
        let gpu_vi = PROTOCOLS.iter().find(|protocol| protocol.name() == "gpu-vi").unwrap();
        let registry = Registry::standard()
            .protocol(*gpu_vi)
            .system("mine.toml", "base = \"hmg\"\nname = \"tc\"")
            .workload(workloads().next().unwrap());
        let errors = registry.errors();
        let [protocol, system, workload] = errors.as_slice() else { panic!("{errors:?}") };
        let message = protocol.to_string();
        assert!(message.starts_with("two protocols are named `gpu-vi`: GPU-VI (Singh et al."), "{message}");
        assert_eq!(message.matches("GPU-VI (Singh").count(), 2, "{message}");
        assert_eq!(system.to_string(), "two systems are named `tc`: the file systems/tc.toml, and the file mine.toml");
        assert!(workload.to_string().starts_with("two workloads are named"), "{workload}");
        assert_eq!(registry.protocols().len(), PROTOCOLS.len(), "the first one stays");
    }

    #[test]
    fn texts_that_cannot_be_read_are_errors_that_say_where() {
        let registry = Registry::standard().system("bad.toml", "nam = 1").litmus("bad.litmus", "PTX MP");
        let errors: Vec<String> = registry.errors().iter().map(ToString::to_string).collect();
        let [system, litmus] = errors.as_slice() else { panic!("{errors:?}") };
        assert!(system.starts_with("bad.toml:1:1: unknown key `nam`"), "{system}");
        assert!(litmus.starts_with("bad.litmus:"), "{litmus}");
        assert!(registry.litmus_tests().is_empty());
        assert!(Registry::standard().litmus_tests().len() > 100);
    }

    #[test]
    fn what_is_added_is_found_and_listed_last() {
        let experiment =
            NamedExperiment { name: "mine", file: "mine.toml", text: "", claims: "", notes: "", results: "" };
        let tiny = "base = \"tc\"\nname = \"tiny\"\ntitle = \"tiny\"\nsource = \"none\"";
        let registry = Registry::standard().system("tiny.toml", tiny).experiment(experiment);
        assert!(registry.errors().is_empty(), "{:?}", registry.errors());
        assert!(registry.resolve_system("tiny", Scale::Quick, &[]).is_ok());
        assert_eq!(registry.system_names().last(), Some(&"tiny"));
        assert_eq!(registry.find_experiment("mine").map(|found| found.file), Some("mine.toml"));
    }
}
