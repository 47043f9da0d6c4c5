package watch

import (
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// rate formats values per second; nil means unknown.
func rate(r *float64) string {
	if r == nil {
		return "–"
	}
	return format.Compact(*r)
}

// kindOf returns a channel's kind: "Sharded, 3 lanes, closed".
func kindOf(c *livepage.Channel) string {
	kind := c.Kind
	if kind == "Sharded" {
		kind += fmt.Sprintf(", %s %s", format.Thousands(c.Lanes), either(c.Lanes == 1, "lane", "lanes"))
	}
	return kind + either(c.Closed, ", closed", "")
}

// filled returns the number of queued values, with the capacity if there is
// one.
func filled(c *livepage.Channel) string {
	switch {
	case c.Cap == nil:
		return queued(c.Len)
	case *c.Cap == 0:
		return "no slots"
	}
	return queued(c.Len) + "/" + queued(*c.Cap)
}

// exact is the number from which a number of queued values is rounded.
const exact = 100_000

// queued writes a number of values in at most five characters.
func queued(n int) string {
	if 0 <= n && n < exact {
		return strconv.Itoa(n)
	}
	return format.Compact(float64(n))
}

// nearlyFull reports whether little room is left.
func nearlyFull(c *livepage.Channel) bool {
	return c.Cap != nil && *c.Cap > 0 && float64(c.Len) >= flowmap.NearlyFull*float64(*c.Cap)
}

// longUntilFull limits the time that fullIn returns, in seconds.
const longUntilFull = 3600

// fullIn returns when a channel is full if its rates stay as they are, or "" if
// that is far away or unknown.
func fullIn(c *livepage.Channel) string {
	switch {
	case c.Cap == nil || *c.Cap <= 0:
		return ""
	case c.Len >= *c.Cap:
		return "now"
	case c.SentRate == nil || c.ReceivedRate == nil || *c.SentRate <= *c.ReceivedRate:
		return ""
	}
	seconds := float64(*c.Cap-c.Len) / (*c.SentRate - *c.ReceivedRate)
	if seconds > longUntilFull {
		return ""
	}
	return format.CompactSeconds(seconds)
}

// oldest returns the age of the oldest queued value as part of a sentence, or "".
func oldest(c *livepage.Channel) string {
	if a := flowmap.Oldest(&c.Age); a != "" {
		return ", oldest " + a
	}
	return ""
}

// howLong returns how long the first waiter has waited, or else the recent mean
// of waits.
func howLong(w *livepage.Waiting) string {
	switch {
	case w.Now > 0 && w.Since > 0:
		return format.CompactSeconds(w.Since)
	case w.Mean != nil && *w.Mean > 0:
		return "~" + format.CompactSeconds(*w.Mean)
	}
	return ""
}
