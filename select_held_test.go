package sluice

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
)

// A loggedEntry is a HandoffEntry that records the calls of noneHeld.
type loggedEntry struct {
	engine.HandoffEntry
	name string
	log  *[]string
	can  bool
}

func (e *loggedEntry) Lock()   { *e.log = append(*e.log, "lock "+e.name) }
func (e *loggedEntry) Unlock() { *e.log = append(*e.log, "unlock "+e.name) }
func (e *loggedEntry) CanProceed() bool {
	*e.log = append(*e.log, "look "+e.name)
	return e.can
}

// TestDefaultUnderAllLocks: for channels of locked engines, the moment at which Default is
// chosen is one at which all their locks are held, each taken once, in the order of ranks.
func TestDefaultUnderAllLocks(t *testing.T) {
	var log []string
	entries := make([]*loggedEntry, 2)
	engines := make([]*locked.Engine[int], 2)
	for i, name := range []string{"a", "b"} { // in the order of ranks
		engines[i] = locked.New(engine.Config[int]{})
		entries[i] = &loggedEntry{name: name, log: &log}
	}
	caseOf := func(i int) *RecvCase[int] {
		c := &RecvCase[int]{engine: engines[i]}
		entries[i].HandoffEntry = engines[i].NewEntry(&c.Value, false).(engine.HandoffEntry)
		c.wait.use(entries[i])
		c.wait.idle = true
		return c
	}
	cases := []Case{caseOf(1), Default, caseOf(0), caseOf(1)}
	check := func(able int, wantNone bool, want string) {
		t.Helper()
		log = nil
		for i, e := range entries {
			e.can = i == able
		}
		none, ok := noneHeld(cases, false)
		if got := strings.Join(log, ", "); none != wantNone || !ok || got != want {
			t.Errorf("case %d can proceed: none %v, %v, calls:\n%s\nwant:\n%s", able, none, ok, got, want)
		}
	}
	check(-1, true, "lock a, look a, lock b, look b, look b, unlock a, unlock b")
	check(0, false, "lock a, look a, unlock a")
	check(1, false, "lock a, look a, lock b, look b, unlock a, unlock b")

	cases[0].entry().idle = false
	entries[1].can, log = false, nil
	if none, ok := noneHeld(cases, false); none || !ok || len(log) > 0 {
		t.Errorf("a case that had a value: %v, %v, calls %v", none, ok, log)
	}
	if none, ok := noneHeld(cases, true); !none || !ok {
		t.Errorf("a case that had a value, and was tried: %v, %v", none, ok)
	}
	others := []Case{
		OnRecv(NewBounded[int](64, nil)),
		OnSend(NewBounded(1, &BoundedOptions[int]{Overflow: Reject}), 1),
		OnSend(NewElastic(9, &ElasticOptions[int]{MaxBytes: 9, Size: func(int) int { panic("called under locks") }}), 1),
	}
	for i, c := range others {
		if _, ok := noneHeld(slices.Concat(cases, []Case{c}), true); ok {
			t.Errorf("other case %d is asked under the locks", i)
		}
	}
}

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
