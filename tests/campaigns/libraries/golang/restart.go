package main

import (
	"fmt"
	"maps"
	"math/big"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Longer than the pauses of the libraries before they connect again.
const reconnectTime = 15 * time.Second

// restartNode restarts the node, and waits until it is ready.
func restartNode() error {
	file := variable("LIBRARY_RESTART")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	return until(func() (bool, error) {
		_, err := os.Stat(file)
		return os.IsNotExist(err), nil
	})
}

// watchRestart sends one transaction with an event before a restart of the node, one right after it, and two later. It
// checks that each is heard once. heard returns the transactions of the events so far.
func watchRestart(send func(int) (common.Hash, error), heard func() map[common.Hash]int) error {
	stages, sent := []string{"before", "right after", "later"}, map[string][]common.Hash{}
	count := 0
	sendAt := func(stage string) error {
		hash, err := send(count)
		if err != nil {
			return fmt.Errorf("transaction %s the restart: %w", stage, err)
		}
		count++
		sent[stage] = append(sent[stage], hash)
		return nil
	}
	listen := func() {
		for late := time.Now().Add(reconnectTime); len(heard()) < count && time.Now().Before(late); {
			time.Sleep(100 * time.Millisecond)
		}
	}
	if err := sendAt("before"); err != nil {
		return err
	}
	listen()
	if err := restartNode(); err != nil {
		return err
	}
	for _, pause := range []time.Duration{0, reconnectTime, 0} {
		time.Sleep(pause)
		stage := "later"
		if count == 1 {
			stage = "right after"
		}
		if err := sendAt(stage); err != nil {
			return err
		}
	}
	listen()
	counts, total, repeated := []string{}, 0, 0
	for _, times := range heard() {
		repeated += times - 1
	}
	for _, stage := range stages {
		times := 0
		for _, hash := range sent[stage] {
			times += min(heard()[hash], 1)
		}
		total += times
		counts = append(counts, fmt.Sprintf("%d of %d %s", times, len(sent[stage]), stage))
	}
	if total < count || repeated > 0 {
		return fmt.Errorf("heard %s, and %d again", strings.Join(counts, ", "), repeated)
	}
	return nil
}

// restart watches logs by a subscription over a WebSocket. The program does not subscribe again.
func restart() (round, []round, error) {
	board, err := prepared("Board", big.NewInt(7))
	return nil, []round{func() error {
		logs, subscription, err := watchLogs(board)
		if err != nil {
			return err
		}
		defer subscription.Unsubscribe()
		var exclusive sync.Mutex
		counts := map[common.Hash]int{}
		ended := make(chan error, 1)
		go func() {
			for {
				select {
				case log := <-logs:
					exclusive.Lock()
					counts[log.TxHash]++
					exclusive.Unlock()
				case err := <-subscription.Err():
					ended <- err
					return
				}
			}
		}()
		heard := func() map[common.Hash]int {
			exclusive.Lock()
			defer exclusive.Unlock()
			return maps.Clone(counts)
		}
		err = watchRestart(sender(board), heard)
		select {
		case reason := <-ended:
			return fmt.Errorf("WebSocket: the subscription ended (%v); %w", reason, err)
		default:
			return err
		}
	}}, err
}
