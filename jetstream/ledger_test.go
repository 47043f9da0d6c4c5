//go:build unix

package jetstream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A ledger has what became of every value, from what the processes printed.
type ledger struct {
	sent       map[string]byte // '+' stored, '?' unknown, '-' not stored
	deliveries map[string][]handOut
	dead       map[string]int // dead letters
	outage     time.Duration  // the longest between two answers to one sender
	warnings   []string
	oldLeaders bool // a server may have believed that it led, and did not
}

// A handOut is one delivery to a receiver.
type handOut struct {
	receiver       string
	number         int   // as the servers count deliveries of the value
	arrived, ended int64 // ns since 1970; 0 if it did not end
	how            settlement
}

func newLedger() *ledger {
	return &ledger{sent: map[string]byte{}, deliveries: map[string][]handOut{}}
}

// read enters what a sender or receiver printed.
func (l *ledger) read(kind, name string, lines []string) error {
	read := l.readReceiver
	if kind == "sender" {
		read = l.readSender
	}
	for _, line := range lines {
		if warning, ok := strings.CutPrefix(line, "!"); ok {
			l.warnings = append(l.warnings, warning)
			continue
		}
		if err := read(name, line); err != nil {
			return fmt.Errorf("%s printed %q: %w", name, line, err)
		}
	}
	return nil
}

func (l *ledger) readSender(_, line string) error {
	sign, v := line[0], line[1:]
	if sign != '~' {
		l.sent[v] = sign
		return nil
	}
	d, err := time.ParseDuration(v + "ms")
	l.outage = max(l.outage, d)
	return err
}

func (l *ledger) readReceiver(name, line string) (err error) {
	var v string
	switch line[0] {
	case '>':
		h := handOut{receiver: name}
		if _, err = fmt.Sscanf(line, "> %s %d %d", &v, &h.number, &h.arrived); err == nil {
			l.deliveries[v] = append(l.deliveries[v], h)
		}
	case '<':
		var how settlement
		var ended int64
		if _, err = fmt.Sscanf(line, "< %s %s %d", &v, &how, &ended); err == nil {
			all := l.deliveries[v]
			last := slices.IndexFunc(all, func(h handOut) bool { return h.receiver == name && h.ended == 0 })
			all[last].how, all[last].ended = how, ended
		}
	}
	return err
}

// A reason is why a value was delivered again.
type reason string

const unexplained reason = "unexplained"

// reasons are why a value is delivered again after a delivery that was settled in a way.
var reasons = map[settlement]reason{
	nacked:    "rejected by Nack",
	forgotten: "never settled, AckWait passed",
	acked:     "the acknowledgment did not arrive in time",
	failed:    "the acknowledgment failed",
	expired:   "the delivery expired",
	unsettled: "the receiver ended first",
}

// explain returns why h was delivered after earlier ones, in the order of their arrival.
//
// A delivery that the servers are known to have as acknowledged must be the last one that they
// send. One that arrives later was on its way, unless it comes when AckWait is over: then the
// servers have forgotten the acknowledgment, which is a fault. If they also count from the
// start again, a server sent it that did not know of the delivery before. After a partition
// or a pause, the old leader of the consumer may do that until it learns of the new one.
func (l *ledger) explain(earlier []handOut, h handOut) reason {
	const ackWait = int64(clusterAckWait)
	for _, e := range earlier {
		switch after := e.how == confirmed && e.ended < h.arrived; {
		case after && e.number >= h.number && l.oldLeaders:
			return "delivered by an old leader"
		case after && (e.number == h.number || h.arrived-e.arrived >= ackWait && e.ended-e.arrived < ackWait/2 && e.number < h.number):
			return unexplained
		}
	}
	last := earlier[len(earlier)-1]
	if last.how == confirmed {
		return "two deliveries under way at once"
	}
	return reasons[last.how]
}

// A summary counts what became of the values.
type summary struct {
	stored, unknown, unknownStored, rejected, lost, dead int
	duplicates                                           map[reason]int
	faults                                               []string // sentences
}

