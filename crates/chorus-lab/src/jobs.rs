//! The workloads that run at the same time: `A` alone, `A+B` on all modules together, or `A@0-1+B@2-3` on modules of
//! their own (CPElide paper, section VI).

use std::ops::Range;

use chorus_registry::Registry;
use chorus_system::Scale;
use chorus_workloads::{Sizes, Workload};

use crate::document::excerpt;

/// The character between workloads that run at the same time.
const BESIDE: char = '+';

/// The character between a workload and its modules.
const ON: char = '@';

/// A workload that runs alone or beside others.
#[derive(Clone)]
pub struct Job {
    /// The workload to run.
    pub workload: &'static dyn Workload,
    /// The values of the workload's sizes.
    pub sizes: Sizes,
    /// The modules that share its kernels; none means all modules of the machine.
    modules: Option<Range<u16>>,
}

impl Job {
    /// The modules that share its kernels, on a machine with `all` modules.
    pub fn modules(&self, all: u16) -> Range<u16> {
        self.modules.clone().unwrap_or(0..all)
    }
}

/// The jobs that `text` names, with the default sizes of a scale. The error says which workload or module is wrong.
pub fn parse(registry: &Registry, text: &str, scale: Scale) -> Result<Vec<Job>, String> {
    text.split(BESIDE).map(|text| job(registry, text, scale)).collect()
}

/// The names of the workloads in `text`, without their modules.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(BESIDE).map(|job| job.split(ON).next().unwrap_or(job))
}

fn job(registry: &Registry, text: &str, scale: Scale) -> Result<Job, String> {
    let (name, modules) = match text.split_once(ON) {
        Some((name, modules)) => (name, Some(parse_modules(name, modules)?)),
        None => (text, None),
    };
    let workload = registry.expect_workload(name)?;
    Ok(Job { workload, sizes: workload.sizes_at(scale), modules })
}

fn parse_modules(name: &str, text: &str) -> Result<Range<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) if first <= last && last < u16::MAX => Ok(first..last + 1),
        _ => Err(format!(
            "`{name}@{}`: a workload is bound to a module, as in `{name}@2`, or to several in a row, as in `{name}@0-1`",
            excerpt(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Job>, String> {
        super::parse(&Registry::standard(), text, Scale::Quick)
    }

    fn parsed(text: &str) -> Vec<(&'static str, Range<u16>)> {
        let jobs = parse(text).unwrap();
        jobs.iter().map(|job| (job.workload.name(), job.modules(4))).collect()
    }

    #[test]
    fn a_workload_alone_has_all_modules() {
        assert_eq!(parsed("square"), [("square", 0..4)]);
    }

    #[test]
    fn several_share_all_modules_or_have_their_own() {
        assert_eq!(parsed("square+fw"), [("square", 0..4), ("fw", 0..4)]);
        assert_eq!(parsed("square@0-1+fw@3"), [("square", 0..2), ("fw", 3..4)]);
        assert_eq!(names("square@0-1+fw").collect::<Vec<_>>(), ["square", "fw"]);
    }

    #[test]
    fn modules_that_are_none_are_refused_with_what_would_be_accepted() {
        for text in ["square@", "square@1-0", "square@x", "square@0-"] {
            let error = parse(text).err().unwrap();
            assert!(error.ends_with("as in `square@2`, or to several in a row, as in `square@0-1`"), "{error}");
        }
        assert!(parse("square+").err().unwrap().starts_with("unknown workload ``"));
    }
}
