//! Runs cut into parts that take about the same time.

/// The most parts into which runs are cut by time: Slurm's default for the largest array is 1001.
const PARTS_MAX: usize = 1000;

/// The manner in which runs are cut into parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Exactly so many parts. Some are empty if there are fewer runs.
    Into(usize),
    /// As many parts as it takes for each to last about so many seconds of processor time.
    Lasting(f64),
}

/// Some of the runs, by their positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The positions of the runs, the longest run first.
    pub runs: Vec<usize>,
    /// The estimated processor time in seconds.
    pub seconds: f64,
}

/// Cuts runs into parts by their estimated times in seconds. The longest run is placed first, and each goes to the part
/// that is the shortest so far. A run of which nothing is known counts as long as a whole part if the parts have a
/// length, otherwise as long as the longest known run.
pub fn cut(seconds: &[Option<f64>], cut: Cut) -> Vec<Part> {
    let longest = seconds.iter().flatten().copied().fold(0.0, f64::max);
    let unknown = match cut {
        Cut::Into(_) if longest > 0.0 => longest,
        Cut::Into(_) => 1.0,
        Cut::Lasting(length) => length,
    };
    let seconds: Vec<f64> = seconds.iter().map(|known| known.unwrap_or(unknown)).collect();
    let parts = match cut {
        Cut::Into(parts) => parts,
        Cut::Lasting(length) => (seconds.iter().sum::<f64>() / length).ceil() as usize,
    };
    let parts = match cut {
        Cut::Into(_) => parts,
        Cut::Lasting(_) => parts.clamp(1, PARTS_MAX).min(seconds.len()),
    };
    let mut order: Vec<usize> = (0..seconds.len()).collect();
    order.sort_by(|&a, &b| seconds[b].total_cmp(&seconds[a]));
    let mut made = vec![Part::default(); parts];
    for run in order {
        // Of several shortest parts it is the first with the fewest runs, so that runs of no length spread, too.
        let shortest = made
            .iter_mut()
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds).then_with(|| a.runs.len().cmp(&b.runs.len())));
        if let Some(part) = shortest {
            part.runs.push(run);
            part.seconds += seconds[run];
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_last_about_equally_long() {
        let seconds = [60.0, 10.0, 50.0, 20.0, 40.0, 30.0].map(Some);
        let parts = cut(&seconds, Cut::Into(3));
        assert_eq!(parts.iter().map(|part| part.seconds).collect::<Vec<_>>(), [70.0, 70.0, 70.0]);
        assert_eq!(parts[0].runs, [0, 1], "the longest run is first");
    }

    #[test]
    fn a_run_of_which_nothing_is_known_has_a_part_of_its_own_where_parts_have_a_length() {
        let parts = cut(&[Some(10.0), None, Some(20.0), None], Cut::Lasting(60.0));
        let runs: Vec<Vec<usize>> = parts.into_iter().map(|part| part.runs).collect();
        assert_eq!(runs, [vec![1], vec![3], vec![2, 0]]);
    }

    #[test]
    fn a_number_of_parts_is_kept_to_and_some_may_be_empty() {
        assert_eq!(cut(&[Some(1.0)], Cut::Into(3)).iter().map(|part| part.runs.len()).collect::<Vec<_>>(), [1, 0, 0]);
        assert_eq!(cut(&[], Cut::Into(2)), vec![Part::default(); 2]);
        assert_eq!(cut(&[], Cut::Lasting(60.0)), []);
    }

    proptest! {
        #[test]
        fn every_run_is_in_one_part_and_no_part_is_much_longer_than_asked(
            known in prop::collection::vec(prop::option::of(0.0..500.0f64), 0..60),
            length in 1.0..1000.0f64,
            into in 1..20usize,
        ) {
            for manner in [Cut::Into(into), Cut::Lasting(length)] {
                let parts = cut(&known, manner);
                let mut runs: Vec<usize> = parts.iter().flat_map(|part| part.runs.iter().copied()).collect();
                runs.sort_unstable();
                prop_assert_eq!(runs, (0..known.len()).collect::<Vec<_>>());
                prop_assert_eq!(parts.clone(), cut(&known, manner), "it is the same every time");
            }
            let longest = known.iter().map(|known| known.unwrap_or(length)).fold(0.0, f64::max);
            for part in cut(&known, Cut::Lasting(length)) {
                prop_assert!(!part.runs.is_empty());
                // The longest run goes to the shortest part, and that is no longer than the mean.
                prop_assert!(part.seconds <= length + longest + 1e-6, "{} s of {length} s", part.seconds);
            }
        }
    }
}