func (l *ledger) sum() summary {
	s := summary{duplicates: map[reason]int{}, dead: len(l.dead)}
	fault := func(format string, args ...any) { s.faults = append(s.faults, fmt.Sprintf(format, args...)) }
	for _, v := range slices.Sorted(maps.Keys(l.sent)) {
		sign, arrived := l.sent[v], l.deliveries[v] != nil || l.dead[v] > 0
		switch {
		case sign == '+':
			if s.stored++; !arrived {
				s.lost++
				fault("%s is lost", v)
			}
		case sign == '?':
			if s.unknown++; arrived {
				s.unknownStored++
			}
		case arrived:
			fault("%s arrived, although its Send failed", v)
		default:
			s.rejected++
		}
	}
	for _, warning := range l.warnings {
		if strings.Contains(warning, "lost confirmed values") {
			fault("a process warns of a loss that did not happen: %s", warning)
		}
	}
	for v := range l.dead {
		if l.sent[v] == 0 || l.dead[v] > 1 {
			fault("%s is a dead letter %d times, sent %q", v, l.dead[v], l.sent[v])
		}
	}
	for v, all := range l.deliveries {
		if l.sent[v] == 0 {
			fault("%s arrived, and was never sent", v)
		}
		slices.SortFunc(all, func(a, b handOut) int { return cmp.Compare(a.arrived, b.arrived) })
		done := l.dead[v] > 0
		for i, h := range all {
			done = done || h.how == acked || h.how == confirmed || h.how == failed
			if i == 0 {
				continue
			}
			why := l.explain(all[:i], h)
			if s.duplicates[why]++; why == unexplained || why == "" {
				fault("%s was delivered again after its acknowledgment was confirmed: %+v", v, all)
			}
		}
		if !done {
			fault("%s was never acknowledged, and the channel was drained: %+v", v, all)
		}
		if l.dead[v] > 0 && slices.ContainsFunc(all, func(h handOut) bool { return h.how == confirmed }) {
			fault("%s is a dead letter, although its acknowledgment was confirmed: %+v", v, all)
		}
	}
	return s
}

func (s summary) String() string {
	var b strings.Builder
	total := 0
	for _, n := range s.duplicates {
		total += n
	}
	fmt.Fprintf(&b, "%d stored, %d unknown (%d of them stored), %d rejected, %d lost, %d dead letters, %d duplicates",
		s.stored, s.unknown, s.unknownStored, s.rejected, s.lost, s.dead, total)
	for _, why := range slices.Sorted(maps.Keys(s.duplicates)) {
		fmt.Fprintf(&b, "; %d: %s", s.duplicates[why], why)
	}
	return b.String()
}

// check reports the faults, and logs a summary.
func (l *ledger) check(t testing.TB) {
	t.Helper()
	s := l.sum()
	t.Logf("%v; longest outage of a sender %v", s, l.outage)
	for _, warning := range l.warnings {
		if strings.Contains(warning, "skipped stored values") {
			t.Log("not a fault: ", warning)
		}
	}
	if s.stored == 0 {
		t.Error("no value was stored")
	}
	for _, fault := range s.faults[:min(len(s.faults), 20)] {
		t.Error(fault)
	}
	if more := len(s.faults) - 20; more > 0 {
		t.Errorf("and %d more", more)
	}
}

