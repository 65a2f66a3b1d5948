//! Intervals of confidence over the runs of a seed set, and the significance of effects.

use serde::Serialize;

/// The mean of a number over the seeds, and where its true mean lies with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The number of seeds.
    pub seeds: usize,
    /// The arithmetic mean over the seeds.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// The interval of some values, one for each seed, by Student's t. Fewer than two values have none.
    pub fn of(values: &[f64]) -> Option<Interval> {
        let freedom = values.len().checked_sub(1).filter(|&freedom| freedom > 0)?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
        let half = student_t(freedom) * (variance / values.len() as f64).sqrt();
        half.is_finite().then_some(Interval { seeds: values.len(), mean, low: mean - half, high: mean + half })
    }

    /// Half of its width: what stands behind `±`.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether a value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The significance of a claim's effect, by the runs of a seed set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Significance {
    /// The interval of the measured number.
    pub interval: Interval,
    /// Whether the interval excludes the number that means no effect.
    pub significant: bool,
    /// Whether the interval has the paper's number in it.
    pub includes_paper: bool,
}

impl Significance {
    /// Judges the values of the seeds beside the number that means no effect and the paper's number.
    pub fn of(by_seed: &[f64], no_effect: f64, paper: f64) -> Option<Significance> {
        let interval = Interval::of(by_seed)?;
        Some(Significance {
            interval,
            significant: !interval.contains(no_effect),
            includes_paper: interval.contains(paper),
        })
    }

    /// The judgement in words, to follow a reason.
    pub fn words(&self) -> String {
        let Interval { seeds, low, high, .. } = self.interval;
        let effect = if self.significant { "significant" } else { "not significant" };
        let paper = if self.includes_paper { "with" } else { "without" };
        format!("95 % interval {low:.3} to {high:.3} over {seeds} seeds: {effect}, {paper} the paper's number in it")
    }
}

/// The 97.5th percentile of Student's t distribution for up to 30 degrees of freedom, from any table of it.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5th percentile of the normal distribution.
const Z: f64 = 1.959_964;

/// The 97.5th percentile of Student's t distribution. Beyond the table it is the expansion in the inverse of the
/// degrees of freedom (Abramowitz and Stegun: Handbook of Mathematical Functions, 26.7.5), right to four digits there.
fn student_t(freedom: usize) -> f64 {
    match T.get(freedom - 1) {
        Some(&t) => t,
        None => {
            let n = freedom as f64;
            Z + (Z.powi(3) + Z) / (4.0 * n) + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_five_values_is_that_of_the_textbook() {
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("several values");
        // The standard deviation is the root of 2.5, and t is 2.776 for four degrees of freedom.
        let half = 2.776 * (2.5_f64 / 5.0).sqrt();
        assert_eq!((interval.seeds, interval.mean), (5, 3.0));
        assert!((interval.half() - half).abs() < 1e-12 && (interval.low - (3.0 - half)).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_a_point() {
        assert_eq!((Interval::of(&[]), Interval::of(&[1.5])), (None, None));
        let point = Interval::of(&[1.5; 4]).expect("several values");
        assert_eq!((point.low, point.high), (1.5, 1.5));
    }

    #[test]
    fn the_expansion_meets_the_table() {
        for (freedom, expected) in [(40, 2.021), (60, 2.000), (120, 1.980), (100_000, 1.960)] {
            assert!((student_t(freedom) - expected).abs() < 6e-4, "{freedom}: {}", student_t(freedom));
        }
    }

    #[test]
    fn an_effect_is_significant_if_the_interval_excludes_none() {
        let judged = |values: &[f64]| Significance::of(values, 1.0, 1.3).map(|it| (it.significant, it.includes_paper));
        assert_eq!(judged(&[1.29, 1.31, 1.30]), Some((true, true)));
        assert_eq!(judged(&[1.09, 1.11, 1.10]), Some((true, false)));
        assert_eq!(judged(&[0.9, 1.2, 1.0]), Some((false, true)));
        assert_eq!(judged(&[1.1]), None);
    }
}
