//! Explorations that several suites need. Each is made once: whoever asks for one while it is being made waits for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use chorus_protocol::registry::Protocol;
use chorus_verify::check::{CheckConfig, CheckReport, check, explore_and_check, table_configurations};
use chorus_verify::config::Stores;
use chorus_verify::faults::{Catch, caught};
use chorus_verify::litmus::{LitmusResult, SuiteTest, run_litmus};
use chorus_verify::networks::{NetworkReport, default_settings, smallest};
use chorus_verify::settings::Settings;
use chorus_verify::table::TransitionTable;

/// Results by key, each made once.
struct Results<K, T: 'static>(Mutex<BTreeMap<K, &'static OnceLock<T>>>);

impl<K: Ord, T: 'static> Results<K, T> {
    const fn new() -> Self {
        Results(Mutex::new(BTreeMap::new()))
    }

    /// The result of a key, made by `make` if nobody has asked for it before.
    fn get(&self, key: K, make: impl FnOnce() -> T) -> &'static T {
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result: &'static OnceLock<T> = results.entry(key).or_insert_with(|| Box::leak(Box::default()));
        drop(results);
        result.get_or_init(make)
    }
}

/// The checks of protocols without faults, by the names of the protocol and of its configuration.
static REPORTS: Results<(&str, &str), CheckReport> = Results::new();

/// The transition table of a protocol. The explorations that fill it are checks as well.
pub fn table(protocol: &'static dyn Protocol) -> &'static TransitionTable {
    static TABLES: Results<&str, TransitionTable> = Results::new();
    TABLES.get(protocol.name(), || {
        let mut table = TransitionTable::fill(protocol, |config| {
            let (report, exploration) = explore_and_check(protocol, None, config, &Settings::default());
            REPORTS.get((protocol.name(), config.name), || report);
            exploration
        });
        if let Some(base) = protocol.extends() {
            table.mark_added(self::table(base));
        }
        table
    })
}

/// The check of a protocol without faults in one of its configurations.
pub fn report(protocol: &'static dyn Protocol, config: &CheckConfig) -> &'static CheckReport {
    if table_configurations(protocol).contains(config) {
        table(protocol);
    }
    REPORTS.get((protocol.name(), config.name), || check(protocol, None, config))
}

/// A litmus test of Chorus's own on a protocol.
pub fn litmus(protocol: &'static dyn Protocol, test: &SuiteTest, stores: Stores) -> &'static LitmusResult {
    static LITMUS: Results<(&str, String, bool), LitmusResult> = Results::new();
    let key = (protocol.name(), test.name().to_owned(), stores == Stores::Posted);
    LITMUS.get(key, || run_litmus(protocol, None, test, stores).unwrap())
}

/// How few virtual networks a protocol needs.
pub fn networks(protocol: &'static dyn Protocol) -> &'static NetworkReport {
    static NETWORKS: Results<&str, NetworkReport> = Results::new();
    NETWORKS.get(protocol.name(), || smallest(protocol, &default_settings()))
}

/// The check that finds a fault of a protocol, by the fault's index.
pub fn catch(protocol: &'static dyn Protocol, fault: u8) -> &'static Catch {
    static CATCHES: Results<(&str, u8), Catch> = Results::new();
    let name = protocol.faults()[usize::from(fault)].name;
    CATCHES.get((protocol.name(), fault), || {
        caught(protocol, fault).unwrap_or_else(|| panic!("{name} of {} is not caught", protocol.name()))
    })
}
