//! Flows of alloy: the provider with its recommended fillers, `sol!` bindings, and subscriptions over WebSocket.

mod flows;
mod restart;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy::eips::BlockId;
use alloy::network::{Ethereum, EthereumWallet};
use alloy::primitives::{Address, U256};
use alloy::providers::{DynProvider, PendingTransactionBuilder, Provider, ProviderBuilder};
use alloy::rpc::types::Log;
use alloy::rpc::types::{TransactionReceipt, TransactionRequest};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol;
use alloy::sol_types::Error;
use futures_util::{Stream, StreamExt};
use tokio::time::sleep;

use flows::{Outcome, Rounds, equal, run, variable, watch_events};
use restart::watch_restart;

sol!(
    #[sol(rpc)]
    Board,
    "../../../support/contracts/Board.json"
);
sol!(
    #[sol(rpc)]
    Token,
    "../../../support/contracts/Token.json"
);

const GWEI: u128 = 1_000_000_000;

struct Clients {
    owner: DynProvider,
    spender: DynProvider,
    /// The socket's provider; reads and subscriptions only.
    socket: Option<DynProvider>,
    address: Address,
    spender_address: Address,
}

impl Clients {
    async fn connect() -> Outcome<Self> {
        let (owner, address) = client("FORESEAL_KEY").await?;
        let (spender, spender_address) = client("LIBRARY_SPENDER_KEY").await?;
        let socket = if ["events", "restart"].iter().any(|flow| variable("LIBRARY_FLOWS").contains(flow)) {
            Some(ProviderBuilder::new().connect(&variable("LIBRARY_SOCKET_URL")).await?.erased())
        } else {
            None
        };
        Ok(Self { owner, spender, socket, address, spender_address })
    }
}

async fn client(key: &str) -> Outcome<(DynProvider, Address)> {
    let signer: PrivateKeySigner = variable(key).parse()?;
    let address = signer.address();
    let builder = ProviderBuilder::new().wallet(EthereumWallet::from(signer));
    Ok((builder.connect(&variable("FORESEAL_URL")).await?.erased(), address))
}

fn stranger() -> Address {
    PrivateKeySigner::random().address()
}

/// Waits for the receipt of a successful transaction.
async fn mined(sent: PendingTransactionBuilder<Ethereum>) -> Outcome<TransactionReceipt> {
    let receipt = sent.get_receipt().await?;
    equal(receipt.status(), true, "status")?;
    Ok(receipt)
}

/// Waits until the newest block that the library reads has the contract.
async fn prepared(clients: &Clients, address: Address) -> Outcome<()> {
    while clients.owner.get_code_at(address).await?.is_empty() {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn deploy(clients: &Clients) -> Outcome<()> {
    let board = Board::deploy(clients.owner.clone(), U256::from(7)).await?;
    equal(board.value().call().await?, U256::from(7), "value after deployment")?;
    mined(board.set(U256::from(8), "a note".into()).send().await?).await?;
    equal(board.value().call().await?, U256::from(8), "value after the write")
}

async fn allowance(clients: &Clients, token: Address) -> Outcome<()> {
    let (to, amount) = (stranger(), U256::from(5));
    let owned = Token::new(token, clients.owner.clone());
    let spent = Token::new(token, clients.spender.clone());
    mined(owned.approve(clients.spender_address, amount).send().await?).await?;
    mined(spent.transferFrom(clients.address, to, amount).send().await?).await?;
    equal(owned.balanceOf(to).call().await?, amount, "token balance")
}

async fn transfer(clients: &Clients) -> Outcome<()> {
    let to = stranger();
    let request = TransactionRequest::default().to(to).value(U256::from(7));
    let receipt = mined(clients.owner.send_transaction(request).await?).await?;
    equal(clients.owner.get_balance(to).await?, U256::from(7), "balance")?;
    let number = receipt.block_number.ok_or("the receipt has no block number")?;
    let block =
        clients.owner.get_block_by_number(number.into()).await?.ok_or("the block of the receipt is null")?;
    let is_included = block.transactions.hashes().any(|hash| hash == receipt.transaction_hash);
    equal(is_included, true, "transaction in the block of the receipt")
}

async fn confirmations(clients: &Clients, count: u64) -> Outcome<()> {
    let request = TransactionRequest::default().to(clients.address);
    let sent = clients.owner.send_transaction(request).await?.with_required_confirmations(count);
    let receipt = mined(sent).await?;
    let newest = clients.owner.get_block_number().await?;
    let depth = (newest + 1).saturating_sub(receipt.block_number.ok_or("the receipt has no block number")?);
    if count > 1 && depth < count { Err(format!("{depth} confirmations").into()) } else { Ok(()) }
}

/// Replaces a transaction by one with its nonce.
async fn replacement(clients: &Clients) -> Outcome<()> {
    let owner = &clients.owner;
    let block = owner.get_block(BlockId::latest()).await?.ok_or("latest is null")?;
    let base = u128::from(block.header.base_fee_per_gas.ok_or("no base fee")?);
    let nonce = owner.get_transaction_count(clients.address).pending().await?;
    let waiting =
        TransactionRequest::default().to(stranger()).value(U256::from(1)).nonce(nonce).gas_limit(21_000);
    let low = waiting.clone().max_fee_per_gas(base / 64).max_priority_fee_per_gas(0);
    let _never_mined = owner.send_transaction(low).await?;
    let paid = waiting.max_fee_per_gas(2 * base + GWEI).max_priority_fee_per_gas(GWEI);
    let sent = owner.send_transaction(paid).await?;
    let hash = *sent.tx_hash();
    equal(mined(sent).await?.transaction_hash, hash, "hash of the receipt")
}

/// Hashes of the transactions whose events were heard and not yet read.
type Heard = Arc<Mutex<Vec<String>>>;

fn listen<E: Send + 'static>(
    mut stream: impl Stream<Item = Result<(E, Log), Error>> + Send + Unpin + 'static,
) -> Heard {
    let heard = Heard::default();
    let writer = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Some(Ok((_, log))) = stream.next().await {
            writer.lock().unwrap().push(format!("{:?}", log.transaction_hash.unwrap_or_default()));
        }
    });
    heard
}

