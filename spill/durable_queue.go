package spill

import (
	"container/heap"
	"slices"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A reader is the front or the backlog: a part of the queue in ascending order, of which the first
// records are in memory. The others are in ranges of numbers.
//
//	numbers in the window < numbers in ranges; ranges ascend, and none is empty
//	records == window.Len() + how many records are stored in ranges
//
// A range may have numbers without a record, which was acknowledged before the queue was opened. It
// has no record that is in flight, or in another part of the queue.
type reader struct {
	records int
	window  ring.Ring[logstore.Record]
	bytes   int64 // of the window
	ranges  []seqRange
}

// A seqRange has the sequence numbers from <= n < to.
type seqRange struct{ from, to uint64 }

// first returns the number of the first record, or end if the reader is empty.
func (r *reader) first(end uint64) uint64 {
	switch {
	case r.window.Len() > 0:
		return r.window.Oldest().Seq
	case r.records > 0:
		return r.ranges[0].from
	default:
		return end
	}
}

// memory returns the memory that the reader uses, in bytes.
func (r *reader) memory() int64 { return r.bytes + int64(len(r.ranges))*16 }

// keep adds a record to the window.
func (r *reader) keep(record logstore.Record) {
	r.window.Push(record)
	r.bytes += record.Memory()
}

// add adds the given number of records, which have the numbers from <= n < to and follow the others.
func (r *reader) add(from, to uint64, records int) {
	if records == 0 {
		return
	}
	last := len(r.ranges) - 1
	switch {
	case r.records == r.window.Len(): // ranges have none
		r.ranges = []seqRange{{from, to}}
	case r.ranges[last].to == from:
		r.ranges[last].to = to
	default:
		r.ranges = append(r.ranges, seqRange{from, to})
	}
	r.records += records
}

// extend adds records that were stored, beginning with number first. If the window has all records,
// it adds as many copies to it as the memory has room for.
func (r *reader) extend(first uint64, payloads [][]byte, at, room int64) {
	total, n := 0, 0
	for ; r.records == r.window.Len() && n < len(payloads); n++ {
		if room -= (logstore.Record{Payload: payloads[n]}).Memory(); room < 0 {
			break
		}
		total += len(payloads[n])
	}
	block := make([]byte, 0, total) // one allocation: the records are used at about the same time
	for i, payload := range payloads[:n] {
		start := len(block)
		block = append(block, payload...)
		r.keep(logstore.Record{Seq: first + uint64(i), Time: at, Payload: block[start:len(block):len(block)]})
	}
	r.records += n
	r.add(first+uint64(n), first+uint64(len(payloads)), len(payloads)-n)
}

// queued returns the number of queued records. The caller holds mu.
func (c *Durable[T]) queued() int { return c.front.records + len(c.requeued) + c.backlog.records }

// next returns the part of the queue from which a receive takes: nil means requeued. The caller
// holds mu.
func (c *Durable[T]) next() *reader {
	c.ageFront()
	switch {
	case c.front.records > 0:
		return &c.front
	case len(c.requeued) > 0:
		return nil
	default:
		return &c.backlog
	}
}

// oldest returns the part that has the lowest number, like next. The caller holds mu.
func (c *Durable[T]) oldest() *reader {
	part := &c.backlog
	if part.records == 0 {
		part = &c.front
	}
	if len(c.requeued) > 0 && c.requeued[0] < part.first(c.tail) {
		return nil
	}
	return part
}

// oldestSeq returns the lowest number in the queue, or tail. The caller holds mu.
func (c *Durable[T]) oldestSeq() uint64 {
	if part := c.oldest(); part != nil {
		return part.first(c.tail)
	}
	return c.requeued[0]
}

// ageFront moves the front to the backlog, unless its first record is fresh. The caller holds mu.
func (c *Durable[T]) ageFront() {
	f := &c.front
	if f.records == 0 || c.since.Oldest(park.Now(), f.first(c.tail), c.tail, 1).AtMost < c.config.fresh {
		return
	}
	if c.backlog.records == 0 {
		c.backlog = *f // with what is in memory
	} else {
		c.backlog.add(f.first(c.tail), c.tail, f.records)
	}
	*f = reader{}
}

// extend adds stored records to the queue. The caller holds mu.
func (c *Durable[T]) extend(payloads [][]byte, at int64) {
	if len(payloads) == 0 {
		return
	}
	part, room := &c.backlog, c.config.limit-c.front.bytes-c.backlog.bytes
	if c.config.fresh > 0 {
		c.ageFront()
		c.since.Record(park.Now(), c.front.first(c.tail), c.tail)
		part, room = &c.front, room-c.ahead() // which the backlog may need
	}
	part.extend(c.tail, payloads, at, room)
	c.tail += uint64(len(payloads))
	if c.ages.Lacks(c.tail, 1) { // all values below tail have been stored by now
		c.ages.Observe(c.oldestSeq(), c.tail)
	}
}

// ahead returns how many bytes are read from the file at once.
func (c *Durable[T]) ahead() int64 {
	const most = 1 << 20
	if c.config.fresh > 0 { // the front may have the rest
		return min(most, (c.config.limit+1)/2)
	}
	return min(most, c.config.limit)
}

// pull removes the first record of a part of the queue, which next or oldest has returned. Its
// number is 0 if the queue is empty. The caller holds mu.
func (c *Durable[T]) pull(part *reader) (record logstore.Record, err error) {
	if part == nil {
		if record, err = c.reread(c.requeued[0]); err == nil {
			heap.Pop(&c.requeued)
		}
		return record, err
	}
	if err = c.fill(part); err == nil && part.records > 0 {
		record = part.window.Pop()
		part.window.Shrink(keptSlots)
		part.bytes -= record.Memory()
		part.records--
	}
	return record, err
}

// fill reads the next records of a part into its window, unless it has some. The caller holds mu.
func (c *Durable[T]) fill(part *reader) error {
	if part.window.Len() > 0 || part.records == 0 {
		return nil
	}
	records, left, err := c.read(part.ranges, c.ahead())
	if err != nil {
		return err
	}
	for _, r := range records {
		part.keep(r)
	}
	part.ranges = left
	return nil
}

// reread reads a record that was given back. Such records are not kept in memory:
// receivers may give back more than the memory limit.
func (c *Durable[T]) reread(seq uint64) (record logstore.Record, err error) {
	records, _, err := c.read([]seqRange{{seq, seq + 1}}, 1)
	if err != nil {
		c.expiry.seq = 0 // the next look at its age finds the error, too
		return record, err
	}
	return records[0], nil
}

// read reads records from the store, at least one, and returns the ranges behind them. It marks an
// error after which the store may be opened again. The caller holds mu.
func (c *Durable[T]) read(ranges []seqRange, most int64) (records []logstore.Record, left []seqRange, err error) {
	for left = ranges; len(left) > 0 && len(records) == 0 && err == nil; {
		records, err = c.store.Read(left[0].from, left[0].to, most)
		if len(records) == 0 || records[len(records)-1].Seq+1 == left[0].to {
			left = left[1:]
		} else {
			left[0].from = records[len(records)-1].Seq + 1
		}
	}
	if err == nil && len(records) == 0 {
		err = errMissing
	}
	if err != nil && c.reopen != nil {
		err = &readError{err, c.epoch}
	}
	return records, left, err
}

// A seqHeap is a heap of sequence numbers, with the lowest first.
type seqHeap []uint64

func (h *seqHeap) Len() int           { return len(*h) }
func (h *seqHeap) Less(i, j int) bool { return (*h)[i] < (*h)[j] }
func (h *seqHeap) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *seqHeap) Push(n any)         { *h = append(*h, n.(uint64)) }
func (h *seqHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	if *h = (*h)[:last]; last == 0 {
		*h = nil
	}
	return n
}

// remove removes seq, and reports whether it was there.
func (h *seqHeap) remove(seq uint64) bool {
	i := slices.Index(*h, seq)
	if i >= 0 {
		heap.Remove(h, i)
	}
	return i >= 0
}
