//! Means and extremes of positive ratios, as papers report them, and correlation.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A mean, or another number that stands for many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mean {
    /// The sum over the count.
    Arithmetic,
    /// The count over the sum of reciprocals, as for speed-ups of equally long programs.
    Harmonic,
    /// The root of the product.
    Geometric,
    /// The largest value, for what papers state as "up to". It is no mean.
    Largest,
    /// The smallest value, for what papers state as "at least". It is no mean either.
    Smallest,
}

impl Mean {
    /// The mean of some values. Nothing has no mean, and a value that is not positive has no harmonic or geometric one.
    pub fn of(self, values: &[f64]) -> Option<f64> {
        let count = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let all_positive = values.iter().all(|&value| value > 0.0);
        match self {
            Mean::Arithmetic => Some(values.iter().sum::<f64>() / count),
            Mean::Harmonic => all_positive.then(|| count / values.iter().map(|value| value.recip()).sum::<f64>()),
            Mean::Geometric => all_positive.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp()),
            Mean::Largest => values.iter().copied().reduce(f64::max),
            Mean::Smallest => values.iter().copied().reduce(f64::min),
        }
    }

    /// The abbreviation that figures carry: the paper's `HM` for the harmonic mean (TC, Figure 7).
    pub fn abbreviation(self) -> &'static str {
        match self {
            Mean::Arithmetic => "mean",
            Mean::Harmonic => "HM",
            Mean::Geometric => "GM",
            Mean::Largest => "max",
            Mean::Smallest => "min",
        }
    }
}

/// For people: `harmonic mean`.
impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mean::Arithmetic => "arithmetic mean",
            Mean::Harmonic => "harmonic mean",
            Mean::Geometric => "geometric mean",
            Mean::Largest => "largest",
            Mean::Smallest => "smallest",
        })
    }
}

/// Pearson's coefficient of correlation. Fewer than three points have none, nor do points of which one side does not
/// vary.
pub fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x_mean, y_mean) = (
        points.iter().map(|point| point.0).sum::<f64>() / count,
        points.iter().map(|point| point.1).sum::<f64>() / count,
    );
    let sum = |product: fn(f64, f64) -> f64| points.iter().map(|(x, y)| product(x - x_mean, y - y_mean)).sum::<f64>();
    let coefficient = sum(|x, y| x * y) / (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt();
    Some(coefficient).filter(|coefficient| points.len() >= 3 && coefficient.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{Mean, correlation};

    fn check(mean: Mean, values: &[f64], expected: Option<f64>) {
        let got = mean.of(values);
        let near = match (got, expected) {
            (Some(got), Some(expected)) => (got - expected).abs() < 1e-12,
            (got, expected) => got == expected,
        };
        assert!(near, "{mean} of {values:?} is {got:?}, expected {expected:?}");
    }

    #[test]
    fn means_of_one_and_four_differ_as_they_should() {
        check(Mean::Arithmetic, &[1.0, 4.0], Some(2.5));
        check(Mean::Geometric, &[1.0, 4.0], Some(2.0));
        check(Mean::Harmonic, &[1.0, 4.0], Some(1.6));
    }

    #[test]
    fn extremes_are_values_themselves() {
        check(Mean::Largest, &[1.0, 4.0, 2.0], Some(4.0));
        check(Mean::Smallest, &[2.0, 1.0, 4.0], Some(1.0));
    }

    #[test]
    fn nothing_has_no_mean() {
        for mean in [Mean::Arithmetic, Mean::Harmonic, Mean::Geometric, Mean::Largest, Mean::Smallest] {
            check(mean, &[], None);
        }
    }

    #[test]
    fn a_zero_has_no_harmonic_or_geometric_mean() {
        check(Mean::Arithmetic, &[0.0, 1.0], Some(0.5));
        check(Mean::Harmonic, &[0.0, 1.0], None);
        check(Mean::Geometric, &[0.0, 1.0], None);
    }

    #[test]
    fn points_on_a_line_correlate_fully_and_a_constant_with_nothing() {
        let rising = [(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)];
        assert!(correlation(&rising).is_some_and(|coefficient| (coefficient - 1.0).abs() < 1e-12));
        let falling = rising.map(|(x, y)| (x, -y));
        assert!(correlation(&falling).is_some_and(|coefficient| (coefficient + 1.0).abs() < 1e-12));
        assert_eq!(correlation(&rising.map(|(x, _)| (x, 1.0))), None);
        assert_eq!(correlation(&rising[..2]), None);
    }
}