fn taken(heard: &Heard) -> Vec<String> {
    std::mem::take(&mut *heard.lock().unwrap())
}

/// Listens by a subscription over WebSocket.
async fn subscribed(clients: &Clients, address: Address) -> Outcome<Heard> {
    let socket = clients.socket.clone().ok_or("no socket")?;
    Ok(listen(Board::new(address, socket).ValueSet_filter().subscribe().await?.into_stream()))
}

/// Listens by a filter that is polled.
async fn polled(clients: &Clients, address: Address) -> Outcome<Heard> {
    let watched = Board::new(address, clients.owner.clone()).ValueSet_filter().watch().await?;
    Ok(listen(watched.into_stream()))
}

async fn set(clients: &Clients, address: Address, index: u64) -> Outcome<String> {
    let board = Board::new(address, clients.owner.clone());
    let sent = board.set(U256::from(index), "event".into()).gas(100_000).send().await?;
    Ok(format!("{:?}", sent.tx_hash()))
}

async fn events(clients: &Clients, address: Address) -> Outcome<()> {
    let heard = subscribed(clients, address).await?;
    let newest = async || -> Outcome<u64> { Ok(clients.owner.get_block_number().await?) };
    watch_events(newest, async |index| set(clients, address, index).await, || taken(&heard)).await
}

async fn restart(clients: &Clients, address: Address, name: &str) -> Outcome<()> {
    let heard = if name == "polling" {
        polled(clients, address).await?
    } else {
        subscribed(clients, address).await?
    };
    let watched = watch_restart(async |index| set(clients, address, index).await, || taken(&heard)).await;
    watched.map_err(|error| format!("{name}: {error}").into())
}

async fn board(clients: &Clients) -> Outcome<Address> {
    let address = *Board::deploy(clients.owner.clone(), U256::from(7)).await?.address();
    prepared(clients, address).await?;
    Ok(address)
}

async fn rounds<'a>(flow: &str, clients: &'a Clients) -> Outcome<Rounds<'a>> {
    Ok(match flow {
        "deploy" => Rounds::Repeated(Box::new(move || Box::pin(deploy(clients)))),
        "allowance" => {
            let token =
                *Token::deploy(clients.owner.clone(), U256::from(10).pow(U256::from(12))).await?.address();
            prepared(clients, token).await?;
            Rounds::Repeated(Box::new(move || Box::pin(allowance(clients, token))))
        }
        "transfer" => Rounds::Repeated(Box::new(move || Box::pin(transfer(clients)))),
        "confirmations" => {
            Rounds::Once(vec![Box::pin(confirmations(clients, 1)), Box::pin(confirmations(clients, 2))])
        }
        "replacement" => Rounds::Once(vec![Box::pin(replacement(clients))]),
        "events" => {
            let address = board(clients).await?;
            Rounds::Once(vec![Box::pin(events(clients, address))])
        }
        "restart" => {
            let address = board(clients).await?;
            let watches = ["polling", "WebSocket"];
            Rounds::Once(watches.map(|name| Box::pin(restart(clients, address, name)) as _).into())
        }
        other => return Err(format!("no flow {other}").into()),
    })
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let clients = Clients::connect().await?;
    for flow in variable("LIBRARY_FLOWS").split(',') {
        run(flow, rounds(flow, &clients).await).await;
    }
    std::process::exit(0)
}
