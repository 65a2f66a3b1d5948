//! The progress of one run, shown on stderr while it goes on: cycles, kernels, accesses per second, and the time left
//! where the number of kernels is known.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use chorus_sim::Progress;
use chorus_sim::watch::Standing;

use crate::activity::{Activity, Style};
use crate::output::count;

/// Runs that are shorter show nothing.
const SILENT: Duration = Duration::from_secs(2);
/// The time between two lines of a log.
const LINE: Duration = Duration::from_secs(30);
/// The time between two changes of a bar.
const CHANGE: Duration = Duration::from_millis(250);
/// The share of a run from which the time left is told. Before, it would be a guess.
const TELLING_SHARE: f64 = 0.02;

/// Shows the progress of `work` until it ends, in the form of `style`.
pub fn shown_while<T>(style: Style, name: &str, progress: &Progress, work: impl FnOnce() -> T) -> T {
    if style == Style::Silent {
        return work();
    }
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        scope.spawn(move || show(style, name, progress, &ended));
        let result = work();
        // The channel closes, and the other thread ends.
        drop(end);
        result
    })
}

fn show(style: Style, name: &str, progress: &Progress, ended: &Receiver<()>) {
    let goes_on = |time: Duration| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    let (begin, pause) = (Instant::now(), if style == Style::Bar { CHANGE } else { LINE });
    if !goes_on(if style == Style::Bar { SILENT } else { LINE }) {
        return;
    }
    let activity = Activity::new(style, None);
    loop {
        let text = words(&progress.standing(), begin.elapsed());
        match style {
            Style::Bar => activity.begin(text),
            Style::Lines | Style::Silent => activity.note(&format!("{name}: {text}")),
        }
        if !goes_on(pause) {
            return;
        }
    }
}

/// The progress of a run, in words that fit a line of 80 columns. The percentage is that of the work-groups of the
/// kernel that runs.
fn words(standing: &Standing, elapsed: Duration) -> String {
    let &Standing { cycles, accesses, kernels, kernels_of, groups, groups_of } = standing;
    if cycles == 0 {
        return "preparing its data".to_owned();
    }
    let of = kernels_of.map_or_else(String::new, |of| format!(" of {}", count(of)));
    let more = (groups * 100).checked_div(groups_of).map_or_else(String::new, |share| format!(" + {share} %"));
    let seconds = elapsed.as_secs_f64();
    let mut parts = vec![
        format!("cycle {}", count(cycles)),
        format!("{}{of} kernels{more}", count(kernels)),
        format!("{:.2} M accesses/s", accesses as f64 / seconds / 1e6),
    ];
    if let Some(share) = standing.share().filter(|&share| share >= TELLING_SHARE) {
        parts.push(format!("{} left", time(seconds * (1.0 - share) / share)));
    }
    parts.join(", ")
}

/// A time in seconds or minutes.
fn time(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_where_the_number_of_kernels_is_known() {
        let standing =
            Standing { cycles: 12_000, accesses: 5_000_000, kernels: 1, kernels_of: Some(4), groups: 4, groups_of: 8 };
        let told = words(&standing, Duration::from_secs(10));
        assert_eq!(told, "cycle 12,000, 1 of 4 kernels + 50 %, 0.50 M accesses/s, 17 s left");
        let untold = words(&Standing { kernels_of: None, ..standing }, Duration::from_secs(10));
        assert_eq!(untold, "cycle 12,000, 1 kernels + 50 %, 0.50 M accesses/s");
        assert_eq!(words(&Standing::default(), Duration::from_secs(10)), "preparing its data");
    }

    #[test]
    fn the_result_of_the_work_comes_back_and_a_short_run_does_not_wait() {
        let begin = Instant::now();
        assert_eq!(shown_while(Style::Lines, "", &Progress::default(), || 7), 7);
        assert!(begin.elapsed() < SILENT);
    }
}
