//! The sources of annotations. An annotation says which buffers a kernel accesses, and how (CPElide paper, section
//! III-B).

use std::fmt;
use std::str::FromStr;

use chorus_kernel::{Annotated, HostMemory, Mismatch, Program, Recording};
use serde::{Deserialize, Serialize};

use chorus_registry::unknown;

/// The source of the annotations of kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Annotate {
    /// The annotations that the author of the workload wrote.
    #[default]
    Hand,
    /// A recording of the workload on flat memory.
    Auto,
    /// No annotations: every kernel may access anything.
    None,
}

impl Annotate {
    /// All sources, in the order in which they are listed to people.
    pub const ALL: [Annotate; 3] = [Annotate::Hand, Annotate::Auto, Annotate::None];

    /// The word on the command line, in experiments and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Annotate::Hand => "hand",
            Annotate::Auto => "auto",
            Annotate::None => "none",
        }
    }

    /// Whether the workload's own annotations are used.
    pub fn is_hand(&self) -> bool {
        *self == Annotate::Hand
    }

    /// The source as a table of the stored configuration. The text is empty for the workload's own annotations.
    pub(crate) fn text(self) -> String {
        if self.is_hand() { String::new() } else { format!("\n[annotations]\nannotate = \"{self}\"\n") }
    }

    /// The programs of a run, whose kernels carry annotations from this source. `prepare` lays the programs out in a
    /// memory without buffers. For a recording, it lays all of them out a second time. `shares` has the number of
    /// chiplets that share each program; `gpus` is the number of GPUs.
    pub fn programs(
        self,
        prepare: &dyn Fn(&mut HostMemory) -> Vec<Box<dyn Program>>,
        gpus: u32,
        shares: &[u32],
        memory: &mut HostMemory,
    ) -> Result<Vec<Box<dyn Program>>, Mismatch> {
        let boxed = |annotated: Annotated| Box::new(annotated) as Box<dyn Program>;
        match self {
            Annotate::Hand => Ok(prepare(memory)),
            Annotate::None => Ok(prepare(memory).into_iter().map(Annotated::nothing).map(boxed).collect()),
            Annotate::Auto => {
                let mut flat = memory.clone();
                // What threads print is shown once, by the run itself.
                let programs = chorus_program::with_printing(false, || prepare(&mut flat)).into_iter().zip(shares);
                let recordings: Vec<Recording> = programs
                    .map(|(mut program, &chiplets)| Recording::of(program.as_mut(), &flat, gpus, chiplets))
                    .collect::<Result<_, _>>()?;
                let programs = prepare(memory).into_iter().zip(recordings);
                Ok(programs.map(|(program, recording)| boxed(Annotated::recorded(program, recording))).collect())
            }
        }
    }
}

impl fmt::Display for Annotate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no source of annotations. The text lists the words that do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownAnnotate(String);

impl FromStr for Annotate {
    type Err = UnknownAnnotate;

    fn from_str(text: &str) -> Result<Self, UnknownAnnotate> {
        let names = Annotate::ALL.map(Annotate::name);
        let found = Annotate::ALL.into_iter().find(|annotate| annotate.name() == text);
        found.ok_or_else(|| UnknownAnnotate(unknown("source of annotations", text, &names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_any_other_lists_them() {
        for annotate in Annotate::ALL {
            assert_eq!(annotate.name().parse(), Ok(annotate));
        }
        let message = "atuo".parse::<Annotate>().unwrap_err().to_string();
        assert_eq!(message, "unknown source of annotations `atuo`; did you mean `auto`? known: `hand`, `auto`, `none`");
    }
}
