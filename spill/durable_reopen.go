package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// With the policy SetDamageAside a Durable continues after its store has failed: the leader closes
// the store, opens the folder again, which repairs it, and continues with what is there.
//
//	reopening != nil: only the leader uses the store; receives wait
//	epoch counts how often the folder was opened again
//	a delivery of an earlier epoch cannot be settled: its record is queued again
//	the acknowledgements in a commit are valid in the epoch in which its leader took it
//
// docs/design/spill.md has the arguments.

// ErrReopened is returned by Ack and Nack for a delivery from before the queue was opened again,
// because its files had failed: see [SetDamageAside]. Unless the value was lost, it is delivered
// again.
var ErrReopened = errors.New("spill: the queue was opened again after its files had failed, and delivers the value again")

// ErrFailed is what the errors of a Durable that has failed are, for errors.Is: it returns them until
// it is shut down, and only the next OpenDurable can help. After any other error of a Send
// or an Ack, the channel is as it was, and the caller may try again.
var ErrFailed = errors.New("spill: the queue has failed")

// A failure is the error of a channel that has failed.
type failure struct{ error }

func (f failure) Unwrap() error      { return f.error }
func (failure) Is(target error) bool { return target == ErrFailed }

// A readError is an error of the store when it was read in an epoch.
type readError struct {
	error
	epoch uint64
}

// unmarked returns err without its epoch.
func unmarked(err error) error {
	if r, ok := err.(*readError); ok {
		return r.error
	}
	return err
}

// reopenAfter opens the queue again after a receive got an error of the store, unless another
// goroutine has done that.
func (c *Durable[T]) reopenAfter(err *readError) {
	c.mu.Lock()
	if c.failure != nil || c.stopped || c.epoch != err.epoch {
		c.mu.Unlock()
		return
	}
	b, leads := c.join()
	b.damage = err
	c.mu.Unlock()
	_ = c.await(context.Background(), new(lazyContext), b, leads, 0, grant{}) // the next receive gets its error
}

// writeCommit writes b to the store, and sets the results of its members. If the store fails and
// may be opened again, it does that, and writes the records that are not there once more. counted
// means that the queue has the records of b already. After an error the channel cannot continue.
// The caller leads, and does not hold mu.
func (c *Durable[T]) writeCommit(b *commit, payloads [][]byte) (counted bool, err error) {
	if b.damage != nil {
		if _, err := c.openAgain(b, b.damage.error, nil); err != nil {
			b.err, b.deleteErr = err, err
			return false, err
		}
	}
	if len(payloads)+len(b.deletes)+len(b.drops) == 0 {
		return false, nil
	}
	rejected := false // the records are not stored, for certain
	err = c.store.Write(c.tail, payloads, b.allDeletes(), b.at)
	b.setResults(err, err)
	if err != nil && len(payloads) > 0 && len(b.deletes) > 0 && !errors.Is(err, errUnknown) {
		rejected = true
		err = c.store.Write(c.tail, nil, b.deletes, 0) // a full disk may have room for deletes
		b.setResults(b.err, err)
	}
	if !errors.Is(err, errUnknown) {
		return false, nil
	}
	if c.reopen == nil {
		err = failure{err}
		if !rejected {
			b.err = err
		}
		b.setResults(b.err, err)
		return false, err
	}
	uncertain := payloads
	if rejected {
		uncertain = nil
	}
	stored, err := c.openAgain(b, err, uncertain)
	switch {
	case err != nil:
		b.setResults(err, err)
		return false, err
	case len(uncertain) == 0:
		return false, nil
	case stored == len(uncertain):
		b.err = nil
	case stored == 0:
		b.err = c.store.Write(c.tail, uncertain, nil, b.at)
		if errors.Is(b.err, errUnknown) {
			b.err = failure{b.err}
			return false, b.err
		}
	}
	return stored > 0, nil // if damage has left some of them, the outcome stays unknown
}

// setResults sets the results of the members that send, and of those that acknowledge.
func (b *commit) setResults(err, deleteErr error) {
	b.err = err
	if len(b.deletes) > 0 {
		b.deleteErr = deleteErr
	}
}

// A newStore is a store that was opened again, and what it has of the commit that failed.
type newStore struct {
	store  store
	found  logstore.Contents
	repair Repair
	stored int  // how many of the records that may have been written are there
	acked  bool // its acknowledgements are stored
}

