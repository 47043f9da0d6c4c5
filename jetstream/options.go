package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// Options say which channel to open. Only Name is required; every other zero value
// is a default. What all processes of a channel must agree on is stored with it, and
// Open fails in whoever does not: Limit, LimitBytes, Replicas, DedupeWindow, AckWait,
// Ordered and the codec.
type Options[T any] struct {
	// Name is the channel's, and that of its stream: the same name at the same
	// servers is the same channel, in every process. Letters, digits, '-' and '_'. The
	// streams of its dead letters and of the notes of tries are named like it, with
	// "-dead" and "-tries" after that: no other channel should be.
	Name string

	// URL is where the servers are, as nats.Connect takes it: several with commas
	// between. Empty stands for a server inside of this process.
	URL string
	// NATS are more options of the connection: credentials, certificates.
	NATS []nats.Option
	// Conn, if set, is used instead of a new connection, and stays open at Shutdown.
	// It should have been made with nats.ReconnectBufSize(-1): what it would keep
	// back while it is disconnected may be sent when it is too late to be known
	// for a repetition.
	Conn *nats.Conn
	// Dir is where the server inside of this process keeps its files. Empty stands
	// for a folder that is deleted when the last channel of it is left: for trying
	// things out. One process at a time may use a folder; its channels share it.
	Dir string

	// Limit is the most values stored, LimitBytes the most bytes, each with what
	// the server adds to it. The default is a million values (1 << 20) and no limit
	// in bytes; sluice.Unlimited is no limit in values.
	Limit      int
	LimitBytes int64
	// Replicas is how many servers store each value: 1, 3 or 5. The default is 3,
	// and 1 for the server inside.
	Replicas int

	// Codec is the form of the values. The default is codec.Default.
	Codec codec.Codec[T]

	// DedupeWindow is the window in which the servers know a repetition for one, 30 s by
	// default. They keep every identity in memory for so long: about 150 bytes a
	// Send, or a run of SendBatch.
	DedupeWindow time.Duration
	// Ordered hands out a value only when the one before it, anywhere, was
	// acknowledged: order at the receivers, one value at a time in all of them.
	Ordered bool
	// Prefetch is the most values that wait in this process for a receiver, 256 by
	// default. It asks for as many only while receivers come back at once, for what
	// is sent within a tenth of a second, and gives back what nobody received for
	// a second.
	Prefetch int
	// AckWait is how long after its last sign of life a delivery is given to
	// somebody else, 30 s by default, at least a second. Deliveries in hand are
	// marked as in progress every third of it.
	AckWait time.Duration
	// NackDelay is how long after Nack a value is delivered again: a second by
	// default; below 0 at once.
	NackDelay time.Duration
	// MaxInProgress is how long a delivery in hand is marked as in progress, an hour by
	// default: a forgotten one comes back then.
	MaxInProgress time.Duration
	// MaxDeliver is how often a worker has a value in hands, as a Delivery, before it
	// goes to the dead letters: 10 by default; below 0 there are none. What was
	// delivered to a process and given back unseen does not count, nor does a first
	// delivery that ended without a word, as a process that dies has more than what
	// its workers had: so a value that kills its worker is tried once more. Not so
	// with 1: then every delivery is noted before it is handed out, by one more write.
	// What is noted a receiver is given one value at a time, also by RecvBatch.
	MaxDeliver int

	// System is the URL of a user of the system account, SystemNATS more options
	// of that connection. Only such a user can ask servers how often they sync
	// their files; without it Open can but say that it does not know.
	System     string
	SystemNATS []nats.Option

	// Log is told what nobody else is: slog.Default by default.
	Log *slog.Logger
}

// config is Options with defaults filled in, for any T.
type config struct {
	name               string
	url                string
	nats               []nats.Option
	conn               *nats.Conn
	dir                string
	limit              int // sluice.Unlimited for none
	limitBytes         int64
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
	dead               bool // it is the channel of another one's dead letters
}

