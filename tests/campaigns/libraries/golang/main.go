// Flows of go-ethereum: ethclient and version 2 of bind.
package main

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/event"
)

var (
	client  = must(ethclient.Dial(variable("FORESEAL_URL")))
	chain   = must(client.ChainID(context.Background()))
	owner   = account("FORESEAL_KEY")
	spender = account("LIBRARY_SPENDER_KEY")
)

func account(name string) *bind.TransactOpts {
	key := must(crypto.HexToECDSA(strings.TrimPrefix(variable(name), "0x")))
	return bind.NewKeyedTransactor(key, chain)
}

func stranger() common.Address {
	return crypto.PubkeyToAddress(must(crypto.GenerateKey()).PublicKey)
}

// mined waits for the receipt of a successful transaction.
func mined(hash common.Hash) (*types.Receipt, error) {
	receipt, err := bind.WaitMined(context.Background(), client, hash)
	if err != nil {
		return nil, err
	}
	return receipt, equal(receipt.Status, types.ReceiptStatusSuccessful, "status")
}

type deployment struct {
	abi     abi.ABI
	address common.Address
	bound   *bind.BoundContract
}

func deployed(name string, argument *big.Int) (*deployment, error) {
	contract, transaction, err := submitted(name, argument)
	if err != nil {
		return nil, err
	}
	_, err = bind.WaitDeployed(context.Background(), client, transaction.Hash())
	return contract, err
}

func submitted(name string, argument *big.Int) (*deployment, *types.Transaction, error) {
	contract, bytecode := artifact(name)
	address, transaction, err := bind.DeployContract(owner, bytecode, client, must(contract.Pack("", argument)))
	if err != nil {
		return nil, nil, err
	}
	bound := bind.NewBoundContract(address, contract, client, client, client)
	return &deployment{contract, address, bound}, transaction, nil
}

// prepared waits until the newest block that the library reads has the contract.
func prepared(name string, argument *big.Int) (*deployment, error) {
	contract, _, err := submitted(name, argument)
	if err != nil {
		return nil, err
	}
	return contract, until(func() (bool, error) {
		code, err := client.CodeAt(context.Background(), contract.address, nil)
		return len(code) > 0, err
	})
}

func (contract *deployment) call(method string, arguments ...any) (*big.Int, error) {
	unpack := func(output []byte) (*big.Int, error) {
		values, err := contract.abi.Unpack(method, output)
		if err != nil {
			return nil, err
		}
		return values[0].(*big.Int), nil
	}
	return bind.Call(contract.bound, nil, must(contract.abi.Pack(method, arguments...)), unpack)
}

func (contract *deployment) transact(from *bind.TransactOpts, method string, arguments ...any) error {
	sent, err := bind.Transact(contract.bound, from, must(contract.abi.Pack(method, arguments...)))
	if err != nil {
		return err
	}
	_, err = mined(sent.Hash())
	return err
}

func (contract *deployment) expect(expected int64, subject, method string, arguments ...any) error {
	got, err := contract.call(method, arguments...)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return equal(got.Int64(), expected, subject)
}

func deploy() (round, []round, error) {
	return func() error {
		board, err := deployed("Board", big.NewInt(7))
		if err != nil {
			return err
		}
		if err := board.expect(7, "value after deployment", "value"); err != nil {
			return err
		}
		if err := board.transact(owner, "set", big.NewInt(8), "a note"); err != nil {
			return err
		}
		return board.expect(8, "value after the write", "value")
	}, nil, nil
}

func allowance() (round, []round, error) {
	token, err := prepared("Token", big.NewInt(1e12))
	return func() error {
		to := stranger()
		if err := token.transact(owner, "approve", spender.From, big.NewInt(5)); err != nil {
			return err
		}
		if err := token.transact(spender, "transferFrom", owner.From, to, big.NewInt(5)); err != nil {
			return err
		}
		return token.expect(5, "token balance", "balanceOf", to)
	}, nil, err
}

// transferred sends wei by ethclient alone; fees and nonce are those that it suggests unless they are given.
func transferred(to common.Address, fees *types.DynamicFeeTx) (*types.Transaction, error) {
	ctx := context.Background()
	if fees == nil {
		nonce, err := client.PendingNonceAt(ctx, owner.From)
		if err != nil {
			return nil, err
		}
		tip, err := client.SuggestGasTipCap(ctx)
		if err != nil {
			return nil, err
		}
		head, err := client.HeaderByNumber(ctx, nil)
		if err != nil {
			return nil, err
		}
		cap := new(big.Int).Add(tip, new(big.Int).Mul(head.BaseFee, big.NewInt(2)))
		fees = &types.DynamicFeeTx{Nonce: nonce, GasTipCap: tip, GasFeeCap: cap}
	}
	gas, err := client.EstimateGas(ctx, ethereum.CallMsg{From: owner.From, To: &to, Value: big.NewInt(7)})
	if err != nil {
		return nil, err
	}
	fees.ChainID, fees.Gas, fees.To, fees.Value = chain, gas, &to, big.NewInt(7)
	signed, err := owner.Signer(owner.From, types.NewTx(fees))
	if err != nil {
		return nil, err
	}
	return signed, client.SendTransaction(ctx, signed)
}

