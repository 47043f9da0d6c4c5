package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/jetstream"
)

// servers is a store on a channel of module jetstream.
type servers struct {
	channel  *jetstream.Channel[[]parse.Event]
	log      *slog.Logger
	inside   bool         // the server runs inside the process and ends with it
	doubtful atomic.Int64 // events that may be stored twice, or although they were rejected
}

type onServers = *jetstream.Delivery[[]parse.Event]

// Stream is the name of the channel at the servers. All processes that name the same servers
// share it.
const Stream = "logagg"

// maxInProgress is how long a packet may stay in flight: as long as a sink may
// be down.
const maxInProgress = 24 * time.Hour

// newJetStream returns a queue at servers: the named ones, where all processes
// that name them share it, or one inside this process.
func newJetStream(o Options) (Queue, error) {
	if o.NATS == "" {
		o.Replicas = 1
	}
	c, err := jetstream.Open(context.Background(), &jetstream.Options[[]parse.Event]{
		Name: Stream, URL: o.NATS, Replicas: o.Replicas, AckWait: o.AckWait,
		Codec: packets{}, MaxInProgress: maxInProgress, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	s := &servers{channel: c, log: o.Log, inside: o.NATS == ""}
	return newStored(o, s, !s.inside, s.inside || o.Drain), nil
}

// send repeats a send with an unknown outcome. It does so with the packet's
// identity, as long as the servers recognize a repetition; after that, a packet
// stored twice is better than a lost one.
func (s *servers) send(ctx context.Context, events []parse.Event) error {
	err := s.channel.Send(ctx, events)
	for unknown := (*jetstream.UnknownError)(nil); errors.As(err, &unknown); {
		if ctx.Err() != nil {
			s.doubtful.Add(int64(len(events)))
			return err
		}
		if err = unknown.Retry(ctx); errors.Is(err, jetstream.ErrTooLate) {
			s.doubtful.Add(int64(len(events)))
			err = s.channel.Send(ctx, events)
		}
	}
	return err
}

func (s *servers) receive(ctx context.Context) (onServers, error) {
	return s.channel.Deliveries().Recv(ctx)
}

// closeSending does not close a channel that is shared.
func (s *servers) closeSending() {
	if s.inside {
		s.channel.Close()
	}
}

// lookAgain is how long to wait for a value that is stored but not available:
// it was returned, or stored a moment ago.
const lookAgain = time.Millisecond

// rest cannot wait until the channel is drained: that requires every packet to
// be settled, and packets in flight are settled only after rest has ended.
func (s *servers) rest(ctx context.Context, owed func() int) (onServers, error) {
	for ctx.Err() == nil {
		d, err := s.channel.Deliveries().TryRecv()
		if !errors.Is(err, sluice.ErrEmpty) {
			return d, err
		}
		if !s.inside {
			return nil, sluice.ErrClosed
		}
		// The order matters: a packet settled in between is missing only in
		// owed.
		if stored := s.channel.Len(); stored <= owed() {
			return nil, sluice.ErrClosed
		}
		time.Sleep(lookAgain)
	}
	return nil, ctx.Err()
}

func (s *servers) open(d onServers) (events []parse.Event, again bool) { return d.Value, d.Attempt > 1 }

// settle acknowledges each packet, and waits until the servers have confirmed
// the last one: a connection delivers in order. Unconfirmed packets are
// delivered again, and the next receiver reports that they may have been
// counted before, so this is not a failure.
func (s *servers) settle(ctx context.Context, ds []onServers) error {
	unheard := 0
	for i, d := range ds {
		say := d.Ack
		if i == len(ds)-1 {
			say = func() error {
				ctx, cancel := context.WithTimeout(ctx, answerWait)
				defer cancel()
				return d.AckSync(ctx)
			}
		}
		if s.insist(ctx, d, say) != nil {
			unheard++
		}
	}
	if unheard > 0 {
		s.log.Warn("counted and shipped batches may be delivered again: the servers were unreachable", "batches", unheard)
	}
	return nil
}

// answerWait is the longest wait for a server's response: a response is lost
// with its connection.
const answerWait = 5 * time.Second

// insist waits for a connection before it calls say, because an acknowledgment
// without a connection is lost.
func (s *servers) insist(ctx context.Context, d onServers, say func() error) error {
	for {
		err := d.InProgress()
		switch {
		case err == nil:
			return say()
		case errors.Is(err, jetstream.ErrExpired), ctx.Err() != nil:
			return err
		}
		time.Sleep(lookAgain)
	}
}

func (s *servers) unsettle(ds []onServers) {
	for _, d := range ds {
		_ = d.Nack() // if it is lost, the packet is delivered again later
	}
}

func (s *servers) count(a *Account) {
	a.Packets, a.Doubtful = s.channel.Len(), s.doubtful.Load()
}

func (s *servers) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), finalTimeout)
	defer cancel()
	return s.channel.Shutdown(ctx)
}
