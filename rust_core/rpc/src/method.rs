//! Row of the method table: a method's name, arguments, cost, access and function.

use bytes::Bytes;
use foreseal_scheduler::Lane;

use crate::{Argument, Context, Error, Reply, params::Params};

/// Cost class of a method, which decides the thread that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Takes less than about 50 us and runs on the receiving thread.
    Inline,
    /// Usually as short, but not for all parameters. [`Api::attempt`](crate::Api::attempt) tries it on the
    /// receiving thread within tight limits; a longer call runs in the worker pool.
    Short,
    /// May take longer and runs in the worker pool.
    Threaded,
    /// May wait for the process that this one follows, and runs on a dedicated thread.
    Apart,
}

/// Callers that may use a method. Only [`Api::begin`](crate::Api::begin) checks access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Served by development nodes only.
    Development,
    /// Served on the admin listener only.
    Admin,
}

impl Access {
    /// Returns the name of the access level.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::Development => "development",
            Self::Admin => "admin",
        }
    }
}

/// Method that returns its result as JSON immediately.
pub type Answer = fn(&Context<'_>, &mut Params<'_>) -> Result<Vec<u8>, Error>;
/// Method that returns its result immediately as shared, cached JSON.
pub type SharedAnswer = fn(&Context<'_>, &mut Params<'_>) -> Result<Bytes, Error>;
/// Method that may have to wait for its result.
pub type Begin = fn(&Context<'_>, &mut Params<'_>) -> Result<Reply, Error>;

/// Implementation of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    Answer(Answer),
    Shared(SharedAnswer),
    Begin(Begin),
}

/// Lane of a method's calls that do not run on the receiving thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneChoice {
    Fixed(Lane),
    /// Selected by the parameters, a JSON array.
    ByParams(fn(&[u8]) -> Lane),
}

/// Row of the table.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub cost: Cost,
    pub access: Access,
    /// Arguments in order, required ones first.
    pub arguments: &'static [Argument],
    pub(crate) run: Run,
    pub(crate) lane: LaneChoice,
}

const READ: LaneChoice = LaneChoice::Fixed(Lane::Read);
const HEAVY: LaneChoice = LaneChoice::Fixed(Lane::Heavy);

impl Method {
    /// Returns the lane that a call with these parameters, a JSON array, runs in.
    pub fn lane(&self, params: &[u8]) -> Lane {
        match self.lane {
            LaneChoice::Fixed(lane) => lane,
            LaneChoice::ByParams(choose) => choose(params),
        }
    }

    /// Rejects a caller that may not call the method.
    pub(crate) fn admit(&self, context: &Context<'_>) -> Result<(), Error> {
        match self.access {
            Access::Development if context.node.settings().development.is_none() => {
                Err(Error::DevelopmentOnly(self.name))
            }
            Access::Admin if !context.admin => Err(Error::AdminOnly(self.name)),
            Access::Everyone | Access::Development | Access::Admin => Ok(()),
        }
    }

    /// Moves the method to the lane of short reads.
    pub(crate) const fn in_read_lane(self) -> Self {
        Self { lane: READ, ..self }
    }

    /// Moves the method to the lane of heavy work.
    pub(crate) const fn in_heavy_lane(self) -> Self {
        Self { lane: HEAVY, ..self }
    }

    /// Selects the method's lane by its parameters.
    pub(crate) const fn in_lane_by(self, choose: fn(&[u8]) -> Lane) -> Self {
        Self { lane: LaneChoice::ByParams(choose), ..self }
    }

    pub(crate) const fn inline(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Inline,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: READ,
        }
    }

    pub(crate) const fn threaded(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Threaded,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: HEAVY,
        }
    }

    pub(crate) const fn short(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Short,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: READ,
        }
    }

    /// Creates a row like [`Self::short`], for shared results.
    pub(crate) const fn sharing(
        name: &'static str,
        arguments: &'static [Argument],
        run: SharedAnswer,
    ) -> Self {
        Self {
            name,
            cost: Cost::Short,
            access: Access::Everyone,
            arguments,
            run: Run::Shared(run),
            lane: READ,
        }
    }

    /// Returns the execution mode.
    ///
    /// `inline` runs on the receiving thread. `short` does so within tight limits, otherwise in the worker
    /// pool. `threaded` runs in the worker pool. `waiting` starts there and blocks no thread while it waits.
    pub const fn runs(&self) -> &'static str {
        match (self.cost, self.run) {
            (_, Run::Begin(_)) => "waiting",
            (Cost::Inline, _) => "inline",
            (Cost::Short, _) => "short",
            (Cost::Threaded | Cost::Apart, _) => "threaded",
        }
    }

    pub(crate) const fn apart(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Apart,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: LaneChoice::Fixed(Lane::Remote),
        }
    }

    /// Restricts the access to the method.
    pub(crate) const fn only(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Creates a row for a method that starts in the worker pool and blocks no thread while it waits.
    pub(crate) const fn waiting(name: &'static str, arguments: &'static [Argument], run: Begin) -> Self {
        Self {
            name,
            cost: Cost::Threaded,
            access: Access::Everyone,
            arguments,
            run: Run::Begin(run),
            lane: LaneChoice::Fixed(Lane::Submission),
        }
    }
}
