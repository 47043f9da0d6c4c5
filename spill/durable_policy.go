package spill

import (
	"container/heap"
	"errors"
	"math"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// How a commit makes room. docs/design/spill.md has the arguments.
//
// A sender joins the pending commit with records for which it has reserved room; or with loose
// records, which need the room of others: of the oldest values under DropOldest, of values that are
// too old with MaxAge. Loose records and what they drop do not count, and nothing leaves the queue,
// until the leader takes the commit. Then, under the lock, the leader decides for each loose
// record, in order:
//
//	while the limits have no room for it, take the oldest record from the queue (evict), or
//	    under DropOldest the oldest loose record of the same commit, which is then not stored
//	if the room is held by deliveries in flight, or by values that are neither to be dropped
//	    nor too old, refuse this loose record and all that follow
//
// The deletion of evicted records and the new ones are one write. If it fails, evicted records
// return to the queue, and nothing was dropped. After it each sender settles its part of the commit:
// it calls the hook for what its records dropped, and looks for room again if they were refused.

// An admission is how a commit makes room. It is decided when the commit is taken, and read
// by its members when the commit is done.
type admission struct {
	at      int64 // the time of the new records, with MaxAge
	loose   []run // by index of the payload, ascending
	drops   []drop
	refused int   // loose payloads from index refused-1 on have no room; 0 if all have
	readErr error // the queue could not be read to make room
}

// A run is a range of payloads: from <= i < to.
type run struct{ from, to int }

// A drop is a record that a commit drops.
type drop struct {
	record logstore.Record // without payload if there is no hook; without number if it was not stored
	cost   int64
	by     int // the index of the payload whose sender calls the hook
	why    sluice.Reason
}

// evictStep is how many records a payload drops at most to bring a queue within its limits
// that was opened beyond them.
const evictStep = 1024

// errRetry is the result of a sender that waited and should look for room again.
var errRetry = errors.New("spill: look again")

// free reports whether deliveries in flight leave room for a record. The caller holds mu.
func (c *Durable[T]) free(need int64) bool { return c.config.fits(c.flight, c.acking, need) }

// spare returns how many loose records may join the pending commit, of up to n, the first
// of which needs room. The caller holds mu.
func (c *Durable[T]) spare(n int, need int64) (k int) {
	switch {
	case c.config.overflow == sluice.DropOldest && c.free(need):
		return n
	case c.config.overflow == sluice.DropOldest || c.config.maxAge == 0:
		return 0
	}
	for k < n {
		if old, err := c.isOld(c.oldest(), c.promised+c.retrying+k); err != nil || !old {
			break
		}
		k++
	}
	return k
}

// retry wakes the first senders for which may returns true: they look for room again. The
// caller holds mu.
func (c *Durable[T]) retry(may func(w *waiter) bool) {
	for w := c.senders.First(); w != nil && may(w); w = c.senders.First() {
		c.retrying++
		c.senders.finish(w, errRetry)
	}
}

// admit decides about the loose records of a commit that was taken, and drops records that
// are too old. The caller holds mu.
func (c *Durable[T]) admit(b *commit) {
	if c.config.maxAge > 0 {
		b.at = c.now()
	}
	m := makingRoom[T]{c: c, b: b, amount: c.amount}
	m.sub(b.freed)
	for _, r := range b.loose {
		for i := r.from; i < r.to; i++ {
			if b.payloads[i] == nil {
				continue
			}
			if b.refused > 0 || !m.room(i) {
				if b.refused == 0 {
					b.refused = i + 1
				}
				b.payloads[i] = nil
				c.adding--
				continue
			}
			m.take(i)
		}
	}
	if c.config.maxAge > 0 {
		m.expire()
	}
}

// makingRoom is the state of admit.
type makingRoom[T any] struct {
	c      *Durable[T]
	b      *commit
	amount       // what the limits count after the commit
	kept   []int // loose payloads that were admitted, and may be dropped
}

// room makes room for payload i, and reports whether there is any.
func (m *makingRoom[T]) room(i int) bool {
	c, cost := m.c, m.c.costOf(m.b.payloads[i])
	oldest := c.config.overflow == sluice.DropOldest
	if oldest && !c.config.fits(c.flight, m.b.acks, cost) {
		return false
	}
	most := math.MaxInt
	if oldest && (m.records > c.config.capacity || m.bytes > c.config.diskLimit) {
		most = evictStep
	}
	for n := 0; !c.config.fits(m.amount, amount{}, cost) && n < most; n++ {
		switch old, err := c.isOld(c.oldest(), 0); {
		case err != nil:
			m.b.readErr = err
			return false
		case c.queued() > 0 && (old || oldest):
			if !m.evict(i, old) {
				return false
			}
		case !oldest:
			return false
		case len(m.kept) == 0: // the sizes of damaged records are not known exactly
			return true
		default:
			m.replace()
		}
	}
	return true
}

// take admits payload i.
func (m *makingRoom[T]) take(i int) {
	cost := m.c.costOf(m.b.payloads[i])
	m.c.add(one(cost))
	m.add(one(cost))
	if m.c.config.overflow == sluice.DropOldest {
		m.kept = append(m.kept, i)
	}
}

// evict takes the oldest record from the queue, for payload i.
func (m *makingRoom[T]) evict(i int, old bool) bool {
	c := m.c
	record, err := c.pull(c.oldest())
	if err != nil {
		m.b.readErr = err
		return false
	}
	d := drop{record: record, cost: diskCost(record), by: i, why: sluice.Overflowed}
	if old {
		d.why = sluice.TooOld
	} else {
		c.evicting++
	}
	if c.config.undelivered == nil {
		d.record.Payload = nil
	}
	c.dropping++
	m.sub(one(d.cost))
	m.b.drops = append(m.b.drops, d)
	return true
}

// replace drops the oldest loose record of the commit.
func (m *makingRoom[T]) replace() {
	i := m.kept[0]
	m.kept = m.kept[1:]
	cost := m.c.costOf(m.b.payloads[i])
	m.b.payloads[i] = nil
	m.b.drops = append(m.b.drops, drop{by: i, why: sluice.Overflowed})
	m.c.adding--
	m.c.sub(one(cost))
	m.sub(one(cost))
}

// expire drops up to two records that are too old for each new one, so that a queue
// without a receiver does not grow beyond what MaxAge brings in.
func (m *makingRoom[T]) expire() {
	before := m.b.readErr // an error is of no matter here: the new records do not need the room
	defer func() { m.b.readErr = before }()
	for i, payload := range m.b.payloads {
		for n := 0; payload != nil && n < 2; n++ {
			if old, err := m.c.isOld(m.c.oldest(), 0); err != nil || !old || !m.evict(i, true) {
				return
			}
		}
	}
}

// allDeletes returns the numbers of the records that the commit deletes.
func (b *commit) allDeletes() []uint64 {
	if len(b.drops) == 0 {
		return b.deletes
	}
	all := append(make([]uint64, 0, len(b.deletes)+len(b.drops)), b.deletes...)
	for _, d := range b.drops {
		if d.record.Seq != 0 {
			all = append(all, d.record.Seq)
		}
	}
	return all
}

// publishDrops applies the result of a commit to the records that it drops. The caller
// holds mu.
func (c *Durable[T]) publishDrops(b *commit) {
	for _, d := range b.drops {
		stored := d.record.Seq != 0
		if stored {
			c.dropping--
		}
		if stored && d.why != sluice.TooOld {
			c.evicting--
		}
		switch {
		case b.err != nil && stored:
			heap.Push(&c.requeued, d.record.Seq)
		case b.err == nil && stored:
			c.sub(one(d.cost))
			c.stored -= d.cost
			c.forget([]uint64{d.record.Seq})
			c.countDropped(1, d.why)
		case b.err == nil:
			c.sent++
			c.countDropped(1, d.why)
		}
	}
}

func (c *Durable[T]) countDropped(n int, why sluice.Reason) {
	c.dropped += uint64(n)
	if why == sluice.TooOld {
		c.tooOld += uint64(n)
	}
}

// forget removes deleted records from the list of attempts. The caller holds mu.
func (c *Durable[T]) forget(seqs []uint64) {
	if len(c.attempts) == 0 {
		return
	}
	for _, seq := range seqs {
		delete(c.attempts, seq)
	}
	if len(c.attempts) == 0 {
		c.attempts = nil // a map does not shrink
	}
}

// attemptMemory is about what an entry of attempts uses, in bytes.
const attemptMemory = 40

// settleDrops calls the hook for what the payloads of a sender have dropped, beginning at
// index at of a commit that is stored. It returns how many of its records were not refused.
// vs are their values.
func (c *Durable[T]) settleDrops(b *commit, at int, g grant, vs []T) (n int) {
	n = g.n
	if g.loose && b.refused > 0 {
		n = max(0, min(n, b.refused-1-at))
	}
	if len(b.drops) == 0 || c.config.undelivered == nil && !c.reportsDamage() {
		return n
	}
	var mine []drop
	for _, d := range b.drops {
		if at <= d.by && d.by < at+g.n {
			mine = append(mine, d)
		}
	}
	engine.CallEach(func(d drop) {
		if d.record.Seq == 0 {
			c.config.giveAll(d.why, vs[d.by-at])
		} else {
			c.passRecord(d.record, d.why)
		}
	}, mine)
	return n
}

func (c *Durable[T]) reportsDamage() bool { return c.config.onDamage == SetDamageAside }

// passRecord decodes a record that was deleted and calls the hook. If that is impossible, Stats
// reports it, and Repaired if the record is damaged.
func (c *Durable[T]) passRecord(record logstore.Record, why sluice.Reason) {
	err := record.Damaged
	if err == nil && c.config.undelivered == nil {
		return
	}
	var v T
	if err == nil {
		v, err = decode(c.config.codec, record.Payload)
	}
	if err == nil {
		c.config.undelivered(v, why)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if record.Damaged != nil && c.reportsDamage() {
		c.repair.add(record.Damaged, 1, record.Seq, record.Seq)
	}
	if c.config.undelivered == nil {
		return
	}
	if c.unreadable++; c.unreadErr == nil {
		c.unreadErr = err
	}
}
