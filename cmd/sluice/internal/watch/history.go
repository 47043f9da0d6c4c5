package watch

import (
	"slices"

	"github.com/sluice-go/sluice/livepage"
)

// remembered limits the reports kept per channel: more than a screen is wide.
const remembered = 240

// histories are the last reports of the channels shown, by ID.
type histories map[uint64]*history

// A history is the history of one channel, the latest report at the end.
type history struct {
	name                string
	total               uint64 // values sent, to detect another channel with this ID
	fill, sent, arrived []float64
}

// add adds a report, and forgets channels that are not in it.
func (h histories) add(report *livepage.Report) {
	shown := make(map[uint64]bool, len(report.Channels))
	for i := range report.Channels {
		c := &report.Channels[i]
		shown[c.ID] = true
		past := h[c.ID]
		if past == nil || past.name != c.Name || past.total > c.Sent {
			past = &history{name: c.Name}
			h[c.ID] = past
		}
		past.add(c)
	}
	for id := range h {
		if !shown[id] {
			delete(h, id)
		}
	}
}

func (h *history) add(c *livepage.Channel) {
	h.total = c.Sent
	h.fill = push(h.fill, float64(c.Len))
	if c.SentRate != nil && c.ReceivedRate != nil {
		h.sent = push(h.sent, *c.SentRate)
		h.arrived = push(h.arrived, *c.ReceivedRate)
	}
}

func push(values []float64, v float64) []float64 {
	values = append(values, v)
	return slices.Delete(values, 0, max(0, len(values)-remembered))
}
