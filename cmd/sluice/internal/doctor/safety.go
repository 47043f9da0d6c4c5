package doctor

import "github.com/sluice-go/sluice/cmd/sluice/internal/observe"

// First, do no harm: a remedy that is right for one program breaks another. Each remedy
// has an entry here, with what it can break, the evidence without which it is not given,
// and the condition that no observation can show and that its text states.

// A hazard is what a remedy can break.
type hazard struct {
	name   Name
	breaks string // in which program it is wrong, and what happens there
	unless string // the condition in its text; "" if the evidence excludes all that it could break
	// lacks returns what is missing of the evidence, or "".
	lacks func(*model, *ruling, *change) string
}

var hazards = []hazard{
	{Batch, "values wait for their batch, and the last batch is lost if nothing flushes it",
		"flush the last, partial batch, and do not let a value wait for the next one", nil},
	{Buffer, "a lock or a limit gets more holders; a send that means \"received\" no longer does",
		"not if its capacity is a limit, or a send must mean that the value was received", lacksFlow},
	{MoreReceivers, "values are processed in another order and at the same time; a lock gets more holders",
		"if order does not matter, and what the receiver keeps (maps, counters, files) is locked or each gets its own", lacksFree},
	{Split, "the order between values of different senders is lost; what needs both parts at once needs two locks",
		"if order between senders does not matter, and no operation needs two parts at once", nil},
	{Balance, "values of one key are processed in another order, or at the same time",
		"if values of one key need no order between them", nil},
	{RemoveHop, "values of several senders lose the one order that the goroutine gave them; a send blocks where the goroutine did",
		"not if it is there to order values, to keep state, or to keep its senders from blocking", nil},
	{UseMutex, "callers wait for each other's I/O, without a context; several holders become one",
		"if nothing blocks while it is held", lacksOne},
	{RaiseLimit, "a lock gets a second holder; what is behind the limit gets more load than it is made for",
		"if what the holders wait for can serve more at once", lacksSeveral},
	{StopPolling, "the loop no longer does its other work, and may never end", "keep a case that ends the loop", nil},
	{Release, "goroutines of an idle pool end; closing a channel makes its senders panic",
		"close a channel only where no goroutine sends any more", nil},
	{Reuse, "what is still read is overwritten; a Reset of a timer that has fired leaves its old value in the channel",
		"only what no goroutine uses any more; with go 1.22 or older in go.mod, stop and drain a timer before each Reset", nil},
	{Signal, "a waiter of another condition is woken and the right one sleeps on",
		"if all waiters wait for the same condition, and one of them can act on each change", nil},
	{Cheaper, "nothing", "", nil},
	{MoreCores, "nothing", "", nil},
}

func hazardOf(name Name) hazard {
	for _, h := range hazards {
		if h.name == name {
			return h
		}
	}
	return hazard{name: name, lacks: func(*model, *ruling, *change) string { return "nothing is known about what it may break" }}
}

// lacksFlow: values go from one role to another at the node.
func lacksFlow(m *model, r *ruling, _ *change) string {
	if r.meet >= 0 {
		if g := &m.meets[r.meet]; g.Kind != observe.Channel || m.excludes(g) {
			return "goroutines exclude each other at it"
		}
	}
	return ""
}

// lacksFree: the part is no single owner of a state that answers its callers from memory.
func lacksFree(m *model, r *ruling, c *change) string {
	if c.part < 0 {
		return ""
	}
	p := &m.parts[c.part]
	if p.Alive < 1.5 && p.reply > p.room && p.made.away() < p.made.sum()/2 {
		return "a single goroutine that answers its callers may be there to own a state"
	}
	if p.room < 0.1 && m.takesAt(p).At.Function == "" {
		return "it takes no values from other goroutines that a second one could take"
	}
	if c.servers.most > 0 && c.servers.most < 1.05 {
		return "what comes next is as busy"
	}
	return ""
}

// lacksOne: one holder at a time, which waits for nothing else.
func lacksOne(m *model, r *ruling, c *change) string {
	i := c.part
	if i < 0 && r.meet >= 0 && len(m.meets[r.meet].receivers) > 0 {
		i = m.meets[r.meet].receivers[0].role
	}
	if i >= 0 {
		if p := &m.parts[i]; p.made.away() > p.made.sum()/5 {
			return "those that hold it wait outside, and would make the callers wait for each other's I/O"
		}
	}
	return ""
}

// lacksSeveral: several are inside at once, so it is a limit and no lock.
func lacksSeveral(m *model, r *ruling, _ *change) string {
	if r.meet < 0 {
		return ""
	}
	if slots, _ := m.slots(&m.meets[r.meet]); slots < 1.2 && builtin(r.at) {
		return "one at a time is inside, so it may be a lock"
	}
	return ""
}
