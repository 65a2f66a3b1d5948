//! `chorus check --overnight`: one configuration, searched beyond memory, with records from which it goes on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chorus_proof::Checked;
use chorus_protocol::registry::Protocol;
use chorus_verify::check::CheckConfig;
use chorus_verify::overnight::{Reached, check_overnight};
use chorus_verify::settings::Settings;

use crate::failure::Failure;
use crate::output::count;
use crate::session::Session;

/// The time between two lines of a log.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// The directory of the records where none is given.
pub fn default_directory(protocol: &dyn Protocol, config: &CheckConfig) -> PathBuf {
    let name: String = config.name.chars().map(|c| if "=[]{} /".contains(c) { '-' } else { c }).collect();
    Path::new("results").join("overnight").join(format!("{}-{name}", protocol.name()))
}

/// Searches a configuration, or goes on where an earlier search was stopped.
pub fn check(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &CheckConfig,
    settings: &Settings,
    directory: &Path,
    session: &Session,
) -> Result<Checked, Failure> {
    let (activity, start) = (session.activity(None), Instant::now());
    let place = directory.display();
    activity.begin(format!("{}: reads the records in {place}", config.name));
    let (mut first, mut last_line) = (None, start);
    let mut watch = |reached: Reached| {
        let since = *first.get_or_insert((reached.states, Instant::now()));
        let now = progress(config, reached, since);
        if last_line.elapsed() >= BETWEEN_LINES {
            activity.note(&now);
            last_line = Instant::now();
        }
        activity.begin(now);
    };
    let report = check_overnight(protocol, fault, config, settings, directory, &mut watch)
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(Checked::new(config, report, start.elapsed().as_secs_f64()))
}

/// The place that the search has come to, and its speed since it was first asked.
fn progress(config: &CheckConfig, reached: Reached, (states, since): (u64, Instant)) -> String {
    let Reached { depth, states: now, waiting } = reached;
    let speed = ((now - states) as f64 / since.elapsed().as_secs_f64().max(1e-3)) as u64;
    let [now, waiting, speed] = [now, waiting, speed].map(count);
    format!("{}: {now} states, {waiting} not expanded, {depth} moves deep, {speed} new states/s", config.name)
}
