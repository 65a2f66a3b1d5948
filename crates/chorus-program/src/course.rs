//! The course of a program: its steps one after the other, with loops.

use std::sync::Arc;

use crate::error::Result;
use crate::expression::Values;
use crate::manifest::{End, Loop, Step, Until};

/// The most launches and writes of the host in one run.
const ACTIONS_MAX: u64 = 1 << 20;

pub(crate) struct Course {
    /// The values of sizes and counters.
    pub(crate) values: Values,
    /// The steps that are being made: those of the program, and those of the loops that are open.
    open: Vec<Open>,
    actions: u64,
}

struct Open {
    steps: Arc<[Arc<Step>]>,
    at: usize,
    /// The step of the loop around the steps.
    around: Option<Arc<Step>>,
    passes: u64,
}

/// Decides whether the pass of a loop that has ended was the last one.
pub(crate) type IsOver<'o> = dyn FnMut(&Until, &Values) -> Result<bool> + 'o;

impl Course {
    pub(crate) fn new(steps: &Arc<[Arc<Step>]>, values: Values) -> Course {
        let open = vec![Open { steps: Arc::clone(steps), at: 0, around: None, passes: 0 }];
        Course { values, open, actions: 0 }
    }

    /// The next launch or write of the host, or nothing at the end of the program.
    pub(crate) fn next(&mut self, is_over: &mut IsOver<'_>) -> Result<Option<Arc<Step>>> {
        while let Some(open) = self.open.last_mut() {
            let Some(step) = open.steps.get(open.at).map(Arc::clone) else {
                self.end_pass(is_over)?;
                continue;
            };
            open.at += 1;
            let place = match &*step {
                Step::Loop(inner) => {
                    self.enter(inner, &step)?;
                    continue;
                }
                Step::Launch(launch) => &launch.place,
                Step::Set(set) => &set.index.place,
            };
            self.actions += 1;
            if self.actions > ACTIONS_MAX {
                return Err(place.mistake(format!("the program has more than {ACTIONS_MAX} launches and writes")));
            }
            return Ok(Some(step));
        }
        Ok(None)
    }

    fn enter(&mut self, inner: &Loop, step: &Arc<Step>) -> Result<()> {
        if let End::Repeat(times) = &inner.end
            && times.within(&self.values, 0, u32::MAX.into(), "a number of passes")? == 0
        {
            return Ok(());
        }
        let (steps, around) = (Arc::clone(&inner.steps), Some(Arc::clone(step)));
        self.open.push(Open { steps, at: 0, around, passes: 0 });
        self.count(inner, 0);
        Ok(())
    }

    fn end_pass(&mut self, is_over: &mut IsOver<'_>) -> Result<()> {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        let Some(around) = open.around.clone() else {
            self.open.pop();
            return Ok(());
        };
        let Step::Loop(inner) = &*around else { return Ok(()) };
        open.passes += 1;
        let passes = open.passes;
        let over = match &inner.end {
            End::Repeat(times) => i128::from(passes) >= times.value(&self.values)?,
            End::Until(until) => {
                let over = is_over(until, &self.values)?;
                if !over && passes >= until.at_most {
                    let message =
                        format!("the loop has not ended after {passes} passes; `at_most` says how many it may have");
                    return Err(until.place.mistake(message));
                }
                over
            }
        };
        if over {
            self.open.pop();
            if let Some(counter) = &inner.counter {
                self.values.remove(counter);
            }
        } else {
            open.at = 0;
            self.count(inner, passes);
        }
        Ok(())
    }

    fn count(&mut self, inner: &Loop, passes: u64) {
        if let Some(counter) = &inner.counter {
            self.values.insert(counter.clone(), passes.into());
        }
    }
}
