//! What the threads of a wavefront or a work-group do together.

use super::Lowering;
use super::form::Form;
use crate::code::{Action, Barrier, Reduction, ReductionKind, ShuffleKind, SyncAction, VoteKind};
use crate::error::Result;
use crate::syntax::Operand;
use crate::types::ScalarType;

const WORD: ScalarType = ScalarType::Bits(32);

impl<'m> Lowering<'m> {
    pub(super) fn warp(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        match opcode {
            "bar" | "barrier" => self.barrier(form),
            "vote" => self.vote(form),
            "shfl" => self.shuffle(form),
            "activemask" => {
                form.take("b32");
                let [to] = form.exactly()?;
                let to = self.write(to, WORD)?;
                // It waits for nobody.
                let members = self.read(&Operand::Integer(0), WORD)?;
                Ok(Action::Sync { members, action: SyncAction::ActiveLanes { to } })
            }
            _ => form.wrong_type(),
        }
    }

    fn barrier(&mut self, form: &mut Form<'m>) -> Result<Action> {
        if form.take("warp") {
            form.take("sync");
            let [members] = form.exactly()?;
            let members = self.read(members, WORD)?;
            return Ok(Action::Sync { members, action: SyncAction::Meet });
        }
        form.take("cta");
        form.take("aligned");
        let operands = form.operands();
        if form.take("sync") {
            return match operands {
                [Operand::Integer(0)] => Ok(Action::Barrier(Barrier { reduction: None })),
                _ => self.fault("named barriers, and barriers of some threads, are not supported: only `bar.sync 0`"),
            };
        }
        if !form.take("red") {
            return self.fault(format!("`{}` is not supported: a thread must wait at its barrier", form.name()));
        }
        let kind = form.find(|name| match name {
            "popc" => Some(ReductionKind::Count),
            "and" => Some(ReductionKind::All),
            "or" => Some(ReductionKind::Any),
            _ => None,
        });
        let scalar = form.scalar()?;
        let (Some(kind), [to, Operand::Integer(0), predicate]) = (kind, operands) else {
            return self.fault("named barriers, and barriers of some threads, are not supported: only barrier 0");
        };
        let (predicate, negated) = self.read_predicate(predicate)?;
        let to = self.destination(to, scalar)?;
        Ok(Action::Barrier(Barrier { reduction: Some(Reduction { kind, predicate, negated, to }) }))
    }

    fn vote(&mut self, form: &mut Form<'m>) -> Result<Action> {
        if !form.take("sync") {
            return self.fault("votes without `.sync` are not supported");
        }
        let kind = form.find(|name| match name {
            "all" => Some(VoteKind::All),
            "any" => Some(VoteKind::Any),
            "uni" => Some(VoteKind::Uniform),
            "ballot" => Some(VoteKind::Ballot),
            _ => None,
        });
        let Some(kind) = kind else { return form.wrong_type() };
        let scalar = form.scalar()?;
        let [to, predicate, members] = form.exactly()?;
        let (predicate, negated) = self.read_predicate(predicate)?;
        let members = self.read(members, WORD)?;
        let to = self.destination(to, scalar)?;
        Ok(Action::Sync { members, action: SyncAction::Vote { kind, predicate, negated, to } })
    }

    fn shuffle(&mut self, form: &mut Form<'m>) -> Result<Action> {
        if !form.take("sync") {
            return self.fault("shuffles without `.sync` are not supported");
        }
        let kind = form.find(|name| match name {
            "up" => Some(ShuffleKind::Up),
            "down" => Some(ShuffleKind::Down),
            "bfly" => Some(ShuffleKind::Butterfly),
            "idx" => Some(ShuffleKind::Index),
            _ => None,
        });
        let Some(kind) = kind else { return form.wrong_type() };
        form.scalar()?;
        let [to, from, lane, clamp, members] = form.exactly()?;
        let from = self.read(from, WORD)?;
        let (lane, clamp) = (self.read(lane, WORD)?, self.read(clamp, WORD)?);
        let members = self.read(members, WORD)?;
        let (to, valid) = match to {
            Operand::Pair(to, valid) => (to.as_ref(), Some(self.write(valid, ScalarType::Predicate)?)),
            to => (to, None),
        };
        let to = self.write(to, WORD)?;
        Ok(Action::Sync { members, action: SyncAction::Shuffle { kind, to, valid, from, lane, clamp } })
    }
}
