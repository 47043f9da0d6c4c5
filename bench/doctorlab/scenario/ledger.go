package main

import "sync"

// A channel used as a lock.
var _ = register(scenario{
	Name: "ledger",
	About: "Sixteen clerks update accounts that a channel of capacity 1 protects: a send acquires the " +
		"lock, and a receive releases it. A mutex does the same for less.",
	Channels: true,
	Sites:    []site{{send, "main.(*ledger).book"}, {receive, "main.(*ledger).book"}},
	Right:    []string{mutex},
	Harmful:  []string{buffer, batch, shard, elastic, moreReceivers},
	builds: map[string]build{
		asFound: func(s *service) {
			l := &ledger{lock: make(chan struct{}, 1)}
			for i := range clerks {
				go l.clerk(uint64(i), l.book, s.counter())
			}
		},
		mutex: func(s *service) {
			l := new(ledger)
			for i := range clerks {
				go l.clerk(uint64(i), l.bookLocked, s.counter())
			}
		},
	},
})

const (
	clerks   = 16
	accounts = 512
)

type ledger struct {
	lock     chan struct{}
	mu       sync.Mutex // replaces lock
	accounts [accounts]uint64
}

func (l *ledger) clerk(n uint64, book func(from, to, amount uint64), done *counter) {
	for {
		n = grind(n, 60)
		book(n%accounts, n/accounts%accounts, n%100)
		done.add(1)
	}
}

func (l *ledger) book(from, to, amount uint64) {
	l.lock <- struct{}{}
	l.accounts[from] -= amount
	l.accounts[to] += amount
	<-l.lock
}

func (l *ledger) bookLocked(from, to, amount uint64) {
	l.mu.Lock()
	l.accounts[from] -= amount
	l.accounts[to] += amount
	l.mu.Unlock()
}
