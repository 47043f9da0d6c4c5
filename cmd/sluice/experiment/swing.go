package experiment

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/measure"
)

// A queue that swings around a power of two is what hurts a shrinking ring that
// has no hysteresis: it copies itself at each swing. swingAround values are
// queued when the swing is at its lowest, so that the queue proper, which lies
// between two buffers of 128 slots in the published channel, crosses 4096.
const (
	swingAround = 4096 + 64
	swingWidth  = 256
)

// swing enters c in the work of a queue that gets swingWidth values longer and
// shorter again until n values have been sent.
func (c contestant) swing(n int) measure.Entry {
	return measure.Entry{Contender: c.name, Pass: func() (measure.Reading, error) {
		channel := c.contender.Make(c.slots(swingAround + swingWidth))
		channel.SendRange(0, swingAround)
		sent, due := uint64(swingAround), uint64(0)
		var wrong error
		receive := func(values int) {
			for range values {
				if v, ok := channel.Recv(); (!ok || v != due) && wrong == nil {
					wrong = fmt.Errorf("%s: received %d (%v) where %d was due", c.name, v, ok, due)
				}
				due++
			}
		}
		cycles := max(1, n/swingWidth)
		began := time.Now()
		for range cycles {
			channel.SendRange(sent, sent+swingWidth)
			sent += swingWidth
			receive(swingWidth)
		}
		elapsed := time.Since(began)
		channel.Close()
		receive(swingAround)
		if v, ok := channel.Recv(); ok && wrong == nil {
			wrong = fmt.Errorf("%s: received %d after all %d values", c.name, v, sent)
		}
		return measure.Reading{Ops: cycles * swingWidth, Elapsed: elapsed}, wrong
	}}
}
