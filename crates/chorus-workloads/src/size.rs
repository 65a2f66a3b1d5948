//! The sizes that a workload declares, and the values that a run gives to them.
//!
//! A size is a number that a user may want to change: elements, iterations, nodes, neighbours per node. Each has a
//! default at every scale, a range, and a source that says where the default at paper scale comes from. Workloads read
//! sizes by name.

use std::fmt;

use chorus_system::Scale;

/// Words of memory that a program may take: 4 GiB. Workloads refuse sizes that need more.
pub const WORDS_MAX: u64 = 1 << 30;

/// The declaration of one size of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeSpec {
    /// The name that follows `workload.` on the command line: lower-case words joined by underscores.
    pub key: &'static str,
    /// The thing that is counted, as a phrase: `rows of the matrix`.
    pub meaning: &'static str,
    /// The values at quick, medium and paper scale.
    pub defaults: [u64; 3],
    /// The smallest accepted value.
    pub min: u64,
    /// The largest accepted value.
    pub max: u64,
    /// Every value is a multiple of this number.
    pub multiple_of: u64,
    /// Where the default at paper scale comes from.
    pub source: &'static str,
}

impl SizeSpec {
    /// A size with its defaults at quick, medium and paper scale. Its range is 1 to 2^30 until [`SizeSpec::range`]
    /// narrows it.
    pub const fn new(key: &'static str, meaning: &'static str, defaults: [u64; 3], source: &'static str) -> SizeSpec {
        SizeSpec { key, meaning, defaults, min: 1, max: 1 << 30, multiple_of: 1, source }
    }

    /// Narrows the accepted values to those from `min` to `max`.
    pub const fn range(self, min: u64, max: u64) -> SizeSpec {
        SizeSpec { min, max, ..self }
    }

    /// Limits the accepted values to multiples of a number.
    pub const fn multiple_of(self, multiple_of: u64) -> SizeSpec {
        SizeSpec { multiple_of, ..self }
    }

    /// The value that the size has at a scale when nobody sets it.
    pub fn default_at(&self, scale: Scale) -> u64 {
        let [quick, medium, paper] = self.defaults;
        match scale {
            Scale::Quick => quick,
            Scale::Medium => medium,
            Scale::Paper => paper,
        }
    }

    /// Whether the size may have this value.
    pub fn accepts(&self, value: u64) -> bool {
        (self.min..=self.max).contains(&value) && value.is_multiple_of(self.multiple_of)
    }

    /// The accepted values in words, such as `a whole number from 32 to 65536 that is a multiple of 32`.
    pub fn accepted(&self) -> String {
        let SizeSpec { min, max, multiple_of, .. } = self;
        let range = format!("a whole number from {min} to {max}");
        if *multiple_of == 1 { range } else { format!("{range} that is a multiple of {multiple_of}") }
    }
}

/// The reason why a size cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeError {
    /// The workload declares no size of that name.
    Unknown,
    /// The value lies outside the range, or is no multiple of the number that the size demands.
    Refused(SizeSpec),
}

impl std::error::Error for SizeError {}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeError::Unknown => f.write_str("the workload declares no size of that name"),
            SizeError::Refused(spec) => write!(f, "expected {} ({})", spec.accepted(), spec.meaning),
        }
    }
}

/// The values of all sizes of one workload in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    specs: &'static [SizeSpec],
    values: Vec<u64>,
}

impl Sizes {
    /// The sizes of a workload at a scale, all with their defaults.
    pub fn at(specs: &'static [SizeSpec], scale: Scale) -> Sizes {
        Sizes { specs, values: specs.iter().map(|spec| spec.default_at(scale)).collect() }
    }

    /// Gives a size another value. A refused value changes nothing.
    pub fn set(&mut self, key: &str, value: u64) -> Result<(), SizeError> {
        let index = self.specs.iter().position(|spec| spec.key == key).ok_or(SizeError::Unknown)?;
        if !self.specs[index].accepts(value) {
            return Err(SizeError::Refused(self.specs[index]));
        }
        self.values[index] = value;
        Ok(())
    }

    /// The value of the size called `key`.
    ///
    /// # Panics
    ///
    /// Where the workload does not declare the size, or where the value does not fit into 32 bits.
    pub fn get(&self, key: &str) -> u32 {
        let found = self.iter().find(|(spec, _)| spec.key == key);
        let (_, value) = found.unwrap_or_else(|| panic!("the workload declares no size `{key}`"));
        u32::try_from(value).unwrap_or_else(|_| panic!("size `{key}` is {value}, more than 32 bits hold"))
    }

    /// Every declared size with its value in this run.
    pub fn iter(&self) -> impl Iterator<Item = (&'static SizeSpec, u64)> + '_ {
        self.specs.iter().zip(self.values.iter().copied())
    }

    /// Refuses a program that takes more than [`WORDS_MAX`] words, in a sentence that names the sizes called `keys`.
    pub fn too_large(&self, words: u64, keys: &[&str]) -> Option<String> {
        (words > WORDS_MAX).then(|| {
            let given: Vec<String> = keys.iter().map(|key| format!("{key} = {}", self.get(key))).collect();
            let given = given.join(", ");
            format!("{given} would take {words} words of memory; at most {WORDS_MAX} (4 GiB) are accepted")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SPECS: [SizeSpec; 2] = [
        SizeSpec::new("rows", "rows of the matrix", [64, 128, 4096], "Table 3").range(32, 8192).multiple_of(32),
        SizeSpec::new("turns", "turns of the loop", [1, 2, 3], "Table 3").range(1, 10),
    ];

    #[test]
    fn sizes_have_defaults_per_scale_until_they_are_set() {
        let mut sizes = Sizes::at(&SPECS, Scale::Medium);
        assert_eq!((sizes.get("rows"), sizes.get("turns")), (128, 2));
        assert_eq!(sizes.set("rows", 96), Ok(()));
        assert_eq!((sizes.get("rows"), sizes.get("turns")), (96, 2));
    }

    #[test]
    fn values_outside_the_range_are_refused_with_the_range() {
        let mut sizes = Sizes::at(&SPECS, Scale::Quick);
        for value in [0, 31, 33, 8224] {
            let message = sizes.set("rows", value).unwrap_err().to_string();
            let expected = "expected a whole number from 32 to 8192 that is a multiple of 32 (rows of the matrix)";
            assert_eq!(message, expected, "{value}");
        }
        assert_eq!(sizes.set("columns", 1), Err(SizeError::Unknown));
        assert_eq!(sizes, Sizes::at(&SPECS, Scale::Quick), "refused values change nothing");
    }

    #[test]
    fn programs_of_more_than_4_gib_are_refused_with_the_sizes_that_make_them_so() {
        let sizes = Sizes::at(&SPECS, Scale::Paper);
        assert_eq!(sizes.too_large(WORDS_MAX, &["rows"]), None);
        let message = sizes.too_large(WORDS_MAX + 1, &["rows", "turns"]).unwrap();
        let expected = "rows = 4096, turns = 3 would take 1073741825 words of memory; \
                        at most 1073741824 (4 GiB) are accepted";
        assert_eq!(message, expected);
    }
}
