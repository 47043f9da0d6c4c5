package spill

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"runtime/metrics"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
)

// DefaultMemoryLimit is the MemoryLimit of a channel whose options do not set one:
// 64 MiB.
const DefaultMemoryLimit = 64 << 20

// ElasticOptions are the options of [OpenElastic]. The zero value, like nil, selects
// the defaults. OpenElastic returns an error for invalid values. It copies the
// options, so the caller may reuse them.
type ElasticOptions[T any] struct {
	// Name identifies the channel in Stats, and registers it in package inspect.
	// It need not be unique. A channel without a name is not registered.
	Name string

	// MemoryLimit bounds the memory that the channel makes the process use, in
	// bytes: the queued values, and the garbage that accumulates beside them until
	// the collector runs. Values get 100/(100+GOGC) of it: half by default, all with GOGC=off.
	// To keep n bytes of values in memory at the default GOGC, set MemoryLimit to 2n. Values
	// beyond that go to disk. 0 selects DefaultMemoryLimit.
	//
	// GOGC is read once, when the channel is opened; a value set by
	// debug.SetGCPercent counts. MemoryLimit does not cover I/O buffers (1 or 2 MiB,
	// or a few times the largest record), the encoded record of each waiting sender,
	// rounding up by the allocator (unless Size or a capacity includes it), and
	// garbage that the program makes while the collector runs.
	MemoryLimit int64

	// DiskLimit bounds the bytes on disk: the encoded values, plus 4 bytes for each
	// record, and 8 more with MaxAge. At the limit, Overflow selects what Send does. 0 means no
	// limit. The files are slightly larger: see Disk.Bytes in [sluice.Stats].
	DiskLimit int64

	// Capacity bounds the number of queued values, in memory and on disk. 0, like
	// [sluice.Unlimited], means no limit. With a Capacity, senders share one lock, also below
	// MemoryLimit.
	Capacity int

	// Overflow is what a send does while Capacity or DiskLimit leave no room: Block (the
	// default), Reject, DropNewest or DropOldest. A channel without these limits is never full.
	//
	// DropOldest drops the value that would have been received next, or several until there is
	// room for the record. They are decoded, and the blocks that hold them are read. A Send that
	// then fails, because the record cannot be written, has dropped them all the same. With
	// DropOldest, senders share one lock.
	Overflow sluice.Overflow

	// MaxAge, if not 0, is the age beyond which a value is not received any more. The age begins when
	// the channel accepts the value, and continues on disk; steps of the system's clock have no effect.
	// A receive first drops the values that are too old. A send drops up to two of them for each value
	// that it sends, and more if it needs their room. When the oldest value becomes too old, the sender
	// that has waited longest gets its room. Between calls nothing is dropped, so Len counts such
	// values until the next call. With MaxAge, senders and receivers share one lock; a value takes 16
	// more bytes in memory, which MemoryLimit counts unless Size is set.
	MaxAge time.Duration

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: Overflowed, TooOld, or Discarded by [Elastic.Discard]. The goroutine whose call dropped
	// the value calls it before that call returns, without a lock.
	// It may use the channel. If it panics, so does the call, after the hook got the other
	// values. A value that was on disk is a copy, made by the codec. The hook does not get the
	// values that a channel loses when it fails.
	OnUndelivered func(v T, why sluice.Reason)

	// Size returns the memory that a value holds, in bytes. It is required if values
	// contain pointers, except for []byte (which counts its capacity) and string (its
	// length). Senders call it, possibly several times for one value, and so does the
	// goroutine that moves a value back from disk, with a lock held: Size must be
	// fast, must return the same result each time, must not be negative, and must not
	// use the channel. If it panics for a value that was read from disk, the channel
	// fails.
	Size func(v T) int

	// Codec encodes and decodes values. Nil selects codec.Default[T]. It must not use
	// the channel.
	Codec codec.Codec[T]
}

