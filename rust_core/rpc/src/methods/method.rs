//! Row of the method table: a method's name, arguments, cost, access and function.

use bytes::Bytes;
use foreseal_chain::ReadMode;
use foreseal_scheduler::Lane;

use crate::{
    context::call_context::Context,
    errors::error::Error,
    params::{argument::Argument, positional::Params},
    streams::wait::Reply,
};

/// Cost class of a method, which decides the thread that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionMode {
    /// Takes less than about 50 us and runs on the receiving thread.
    Inline,
    /// Usually as short, but not for all parameters. [`Api::attempt`](crate::Api::attempt) tries it on the
    /// receiving thread within tight limits; a longer call runs in the worker pool.
    FastPath,
    /// May take longer and runs in the worker pool.
    WorkerPool,
    /// May wait for the process that this one follows, and runs on a dedicated thread.
    Remote,
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
pub type AnswerFn = fn(&Context<'_>, &mut Params<'_>) -> Result<Vec<u8>, Error>;
/// Method that returns its result immediately as shared, cached JSON.
pub type SharedAnswerFn = fn(&Context<'_>, &mut Params<'_>) -> Result<Bytes, Error>;
/// Method that may have to wait for its result.
pub type BeginFn = fn(&Context<'_>, &mut Params<'_>) -> Result<Reply, Error>;

/// Implementation of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MethodFn {
    Answer(AnswerFn),
    Shared(SharedAnswerFn),
    Begin(BeginFn),
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
    pub mode: ExecutionMode,
    pub access: Access,
    /// Arguments in order, required ones first.
    pub arguments: &'static [Argument],
    pub(crate) run: MethodFn,
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

    /// Returns the mode in which the method reads views for callers of an endpoint with `mode`. Methods that exist only
    /// because of steps show them on every endpoint.
    pub(crate) fn read_mode(&self, mode: ReadMode) -> ReadMode {
        let is_of_steps = || self.name.starts_with("foreseal_") || self.name.starts_with("base_");
        if mode == ReadMode::Sealed && is_of_steps() { ReadMode::Standard } else { mode }
    }

    /// Rejects a caller that may not call the method.
    pub(crate) fn check_access(&self, context: &Context<'_>) -> Result<(), Error> {
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
    pub(crate) const fn with_lane_fn(self, choose: fn(&[u8]) -> Lane) -> Self {
        Self { lane: LaneChoice::ByParams(choose), ..self }
    }

    pub(crate) const fn inline(name: &'static str, arguments: &'static [Argument], run: AnswerFn) -> Self {
        Self {
            name,
            mode: ExecutionMode::Inline,
            access: Access::Everyone,
            arguments,
            run: MethodFn::Answer(run),
            lane: READ,
        }
    }

    pub(crate) const fn worker_pool(
        name: &'static str,
        arguments: &'static [Argument],
        run: AnswerFn,
    ) -> Self {
        Self {
            name,
            mode: ExecutionMode::WorkerPool,
            access: Access::Everyone,
            arguments,
            run: MethodFn::Answer(run),
            lane: HEAVY,
        }
    }

    pub(crate) const fn fast_path(name: &'static str, arguments: &'static [Argument], run: AnswerFn) -> Self {
        Self {
            name,
            mode: ExecutionMode::FastPath,
            access: Access::Everyone,
            arguments,
            run: MethodFn::Answer(run),
            lane: READ,
        }
    }

    /// Creates a row like [`Self::fast_path`], for shared results.
    pub(crate) const fn fast_path_shared(
        name: &'static str,
        arguments: &'static [Argument],
        run: SharedAnswerFn,
    ) -> Self {
        Self {
            name,
            mode: ExecutionMode::FastPath,
            access: Access::Everyone,
            arguments,
            run: MethodFn::Shared(run),
            lane: READ,
        }
    }

    /// Returns the execution mode.
    ///
    /// `inline` runs on the receiving thread. `fast_path` does so within tight limits, otherwise in the worker
    /// pool. `worker_pool` runs in the worker pool. `waiting` starts there and blocks no thread while it waits.
    pub const fn mode_name(&self) -> &'static str {
        match (self.mode, self.run) {
            (_, MethodFn::Begin(_)) => "waiting",
            (ExecutionMode::Inline, _) => "inline",
            (ExecutionMode::FastPath, _) => "fast_path",
            (ExecutionMode::WorkerPool | ExecutionMode::Remote, _) => "worker_pool",
        }
    }

    pub(crate) const fn remote(name: &'static str, arguments: &'static [Argument], run: AnswerFn) -> Self {
        Self {
            name,
            mode: ExecutionMode::Remote,
            access: Access::Everyone,
            arguments,
            run: MethodFn::Answer(run),
            lane: LaneChoice::Fixed(Lane::Remote),
        }
    }

    /// Restricts the access to the method.
    pub(crate) const fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Creates a row for a method that starts in the worker pool and blocks no thread while it waits.
    pub(crate) const fn waiting(name: &'static str, arguments: &'static [Argument], run: BeginFn) -> Self {
        Self {
            name,
            mode: ExecutionMode::WorkerPool,
            access: Access::Everyone,
            arguments,
            run: MethodFn::Begin(run),
            lane: LaneChoice::Fixed(Lane::Submission),
        }
    }
}
