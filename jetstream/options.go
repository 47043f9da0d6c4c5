package jetstream

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// Options configure [Open]. Only Name is required; the zero value of every other field
// selects its default. All processes that open a channel must agree on Capacity, MaxBytes,
// Replicas, DedupeWindow, AckWait, Ordered and Codec: they are stored with the channel,
// and Open fails if they differ.
type Options[T any] struct {
	// Name identifies the channel: every process that opens it at the same servers uses
	// the same channel. Letters, digits, '-' and '_', at most 200 bytes. It is also the
	// name of the stream; the streams of dead letters and of attempts add "-dead" and
	// "-attempts", so no other channel should have such a name.
	Name string

	// URL is the address of the servers as in nats.Connect, separated by commas. If it
	// is empty, a server is embedded in this process. Errors, logs and fmt show it without
	// user, password and token; in these, percent-encode all but letters and digits.
	URL string
	// NATS are further options for the connection, such as credentials and certificates.
	NATS []nats.Option
	// Conn, if set, is used instead of a new connection. Shutdown does not close it. It
	// should be made with nats.ReconnectBufSize(-1): what the client buffers while it is
	// disconnected may be sent after the dedupe window.
	Conn *nats.Conn
	// Dir is the directory of the embedded server. If it is empty, a temporary one is
	// used, and deleted when the last channel in it is shut down. One process at a time
	// can use a directory; all its channels share one server. A program that cleans
	// temporary files must leave it alone: see ErrRemoved.
	Dir string

	// Capacity is the most values stored: 1<<20 by default; sluice.Unlimited for no limit.
	Capacity int
	// MaxBytes is the most bytes stored, including what the server adds to each value.
	// The default is no limit.
	MaxBytes int64
	// Replicas is the number of servers that store each value: 1, 3 or 5. The default is
	// 3, and 1 for the embedded server.
	Replicas int

	// Codec encodes the values. The default is codec.Default.
	Codec codec.Codec[T]

	// DedupeWindow is how long the servers recognize a retry, 30s by default. They keep
	// every identity in memory for that time: about 150 bytes per Send or atomic batch.
	DedupeWindow time.Duration
	// Ordered delivers a value only after the value before it was acknowledged, so that
	// receivers see the order of the stream: one value at a time, over all processes.
	Ordered bool
	// Prefetch is the most values fetched before a receiver wants them, 256 by default.
	// That many are fetched only while receivers keep up. Values that are not received
	// within a second are returned, for other processes.
	Prefetch int
	// AckWait is how long the servers wait for an acknowledgment before they redeliver a
	// value: 30s by default, at least 1s. A delivery in flight is extended every third of
	// it, so AckWait does not limit how long a job may take.
	AckWait time.Duration
	// NackDelay is the delay before a value is redelivered after Nack: 1s by default, none
	// if negative.
	NackDelay time.Duration
	// MaxInProgress is how long a delivery in flight is extended, 1h by default. A value
	// whose delivery was forgotten is redelivered after that.
	MaxInProgress time.Duration
	// MaxDeliver is the number of attempts that a value gets before it is moved to the
	// dead letters: 10 by default; if negative, there are no dead letters. An attempt is a
	// Delivery that a receiver got: values that were fetched in advance and returned do not
	// count. A first attempt that ends without Ack or Nack, because its process died, does
	// not count either, unless MaxDeliver is 1. From the second delivery on (with 1, from
	// the first) an attempt costs one write, and RecvBatch returns such values one at a
	// time.
	MaxDeliver int

	// System is the URL of a user of the system account, and SystemNATS are further
	// options for that connection. Only such a user can ask the servers for their
	// sync_interval; without it, Stats warns that it is unknown.
	System     string
	SystemNATS []nats.Option

	// Log receives warnings and errors without a caller. The default is slog.Default.
	Log *slog.Logger
}

// config is Options with defaults filled in, for any T.
type config struct {
	name               string
	url                string
	nats               []nats.Option
	conn               *nats.Conn
	dir                string
	capacity           int // sluice.Unlimited for none
	maxBytes           int64
	replicas           int
	codec              string
	dedupeWindow       time.Duration
	ordered            bool
	prefetch           int
	ackWait, nackDelay time.Duration
	maxInProgress      time.Duration
	maxDeliver         int // 0 for no dead letters
	system             string
	systemNATS         []nats.Option
	log                *slog.Logger
	dead               bool   // it is a channel of dead letters
	streams            int    // of the channel by key that it is a stream of, or 0
	deadName           string // of the dead letters, if they are not named after the stream
}

