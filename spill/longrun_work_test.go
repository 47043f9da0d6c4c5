package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-go/sluice"
)

// A queue is what a longRun uses of a Durable.
type queue interface {
	Send(context.Context, []byte) error
	SendBatch(context.Context, [][]byte) (int, error)
	TryRecvBatch([]*Delivery[[]byte]) (int, error)
	Ack(...*Delivery[[]byte]) error
}

// valueOf returns the value with a number. Its length and bytes follow from the number: most
// values are short, a few are larger than a segment.
func valueOf(id uint64) []byte {
	random := rand.New(rand.NewPCG(id, 7))
	n := random.IntN(120)
	switch random.IntN(100) {
	case 0:
		n = random.IntN(3 * segmentSize)
	case 1, 2, 3, 4, 5:
		n = random.IntN(1500)
	}
	v := binary.BigEndian.AppendUint64(nil, id)
	return append(v, bytes.Repeat(binary.LittleEndian.AppendUint64(nil, random.Uint64()), n/8)...)
}

// identify returns the number of a value, or an error if it has changed.
func identify(v []byte) (id uint64, err error) {
	if len(v) >= 8 {
		id = binary.BigEndian.Uint64(v)
	}
	if !bytes.Equal(v, valueOf(id)) {
		return id, fmt.Errorf("value %x has changed", id)
	}
	return id, nil
}

// some returns a random number, mostly a small one.
func (r *longRun) some() int {
	switch r.random.IntN(20) {
	case 0:
		return r.random.IntN(300)
	case 1, 2:
		return 0
	}
	return r.random.IntN(40)
}

// work sends, receives and settles for a while. It ends early when a write has an unknown outcome,
// and the queue is opened again.
func (r *longRun) work() error {
	for range 1 + r.random.IntN(3) {
		n := r.some()
		if len(r.live) > 1500 {
			n = 0
		}
		if err := r.send(n); err != nil {
			return err
		}
		n = r.some()
		if r.random.IntN(12) == 0 {
			n = r.queued()
		}
		if err := r.receive(n); err != nil {
			return err
		}
		if err := r.acknowledge(r.random.IntN(len(r.held) + 1)); err != nil {
			return err
		}
		if r.failed {
			return nil
		}
	}
	return nil
}

// send sends n values: one by one, in a batch, or from several goroutines at once. It
// enters the result into the account.
func (r *longRun) send(n int) error {
	if n == 0 || r.failed {
		return nil
	}
	senders := uint64(1)
	if r.random.IntN(3) == 0 {
		senders = 1 + r.random.Uint64N(4)
	}
	single := r.random.IntN(2) == 0
	type result struct {
		ids []uint64
		n   int
		err error
	}
	results := make([]result, senders)
	var done sync.WaitGroup
	for s := range senders {
		ids := make([]uint64, 0, n)
		for range (n + int(s)) / int(senders) {
			ids = append(ids, r.next<<4|s)
			r.next++
		}
		results[s].ids = ids
		send := func() {
			out := &results[s]
			if !single {
				values := make([][]byte, len(ids))
				for i, id := range ids {
					values[i] = valueOf(id)
				}
				out.n, out.err = r.queue.SendBatch(context.Background(), values)
				return
			}
			for _, id := range ids {
				if out.err = r.queue.Send(context.Background(), valueOf(id)); out.err != nil {
					return
				}
				out.n++
			}
		}
		if senders == 1 {
			send()
		} else {
			done.Go(send)
		}
	}
	done.Wait()
	sent := map[uint64]bool{}
	var errs []error
	for _, result := range results {
		for i, id := range result.ids {
			switch {
			case i < result.n:
				sent[id] = true
				r.seen.sent++
			case errors.Is(result.err, errUnknown):
				r.unsure.sent[id] = true
			}
		}
		errs = append(errs, result.err)
	}
	return errors.Join(r.outcome(errs...), r.adopt(sent))
}

// outcome notes the errors of writes. They are no contradiction if the disk was made to fail.
func (r *longRun) outcome(errs ...error) error {
	for _, err := range errs {
		if err == nil {
			continue
		}
		r.seen.faults++
		unknown := errors.Is(err, errUnknown)
		if unknown {
			r.failed = true
			r.seen.unknown++
		}
		switch {
		case r.disk.Fail == nil && r.disk.Limit == 0:
			return fmt.Errorf("on a disk that works: %w", err)
		case r.disk.Fail == nil && (unknown || !errors.Is(err, syscall.ENOSPC)):
			return fmt.Errorf("on a full disk: %w", err)
		}
	}
	return nil
}

