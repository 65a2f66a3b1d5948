//! The workloads that run at the same time: `A` alone, `A+B` on all modules together, or `A@0-1+B@2-3` on modules of
//! their own (CPElide paper, section VI). A name that is the path of a program file stands for that program.

use std::ops::Range;
use std::path::Path;

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
    parts(text).into_iter().map(|text| job(registry, text, scale)).collect()
}

/// The workload of a name, or the program at a path. The error says what is wrong with the name or the program.
pub fn workload(registry: &Registry, name: &str) -> Result<&'static dyn Workload, String> {
    if chorus_program::is_path(name) {
        return chorus_program::load(name)
            .map(|program| program as &'static dyn Workload)
            .map_err(|error| error.to_string());
    }
    registry.expect_workload(name)
}

/// A list of workloads in which the paths of programs begin with a folder if they lie there and not in the working
/// directory.
pub(crate) fn in_folder(text: &str, folder: &Path) -> String {
    let located = |part: &str| {
        let (name, modules) = split(part);
        let beside = folder.join(name);
        let is_beside = chorus_program::is_path(name) && !Path::new(name).is_file() && beside.is_file();
        let name = if is_beside { beside.display().to_string() } else { name.to_owned() };
        modules.map_or_else(|| name.clone(), |modules| format!("{name}{ON}{modules}"))
    };
    parts(text).into_iter().map(located).collect::<Vec<_>>().join(&BESIDE.to_string())
}

/// The workloads that run at the same time. The path of a file may contain the character between them.
fn parts(text: &str) -> Vec<&str> {
    let is_file = chorus_program::is_path(text) && Path::new(text).is_file();
    if is_file { vec![text] } else { text.split(BESIDE).collect() }
}

/// A workload and its modules. The path of a program may contain the character between them.
fn split(part: &str) -> (&str, Option<&str>) {
    match part.rsplit_once(ON) {
        Some((name, modules)) if !chorus_program::is_path(modules) => (name, Some(modules)),
        Some(_) | None => (part, None),
    }
}

/// The names of the workloads in `text`, without their modules.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().map(|part| split(part).0)
}

fn job(registry: &Registry, text: &str, scale: Scale) -> Result<Job, String> {
    let (name, modules) = split(text);
    let modules = modules.map(|modules| parse_modules(name, modules)).transpose()?;
    let workload = workload(registry, name)?;
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
