// Package paced measures what a channel costs a service that is not busy: values arrive
// at a given rate, the channel is empty most of the time, and each value wakes a
// goroutine.
//
// # Arrivals
//
// The load is open-loop: each sender has a schedule of intended times, a Poisson process
// that does not depend on when its sends complete. A sender that is late sends at once
// what is due, so a slow channel does not slow its load. The schedule depends on the seed
// alone: contenders that take turns get the same arrivals.
//
// A sender waits for a timerfd in the runtime's network poller, as a service waits for
// its sockets: a wake-up is precise to some microseconds, costs what an arrival costs,
// and uses no CPU before it. On systems other than Linux it sleeps instead. An idle runtime waits for its timers in whole milliseconds, so several senders
// then wake together; and the runtime looks for work with another processor before a
// sleeper runs, whereas after an arrival from the poller the sender itself pays for
// waking that processor, inside Send.
//
// A value per wake-up would be unrealistic at high rates, and the wake-ups would be all
// that is measured: 1 M wake-ups per second take more than two cores. A service gets
// many messages by one read there. Senders therefore send in groups, all of whose values
// are intended at the same time; see [Wakeups].
//
// # Figures
//
// CPU time is that of the whole process, with its arrivals and clock readings.
// Without runs the same load without a channel: senders do the receivers' work. The
// difference is the cost of the channel and of waking its receivers.
//
// A delay ends when a receiver has the value. It begins when Send is called, or at the
// intended time, which includes a sender's own wake-up and its wait behind earlier
// sends: the delay that a client of the service would see.
package paced

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// Wakeups is the largest number of groups per second of a load.
const Wakeups = 20_000

// A Load is values that arrive at a rate.
type Load struct {
	Rate               float64 // values per second, of all senders together
	Senders, Receivers int
	Values             int
	Seed               uint64

	sleep bool // senders sleep until the next arrival, for tests with another clock
}

// Shape names the number of senders and receivers: "8->1".
func (l Load) Shape() string { return fmt.Sprintf("%d->%d", l.Senders, l.Receivers) }

// group is the number of values per arrival: the smallest that keeps to Wakeups.
func (l Load) group() int { return max(1, int(l.Rate+Wakeups-1)/Wakeups) }

// check returns an error if the load makes no sense.
func (l Load) check() error {
	switch {
	case !(l.Rate > 0):
		return fmt.Errorf("paced: rate %v (want more than 0 values per second)", l.Rate)
	case l.Senders < 1 || l.Receivers < 1:
		return fmt.Errorf("paced: %d senders and %d receivers (want at least 1 of each)", l.Senders, l.Receivers)
	case l.Values < l.Senders:
		return fmt.Errorf("paced: %d values (want at least one for each of %d senders)", l.Values, l.Senders)
	}
	return nil
}

// A Result is the measurement of one run.
type Result struct {
	CPU          time.Duration // of the process
	Values       uint64
	FromSend     Delays // from the call of Send
	FromIntended Delays // from the intended time
}

// Delays are sorted.
type Delays []time.Duration

// Quantile returns the least delay in ns that at least the share q of all delays do not
// exceed. It is NaN if there are none.
func (d Delays) Quantile(q float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	return float64(d[max(1, int(math.Ceil(q*float64(len(d)))))-1])
}

// PerValue returns the CPU time per value, in ns.
func (r *Result) PerValue() float64 { return float64(r.CPU) / float64(r.Values) }

// Run runs the load over a channel of the contender and returns when all its goroutines
// have finished. It fails if values were lost or changed.
func (l Load) Run(c contender.Contender, capacity int) (*Result, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if c.LoopsOnly || !c.Can(capacity, l.Senders, l.Receivers) {
		return nil, fmt.Errorf("paced: %s cannot do %s at capacity %d", c.Name, l.Shape(), capacity)
	}
	r, err := l.Over(1, func(take func(i int, v uint64)) Sink { return Open(c.Make(capacity), l.Receivers, take) })
	if err != nil {
		return nil, fmt.Errorf("paced: %s: %w", c.Name, err)
	}
	return r, nil
}