// receive receives n values, one by one or in batches, and checks their order.
func (r *longRun) receive(n int) error {
	for n > 0 && !r.failed {
		ds := make([]*Delivery[[]byte], 1+r.random.IntN(min(n, 20)))
		n -= len(ds)
		got, err := r.queue.TryRecvBatch(ds)
		switch {
		case err == sluice.ErrEmpty && r.queued() == 0:
			return nil
		case err != nil && r.disk.Fail != nil:
			r.failed = true // the machine is off
			return nil
		case err != nil:
			return err
		}
		for _, d := range ds[:got] {
			if err := r.received(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// received enters a delivery into the account.
func (r *longRun) received(d *Delivery[[]byte]) error {
	id, err := identify(d.Value)
	switch {
	case err != nil:
		return err
	case !r.takes(d.Seq()):
		return fmt.Errorf("received record %d, want the first of one of %v, %v, %v", d.Seq(), head(r.front), head(r.given), head(r.backlog))
	case id != r.live[d.Seq()]:
		return fmt.Errorf("received value %x, want %x", id, r.live[d.Seq()])
	}
	r.held[d.Seq()] = d
	if r.attempts[d.Seq()]++; d.Attempt != r.attempts[d.Seq()] {
		return fmt.Errorf("attempt %d of value %x, want %d", d.Attempt, id, r.attempts[d.Seq()])
	}
	return nil
}

// queued returns the number of values that the queue has yet to deliver.
func (r *longRun) queued() int { return len(r.front) + len(r.given) + len(r.backlog) }

// takes removes record seq if the queue may deliver it now. It is the first one that is fresh, which
// may leave those before it in the backlog; or no other is fresh any more.
func (r *longRun) takes(seq uint64) bool {
	at, fresh := slices.BinarySearch(r.front, seq)
	if fresh = fresh && r.how.Fresh > 0; !fresh {
		at = len(r.front)
	}
	if at > 0 && r.how.Fresh == time.Hour { // all of them were fresh
		return false
	}
	r.backlog, r.front = append(r.backlog, r.front[:at]...), r.front[at:]
	part := &r.backlog
	switch {
	case fresh:
		part = &r.front
	case len(r.given) > 0:
		part = &r.given
	}
	if len(*part) == 0 || (*part)[0] != seq {
		return false
	}
	*part = (*part)[1:]
	return true
}

func head(seqs []uint64) []uint64 { return seqs[:min(3, len(seqs))] }

// acknowledge settles n deliveries in random order: most are acknowledged, one by one, in
// batches, or by several goroutines beside a sender; the others are given back.
func (r *longRun) acknowledge(n int) error {
	all := make([]*Delivery[[]byte], 0, len(r.held))
	for _, seq := range slices.Sorted(maps.Keys(r.held)) {
		all = append(all, r.held[seq])
	}
	r.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for all = all[:n]; len(all) > 0 && !r.failed; {
		ds := all[:1+r.random.IntN(len(all))]
		all = all[len(ds):]
		errs := make([]error, len(ds))
		var err error
		switch r.random.IntN(5) {
		case 0:
			if err := r.giveBack(ds); err != nil {
				return err
			}
			continue
		case 1:
			var done sync.WaitGroup
			for i, d := range ds {
				done.Go(func() { errs[i] = r.queue.Ack(d) })
			}
			err = r.send(r.random.IntN(5))
			done.Wait()
		default:
			acked := r.queue.Ack(ds...)
			for i := range errs {
				errs[i] = acked
			}
		}
		if err = errors.Join(err, r.acked(ds, errs)); err != nil {
			return err
		}
	}
	return nil
}

func (r *longRun) giveBack(ds []*Delivery[[]byte]) error {
	for _, d := range ds {
		if err := d.Nack(); err != nil {
			return err
		}
		delete(r.held, d.Seq())
		at, _ := slices.BinarySearch(r.given, d.Seq())
		r.given = slices.Insert(slices.Clip(r.given), at, d.Seq())
		r.seen.nacked++
	}
	return nil
}

// acked enters acknowledgements into the account. A full disk takes them.
func (r *longRun) acked(ds []*Delivery[[]byte], errs []error) error {
	if err := r.outcome(errs...); err != nil {
		return err
	}
	for i, d := range ds {
		switch {
		case errs[i] == nil:
			delete(r.live, d.Seq())
			delete(r.held, d.Seq())
			delete(r.attempts, d.Seq())
			r.seen.acked++
		case errors.Is(errs[i], errUnknown):
			r.unsure.acked[d.Seq()] = true
		case r.disk.Fail == nil:
			return fmt.Errorf("a full disk, and an acknowledgement: %w", errs[i])
		}
	}
	return nil
}
