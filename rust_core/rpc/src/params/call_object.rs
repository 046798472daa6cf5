//! Call object of `eth_call` and `eth_estimateGas`.

use alloy_consensus::TxType;
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_evm::CallRequest;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason},
    value::{StorageWord, field, needed, object},
};

/// Transaction that may be unsigned and incomplete. Amounts are in wei.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallObject {
    pub from: Option<Address>,
    /// Recipient; `None` creates a contract.
    pub to: Option<Address>,
    pub gas: Option<u64>,
    pub gas_price: Option<u128>,
    pub max_fee_per_gas: Option<u128>,
    pub max_priority_fee_per_gas: Option<u128>,
    pub value: Option<U256>,
    /// Value of `input` or `data`.
    pub input: Bytes,
    pub nonce: Option<u64>,
    /// EIP-2718 type.
    pub kind: Option<TxType>,
    pub chain_id: Option<u64>,
    pub access_list: Option<AccessList>,
    pub max_fee_per_blob_gas: Option<u128>,
    pub blob_versioned_hashes: Option<Vec<B256>>,
    pub authorization_list: Option<Vec<SignedAuthorization>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct CallObjectFields<'a> {
    from: Option<&'a RawValue>,
    to: Option<&'a RawValue>,
    gas: Option<&'a RawValue>,
    gas_price: Option<&'a RawValue>,
    max_fee_per_gas: Option<&'a RawValue>,
    max_priority_fee_per_gas: Option<&'a RawValue>,
    value: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    nonce: Option<&'a RawValue>,
    r#type: Option<&'a RawValue>,
    chain_id: Option<&'a RawValue>,
    access_list: Option<&'a RawValue>,
    max_fee_per_blob_gas: Option<&'a RawValue>,
    blob_versioned_hashes: Option<&'a RawValue>,
    authorization_list: Option<&'a RawValue>,
}

impl Param<'_> for CallObject {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: CallObjectFields<'_> = object(raw)?;
        let call = Self {
            from: field(fields.from, "from")?,
            to: field(fields.to, "to")?,
            gas: field(fields.gas, "gas")?,
            gas_price: field(fields.gas_price, "gasPrice")?,
            max_fee_per_gas: field(fields.max_fee_per_gas, "maxFeePerGas")?,
            max_priority_fee_per_gas: field(fields.max_priority_fee_per_gas, "maxPriorityFeePerGas")?,
            value: field(fields.value, "value")?,
            input: input(field(fields.input, "input")?, field(fields.data, "data")?)?,
            nonce: field(fields.nonce, "nonce")?,
            kind: field(fields.r#type, "type")?.map(|CallKind(kind)| kind),
            chain_id: field(fields.chain_id, "chainId")?,
            access_list: field(fields.access_list, "accessList")?.map(AccessList),
            max_fee_per_blob_gas: field(fields.max_fee_per_blob_gas, "maxFeePerBlobGas")?,
            blob_versioned_hashes: field(fields.blob_versioned_hashes, "blobVersionedHashes")?,
            authorization_list: field(fields.authorization_list, "authorizationList")?,
        };
        call.check_fees()?;
        call.check_type()?;
        Ok(call)
    }
}

impl CallObject {
    /// Checks that the call does not mix `gasPrice` with EIP-1559 fees.
    fn check_fees(&self) -> Result<(), Invalid> {
        let conflict = |other| Err(Invalid::from(Reason::Conflict { other }).in_field("gasPrice"));
        match self {
            Self { gas_price: None, .. } => Ok(()),
            Self { max_fee_per_gas: Some(_), .. } => conflict("maxFeePerGas"),
            Self { max_priority_fee_per_gas: Some(_), .. } => conflict("maxPriorityFeePerGas"),
            _ => Ok(()),
        }
    }

