package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

const (
	// Longer than the longest default of a polling interval.
	pollTime = 5 * time.Second
	lateTime = 20 * time.Second
	// Longest pause between two events.
	eventTime    = 2 * time.Second
	longestError = 400
)

type (
	round func() error
	// A flow prepares itself and returns one round that is repeated, or several that run once.
	flow func() (round, []round, error)
)

var (
	blockTime = time.Duration(number("LIBRARY_BLOCK_MS")) * time.Millisecond
	roundTime = time.Duration(number("LIBRARY_ROUND_MS")) * time.Millisecond
	moments   = rand.New(rand.NewSource(int64(number("FORESEAL_SEED"))))
)

func variable(name string) string { return os.Getenv(name) }
func number(name string) int      { return must(strconv.Atoi(variable(name))) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func equal[T comparable](got, expected T, subject string) error {
	if got != expected {
		return fmt.Errorf("%s is %v, expected %v", subject, got, expected)
	}
	return nil
}

// until polls until the result is true.
func until(poll func() (bool, error)) error {
	for {
		if done, err := poll(); done || err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// artifact returns ABI and creation code of a contract of tests/support/contracts.
func artifact(name string) (abi.ABI, []byte) {
	var read struct {
		Abi      json.RawMessage
		Bytecode string
	}
	text := must(os.ReadFile(filepath.Join(variable("LIBRARY_CONTRACTS"), name+".json")))
	if err := json.Unmarshal(text, &read); err != nil {
		panic(err)
	}
	return must(abi.JSON(strings.NewReader(string(read.Abi)))), common.FromHex(read.Bytecode)
}

// run runs the requested flows and prints a line of JSON for each round.
func run(flows map[string]flow) {
	for _, name := range strings.Split(variable("LIBRARY_FLOWS"), ",") {
		repeated, rounds, err := flows[name]()
		if err != nil {
			report(name, 0, err)
			continue
		}
		if repeated != nil {
			for range number("LIBRARY_ROUNDS") {
				rounds = append(rounds, repeated)
			}
		}
		for index, each := range rounds {
			time.Sleep(time.Duration(moments.Float64() * float64(blockTime)))
			ended := make(chan error, 1)
			go func() { ended <- each() }()
			select {
			case err = <-ended:
			case <-time.After(roundTime):
				err = fmt.Errorf("the round did not end")
			}
			report(name, index+1, err)
		}
	}
}

func report(flow string, round int, err error) {
	var message any
	if err != nil {
		text := strings.Join(strings.Fields(err.Error()), " ")
		message = text[:min(len(text), longestError)]
	}
	fmt.Println(string(must(json.Marshal(struct {
		Flow  string `json:"flow"`
		Round int    `json:"round"`
		Ok    bool   `json:"ok"`
		Error any    `json:"error"`
	}{flow, round, err == nil, message}))))
}

// watchEvents sends transactions with one event each until enough blocks have passed, and checks that each is heard once.
func watchEvents(newest func() (uint64, error), send func(int) (common.Hash, error), logs <-chan types.Log) error {
	first, err := newest()
	if err != nil {
		return err
	}
	var sent []common.Hash
	heard := map[common.Hash]int{}
	listen := func(end <-chan time.Time) {
		for {
			select {
			case log := <-logs:
				heard[log.TxHash]++
			case <-end:
				return
			}
		}
	}
	for now := first; now < first+uint64(number("LIBRARY_WATCHED_BLOCKS")); {
		hash, err := send(len(sent))
		if err != nil {
			return err
		}
		sent = append(sent, hash)
		listen(time.After(time.Duration(moments.Float64() * float64(eventTime))))
		if now, err = newest(); err != nil {
			return err
		}
	}
	for late := time.Now().Add(lateTime); len(heard) < len(sent) && time.Now().Before(late); {
		listen(time.After(100 * time.Millisecond))
	}
	listen(time.After(pollTime))
	lost, repeated := 0, 0
	for _, hash := range sent {
		if heard[hash] == 0 {
			lost++
		}
	}
	for _, times := range heard {
		repeated += times - 1
	}
	if lost+repeated > 0 {
		return fmt.Errorf("of %d events %d lost and %d heard again", len(sent), lost, repeated)
	}
	return nil
}