// Without runs the load without a channel: each sender does the work of a receiver.
func (l Load) Without() (*Result, error) { return l.Over(1, nil) }

// A Sink is what a load is sent into: a channel with its receivers, a broadcast with its
// subscribers, or a pool.
type Sink struct {
	// Put sends v, and reports false once the sink is closed. Several goroutines call it.
	Put func(v uint64) bool
	// Close ends the sink. It returns when no further value will be taken.
	Close func()
}

// SinkOf returns a sink whose Close calls end, and then waits for all, which may be nil.
func SinkOf(put func(v uint64) bool, end func(), all *sync.WaitGroup) Sink {
	return Sink{put, func() {
		end()
		if all != nil {
			all.Wait()
		}
	}}
}

// Open returns the channel as a sink: the given number of goroutines receive from it and
// pass each value to take, with their own number.
func Open(ch contender.Channel, receivers int, take func(i int, v uint64)) Sink {
	all := new(sync.WaitGroup)
	for i := range receivers {
		all.Go(func() {
			if pushes, ok := ch.(interface{ Each(func(uint64)) }); ok {
				pushes.Each(func(v uint64) { take(i, v) })
				return
			}
			for got := ch.Recv(1); got.Count > 0; got = ch.Recv(1) {
				take(i, got.Last())
			}
		})
	}
	return SinkOf(func(v uint64) bool { return ch.Send(v, v+1) }, ch.Close, all)
}

// Over runs the load into the sink that open returns, which passes each value to take,
// copies times in all. No two goroutines may call take with the same number at once. A nil
// open runs the load without a sink.
func (l Load) Over(copies int, open func(take func(i int, v uint64)) Sink) (*Result, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	senders, err := l.senders()
	if err != nil {
		return nil, err
	}
	receivers := make([]*receiver, l.Receivers)
	if open == nil {
		receivers = make([]*receiver, l.Senders)
	}
	for i := range receivers { // recording a delay does not allocate
		receivers[i] = &receiver{fromSend: make(Delays, 0, l.Values), fromIntended: make(Delays, 0, l.Values)}
	}
	before, base := CPU(), time.Now()
	for _, r := range receivers {
		r.base = base
	}
	var sink Sink
	if open != nil {
		sink = open(func(i int, v uint64) { receivers[i].take(v) })
	}
	var all sync.WaitGroup
	for i, s := range senders {
		s.base = base
		deliver := func(v uint64) { receivers[i].take(v) }
		if open != nil {
			deliver = func(v uint64) { sink.Put(v) } // the account reveals a failure
		}
		all.Go(func() { s.send(deliver) })
	}
	all.Wait()
	if open != nil {
		sink.Close()
	}
	result := &Result{CPU: CPU() - before}
	if err := result.account(senders, receivers, uint64(copies)); err != nil {
		return nil, err
	}
	return result, nil
}

func (l Load) senders() (senders []*sender, err error) {
	for i := range l.Senders {
		s := &sender{schedule: l.schedule(i)}
		if s.timer, err = l.newTimer(s); err != nil {
			for _, made := range senders {
				made.timer.close()
			}
			return nil, fmt.Errorf("paced: %w", err)
		}
		senders = append(senders, s)
	}
	return senders, nil
}

// account merges what the goroutines recorded, and proves that no value was lost.
func (r *Result) account(senders []*sender, receivers []*receiver, copies uint64) error {
	var sent, got contender.Tally
	var errs error
	for _, s := range senders {
		sent.Merge(contender.Tally{Count: copies * s.tally.Count, Sum: copies * s.tally.Sum})
		errs = errors.Join(errs, s.err)
	}
	for _, receiver := range receivers {
		got.Merge(receiver.tally)
		r.FromSend = append(r.FromSend, receiver.fromSend...)
		r.FromIntended = append(r.FromIntended, receiver.fromIntended...)
	}
	r.Values = got.Count
	slices.Sort(r.FromSend)
	slices.Sort(r.FromIntended)
	if errs != nil {
		return errs
	}
	return got.Check(sent)
}
