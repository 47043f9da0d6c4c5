package jetstream

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A fetcher requests messages from the servers, in the protocol of JetStream's pull
// consumers (NATS ADR-13): a request has a number of messages and an expiry; the answers
// are the messages, and a status message if it ends before all of them came.
//
// All answers go to one Go channel that one goroutine reads, so messages reach the inbox
// in the order of delivery. There are three kinds of requests:
//
//   - A request of TryRecv is answered at once, with the messages that there are (NoWait).
//   - While values are rare, a receiver that waits requests one message for a long time.
//   - While receivers come back within staleAfter, requests are made ahead of demand, for
//     as many messages as receivers will probably take (depth), as soon as half of the
//     last ones were taken. So no value waits for a request to reach the servers. Two of
//     them overlap: the next one is there before the last one is used up.
//
// A request ahead of demand also fetches for a receiver that stalls. So it expires soon,
// after pullAhead, and only a receiver that comes back makes the next one: a process that
// stalls gets at most depth of the values sent within pullAhead.
//
// docs/adr/0014-jetstream.md: why this is not the client library's Fetch.
type fetcher struct {
	*session
	inbox  *inbox
	stream *stream

	// trying is held by the receiver whose request try is; it is taken before inbox.mu.
	trying sync.Mutex

	// Guarded by inbox.mu.
	pulls    [2]pull     // for receivers that wait
	try      pull        // for TryRecv
	retrying bool        // the next request is about to be made
	watchdog *time.Timer // replaces a request without a sign of life
	// depth is the most messages that may be ready, or requested, before a receiver wants
	// them. It doubles when receivers take half of it and come back within staleAfter; it
	// halves when messages wait for longer, and when fewer than half of a request came.
	depth   int
	quiet   bool // the last request brought nothing
	lastTry bool // Shutdown has made its last request
}

// A pull is the current request on one subject.
type pull struct {
	subject string // without the number of the request
	sub     *nats.Subscription
	id      uint64        // the number of the request
	left    int           // messages that it may still bring; 0 if none is under way
	brought int           // messages so far
	expires time.Duration // how long it waits at the servers; 0 if it does not
	sign    time.Time     // of the last sign of life from the servers
	done    chan struct{} // closed at its end, or nil
	crowded bool          // older requests will take what the servers have
}

