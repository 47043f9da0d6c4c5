package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sluice-go/sluice"
)

// route returns the lane for a hash, once its parents are settled.
func (k *keyedCore) route(ctx context.Context, hash uint64, policy waitPolicy) (*layout, *lane, error) {
	for {
		now := k.layout.Load()
		if err := k.sendErr(now); err != nil {
			return now, nil, err
		}
		l := now.lanes[laneOf(hash, len(now.lanes))]
		if err := k.awaitParents(ctx, l, policy); err != nil {
			return now, nil, err
		}
		if k.layout.Load() == now {
			return now, l, nil
		}
	}
}

// sendErr returns why no value can be sent, or nil.
func (k *keyedCore) sendErr(now *layout) error {
	if err := k.life.sendErr(); err != nil || !now.record.Closed {
		return err
	}
	return sluice.ErrClosed
}

// awaitParents waits until the parents of a lane are settled. A policy that does not wait
// gets ErrFull: there is no room yet.
func (k *keyedCore) awaitParents(ctx context.Context, l *lane, policy waitPolicy) error {
	for _, p := range l.parents {
		select {
		case <-p.settled:
			continue
		default:
		}
		if policy == waitNever {
			return sluice.ErrFull
		}
		end := k.counters.sendWait()
		err := k.awaitSettled(ctx, p)
		if end(); err != nil {
			return err
		}
	}
	return nil
}

// reroute returns nil if a value that a lane refused with err may be sent to another lane,
// and err if the refusal is final, or the outcome unknown: another lane would not recognize
// a retry. It waits until this process knows the other lane.
func (k *keyedCore) reroute(ctx context.Context, now *layout, err error) error {
	switch {
	case k.life.shutdown.Load():
		return ErrShutdown
	case err == sluice.ErrClosed, err == ErrShutdown: // sealed, or this process left the lane
		return k.refresh(ctx, now)
	case err == ErrDeleted:
		if refreshErr := k.refresh(ctx, nil); refreshErr != nil {
			return refreshErr
		}
		if k.layout.Load() == now {
			return ErrDeleted
		}
		return nil
	}
	return err
}

// send sends one value.
func (k *keyedCore) send(ctx context.Context, hash uint64, payload []byte, policy waitPolicy) error {
	if policy != waitNever {
		return k.sendOne(ctx, hash, payload, policy)
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout) // for a layout that changes just now
	defer cancel()
	err := k.sendOne(ctx, hash, payload, policy)
	if err != nil && err == ctx.Err() {
		return sluice.ErrFull
	}
	return err
}

func (k *keyedCore) sendOne(ctx context.Context, hash uint64, payload []byte, policy waitPolicy) error {
	for {
		now, l, err := k.route(ctx, hash, policy)
		if err != nil {
			return err
		}
		if err = l.core.publisher.sendOne(ctx, payload, policy); err == nil {
			return nil
		}
		if err := k.reroute(ctx, now, err); err != nil {
			return err
		}
	}
}

// A BatchError is returned by [Keyed.SendBatch] if values after the first one that is not
// known to be stored are stored, as they have other keys, or if there are several causes.
// [errors.Is] and [errors.As] find the causes.
type BatchError struct {
	// Left are the indices, in ascending order, of the values that are not known to be
	// stored. Those of one key are the last ones of that key.
	Left   []int
	causes []error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("jetstream: %d values are not known to be stored: %v", len(e.Left), errors.Join(e.causes...))
}

// Unwrap returns the causes, one for each stream that failed.
func (e *BatchError) Unwrap() []error { return e.causes }

// shift makes the indices of a part of a batch, which begins at first and ends at end,
// indices of all values, those after the part included.
func (e *BatchError) shift(first, end, all int) {
	for i := range e.Left {
		e.Left[i] += first
	}
	for i := end; i < all; i++ {
		e.Left = append(e.Left, i)
	}
}

// A share is the part of a batch that goes to one lane.
type share struct {
	indices []int
	sent    int
	err     error
}

// sendBatch sends payloads, each lane's in order and the lanes' in parallel.
func (k *keyedCore) sendBatch(ctx context.Context, hashes []uint64, payloads [][]byte) (n int, err error) {
	pending := make([]int, len(payloads))
	for i := range pending {
		pending[i] = i
	}
	var failed []share
	for len(pending) > 0 {
		now, shares, err := k.divide(ctx, hashes, pending)
		if err != nil {
			failed = append(failed, share{indices: pending, err: err})
			break
		}
		var group sync.WaitGroup
		for l, s := range shares {
			group.Go(func() {
				own := make([][]byte, len(s.indices))
				for i, index := range s.indices {
					own[i] = payloads[index]
				}
				s.sent, s.err = l.core.publisher.sendBatch(ctx, own)
			})
		}
		group.Wait()
		pending = pending[:0]
		for _, s := range shares {
			if s.err == nil {
				continue
			}
			left := s.indices[s.sent:]
			if err := k.reroute(ctx, now, s.err); err != nil {
				failed = append(failed, share{indices: left, err: err})
				continue
			}
			pending = append(pending, left...)
		}
		slices.Sort(pending)
	}
	return batchResult(len(payloads), failed)
}

// divide divides values among the lanes, once their parents are settled.
func (k *keyedCore) divide(ctx context.Context, hashes []uint64, pending []int) (*layout, map[*lane]*share, error) {
	for {
		now := k.layout.Load()
		if err := k.sendErr(now); err != nil {
			return now, nil, err
		}
		shares := map[*lane]*share{}
		for _, i := range pending {
			l := now.lanes[laneOf(hashes[i], len(now.lanes))]
			if shares[l] == nil {
				shares[l] = new(share)
				if err := k.awaitParents(ctx, l, waitRoom); err != nil {
					return now, nil, err
				}
			}
			shares[l].indices = append(shares[l].indices, i)
		}
		if k.layout.Load() == now {
			return now, shares, nil
		}
	}
}

// batchResult returns how many values are known to be stored before the first that is not.
func batchResult(all int, failed []share) (n int, err error) {
	if len(failed) == 0 {
		return all, nil
	}
	e := &BatchError{}
	for _, s := range failed {
		e.Left = append(e.Left, s.indices...)
		e.causes = append(e.causes, s.err)
	}
	slices.Sort(e.Left)
	if n = e.Left[0]; len(e.causes) == 1 && len(e.Left) == all-n {
		return n, e.causes[0]
	}
	return n, e
}
