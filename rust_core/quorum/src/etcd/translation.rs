//! Translation between the quorum store's requests and etcd's messages.

use bytes::Bytes;

use super::messages::{
    Compare, DeleteRangeRequest, KeyValueMessage, OperationRequest, OperationResponse, PutRequest,
    RangeRequest, RequestOp, ResponseHeader, ResponseOp, StatusResponse, TargetUnion, TxnRequest,
    TxnResponse,
};
use crate::quorum_store::{KeyComparison, KeyOperation, KeyRange, KeyValue, MemberStatus, QuorumResponse};

const EQUAL: i32 = 0;
const MOD_REVISION: i32 = 2;

pub(super) fn transaction_request(
    comparisons: &[KeyComparison],
    success: &[KeyOperation],
    failure: &[KeyOperation],
) -> TxnRequest {
    TxnRequest {
        compare: comparisons.iter().map(compare).collect(),
        success: success.iter().map(operation_request).collect(),
        failure: failure.iter().map(operation_request).collect(),
    }
}

pub(super) fn transaction_response(response: TxnResponse) -> QuorumResponse {
    QuorumResponse::Transaction {
        succeeded: response.succeeded,
        revision: header_revision(response.header.as_ref()),
        results: response.responses.into_iter().map(operation_result).collect(),
    }
}

pub(super) fn range_request(range: &KeyRange) -> RangeRequest {
    RangeRequest {
        key: key_bytes(&range.from),
        range_end: key_bytes(&range.to),
        limit: range.limit.into(),
        keys_only: range.keys_only,
    }
}

pub(super) fn key_values(kvs: Vec<KeyValueMessage>) -> Vec<KeyValue> {
    let entry = |kv: KeyValueMessage| KeyValue {
        key: String::from_utf8_lossy(&kv.key).into_owned(),
        value: kv.value,
        revision: to_unsigned(kv.mod_revision),
    };
    kvs.into_iter().map(entry).collect()
}

pub(super) fn member_status(response: StatusResponse) -> MemberStatus {
    MemberStatus {
        member: response.header.as_ref().map_or(0, |header| header.member_id),
        version: response.version,
        leader: response.leader,
        revision: header_revision(response.header.as_ref()),
        database_bytes: to_unsigned(response.db_size),
        used_bytes: to_unsigned(response.db_size_in_use),
        errors: response.errors,
    }
}

/// Converts a revision or size, which etcd never makes negative.
pub(super) fn to_unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts a revision. One that etcd cannot have is in the future for it.
pub(super) fn to_signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn header_revision(header: Option<&ResponseHeader>) -> u64 {
    header.map_or(0, |header| to_unsigned(header.revision))
}

fn key_bytes(key: &str) -> Bytes {
    Bytes::copy_from_slice(key.as_bytes())
}

fn compare(comparison: &KeyComparison) -> Compare {
    Compare {
        result: EQUAL,
        target: MOD_REVISION,
        key: key_bytes(&comparison.key),
        target_union: Some(TargetUnion::ModRevision(to_signed(comparison.revision))),
    }
}

fn operation_request(operation: &KeyOperation) -> RequestOp {
    let request = match operation {
        KeyOperation::Get { key } => {
            OperationRequest::Range(RangeRequest { key: key_bytes(key), ..RangeRequest::default() })
        }
        KeyOperation::Range(range) => OperationRequest::Range(range_request(range)),
        KeyOperation::Put { key, value } => {
            OperationRequest::Put(PutRequest { key: key_bytes(key), value: value.clone() })
        }
        KeyOperation::Delete { from, to } => OperationRequest::DeleteRange(DeleteRangeRequest {
            key: key_bytes(from),
            range_end: key_bytes(to),
        }),
    };
    RequestOp { request: Some(request) }
}

fn operation_result(operation: ResponseOp) -> Vec<KeyValue> {
    match operation.response {
        Some(OperationResponse::Range(range)) => key_values(range.kvs),
        Some(OperationResponse::Put(_) | OperationResponse::DeleteRange(_)) | None => Vec::new(),
    }
}
