//! The node in a cluster: its status, and the planned handover.

use foreseal_node::{ClusterStatus, QuorumStatus, TakeoverRecord};
use foreseal_quorum::{QuorumFinding, QuorumHead};
use foreseal_replication::FollowerStatus;
use serde_json::Value;

use super::method::{Access, Method};
use crate::{
    context::call_context::Context, errors::error::Error, json::object::Object, params::positional::Params,
};

pub const METHODS: &[Method] =
    &[Method::worker_pool("foreseal_handover", &[], handover).with_access(Access::Admin)];

/// Hands the chain over to the standby that is most up to date. Returns its name, or `null` if none is
/// connected: then any member may take over.
fn handover(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let handover = context.node.hand_over()?;
    let mut out = Vec::new();
    Object::open(&mut out)
        .json("successor", &Value::from(handover.successor).to_string())
        .json("confirmed", if handover.confirmed { "true" } else { "false" })
        .close();
    Ok(out)
}

/// Writes the status of a process in its cluster. Times are in ms.
pub(crate) fn write_cluster(out: &mut Vec<u8>, cluster: &ClusterStatus, followers: &[FollowerStatus]) {
    let mut object = Object::open(out);
    let owner = cluster.owner.as_ref();
    object
        .json("role", &text(cluster.role.name()))
        .json("name", &text(&cluster.name))
        .json("epoch", &owner.map_or(0, |owner| owner.epoch).to_string())
        .json("owner", &owner.map_or_else(|| "null".to_owned(), |owner| text(&owner.name)));
    if let Some(head) = &cluster.head {
        write_head(object.name("head"), head);
    }
    if let Some(status) = &cluster.quorum {
        write_quorum(object.name("quorum"), status);
    }
    if let Some(takeover) = &cluster.last_takeover {
        write_takeover(object.name("lastTakeover"), takeover);
    }
    if let Some(ahead) = cluster.clock_difference {
        object.json("clockDifferenceMs", &ahead.to_string());
    }
    let list: Vec<Value> = followers.iter().map(follower).collect();
    object.json("followers", &Value::from(list).to_string());
    object.close();
}

fn write_quorum(out: &mut Vec<u8>, status: &QuorumStatus) {
    let findings: Vec<Value> = status.findings.iter().map(finding).collect();
    let mut object = Object::open(out);
    object
        .json("ok", if status.is_answering { "true" } else { "false" })
        .json("silentMs", &status.silence.as_millis().to_string())
        .json("retainedBytes", &status.retained_bytes.to_string())
        .json("findings", &Value::from(findings).to_string());
    if let Some(error) = &status.last_error {
        object.json("lastError", &text(error));
    }
    object.close();
}

fn write_head(out: &mut Vec<u8>, head: &QuorumHead) {
    Object::open(out)
        .json("sequence", &head.sequence.to_string())
        .quantity("block", head.block)
        .quantity("index", head.index)
        .json("epoch", &head.epoch.to_string())
        .close();
}

fn write_takeover(out: &mut Vec<u8>, takeover: &TakeoverRecord) {
    Object::open(out)
        .json("reason", &text(takeover.reason))
        .json("epoch", &takeover.epoch.to_string())
        .json("at", &takeover.at.to_string())
        .json("fenceMs", &takeover.fence_ms.to_string())
        .json("readyMs", &takeover.ready_ms.to_string())
        .close();
}

fn follower(follower: &FollowerStatus) -> Value {
    serde_json::json!({
        "name": follower.name,
        "role": follower.role.name(),
        "version": follower.version,
        "rpc": follower.rpc,
        "lag": follower.lag,
        "connectedMs": u64::try_from(follower.connected.as_millis()).unwrap_or(u64::MAX),
    })
}

fn finding(finding: &QuorumFinding) -> Value {
    serde_json::json!({"code": finding.code(), "message": finding.to_string()})
}

fn text(value: &str) -> String {
    Value::from(value).to_string()
}