// The ledger finds each fault, and explains each redelivery.
func TestLedger(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		sent, received []string
		dead           string
		want           string // the summary, and the faults
	}{
		{"acknowledged", []string{"+v"}, []string{"> v 1 10", "< v acked 11"}, "", "1 stored"},
		{"lost", []string{"+v"}, nil, "", "1 stored, 1 lost: v is lost"},
		{"unknown", []string{"?v", "?w"}, []string{"> v 1 10", "< v acked 11"}, "", "2 unknown, 1 of them stored"},
		{"rejected", []string{"-v"}, nil, "", "1 rejected"},
		{"rejected, and arrives", []string{"-v"}, []string{"> v 1 10", "< v acked 11"}, "", ": v arrived, although its Send failed"},
		{"never sent", nil, []string{"> v 1 10", "< v acked 11"}, "", ": v arrived, and was never sent"},
		{"never acknowledged", []string{"+v"}, []string{"> v 1 10"}, "", "1 stored: v was never acknowledged"},
		{"forgotten", []string{"+v"}, []string{"> v 1 10", "< v forgotten 11", "> v 2 20", "< v acked 21"}, "", "1 stored, 1 never settled, AckWait passed"},
		{"late acknowledgment", []string{"+v"}, []string{"> v 1 10", "< v acked 11", "> v 2 20", "< v acked 21"}, "", "1 stored, 1 the acknowledgment did not arrive in time"},
		{"two receivers", []string{"+v"}, []string{"> v 1 10", "> v 2 20", "< v confirmed 30", "< v expired 31"}, "", "1 stored, 1 two deliveries under way at once"},
		{"an old delivery", []string{"+v"}, []string{"> v 2 10", "< v confirmed 11", "> v 1 20", "< v expired 31"}, "", "1 stored, 1 two deliveries under way at once"},
		{"on its way", []string{"+v"}, []string{"> v 1 10", "< v confirmed 11", "> v 2 20", "< v acked 21"}, "", "1 stored, 1 two deliveries under way at once"},
		{"after a confirmed acknowledgment", []string{"+v"}, []string{"> v 1 10", "< v confirmed 11", "> v 2 5000000010", "< v acked 5000000021"}, "", "1 stored, 1 unexplained: v was delivered again"},
		{"counted from the start", []string{"+v"}, []string{"> v 1 10", "< v confirmed 11", "> v 1 20", "< v acked 21"}, "", "1 stored, 1 unexplained: v was delivered again"},
		{"by an old leader", []string{"+v", "old"}, []string{"> v 1 10", "< v confirmed 11", "> v 1 20", "< v acked 21"}, "", "1 stored, 1 delivered by an old leader"},
		{"dead", []string{"+v"}, []string{"> v 1 10", "< v nacked 11", "> v 2 20", "< v nacked 21"}, "v", "1 stored, 1 dead, 1 rejected by Nack"},
		{"a wrong warning", []string{"+v", "!the servers lost confirmed values: why"}, []string{"> v 1 10", "< v acked 11"}, "", "1 stored: a process warns of a loss"},
		{"a warning of values that are delivered now", []string{"+v", "!the servers skipped stored values: why"}, []string{"> v 1 10", "< v acked 11"}, "", "1 stored"},
		{"dead twice", []string{"+v"}, nil, "v v", "1 stored, 1 dead: v is a dead letter 2 times"},
		{"dead and acknowledged", []string{"+v"}, []string{"> v 1 10", "< v confirmed 11"}, "v", "1 stored, 1 dead: v is a dead letter, although"},
	} {
		l := newLedger()
		l.dead = map[string]int{}
		if n := len(test.sent); n > 0 && test.sent[n-1] == "old" {
			l.oldLeaders, test.sent = true, test.sent[:n-1]
		}
		for _, v := range strings.Fields(test.dead) {
			l.dead[v]++
		}
		for kind, lines := range map[string][]string{"sender": test.sent, "receiver": test.received} {
			if err := l.read(kind, kind, lines); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		if got := l.sum().brief(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	if err := newLedger().read("receiver", "one", []string{"> v one 2"}); err == nil {
		t.Error("a line without a number is accepted")
	}
}

// brief returns the counts that are not zero, and the first fault.
func (s summary) brief() string {
	var parts []string
	count := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", what))
		}
	}
	count(s.stored, "stored")
	count(s.unknown, "unknown")
	count(s.unknownStored, "of them stored")
	count(s.rejected, "rejected")
	count(s.lost, "lost")
	count(s.dead, "dead")
	for _, why := range slices.Sorted(maps.Keys(s.duplicates)) {
		count(s.duplicates[why], string(why))
	}
	text := strings.Join(parts, ", ")
	if s.faults != nil {
		text += ": " + s.faults[0]
	}
	return text
}
