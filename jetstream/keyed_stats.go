package jetstream

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice"
)

// stats returns the counters of each lane that is not drained, oldest generation first.
func (k *keyedCore) stats() (rows []sluice.Stats) {
	var lanes []*lane
	for _, l := range k.layout.Load().all() {
		if !l.gone.Load() {
			lanes = append(lanes, l)
		}
	}
	rows = make([]sluice.Stats, len(lanes))
	_ = parallel(len(lanes), func(i int) error {
		rows[i] = lanes[i].core.stream.stats()
		return nil
	})
	return rows
}

// length returns how many values are stored, in all lanes.
func (k *keyedCore) length() (n int) {
	lanes := k.layout.Load().all()
	lengths := make([]int, len(lanes))
	_ = parallel(len(lanes), func(i int) error {
		if !lanes[i].gone.Load() {
			lengths[i] = lanes[i].core.stream.length()
		}
		return nil
	})
	for _, length := range lengths {
		n = addLimits(n, length)
	}
	return n
}

// capacity returns the sum of the limits of the streams.
func (k *keyedCore) capacity() (n int) {
	for range k.layout.Load().lanes {
		n = addLimits(n, k.config.limit)
	}
	return n
}

// addLimits returns a+b, at most Unlimited.
func addLimits(a, b int) int {
	if a > sluice.Unlimited-b {
		return sluice.Unlimited
	}
	return a + b
}

// total adds the counters of the lanes. Those of lanes that this process left are in
// k.counters.
func (k *keyedCore) total(rows []sluice.Stats) sluice.Stats {
	now := k.layout.Load()
	k.counters.mu.Lock()
	c := &k.counters
	all := sluice.Stats{
		Name: k.config.name, Cap: k.capacity(),
		Sent: c.sent.Load(), Received: c.received.Load(), Dropped: c.dead.Load(),
		SendWaits: c.sendWaits.n, RecvWaits: c.recvWaits.n,
		SendWaitTime: c.sendWaits.time(), RecvWaitTime: c.recvWaits.time(),
		SendersWaiting: c.sendWaits.now, ReceiversWaiting: c.recvWaits.now,
		Closed: now.record.Closed || k.life.closed.Load(),
	}
	k.counters.mu.Unlock()
	all.Lanes.Count = len(now.lanes)
	warnings := []string{k.warnings.String()}
	for _, row := range rows {
		all.Len = addLimits(all.Len, row.Len)
		all.Sent, all.Received, all.Dropped = all.Sent+row.Sent, all.Received+row.Received, all.Dropped+row.Dropped
		all.SendWaits += row.SendWaits
		all.SendWaitTime += row.SendWaitTime
		all.SendersWaiting += row.SendersWaiting
		all.OldestValue = max(all.OldestValue, row.OldestValue)
		all.HighWater = max(all.HighWater, row.HighWater)
		all.Disk.Bytes += row.Disk.Bytes
		warnings = append(warnings, row.Disk.Warning)
	}
	slices.Sort(warnings)
	warnings = slices.DeleteFunc(slices.Compact(warnings), func(w string) bool { return w == "" })
	all.Disk.Warning = strings.Join(warnings, "; ")
	return all
}

// keep adds the counters of a lane that this process leaves to its own.
func (k *keyedCore) keep(l *lane) {
	if l.core == nil {
		return
	}
	from := &l.core.counters
	k.counters.sent.Add(from.sent.Load())
	k.counters.received.Add(from.received.Load())
	k.counters.dead.Add(from.dead.Load())
}
