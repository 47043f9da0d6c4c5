package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A value that passes two unbuffered channels, one after the other, switches
// goroutines at both. The goroutine between them parks at most of its sends, so
// its receive always finds a sender: that does not make it a slow receiver. In a
// service that routes ticks (eight senders, an unbuffered channel, one router, four
// unbuffered channels), a buffer of 128 slots gained ×1.0 in the first channel
// alone, ×1.2 in the other four, and ×2.2 in all of them.

// handedOn is the smallest ratio of the wake-ups in two neighboring channels where
// most values are handed from one to the other.
const handedOn = 0.50

// A handOff is a channel whose operations wake each other.
type handOff struct {
	send, receive profile.Site // the sites that wake each other most often
	sent, taken   int64        // wake-ups of receivers, and of senders
}

// inTurns reports whether both ends wait for each other, so that neither is the
// slow one.
func (h *handOff) inTurns() bool { return h.sent > 0 && h.taken > 0 && !oneSided(h.sent, h.taken) }

func (h *handOff) count() int64 { return h.sent + h.taken }

// handOffs returns the channels whose operations wake each other in the trace or
// the glimpse. Selects are left out: each may use several channels.
func (f *facts) handOffs() []handOff {
	var all []handOff
	for _, p := range f.pairs() {
		h := handOff{send: p.Waker, receive: p.Sleeper, sent: p.Count}
		if p.Sleeper.Op == profile.Send {
			h = handOff{send: p.Sleeper, receive: p.Waker, taken: p.Count}
		}
		if h.send.Op != profile.Send || h.receive.Op != profile.Receive && h.receive.Op != profile.Range {
			continue
		}
		i := slices.IndexFunc(all, func(x handOff) bool { return x.send == h.send && x.receive == h.receive })
		if i < 0 {
			all = append(all, h)
			continue
		}
		all[i].sent, all[i].taken = all[i].sent+h.sent, all[i].taken+h.taken
	}
	return all
}

// rowOf returns the channel of an operation and its neighbors, which its values come
// from or continue to, in the order of the values; nil without such a neighbor. The
// goroutines receive from one and send to the next in one function, and most values
// switch goroutines in both.
func (f *facts) rowOf(o *Operation) []handOff {
	all := f.handOffs()
	i := slices.IndexFunc(all, func(h handOff) bool { return o != nil && (h.send == o.site || h.receive == o.site) })
	if i < 0 {
		return nil
	}
	at := all[i]
	row := []handOff{at}
	near := func(h *handOff) bool {
		return float64(min(h.count(), at.count())) >= handedOn*float64(max(h.count(), at.count()))
	}
	for j := range all {
		switch h := &all[j]; {
		case h.send == at.send || h.receive == at.receive || !near(h):
		case f.passesOn(h.receive, at.send):
			row = slices.Insert(row, 0, *h)
		case f.passesOn(at.receive, h.send):
			row = append(row, *h)
		}
	}
	if len(row) == 1 {
		return nil
	}
	return row
}

// passesOn reports whether the same goroutines receive and then send. Those that
// send first wait for an answer.
func (f *facts) passesOn(receive, send profile.Site) bool {
	r, s := f.operationAt(receive), f.operationAt(send)
	return r.Function == s.Function && r.Line < s.Line
}

// heldUp reports whether the receiver of a channel waits at the channel after it,
// whose two ends take turns: its senders wait for that, and not for its work. Many
// goroutines that receive once, and then send, may release a semaphore; a range loop
// releases nothing.
func (f *facts) heldUp(o *Operation) bool {
	row := f.rowOf(o)
	for i := range row {
		if h := &row[i]; h.send == o.site || h.receive == o.site {
			return i+1 < len(row) && row[i+1].inTurns() && (h.receive.Op == profile.Range || f.alone(f.operationAt(h.receive)))
		}
	}
	return false
}

// bufferHow describes where to add slots.
func (f *facts) bufferHow(found *Finding) string {
	row := f.rowOf(f.operation(found))
	if len(row) == 0 {
		return "give the channel a buffer of about 128 slots, if it has fewer"
	}
	var at []string
	for _, h := range row {
		at = append(at, h.send.String())
	}
	return fmt.Sprintf("give each of these channels a buffer of about 128 slots, if it has fewer: %s; in one alone, the goroutine between them still waits for each value",
		format.And(at))
}

// batchHow describes where to send slices, if a lock is not the reason, and how long
// a value waits then.
func (f *facts) batchHow(found *Finding) string {
	where := ""
	if sends := f.sendsOf(found); len(sends) > 0 {
		where = " in " + format.And(sends)
	}
	return fmt.Sprintf("send slices of values%s: what one read or request brings, through a chan []T; or else batch.NewSender collects them, "+
		"batch.Receive takes them (workers.Run batches by itself), and the linger of the sender is the longest a value waits", where)
}

// sendsOf returns where the values of a finding are sent, as far as it is known.
func (f *facts) sendsOf(found *Finding) (at []string) {
	o := f.operation(found)
	if o == nil {
		return nil
	}
	for _, h := range f.rowOf(o) {
		at = append(at, h.send.At.String())
	}
	switch {
	case len(at) > 0:
	case o.Op == profile.Send && o.User != "":
		at = []string{o.User}
	case o.Op == profile.Send:
		at = []string{o.site.At.String()}
	case o.Op == profile.Receive || o.Op == profile.Range:
		all := f.handOffs()
		if i := slices.IndexFunc(all, func(h handOff) bool { return h.receive == o.site }); i >= 0 {
			at = []string{all[i].send.At.String()}
		}
	}
	return at
}
