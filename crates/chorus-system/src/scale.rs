//! Scales: the paper's own size of a machine, and smaller sizes with the same ratios.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::SystemError;
use crate::nearest::nearest;
use crate::place::excerpt;

/// The size at which a machine is built. A system need not have every scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Shrunk in proportion, for answers within seconds.
    Quick,
    /// About four times as large as quick, to see whether results at quick scale also hold at a larger size.
    Medium,
    /// The size that the paper describes.
    Paper,
}

impl Scale {
    /// Every scale, in the order in which they are listed to people.
    pub const ALL: [Scale; 3] = [Scale::Quick, Scale::Medium, Scale::Paper];

    /// The name used on the command line and in `[scale.…]`.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Medium => "medium",
            Scale::Paper => "paper",
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scale {
    type Err = SystemError;

    fn from_str(text: &str) -> Result<Self, SystemError> {
        Scale::ALL.into_iter().find(|scale| scale.name() == text).ok_or_else(|| SystemError::UnknownScale {
            given: excerpt(text),
            accepted: Scale::ALL.map(Scale::name).to_vec(),
            nearest: nearest(text, Scale::ALL.map(Scale::name)),
        })
    }
}