// DurableOptions are the options of [OpenDurable]. The zero value, like nil, selects
// the defaults. OpenDurable returns an error for invalid values. It copies the
// options, so the caller may reuse them.
type DurableOptions[T any] struct {
	Name string // see [ElasticOptions]

	// MemoryLimit bounds the memory for the records that the channel keeps at hand for receivers,
	// in bytes, including the garbage beside them: see [ElasticOptions]. Records beyond that are
	// read from the files when their turn comes. Not counted are the page cache, and an index of
	// the files in use, of 16 bytes for each record.
	MemoryLimit int64

	// Capacity bounds the number of values: those that are queued, in flight, or being
	// stored. A value that was received counts until it is acknowledged. 0, like
	// [sluice.Unlimited], means no limit. A queue with more values can be opened: it gets no
	// more until it is below Capacity, or with DropOldest, each send drops up to 1024 values.
	Capacity int

	// DiskLimit bounds the bytes on disk, for the values that Capacity counts: the encoded values,
	// plus 8 bytes for each record, and 8 more with MaxAge. 0 means no limit. The files are
	// larger, by 32 bytes for each record and each commit, and by records that were
	// acknowledged and whose space was not given back yet: see Disk.Bytes in [sluice.Stats]. So
	// it is no quota for the folder. [IsDiskFull] is about the disk, and not about this limit.
	DiskLimit int64

	// Overflow is what a send does while Capacity or DiskLimit leaves no room for its value:
	// Block, the default, waits; Reject fails with [sluice.ErrFull]; DropNewest drops the
	// value, and the send succeeds.
	//
	// DropOldest drops the oldest queued values. Their deletion and the new value are one write:
	// a crash or an error leaves the old values or the new one. Deliveries in flight are not
	// dropped, because their receivers work on them. If they hold all of the room, Send waits for
	// it, as with Block, and TrySend returns ErrFull. If several values share a
	// write, those that the last ones would drop are not stored at all.
	Overflow sluice.Overflow

	// MaxAge, if not 0, is the age beyond which a value is not received any more. The age
	// begins when the value is stored, and continues while the queue is not open. A receive
	// that finds values that are too old deletes them, up to 256 in one write, before it takes
	// the next value; so a TryRecv may wait for a write. A send drops up to two of them for
	// each value that it stores, in the same write, and more if it needs their room. A sender
	// that waits for room is woken when the oldest value becomes too old. Between calls nothing
	// is dropped, so Len counts such values until the next call. Deliveries in flight do not
	// become too old, but values given back by Nack do.
	//
	// While the queue is open, steps of the system's clock have no effect on ages. When it is
	// opened, the age of a value is the time since then, by that clock; a value whose time is in
	// the future, that was stored without MaxAge, or that is damaged, is as old as the call of
	// OpenDurable. Deletion goes from the oldest value on, so after a clock was set back it may
	// come late.
	MaxAge time.Duration

	// Fresh, if not 0, is the age up to which a value is fresh: fresh values are received first, then
	// those given back by Nack, then the others, each in the order of the sends. After an outage,
	// receivers get what is new at once, and the backlog in what time they have left. If receivers
	// are slower than senders, so that the next fresh value is as old as Fresh, all that are queued
	// join the backlog, and the values that are sent from then on are the fresh ones. An age is
	// known to about a tenth: a value may join the backlog a little earlier. So does what
	// OpenDurable finds, whatever its age.
	//
	// As long as there are always fresh values, the others wait: MaxAge, which must be longer, and
	// DropOldest limit for how long. They drop the oldest values first. 0 means one order for all.
	Fresh time.Duration

	// OnUndelivered is called as for an Elastic: see [ElasticOptions]. The reason is
	// [sluice.Overflowed] if DropNewest or DropOldest dropped the value, [sluice.TooOld] if it is
	// older than MaxAge. A value that was stored is deleted by then; after a crash between the
	// deletion and the call it is not called. Without a hook, values are dropped without being
	// decoded. A value that is damaged or that the codec cannot decode is dropped like others,
	// without a call of the hook; Disk.Warning of Stats reports it.
	OnUndelivered func(v T, why sluice.Reason)

	Codec codec.Codec[T] // see [ElasticOptions]

	// OnDamage selects what happens if stored bytes are damaged or missing. The zero value
	// is RefuseDamage: an error.
	OnDamage DamagePolicy

	// Log receives a warning for each repair that SetDamageAside leads to, and for each damaged
	// record that a receive skips. The default is slog.Default.
	Log *slog.Logger
}

// A config is a set of options, checked, with the defaults filled in.
type config[T any] struct {
	function    string // the constructor, for errors
	name        string
	memory      int64 // MemoryLimit, never 0
	limit       int64 // the share of memory for values
	diskLimit   int64 // never 0
	capacity    int   // never 0
	codec       codec.Codec[T]
	overflow    sluice.Overflow
	undelivered func(v T, why sluice.Reason) // nil: values are dropped without being decoded

	maxAge time.Duration // 0: no limit

	// Of an Elastic:
	stamp int         // bytes of a record for its time
	size  func(T) int // nil: all values have the same size, and head counts values
	slots int         // how many values the limit holds, if each is as large as its slot

	// Of a Durable:
	fresh    time.Duration // 0: one order for all
	onDamage DamagePolicy
	log      *slog.Logger
}

func (o *ElasticOptions[T]) config() (config[T], error) {
	if o == nil {
		o = new(ElasticOptions[T])
	}
	return config[T]{
		function: "OpenElastic", name: o.Name, memory: o.MemoryLimit, diskLimit: o.DiskLimit, capacity: o.Capacity,
		codec: o.Codec, overflow: o.Overflow, undelivered: o.OnUndelivered, maxAge: o.MaxAge, size: o.Size,
	}.check()
}