const (
	defaultCapacity      = 1 << 20
	defaultDedupeWindow  = 30 * time.Second
	defaultPrefetch      = 256
	defaultAckWait       = 30 * time.Second
	defaultNackDelay     = time.Second
	defaultMaxInProgress = time.Hour
	defaultMaxDeliver    = 10
	clusterReplicas      = 3

	// deadSuffix ends the name of a channel of dead letters.
	deadSuffix = "-dead"
	maxName    = 200 // bytes; servers name directories after it
)

// embedded reports whether the server is in this process.
func (c *config) embedded() bool { return c.conn == nil && c.url == "" }

// resolve fills in the defaults, and rejects invalid values.
func (o *Options[T]) resolve() (config, codec.Codec[T], error) {
	if o == nil {
		return config{}, nil, errors.New("jetstream: Open: nil Options (want at least a Name)")
	}
	values := o.Codec
	if values == nil {
		var err error
		if values, err = codec.Default[T](); err != nil {
			return config{}, nil, fmt.Errorf("jetstream: Open: %w", err)
		}
	}
	c := config{
		name: o.Name, url: o.URL, nats: o.NATS, conn: o.Conn, dir: o.Dir,
		capacity: cmp.Or(o.Capacity, defaultCapacity), maxBytes: o.MaxBytes,
		replicas: o.Replicas, codec: values.Name(), dedupeWindow: cmp.Or(o.DedupeWindow, defaultDedupeWindow),
		ordered: o.Ordered, prefetch: cmp.Or(o.Prefetch, defaultPrefetch),
		ackWait: cmp.Or(o.AckWait, defaultAckWait), nackDelay: cmp.Or(o.NackDelay, defaultNackDelay),
		maxInProgress: cmp.Or(o.MaxInProgress, defaultMaxInProgress), maxDeliver: cmp.Or(o.MaxDeliver, defaultMaxDeliver),
		system: o.System, systemNATS: o.SystemNATS, log: o.Log,
	}
	c.nackDelay, c.maxDeliver = max(0, c.nackDelay), max(0, c.maxDeliver)
	if c.replicas == 0 {
		c.replicas = clusterReplicas
		if c.embedded() {
			c.replicas = 1
		}
	}
	if c.ordered {
		c.prefetch = 1 // the servers deliver one at a time
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	return c, values, c.check()
}

// check rejects invalid values.
func (c *config) check() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("jetstream: Open: "+format, args...)
	}
	switch {
	case c.name == "":
		return invalid("empty Name")
	case len(c.name) > maxName:
		return invalid("Name has %d bytes (want at most %d)", len(c.name), maxName)
	case strings.ContainsFunc(c.name, notInName):
		return invalid("invalid Name %q (want letters, digits, '-' and '_')", c.name)
	case c.conn != nil && (c.url != "" || c.dir != ""):
		return invalid("Conn excludes URL and Dir")
	case c.url != "" && c.dir != "":
		return invalid("URL excludes Dir, which is for the embedded server")
	case c.capacity < 1:
		return invalid("Capacity is %d (want at least 1)", c.capacity)
	case c.maxBytes < 0:
		return invalid("MaxBytes is %d (want at least 0)", c.maxBytes)
	case c.replicas < 1 || c.replicas > 5 || c.replicas%2 == 0:
		return invalid("Replicas is %d (want 1, 3 or 5)", c.replicas)
	case c.embedded() && c.replicas != 1:
		return invalid("Replicas is %d with the embedded server (want 1, or a URL)", c.replicas)
	case c.dedupeWindow < time.Second:
		return invalid("DedupeWindow is %v (want at least 1s)", c.dedupeWindow)
	case c.prefetch < 1:
		return invalid("Prefetch is %d (want at least 1)", c.prefetch)
	case c.ackWait < time.Second:
		return invalid("AckWait is %v (want at least 1s)", c.ackWait)
	case c.maxInProgress < 0:
		return invalid("MaxInProgress is %v (want at least 0)", c.maxInProgress)
	}
	return nil
}

func notInName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}

// serverCapacity returns the capacity as servers represent it: -1 for none.
func (c *config) serverCapacity() int64 {
	if c.capacity == sluice.Unlimited {
		return -1
	}
	return int64(c.capacity)
}
