//! Watcher of a process of a cluster run: it checks every published view, and ends the process at a point.

use std::{
    panic::resume_unwind,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use foreseal_node::{InspectionPoint, Node, Watcher};

use crate::{cluster_station::ProcessProbe, cluster_store::MemberStore, cluster_world::ClusterWorld};

/// Watcher of the points that one process reaches.
pub struct ClusterProbe {
    at: usize,
    quorum: Option<Arc<MemberStore>>,
    node: OnceLock<Weak<Node>>,
    armed: Mutex<Option<(InspectionPoint, u32)>>,
    ended: AtomicBool,
}

impl ClusterProbe {
    /// Creates the watcher of the process at a station; `quorum` is that of a member.
    pub fn new(at: usize, quorum: Option<Arc<MemberStore>>) -> Self {
        let (node, armed, ended) = (OnceLock::new(), Mutex::default(), AtomicBool::new(false));
        Self { at, quorum, node, armed, ended }
    }

    /// Checks the current view, and every later one.
    pub fn begin(&self, node: &Arc<Node>) {
        self.node.get_or_init(|| Arc::downgrade(node));
        self.check_view();
    }

    fn check_view(&self) {
        let (Some(node), Some(world)) = (self.node.get().and_then(Weak::upgrade), ClusterWorld::current())
        else {
            return;
        };
        let Some(view) = node.view() else { return };
        let next = node.appends().unwrap_or(0);
        let history = world.history.borrow();
        let mut checked = Ok(());
        if next > history.next() {
            checked = Err(format!("its followers get append {}, which the engine does not have", next - 1));
        } else if next > 0 || view.latest().number() > 0 || view.pending_index() > 0 {
            checked = world.shown.borrow_mut().record(&view, &history);
        }
        let leads = self.quorum.is_some() && !node.forwards_submissions();
        if checked.is_ok() && leads && self.quorum.as_ref().is_some_and(|quorum| quorum.is_fenced()) {
            checked =
                Err("it shows a view although it has heard that another process is the owner".to_owned());
        }
        if let Err(what) = checked {
            world.violated(format!("station {}: {what}", self.at));
        }
    }

    fn is_due(&self, point: InspectionPoint) -> bool {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        match *armed {
            Some((at, 0)) if at == point => {
                *armed = None;
                true
            }
            Some((at, after)) if at == point => {
                *armed = Some((at, after - 1));
                false
            }
            _ => false,
        }
    }
}

impl ProcessProbe for ClusterProbe {
    fn arm(&self, armed: Option<(InspectionPoint, u32)>) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = armed;
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}

impl Watcher for ClusterProbe {
    fn reached(&self, point: InspectionPoint) {
        if point == InspectionPoint::Published {
            self.check_view();
        }
        if self.is_due(point) {
            self.ended.store(true, Ordering::SeqCst);
            // Unlike `panic!`, this prints nothing.
            resume_unwind(Box::new(point));
        }
    }
}
