package tally

import (
	"math"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// counts are the counters of a channel: for each the highest value seen.
type counts struct {
	sent, received             uint64
	overflowed, tooOld         uint64
	rejected                   uint64
	sendWaits, recvWaits       uint64
	sendWaitTime, recvWaitTime time.Duration
}

// add adds a channel to the series: the gauges, and the increments of the counters since
// past, which it updates.
func (s *Series) add(now *sluice.Stats, past *counts) {
	s.Sent += step(&past.sent, now.Sent)
	s.Received += step(&past.received, now.Received)
	s.Overflowed += step(&past.overflowed, now.Dropped-min(now.Dropped, now.TooOld))
	s.TooOld += step(&past.tooOld, now.TooOld)
	s.Rejected += step(&past.rejected, now.Rejected)
	s.SendWaits += step(&past.sendWaits, now.SendWaits)
	s.RecvWaits += step(&past.recvWaits, now.RecvWaits)
	s.SendWaitTime += time.Duration(step(&past.sendWaitTime, now.SendWaitTime))
	s.RecvWaitTime += time.Duration(step(&past.recvWaitTime, now.RecvWaitTime))

	if now.Closed {
		s.Closed++
	} else {
		s.Open++
	}
	if now.Disk.Warning != "" {
		s.Warned++
	}
	s.Senders += int64(now.SendersWaiting)
	s.Receivers += int64(now.ReceiversWaiting)
	s.Queued += int64(now.Len)
	s.Capacity = capacity(s.Capacity, now.Cap)
	s.HighWater = max(s.HighWater, int64(now.HighWater))
	s.Oldest = s.Oldest.Older((*engine.Stats)(now).Oldest())
	s.Lanes += int64(max(1, now.Lanes.Count))
	s.Memory += now.Bytes
	s.Disk += now.Disk.Bytes
}

// step returns the increment from past to now, and updates past. It is never negative.
func step[N uint64 | time.Duration](past *N, now N) int64 {
	if now <= *past {
		return 0
	}
	by := now - *past
	*past = now
	return int64(by)
}

// capacity returns sum + more, or Infinite if one of them is infinite or the sum overflows.
func capacity(sum int64, more int) int64 {
	if more == sluice.Unlimited || int64(more) > math.MaxInt64-sum {
		return Infinite
	}
	return sum + int64(more)
}

// clearGauges sets everything except the counters to zero.
func (s *Series) clearGauges() {
	*s = Series{
		Name: s.Name, Kind: s.Kind,
		Sent: s.Sent, Received: s.Received, Overflowed: s.Overflowed, TooOld: s.TooOld, Rejected: s.Rejected,
		SendWaits: s.SendWaits, RecvWaits: s.RecvWaits,
		SendWaitTime: s.SendWaitTime, RecvWaitTime: s.RecvWaitTime,
	}
}