func transfer() (round, []round, error) {
	return func() error {
		to := stranger()
		sent, err := transferred(to, nil)
		if err != nil {
			return err
		}
		receipt, err := mined(sent.Hash())
		if err != nil {
			return err
		}
		balance, err := client.BalanceAt(context.Background(), to, nil)
		if err != nil {
			return err
		}
		if err := equal(balance.Int64(), 7, "balance"); err != nil {
			return err
		}
		block, err := client.BlockByNumber(context.Background(), receipt.BlockNumber)
		if err != nil {
			return fmt.Errorf("block of the receipt: %w", err)
		}
		return equal(block.Transaction(sent.Hash()) != nil, true, "transaction in the block of the receipt")
	}, nil, nil
}

// confirmations waits until the block number has passed that of the receipt; the library has no wait of its own.
func confirmations() (round, []round, error) {
	wait := func(count uint64) round {
		return func() error {
			sent, err := transferred(owner.From, nil)
			if err != nil {
				return err
			}
			receipt, err := mined(sent.Hash())
			if err != nil {
				return err
			}
			err = until(func() (bool, error) {
				newest, err := client.BlockNumber(context.Background())
				return newest+1 >= receipt.BlockNumber.Uint64()+count, err
			})
			if err != nil {
				return err
			}
			confirmed, err := client.TransactionReceipt(context.Background(), sent.Hash())
			if err != nil {
				return err
			}
			return equal(confirmed.BlockHash, receipt.BlockHash, "block of the confirmed receipt")
		}
	}
	return nil, []round{wait(1), wait(2)}, nil
}

func replacement() (round, []round, error) {
	return nil, []round{func() error {
		ctx := context.Background()
		head, err := client.HeaderByNumber(ctx, nil)
		if err != nil {
			return err
		}
		nonce, err := client.PendingNonceAt(ctx, owner.From)
		if err != nil {
			return err
		}
		to, low := stranger(), new(big.Int).Div(head.BaseFee, big.NewInt(64))
		if _, err := transferred(to, &types.DynamicFeeTx{Nonce: nonce, GasTipCap: new(big.Int), GasFeeCap: low}); err != nil {
			return err
		}
		time.Sleep(2 * pollTime)
		tip := big.NewInt(1e9)
		high := new(big.Int).Add(tip, new(big.Int).Mul(head.BaseFee, big.NewInt(2)))
		second, err := transferred(to, &types.DynamicFeeTx{Nonce: nonce, GasTipCap: tip, GasFeeCap: high})
		if err != nil {
			return err
		}
		_, err = mined(second.Hash())
		return err
	}}, nil
}

// watchLogs subscribes to the events of a board over a WebSocket.
func watchLogs(board *deployment) (<-chan types.Log, event.Subscription, error) {
	socket, err := ethclient.Dial(variable("LIBRARY_SOCKET_URL"))
	if err != nil {
		return nil, nil, err
	}
	return bind.NewBoundContract(board.address, board.abi, socket, socket, socket).WatchLogs(nil, "ValueSet")
}

// sender returns a function that submits a transaction with an event of a board.
func sender(board *deployment) func(index int) (common.Hash, error) {
	options := *owner
	options.GasLimit = 100_000
	return func(index int) (common.Hash, error) {
		sent, err := bind.Transact(board.bound, &options, must(board.abi.Pack("set", big.NewInt(int64(index)), "event")))
		if err != nil {
			return common.Hash{}, err
		}
		return sent.Hash(), nil
	}
}

// events watches logs by a subscription over a WebSocket, the only transport with one.
func events() (round, []round, error) {
	board, err := prepared("Board", big.NewInt(7))
	return nil, []round{func() error {
		logs, subscription, err := watchLogs(board)
		if err != nil {
			return err
		}
		defer subscription.Unsubscribe()
		newest := func() (uint64, error) { return client.BlockNumber(context.Background()) }
		return watchEvents(newest, sender(board), logs)
	}}, err
}

func main() {
	run(map[string]flow{
		"deploy": deploy, "allowance": allowance, "transfer": transfer,
		"confirmations": confirmations, "replacement": replacement, "events": events,
		"restart": restart,
	})
}
