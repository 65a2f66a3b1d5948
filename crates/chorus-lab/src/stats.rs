//! Means of positive ratios, as papers report them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mean {
    /// The sum over the count.
    Arithmetic,
    /// The count over the sum of reciprocals, as for speed-ups of equally long programs.
    Harmonic,
    /// The root of the product.
    Geometric,
}

impl Mean {
    /// The mean of some values. There is none of no values, nor a harmonic or geometric one where a value is not positive.
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
        }
    }

    /// The abbreviation that figures carry: the paper's `HM` for the harmonic mean (TC, Figure 7).
    pub fn abbreviation(self) -> &'static str {
        match self {
            Mean::Arithmetic => "mean",
            Mean::Harmonic => "HM",
            Mean::Geometric => "GM",
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Mean;

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
    fn nothing_has_no_mean() {
        for mean in [Mean::Arithmetic, Mean::Harmonic, Mean::Geometric] {
            check(mean, &[], None);
        }
    }

    #[test]
    fn a_zero_has_no_harmonic_or_geometric_mean() {
        check(Mean::Arithmetic, &[0.0, 1.0], Some(0.5));
        check(Mean::Harmonic, &[0.0, 1.0], None);
        check(Mean::Geometric, &[0.0, 1.0], None);
    }
}
