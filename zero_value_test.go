package sluice_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// TestZeroValue: a channel that no constructor made panics with a message, in every method
// and as a case of Select, and not with a nil dereference.
func TestZeroValue(t *testing.T) {
	ctx := context.Background()
	panics := func(where string, call func(), words ...string) {
		defer func() {
			message, _ := recover().(string)
			for _, word := range words {
				if !strings.Contains(message, word) {
					t.Errorf("%s: panic %q does not contain %q", where, message, word)
				}
			}
		}()
		call()
	}
	for kind, c := range map[string]sluice.Channel[int]{
		"Rendezvous": new(sluice.Rendezvous[int]),
		"Bounded":    new(sluice.Bounded[int]),
		"Elastic":    new(sluice.Elastic[int]),
		"Sharded":    new(sluice.Sharded[int]),
		"Priority":   new(sluice.Priority[int]),
		"Delay":      new(sluice.Delay[int]),
		"Aged":       new(sluice.Aged[int]),
	} {
		for method, call := range map[string]func(){
			"Send":         func() { _ = c.Send(ctx, 1) },
			"TrySend":      func() { _ = c.TrySend(1) },
			"SendBatch":    func() { _, _ = c.SendBatch(ctx, []int{1}) },
			"Recv":         func() { _, _ = c.Recv(ctx) },
			"TryRecv":      func() { _, _ = c.TryRecv() },
			"RecvBatch":    func() { _, _ = c.RecvBatch(ctx, make([]int, 1)) },
			"TryRecvBatch": func() { _, _ = c.TryRecvBatch(make([]int, 1)) },
			"Values":       func() { c.Values(ctx) },
			"Ready":        func() { c.Ready() },
			"Drain":        func() { c.Drain() },
			"Close":        func() { c.Close() },
			"Len":          func() { c.Len() },
			"Cap":          func() { c.Cap() },
			"Stats":        func() { c.Stats() },
			"OnRecv":       func() { sluice.OnRecv(c) },
			"OnSend":       func() { sluice.OnSend(c, 1) },
		} {
			panics(kind+"."+method, call, "sluice: ", "constructor")
		}
	}
	var s sluice.Sharded[int]
	var p sluice.Priority[int]
	var d sluice.Delay[int]
	for method, call := range map[string]func(){
		"SendKey":   func() { _ = s.SendKey(ctx, 1, 1) },
		"Lane":      func() { s.Lane() },
		"Level":     func() { p.Level(0) },
		"SendAt":    func() { _, _ = d.SendAt(ctx, time.Time{}, 1) },
		"SendAfter": func() { _, _ = d.SendAfter(ctx, 0, 1) },
		"CancelAll": func() { d.CancelAll() },
	} {
		panics(method, call, "constructor")
	}
	var lane sluice.Lane[int]
	var level sluice.Level[int]
	for where, calls := range map[string][]func(){
		"Sharded.Lane":   {func() { _ = lane.Send(ctx, 1) }, func() { _ = lane.TrySend(1) }, func() { _, _ = lane.SendBatch(ctx, []int{1}) }, lane.Close},
		"Priority.Level": {func() { _ = level.Send(ctx, 1) }, func() { _ = level.TrySend(1) }, func() { _, _ = level.SendBatch(ctx, []int{1}) }, level.Close, func() { level.Len() }},
		"NewValues":      {func() { new(sluice.Values[int]).All() }},
	} {
		for i, call := range calls {
			panics(fmt.Sprint(where, ", call ", i), call, "zero value", where)
		}
	}
}