// openAgain opens the store again, which has failed with cause. stored is how many of uncertain,
// the records of b that may have been written, are there. The caller leads with b, and does not
// hold mu.
func (c *Durable[T]) openAgain(b *commit, cause error, uncertain [][]byte) (stored int, err error) {
	c.mu.Lock()
	done := make(chan struct{})
	c.reopening = done
	c.mu.Unlock()

	c.asideMu.Lock() // a repair writes the report, and what others write must contain it
	defer c.asideMu.Unlock()
	_ = c.store.Close() // it has failed
	var r newStore
	r.store, r.found, r.repair, err = c.reopen()
	if err == nil {
		if err = r.look(c.tail, uncertain, b.deletes); err != nil {
			err = errors.Join(err, r.store.Close())
		}
	}

	c.mu.Lock()
	c.reopening = nil
	close(done)
	if err != nil {
		defer c.mu.Unlock()
		c.failure = failure{fmt.Errorf("%w; the queue could not be opened again: %w", cause, err)}
		return 0, c.failure
	}
	c.restart(b, cause, uncertain, r)
	c.mu.Unlock()
	if c.disk != nil {
		c.logUnsaved(c.Repaired().save(c.disk))
	}
	return r.stored, nil
}

// look finds out whether records, numbered from first on, and acknowledgements are stored. A
// commit is stored as a whole, but damage may have removed parts of it.
func (r *newStore) look(first uint64, records [][]byte, deletes []uint64) error {
	for n, payload := range records {
		found, err := r.store.Read(first+uint64(n), first+uint64(n)+1, 1)
		if err != nil {
			return err
		}
		if len(found) > 0 && found[0].Damaged == nil && bytes.Equal(found[0].Payload, payload) {
			r.stored++
		}
	}
	r.acked = len(deletes) > 0
	for _, seq := range deletes {
		found, err := r.store.Read(seq, seq+1, 1)
		if err != nil {
			return err
		}
		r.acked = r.acked && len(found) == 0
	}
	return nil
}

// restart makes the queue what r holds. The caller holds mu.
func (c *Durable[T]) restart(b *commit, cause error, uncertain [][]byte, r newStore) {
	c.epoch++
	held, oldest, last := c.queued()+c.flight.records+c.dropping, c.oldestSeq(), c.tail-1
	c.sub(amount{held, c.stored}) // the rest has reserved room
	if r.stored > 0 {
		c.sub(c.amountOf(uncertain))
	}
	c.load(r.store, r.found)
	c.clock.known = min(c.clock.known, c.tail)
	c.expiry.seq = 0
	c.attempts = nil
	c.flight, c.acking, c.dropping, c.evicting = amount{}, amount{}, 0, 0

	held -= c.settleReopened(b, r)
	if p := c.pending; p != nil { // its members see that the epoch has changed
		p.deletion = deletion{}
	}
	// Values that are lost count as dropped, and those that are queued again as sent again.
	lost := max(held-(c.queued()-r.stored), 0)
	c.dropped += uint64(lost)
	c.sent = c.received + c.dropped + uint64(c.queued())
	c.repair.reopened(cause, r.repair, lost, oldest, last)
}

// settleReopened decides what became of the records that b deletes, and returns how many are
// deleted. The others are queued again. The caller holds mu.
func (c *Durable[T]) settleReopened(b *commit, r newStore) (deleted int) {
	if r.acked {
		deleted = len(b.deletes)
		c.countDropped(len(b.old), sluice.TooOld)
		b.deleteErr = nil
	} else if len(b.deletes) > 0 {
		b.deleteErr = ErrReopened
	}
	b.deletion = deletion{}
	if r.stored == 0 {
		b.drops = slices.DeleteFunc(b.drops, func(d drop) bool { return d.record.Seq != 0 })
		return deleted
	}
	for _, d := range b.drops {
		c.countDropped(1, d.why)
		if d.record.Seq == 0 {
			c.sent++
		} else {
			deleted++
		}
	}
	return deleted
}

// amountOf returns what the limits count for payloads.
func (c *Durable[T]) amountOf(payloads [][]byte) (a amount) {
	for _, payload := range payloads {
		a.add(one(c.costOf(payload)))
	}
	return a
}
