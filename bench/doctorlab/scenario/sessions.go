package main

import (
	"strconv"
	"sync"
)

// A read-write mutex with writers among the readers. BenchmarkInstead measures
// the gain of more locks.
var _ = register(scenario{
	Name: "sessions",
	About: "Sixteen workers receive requests from a channel and look up sixteen sessions for each in one " +
		"map under one RWMutex. Every fourth lookup renews the session and signs it under the write " +
		"lock: all workers wait for the lock. The channel of requests carries little.",
	HeldOut: true,
	Instead: syncMutex,
	Right:   []string{noChange},
	finite: map[string]finiteRun{
		asFound:       func(s *service, items int) uint64 { return runSessions(s, items, 1, 16, 32) },
		buffer:        func(s *service, items int) uint64 { return runSessions(s, items, 1, 16, 4096) },
		moreReceivers: func(s *service, items int) uint64 { return runSessions(s, items, 1, 64, 32) },
	},
})

const (
	sessionCount   = 2048
	sessionLookups = 16
)

// A session of a user.
type session struct {
	user    string
	renewed uint64
	token   uint64
}

// A stripe is a part of all sessions with its own lock. As found there is one.
type stripe struct {
	mu  sync.RWMutex
	all map[string]*session
}

type sessions struct {
	requests chan uint64
	stripes  []stripe
	ids      [sessionCount]string
}

func runSessions(s *service, items, stripes, workers, capacity int) uint64 {
	all := &sessions{requests: make(chan uint64, capacity), stripes: make([]stripe, stripes)}
	for i := range all.stripes {
		all.stripes[i].all = make(map[string]*session)
	}
	for i := range all.ids {
		id := "session-" + strconv.Itoa(i*7919)
		all.ids[i] = id
		all.of(i).all[id] = &session{user: "user-" + strconv.Itoa(i)}
	}
	var running sync.WaitGroup
	for range workers {
		done := s.counter()
		running.Go(func() { all.work(done) })
	}
	for n := range items {
		all.requests <- uint64(n)
	}
	close(all.requests)
	running.Wait()
	return all.digest()
}

func (s *sessions) of(i int) *stripe { return &s.stripes[i%len(s.stripes)] }

func (s *sessions) work(done *counter) {
	for n := range s.requests {
		for i := range uint64(sessionLookups) {
			at := int(grind(n*sessionLookups+i, 30) % sessionCount)
			s.visit(s.of(at), s.ids[at], i%4 == 0)
		}
		done.add(1)
	}
}

// visit looks up a session, and renews some.
func (s *sessions) visit(of *stripe, id string, renew bool) {
	if renew {
		of.renew(id)
		return
	}
	if user, ok := of.user(id); ok {
		sink(grind(uint64(len(user)), 50)) // the work of the request
	}
}

func (t *stripe) user(id string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, ok := t.all[id]
	if !ok {
		return "", false
	}
	return found.user, true
}

// renew signs under the lock, which is unnecessary.
func (t *stripe) renew(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.all[id]; ok {
		found.renewed++
		found.token = grind(found.renewed, 700)
	}
}

func (s *sessions) digest() (sum uint64) {
	for i := range s.stripes {
		for id, one := range s.stripes[i].all {
			sum += one.token*uint64(len(id)) + one.renewed
		}
	}
	return sum
}
