//! The name of a part of the runs: `3/16` is the third of sixteen.

use std::str::FromStr;

/// The most parts into which runs can be cut.
const PARTS_MAX: usize = 100_000;

/// A part of the runs of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the part, from 1 on.
    pub part: usize,
    /// The number of parts.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<usize>().ok(),
            false => None,
        };
        let numbers = text.split_once('/').and_then(|(part, of)| Some((number(part)?, number(of)?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) && of <= PARTS_MAX => Ok(Shard { part, of }),
            Some(_) | None => {
                Err(format!("expected a part and the number of parts, as in 1/16 to 16/16, and at most {PARTS_MAX}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_names_no_part_is_refused_with_what_is_accepted() {
        for text in
            ["", "3", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/4", "+1/4", "1/1000000", "1/99999999999999999999"]
        {
            assert!(text.parse::<Shard>().is_err_and(|error| error.contains("as in 1/16 to 16/16")), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_part_is_read_and_nothing_panics(of in 1..=PARTS_MAX, share in 0.0..1.0f64, noise in "[-+0-9/ ]{0,9}") {
            let part = 1 + (share * of as f64) as usize;
            prop_assert_eq!(format!("{part}/{of}").parse(), Ok(Shard { part, of }));
            if let Ok(Shard { part, of }) = noise.parse() {
                prop_assert!((1..=of).contains(&part));
            }
        }
    }
}