// A pullRequest is the body of a request.
type pullRequest struct {
	Batch     int           `json:"batch"`
	Expires   time.Duration `json:"expires,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
}

const (
	// pullWait is how long a request for one message waits at the servers, which send
	// a heartbeat every pullHeartbeat. After pullLost without one, it counts as lost.
	pullWait      = 10 * time.Second
	pullHeartbeat = time.Second
	pullLost      = 2500 * time.Millisecond
	// pullAhead is how long a request ahead of demand waits there. After aheadLost
	// without its end, it counts as lost.
	pullAhead = 100 * time.Millisecond
	aheadLost = time.Second
	// unsentPause is the pause after a request that could not be sent.
	unsentPause = 250 * time.Millisecond
	// failedPause is about how long it takes until the request after one that failed:
	// with jitter, as all processes lose a leader at once.
	failedPause = 50 * time.Millisecond
	// answerTimeout is the longest that Shutdown waits for a pending answer.
	answerTimeout = 200 * time.Millisecond

	headerStatus  = "Status"
	headerPending = "Nats-Pending-Messages"
)

// subscribe subscribes to the answers, and starts to read them.
func (f *fetcher) subscribe() error {
	// Room for three full requests and their status messages. The client drops what does
	// not fit, and the servers redeliver it after AckWait.
	arrivals := make(chan *nats.Msg, 3*f.config.prefetch+1024)
	for _, p := range f.all() {
		p.subject = f.conn.nc.NewRespInbox() + "."
		sub, err := f.conn.nc.ChanSubscribe(p.subject+"*", arrivals)
		if err != nil {
			return err
		}
		p.sub = sub
	}
	f.life.start(func() {
		for {
			select {
			case m := <-arrivals:
				f.arrive(m)
			case <-f.life.recvCtx.Done():
				f.unsubscribe(arrivals)
				return
			}
		}
	})
	return nil
}

// unsubscribe ends the requests. A message sent to a subject without a subscriber is lost
// until AckWait. So it waits for expected messages, then has the servers stop sending:
// messages that they sent before arrive before the answer to Flush.
func (f *fetcher) unsubscribe(arrivals <-chan *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	for f.expecting() && ctx.Err() == nil && f.conn.nc.IsConnected() {
		select {
		case m := <-arrivals:
			f.arrive(m)
		case <-ctx.Done():
		}
	}
	for _, p := range f.all() {
		_ = p.sub.Drain() // the connection may be closed already
	}
	if f.conn.nc.IsConnected() {
		flush, cancel := context.WithTimeout(context.Background(), checkTimeout)
		defer cancel()
		_ = f.conn.nc.FlushWithContext(flush) // if it fails, messages are redelivered after AckWait
	}
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	for _, p := range f.all() {
		_ = p.sub.Unsubscribe() // it may be done already
		p.end()
	}
	for {
		select {
		case m := <-arrivals:
			if m.Header.Get(headerStatus) == "" {
				_ = m.Nak()
			}
		default:
			return
		}
	}
}

// expecting reports whether a message may be about to arrive after the last receive: the
// answer to TryRecv, or to a request of a receiver that waited. The latter is known once a
// later NoWait request was answered, unless the answer is that older requests take what
// there is.
func (f *fetcher) expecting() bool {
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	if f.try.left == 0 && f.life.shutdown.Load() && f.waiting() && (!f.lastTry || f.try.crowded) {
		f.lastTry = true
		f.request(&f.try, pullRequest{Batch: 1, NoWait: true})
	}
	return f.try.left > 0
}

// all returns all requests.
func (f *fetcher) all() []*pull { return []*pull{&f.pulls[0], &f.pulls[1], &f.try} }

// outstanding returns how many messages the requests of receivers that wait may still
// bring, and one that is not under way, or nil. It ends those that count as lost. The
// caller holds inbox.mu.
func (f *fetcher) outstanding() (left int, free *pull) {
	for i := range f.pulls {
		p := &f.pulls[i]
		if p.left > 0 && time.Until(p.deadline()) <= 0 {
			p.end()
		}
		if left += p.left; p.left == 0 {
			free = p
		}
	}
	return left, free
}

// waiting reports whether a request of a receiver that waits is under way. The caller
// holds inbox.mu.
func (f *fetcher) waiting() bool {
	left, _ := f.outstanding()
	return left > 0
}

// fetch makes the next request if one is needed; soon means that the last two takes
// were less than staleAfter apart. The caller holds inbox.mu.
func (f *fetcher) fetch(soon bool) {
	if f.retrying || f.life.recvErr() != nil {
		return
	}
	left, free := f.outstanding()
	if r := f.next(soon, left); r.Batch > 0 && free != nil {
		f.request(free, r)
	}
	f.startWatchdog()
}

// next returns the next request if those under way will bring left messages. One is needed
// if more receivers wait than that; or, if soon, when left and what is ready are at most
// half of depth. The caller holds inbox.mu.
func (f *fetcher) next(soon bool, left int) pullRequest {
	need := len(f.inbox.waiters)
	if f.inbox.readable != nil {
		need = max(need, 1)
	}
	need -= len(f.inbox.ready) + left
	ahead := f.depth - len(f.inbox.ready) - left
	switch {
	case need > 0 && (f.quiet || f.depth == 1):
		return pullRequest{Batch: need, Expires: pullWait, Heartbeat: pullHeartbeat}
	case need > 0, soon && f.depth > 1 && 2*ahead >= f.depth:
		return pullRequest{Batch: max(need, ahead), Expires: pullAhead}
	}
	return pullRequest{}
}

// adaptDepth adapts depth after messages were taken, the last of which had waited for
// age. The caller holds inbox.mu.
func (f *fetcher) adaptDepth(age time.Duration, soon bool) {
	left, _ := f.outstanding()
	switch have := len(f.inbox.ready) + left; {
	case age > staleAfter:
		f.depth = max(1, f.depth/2)
	case soon && 2*have <= f.depth:
		f.depth = min(2*f.depth, f.config.prefetch)
	}
}

// request sends a request; none may be under way on p. The caller holds inbox.mu.
func (f *fetcher) request(p *pull, r pullRequest) {
	p.id++
	p.left, p.brought, p.expires, p.sign, p.crowded = r.Batch, 0, r.Expires, time.Now(), false
	body, err := json.Marshal(r)
	if err == nil {
		err = f.conn.nc.PublishRequest(f.requestSubject(), p.subject+strconv.FormatUint(p.id, 10), body)
	}
	if err != nil {
		p.end() // no connection: the watchdog makes the next one
	}
}

func (f *fetcher) requestSubject() string {
	return natsjs.DefaultAPIPrefix + "CONSUMER.MSG.NEXT." + f.config.name + "." + consumerName
}

// end records that the request is no longer under way. The caller holds inbox.mu.
func (p *pull) end() {
	p.left = 0
	if p.done != nil {
		close(p.done)
		p.done = nil
	}
}

// deadline returns when the request counts as lost without another sign of life.
func (p *pull) deadline() time.Time {
	if p.expires == pullAhead {
		return p.sign.Add(aheadLost)
	}
	return p.sign.Add(pullLost)
}

// arrive handles one answer.
func (f *fetcher) arrive(m *nats.Msg) {
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	p := &f.try
	for i := range f.pulls {
		if m.Sub == f.pulls[i].sub {
			p = &f.pulls[i]
		}
	}
	p.sign = time.Now()
	if status := m.Header.Get(headerStatus); status != "" && len(m.Data) == 0 {
		if m.Subject == p.subject+strconv.FormatUint(p.id, 10) {
			f.handleStatus(p, status, m.Header)
		}
		return
	}
	p.brought++
	if p.left--; p.left <= 0 {
		p.end()
	}
	f.inbox.add(m)
	f.fetch(false)
}

// handleStatus handles a status message about p. The caller holds inbox.mu.
func (f *fetcher) handleStatus(p *pull, status string, header nats.Header) {
	switch status {
	case "100": // heartbeat
	case "404": // no messages
		p.end()
	case "408": // it expired, or older requests take what there is
		p.crowded = header.Get(headerPending) == ""
		if p != &f.try {
			if p.left > p.brought {
				f.depth = max(1, f.depth/2)
			}
			f.quiet = f.quiet || p.brought == 0
		}
		if p.expires == pullWait {
			// The advisory of a Close may have been lost. A receiver that waits makes
			// such a request sooner or later, as those ahead of demand bring nothing.
			f.stream.checkLater()
		}
		p.end()
		f.fetch(false)
	default: // 409, 503 and others: a leader or the consumer is gone
		p.end()
		f.retryLater(status + " " + header.Get("Description"))
	}
}

// retryLater checks the stream before the next request. The caller holds inbox.mu.
func (f *fetcher) retryLater(cause string) {
	if f.retrying || f.life.shutdown.Load() {
		return
	}
	f.retrying = true
	f.log.Debug("jetstream: a request for messages failed", "cause", cause)
	f.life.start(func() {
		_ = f.stream.check(f.life.ctx)
		_ = f.life.pause(f.life.recvCtx, failedPause)
		f.inbox.mu.Lock()
		defer f.inbox.mu.Unlock()
		f.retrying = false
		f.fetch(false)
	})
}

// startWatchdog replaces a request that is lost, while a message is wanted. The caller
// holds inbox.mu.
func (f *fetcher) startWatchdog() {
	if f.watchdog != nil || !f.inbox.wanted() || f.life.recvErr() != nil {
		return
	}
	f.watchdog = time.AfterFunc(f.timeout(), func() {
		f.inbox.mu.Lock()
		defer f.inbox.mu.Unlock()
		f.watchdog = nil
		if !f.waiting() && f.inbox.wanted() && !f.retrying && f.life.recvErr() == nil {
			// Servers that have just lost a leader may deliver messages before they can
			// answer a check: the request does not wait for that.
			f.stream.checkLater()
			f.fetch(false)
		}
		f.startWatchdog()
	})
}

// timeout returns how long until a request that is under way now counts as lost. The
// caller holds inbox.mu.
func (f *fetcher) timeout() time.Duration {
	if !f.waiting() {
		return unsentPause
	}
	soonest := pullLost
	for i := range f.pulls {
		if p := &f.pulls[i]; p.left > 0 {
			soonest = min(soonest, time.Until(p.deadline()))
		}
	}
	return soonest
}