func (o *DurableOptions[T]) config() (config[T], error) {
	if o == nil {
		o = new(DurableOptions[T])
	}
	return config[T]{
		function: "OpenDurable", name: o.Name, memory: o.MemoryLimit, diskLimit: o.DiskLimit, capacity: o.Capacity,
		codec: o.Codec, overflow: o.Overflow, undelivered: o.OnUndelivered, maxAge: o.MaxAge, fresh: o.Fresh, onDamage: o.OnDamage, log: o.Log,
	}.check()
}

// check fills in the defaults, and rejects invalid options. All of the memory is for values until
// the constructor computes the share.
func (c config[T]) check() (config[T], error) {
	if c.codec == nil {
		var err error
		if c.codec, err = codec.Default[T](); err != nil {
			return c, c.invalid("%w", err)
		}
	}
	switch {
	case c.memory < 0:
		return c, c.invalid("MemoryLimit is %d, want at least 0", c.memory)
	case c.capacity < 0:
		return c, c.invalid("Capacity is %d, want at least 0", c.capacity)
	case c.diskLimit < 0:
		return c, c.invalid("DiskLimit is %d, want at least 0", c.diskLimit)
	case c.overflow > sluice.DropOldest:
		return c, c.invalid("Overflow is %v, want Block, Reject, DropNewest or DropOldest", c.overflow)
	case c.maxAge < 0:
		return c, c.invalid("MaxAge is %v, want at least 0", c.maxAge)
	case c.fresh < 0:
		return c, c.invalid("Fresh is %v, want at least 0", c.fresh)
	case c.maxAge > 0 && c.fresh >= c.maxAge:
		return c, c.invalid("Fresh is %v, want less than MaxAge, %v: older values are dropped", c.fresh, c.maxAge)
	case c.onDamage > SetDamageAside:
		return c, c.invalid("OnDamage is %d, want RefuseDamage or SetDamageAside", c.onDamage)
	case !printable(c.codec.Name()):
		return c, c.invalid("invalid codec name %q (want 1 to 64 bytes of printable ASCII)", c.codec.Name())
	}
	c.memory = cmp.Or(c.memory, DefaultMemoryLimit)
	c.limit = c.memory
	c.diskLimit = cmp.Or(c.diskLimit, math.MaxInt64)
	c.capacity = cmp.Or(c.capacity, sluice.Unlimited)
	c.log = cmp.Or(c.log, slog.Default())
	return c, nil
}

// invalid returns an error in the name of the constructor.
func (c *config[T]) invalid(format string, args ...any) error {
	return fmt.Errorf("spill: "+c.function+": "+format, args...)
}

// share returns how many of memory bytes values may use, so that values and the
// garbage beside them stay within memory. It returns at least 1.
//
// Work at the limit does not help: a forced collection marks the whole heap of the
// process, and moving values to disk lowers the collector's goal only after its next
// cycle (docs/adr/0013-spill.md).
func share(memory int64) int64 {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}} // runtime/debug cannot read it
	metrics.Read(gogc)
	percent := gogc[0].Value.Uint64()
	if percent == math.MaxUint64 { // off
		return memory
	}
	all := 100 + int64(percent)
	return max(memory/all*100+memory%all*100/all, 1) // in two parts, to avoid overflow
}

// setSize sets size, slots and stamp, for a channel that holds the values themselves.
func (c *config[T]) setSize() error {
	beside, with := 0, ""
	if c.maxAge > 0 {
		c.stamp, beside, with = timeCost, locked.DatedBytes, " and its age"
	}
	if c.size != nil {
		return nil
	}
	t := reflect.TypeFor[T]()
	c.size = engine.KnownSize[T](c.limit - int64(beside))
	if c.size == nil && engine.HasPointers[T]() {
		return c.invalid("ElasticOptions.Size is required, because a %v contains pointers", t)
	}
	slot := max(int(t.Size()), 1)
	each := int64(slot + beside)
	if known := c.size; beside > 0 && known != nil {
		c.size = func(v T) int { return known(v) + beside }
	} else if beside > 0 {
		c.size = func(T) int { return slot + beside }
	}
	if c.limit < each {
		return c.invalid("MemoryLimit is %d, which leaves %d bytes for values (want at least %d, the size of a %v%s)",
			c.memory, c.limit, each, t, with)
	}
	c.slots = int(min(c.limit/each, int64(sluice.Unlimited)))
	return nil
}

// checkSize returns an error if a value of the given size exceeds the memory for values. It panics
// if the size is negative. method is the method that the user called.
func (c *config[T]) checkSize(size int, method string) error {
	switch {
	case size < 0:
		panic(fmt.Sprintf("spill: %s: ElasticOptions.Size returned %d, want at least 0", method, size))
	case int64(size) > c.limit:
		return sluice.ErrTooLarge
	}
	return nil
}

// giveAll gives vs to the hook, if there is one. The caller holds no lock.
func (c *config[T]) giveAll(why sluice.Reason, vs ...T) {
	if c.undelivered != nil && len(vs) > 0 {
		engine.CallEach(func(v T) { c.undelivered(v, why) }, vs)
	}
}

func printable(name string) bool {
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}
