//! Parameters of protocols: numbers that a paper varies, declared by the protocol and set by its user.

/// The most parameters that a protocol can have.
pub const PARAMETERS_MAX: usize = 8;

/// One parameter of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterSpec {
    /// Its name on the command line and in files, dotted like the keys of a system: `lease.cycles`.
    pub key: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
    /// Where its default comes from.
    pub source: &'static str,
    /// The value unless told otherwise.
    pub default: u64,
    /// The least value accepted.
    pub min: u64,
    /// The greatest value accepted.
    pub max: u64,
    /// The value in exhaustive explorations, where caches have a line or two and time a few ticks.
    pub explored: u64,
}

/// The values of a protocol's parameters, in the order of its declaration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters([u64; PARAMETERS_MAX]);

impl Parameters {
    /// Every parameter at its default.
    pub fn defaults(specs: &[ParameterSpec]) -> Parameters {
        Parameters::from_specs(specs, |spec| spec.default)
    }

    /// Every parameter as exhaustive explorations use it.
    pub fn explored(specs: &[ParameterSpec]) -> Parameters {
        Parameters::from_specs(specs, |spec| spec.explored)
    }

    fn from_specs(specs: &[ParameterSpec], value: impl Fn(&ParameterSpec) -> u64) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.0.iter_mut().zip(specs).for_each(|(slot, spec)| *slot = value(spec));
        parameters
    }

    /// The value of the parameter at `index` of the declaration.
    pub fn get(&self, index: usize) -> u64 {
        self.0[index]
    }

    /// Gives the parameter at `index` of the declaration another value.
    pub fn set(&mut self, index: usize, value: u64) {
        self.0[index] = value;
    }
}
