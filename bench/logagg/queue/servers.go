package queue

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/jetstream"
)

// servers is a store over a channel of module jetstream.
type servers struct {
	channel  *jetstream.Channel[[]parse.Event]
	log      *slog.Logger
	inside   bool         // the server is inside of this process, and ends with it
	doubtful atomic.Int64 // events that may be stored twice, or though they were rejected
}

type onServers = *jetstream.Delivery[[]parse.Event]

// DefaultStream is the name of the channel at the servers if there is no other.
const DefaultStream = "logagg"

// maxInProgress is how long a packet may be in hand: as long as a sink may be down.
const maxInProgress = 24 * time.Hour

// newJetStream returns a queue that is in servers: those that are named, and then it is
// shared with all who name them; or one inside of this process.
func newJetStream(o Options) (Queue, error) {
	if o.NATS == "" {
		o.Replicas = 1
	}
	c, err := jetstream.Open(context.Background(), &jetstream.Options[[]parse.Event]{
		Name: cmp.Or(o.Stream, DefaultStream), URL: o.NATS, Replicas: o.Replicas, AckWait: o.AckWait,
		Codec: packets{}, MaxInProgress: maxInProgress, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	s := &servers{channel: c, log: o.logger(), inside: o.NATS == ""}
	return inServers{newStored(o, s, !s.inside, s.inside || o.Drain), s}, nil
}

// inServers is the queue, with one figure more.
type inServers struct {
	*stored[onServers]
	servers *servers
}

func (q inServers) Account() Account {
	a := q.stored.Account()
	a.Doubtful = q.servers.doubtful.Load()
	return a
}

// send repeats a send of which it is not known whether it has stored its packet. It does
// so under the packet's identity, for as long as servers know that for a repetition;
// after that a packet that is stored twice is better than one that is lost.
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

func (s *servers) receive(ctx context.Context, buf []onServers) (int, error) {
	return s.channel.Deliveries().RecvBatch(ctx, buf)
}

// closeSending leaves alone a channel of which others are.
func (s *servers) closeSending() {
	if s.inside {
		s.channel.Close()
	}
}

// lookAgain is how long to wait for a value that is stored and not to be had: it was
// given back, or stored a moment ago.
const lookAgain = time.Millisecond

// rest cannot wait for the channel to say that it is drained: it does so once all is
// settled, and what is on loan will be settled after rest has ended.
func (s *servers) rest(ctx context.Context, buf []onServers, owed func() int) (int, error) {
	for ctx.Err() == nil {
		d, err := s.channel.Deliveries().TryRecv()
		if err == nil {
			buf[0] = d
			return 1, nil
		}
		if !errors.Is(err, sluice.ErrEmpty) {
			return 0, err
		}
		if !s.inside {
			return 0, sluice.ErrClosed
		}
		// In this order: what is settled in between is missing in owed alone.
		if stored := s.channel.Len(); stored <= owed() {
			return 0, sluice.ErrClosed
		}
		time.Sleep(lookAgain)
	}
	return 0, ctx.Err()
}

func (s *servers) open(d onServers) (events []parse.Event, again bool) { return d.Value, d.Attempt > 1 }

// settle says of each packet that it is done, and waits until the servers know of the
// last one: what one connection says arrives in its order. What they did not hear comes
// again, and whoever counts it then says that it may have been counted before: that is
// told, and no failure.
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
		s.log.Warn("what was counted and shipped may come again: the servers were away", "batches", unheard)
	}
	return nil
}

// answerWait is the longest that servers have for an answer: it is lost with the
// connection that it was to come by.
const answerWait = 5 * time.Second

// insist waits for a connection, as a word that cannot be sent is a word that is lost,
// then says it.
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
		_ = d.Nack() // if that is not heard, it comes again all the same, only later
	}
}

func (s *servers) len() int { return s.channel.Len() }

func (s *servers) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return s.channel.Shutdown(ctx)
}
