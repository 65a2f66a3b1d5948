//! Every check of a protocol, collected: configurations, litmus tests, virtual networks, random steps and seeded faults. The page
//! that shows them, the data for programs, and the facts that claims of papers name.
//!
//! | file | subject |
//! |---|---|
//! | `collect.rs` | the checks of one protocol |
//! | `checked.rs` | one configuration that was explored |
//! | `tortured.rs` | one protocol that the random driver ran |
//! | `networks.rs` | the search for the fewest virtual networks, as data |
//! | `page.rs`, `sections.rs` | the page |
//! | `json.rs` | the same as data |
//! | `words.rs` | numbers and verdicts in words |
//! | `steps.rs` | progress |
//! | `facts.rs`, `facts/` | facts that are counted in controllers and machines |

mod checked;
pub mod collect;
pub mod facts;
mod json;
pub mod networks;
pub mod page;
mod sections;
mod steps;
mod tortured;
pub mod words;

use std::path::{Path, PathBuf};

use chorus_lab::report::{self, ReportError};
use serde_json::Value;

pub use checked::Checked;
use collect::{Extent, Proof};
pub use steps::Steps;
pub use tortured::{Tortured, torture_one};

/// The version of the JSON that this crate writes.
const JSON_SCHEMA_VERSION: u32 = 1;

/// The file of the page.
const PAGE: &str = "proof.html";
/// The file of its data.
const DATA: &str = "proof.json";

/// The protocols that are finished, of those that were asked for.
pub struct Proofs {
    /// The protocols that are finished.
    pub proofs: Vec<Proof>,
    /// How many were asked for.
    pub asked: usize,
    /// How much was done.
    pub extent: Extent,
    /// Today.
    pub date: String,
}

impl Proofs {
    /// Whether everything that was asked for is finished and good.
    pub fn passed(&self) -> bool {
        self.proofs.len() == self.asked && self.proofs.iter().all(Proof::passed)
    }

    /// Everything as data.
    pub fn to_json(&self) -> Value {
        json::of(self)
    }

    /// Writes the page and its data, each whole or not at all.
    pub fn write(&self, out: &Path) -> Result<(PathBuf, PathBuf), ReportError> {
        let page = report::write(out, PAGE, &page::of(self))?;
        let data = report::write(out, DATA, &format!("{:#}\n", self.to_json()))?;
        Ok((page, data))
    }
}
