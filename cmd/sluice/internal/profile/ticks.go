package profile

import (
	"slices"
	"strings"
	"time"
)

// A receive from the channel of a timer or a ticker waits for a time, not for a
// goroutine: it has no sender, and no buffer or batch changes it. Only the CPU
// profile tells it from other receives, by the runtime's functions for such
// channels below it.

// onTimer reports whether below, the frames inside a channel operation, is in the
// part of it for channels of timers.
func onTimer(below stack) bool {
	return slices.ContainsFunc(below, func(f Frame) bool {
		return f.Function == "runtime.blockTimerChan" || f.Function == "runtime.unblockTimerChan" || strings.HasPrefix(f.Function, "runtime.(*timer).maybeRunChan")
	})
}

// nameTicks gives receives from timers an operation of their own in all profiles
// of c, and counts their CPU time as the scheduler's.
func (c *Capture) nameTicks() {
	if c.CPU == nil {
		return
	}
	ticks := map[Site]bool{}
	for _, s := range c.CPU.Sites {
		if s.onTimer && (s.Op == Receive || s.Op == Range) {
			ticks[s.Site] = true
			for from, spent := range map[Category]time.Duration{ChannelWork: s.work, ChannelLock: s.Lock} {
				c.CPU.By[from] -= spent
				c.CPU.By[Scheduling] += spent
			}
		}
	}
	if len(ticks) == 0 {
		return
	}
	c.eachSite(func(s *Site) {
		loop := *s // goroutine states do not distinguish a range loop from a receive
		if loop.Op == Receive {
			loop.Op = Range
		}
		if ticks[*s] || ticks[loop] {
			s.Op = Tick
		}
	})
}