const (
	defaultLimit         = 1 << 20
	defaultDedupeWindow  = 30 * time.Second
	defaultPrefetch      = 256
	defaultAckWait       = 30 * time.Second
	defaultNackDelay     = time.Second
	defaultMaxInProgress = time.Hour
	defaultMaxDeliver    = 10
	clusterReplicas      = 3

	// deadSuffix is what the name of a channel's dead letters ends with.
	deadSuffix = "-dead"
	maxName    = 200 // bytes; servers make folders of it
)

// embedded tells whether the server is to be inside of this process.
func (c *config) embedded() bool { return c.conn == nil && c.url == "" }

// resolve fills in the defaults, and refuses what makes no sense.
func (o *Options[T]) resolve() (config, codec.Codec[T], error) {
	if o == nil {
		return config{}, nil, errors.New("jetstream: Open: nil Options: a channel needs a Name")
	}
	form := o.Codec
	if form == nil {
		var err error
		if form, err = codec.Default[T](); err != nil {
			return config{}, nil, fmt.Errorf("jetstream: Open: %w", err)
		}
	}
	c := config{
		name: o.Name, url: o.URL, nats: o.NATS, conn: o.Conn, dir: o.Dir,
		limit: or(o.Limit, defaultLimit), limitBytes: o.LimitBytes,
		replicas: o.Replicas, codec: form.Name(), dedupeWindow: or(o.DedupeWindow, defaultDedupeWindow),
		ordered: o.Ordered, prefetch: or(o.Prefetch, defaultPrefetch),
		ackWait: or(o.AckWait, defaultAckWait), nackDelay: or(o.NackDelay, defaultNackDelay),
		maxInProgress: or(o.MaxInProgress, defaultMaxInProgress), maxDeliver: or(o.MaxDeliver, defaultMaxDeliver),
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
		c.prefetch = 1 // there is never another one to fetch
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	return c, form, c.check()
}

// check refuses what makes no sense.
func (c *config) check() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("jetstream: Open: "+format, args...)
	}
	switch {
	case c.name == "":
		return refuse("Name is empty")
	case len(c.name) > maxName:
		return refuse("Name has %d bytes, more than %d", len(c.name), maxName)
	case strings.ContainsFunc(c.name, notInName):
		return refuse("Name is %q: only letters, digits, '-' and '_' make one", c.name)
	case c.conn != nil && (c.url != "" || c.dir != ""):
		return refuse("Conn is set, and URL or Dir too")
	case c.url != "" && c.dir != "":
		return refuse("URL is set, and Dir, which is for the server inside of the process")
	case c.limit < 1:
		return refuse("Limit is %d, below 1", c.limit)
	case c.limitBytes < 0:
		return refuse("LimitBytes is %d, below 0", c.limitBytes)
	case c.replicas < 1 || c.replicas > 5 || c.replicas%2 == 0:
		return refuse("Replicas is %d, not 1, 3 or 5", c.replicas)
	case c.embedded() && c.replicas != 1:
		return refuse("Replicas is %d, but there is one server, inside of the process", c.replicas)
	case c.dedupeWindow < time.Second:
		return refuse("DedupeWindow is %v, below a second", c.dedupeWindow)
	case c.prefetch < 1:
		return refuse("Prefetch is %d, below 1", c.prefetch)
	case c.ackWait < time.Second:
		return refuse("AckWait is %v, below a second", c.ackWait)
	case c.maxInProgress < 0:
		return refuse("MaxInProgress is %v, below 0", c.maxInProgress)
	}
	return nil
}

func notInName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}

// or returns v, or the default if v is zero.
func or[V comparable](v, byDefault V) V {
	if v == *new(V) {
		return byDefault
	}
	return v
}

// serverLimit is a limit as servers have it: -1 for none.
func (c *config) serverLimit() int64 {
	if c.limit == sluice.Unlimited {
		return -1
	}
	return int64(c.limit)
}
