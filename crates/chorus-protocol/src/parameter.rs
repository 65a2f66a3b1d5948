//! Parameters of protocols: numbers that a paper varies, declared by the protocol and set by its user.

use std::hash::{Hash, Hasher};

/// The most parameters that a protocol can have.
pub const PARAMETERS_MAX: usize = 8;

/// One parameter of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterSpec {
    /// The name on the command line and in files, dotted like the keys of a system: `lease.cycles`.
    pub key: &'static str,
    /// A description for users, with the unit.
    pub meaning: &'static str,
    /// The paper and section that the default comes from, or the reason for it.
    pub source: &'static str,
    /// The value unless told otherwise.
    pub default: u64,
    /// The least value accepted.
    pub min: u64,
    /// The greatest value accepted.
    pub max: u64,
    /// The values in exhaustive explorations, where caches have a line or two and time a few ticks. The first is that
    /// of most configurations. Small configurations are explored with the others, too, in all pairs with those of other
    /// parameters. A value is left out where the protocol makes other promises with it.
    pub explored: &'static [u64],
}

/// The values of a protocol's parameters, by their keys.
///
/// A controller reads its parameters when it is built and keeps the values, so looking names up costs nothing while it
/// runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameters {
    specs: &'static [ParameterSpec],
    values: [u64; PARAMETERS_MAX],
}

impl Parameters {
    /// Every parameter at its default.
    pub fn defaults(specs: &'static [ParameterSpec]) -> Parameters {
        Parameters::from_specs(specs, |spec| spec.default)
    }

    /// Every parameter as most exhaustive explorations use it.
    pub fn explored(specs: &'static [ParameterSpec]) -> Parameters {
        Parameters::from_specs(specs, |spec| spec.explored.first().copied().unwrap_or(spec.default))
    }

    fn from_specs(specs: &'static [ParameterSpec], value: impl Fn(&ParameterSpec) -> u64) -> Parameters {
        let mut values = [0; PARAMETERS_MAX];
        values[..specs.len()].iter_mut().zip(specs).for_each(|(slot, spec)| *slot = value(spec));
        Parameters { specs, values }
    }

    /// The value of the parameter called `key`, if the protocol declares it.
    pub fn find(&self, key: &str) -> Option<u64> {
        self.position(key).map(|index| self.values[index])
    }

    /// The value of the parameter called `key`.
    ///
    /// # Panics
    ///
    /// If the protocol does not declare it: a protocol may read only what its declaration has.
    pub fn get(&self, key: &str) -> u64 {
        self.find(key).unwrap_or_else(|| panic!("the parameter `{key}` is read and not declared"))
    }

    /// Gives the parameter called `key` another value.
    ///
    /// # Panics
    ///
    /// If the protocol does not declare it.
    pub fn set(&mut self, key: &str, value: u64) {
        let index = self.position(key).unwrap_or_else(|| panic!("the parameter `{key}` is set and not declared"));
        self.values[index] = value;
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.specs.iter().position(|spec| spec.key == key)
    }
}

/// Parameters are compared by their values. Their names are the protocol's and the same in all of its controllers.
impl PartialEq for Parameters {
    fn eq(&self, other: &Parameters) -> bool {
        self.values == other.values
    }
}

impl Eq for Parameters {}

impl Hash for Parameters {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SPECS: [ParameterSpec; 2] = [spec("lease.cycles", 800, &[1]), spec("timestamp.bits", 32, &[4])];

    const fn spec(key: &'static str, default: u64, explored: &'static [u64]) -> ParameterSpec {
        ParameterSpec { key, meaning: "", source: "", default, min: 0, max: 1000, explored }
    }

    #[test]
    fn parameters_are_read_and_set_by_name() {
        let mut parameters = Parameters::defaults(&SPECS);
        parameters.set("timestamp.bits", 16);
        assert_eq!([parameters.get("lease.cycles"), parameters.get("timestamp.bits")], [800, 16]);
        assert_eq!(Parameters::explored(&SPECS).get("lease.cycles"), 1);
        assert_eq!(parameters.find("lease"), None);
    }

    #[test]
    #[should_panic(expected = "the parameter `lease` is read and not declared")]
    fn a_parameter_that_is_not_declared_cannot_be_read() {
        Parameters::defaults(&SPECS).get("lease");
    }
}
