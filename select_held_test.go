package sluice

import (
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
)

// A watchedEntry is a HandoffEntry that calls before before it takes the lock.
type watchedEntry struct {
	engine.HandoffEntry
	before func()
}

func (e *watchedEntry) Lock() {
	e.before()
	e.HandoffEntry.Lock()
}

// TestDefaultWhileTokenMoves: a value that moves from the channel that is looked at last to
// the one that was looked at first, and is in the next one before it leaves the last one, is
// not missed. TestSelectDefaultIsOneMoment has a case that is not asked under the locks.
func TestDefaultWhileTokenMoves(t *testing.T) {
	a, b := locked.New(engine.Config[int]{Limit: 1}), locked.New(engine.Config[int]{Limit: 1})
	_ = b.TrySend(1)
	var cases []Case
	moved := make(chan struct{})
	for _, e := range []*locked.Engine[int]{a, b} {
		c := &RecvCase[int]{engine: e}
		entry := &watchedEntry{e.NewEntry(&c.Value, false).(engine.HandoffEntry), func() {}}
		if e == b {
			entry.before = func() {
				go func() {
					defer close(moved)
					_ = a.TrySend(1)
					_, _ = b.TryRecv()
				}()
				for range 1000 {
					runtime.Gosched()
				}
			}
		}
		c.wait.use(entry)
		cases = append(cases, c)
	}
	none, ok := noneHeld(append(cases, Default), true)
	if <-moved; none || !ok || a.Len() != 1 || b.Len() != 0 {
		t.Errorf("none of the cases could proceed: %v, %v; Len %d and %d", none, ok, a.Len(), b.Len())
	}
}