    /// Checks that an explicit type matches the fields that are present.
    fn check_type(&self) -> Result<(), Invalid> {
        let Some(kind) = self.kind.map(u8::from) else { return Ok(()) };
        let dynamic = self.max_fee_per_gas.is_some() || self.max_priority_fee_per_gas.is_some();
        let some = |list: Option<usize>| list.is_some_and(|length| length > 0);
        let wrong = [
            ("gasPrice", self.gas_price.is_some() && kind >= 2),
            ("maxFeePerGas", dynamic && kind < 2),
            ("accessList", some(self.access_list.as_ref().map(|list| list.len())) && kind < 1),
            ("blobVersionedHashes", some(self.blob_versioned_hashes.as_ref().map(Vec::len)) && kind != 3),
            ("authorizationList", some(self.authorization_list.as_ref().map(Vec::len)) && kind != 4),
        ];
        match wrong.into_iter().find(|(_, wrong)| *wrong) {
            None => Ok(()),
            Some((other, _)) => Err(Invalid::from(Reason::WrongType { other }).in_field("type")),
        }
    }
}

impl From<CallObject> for CallRequest {
    /// Drops the nonce, which has no effect on a call, and the type, which follows from the other fields.
    fn from(call: CallObject) -> Self {
        Self {
            from: call.from,
            to: call.to,
            gas: call.gas,
            gas_price: call.gas_price,
            max_fee_per_gas: call.max_fee_per_gas,
            max_priority_fee_per_gas: call.max_priority_fee_per_gas,
            max_fee_per_blob_gas: call.max_fee_per_blob_gas,
            value: call.value.unwrap_or_default(),
            input: call.input,
            chain_id: call.chain_id,
            access_list: call.access_list.unwrap_or_default(),
            blob_hashes: call.blob_versioned_hashes.unwrap_or_default(),
            authorizations: call.authorization_list.unwrap_or_default(),
        }
    }
}

/// Returns `input`, or `data`, its older name. Both may be present if they are equal.
fn input(input: Option<Bytes>, data: Option<Bytes>) -> Result<Bytes, Invalid> {
    match (input, data) {
        (Some(input), Some(data)) if input != data => {
            Err(Invalid::from(Reason::Differs { other: "input" }).in_field("data"))
        }
        (Some(bytes), _) | (None, Some(bytes)) => Ok(bytes),
        (None, None) => Ok(Bytes::new()),
    }
}

struct CallKind(TxType);

impl Param<'_> for CallKind {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(Self(TxType::try_from(u64::read(raw)?).map_err(|_| Reason::UnknownType)?))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct AccessListFields<'a> {
    address: Option<&'a RawValue>,
    storage_keys: Option<&'a RawValue>,
}

impl Param<'_> for AccessListItem {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: AccessListFields<'_> = object(raw)?;
        Ok(Self {
            address: needed(fields.address, "address")?,
            storage_keys: field(fields.storage_keys, "storageKeys")?.unwrap_or_default(),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct AuthorizationFields<'a> {
    chain_id: Option<&'a RawValue>,
    address: Option<&'a RawValue>,
    nonce: Option<&'a RawValue>,
    y_parity: Option<&'a RawValue>,
    r: Option<&'a RawValue>,
    s: Option<&'a RawValue>,
}

impl Param<'_> for SignedAuthorization {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: AuthorizationFields<'_> = object(raw)?;
        let authorization = Authorization {
            chain_id: needed(fields.chain_id, "chainId")?,
            address: needed(fields.address, "address")?,
            nonce: needed(fields.nonce, "nonce")?,
        };
        let parity: u64 = needed(fields.y_parity, "yParity")?;
        let parity = u8::try_from(parity)
            .map_err(|_| Invalid::from(Reason::TooLarge { bits: 8 }).in_field("yParity"))?;
        let StorageWord(r) = needed(fields.r, "r")?;
        let StorageWord(s) = needed(fields.s, "s")?;
        Ok(Self::new_unchecked(authorization, parity, r, s))
    }
}
