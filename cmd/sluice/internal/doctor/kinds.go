package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Most remedies need no other channel: docs/choosing.md has the measurements. This
// file says when the built-in channel is enough, and which kind of package sluice
// the remedy would use otherwise. It names no option that a second goroutine could
// break: one line does not show all users of a channel.

// kindFor returns a sentence about the kind of channel for the first remedy of a
// finding about a built-in channel, or "".
func (f *facts) kindFor(found *Finding) string {
	o := f.operation(found)
	if o == nil || o.ours() || found.Minor {
		return ""
	}
	if found.Kind == Dropping {
		return "a built-in channel is enough if the default case counts what it drops; sluice.NewBounded with Overflow: DropNewest drops the same values and counts them"
	}
	best := found.Best()
	if best == nil {
		return ""
	}
	switch best.Name {
	case Buffer:
		if o.Op == profile.Select {
			return "a built-in channel is enough; if the other case of the select is a context, Send and Recv of sluice.NewBounded(128, nil) take it instead"
		}
		return "a built-in channel is enough; sluice.NewBounded(128, nil) if sends also need a context, a policy for a full queue, or counters"
	case Batch:
		if found.Kind == Scattered {
			return ""
		}
		if found.Kind == Downstream {
			return "a built-in channel is enough: receive one value, then those that are there, in a select with default; batch.Receive does that for the channels of sluice"
		}
		return fmt.Sprintf("a built-in chan []T is enough if its senders have slices already; otherwise sluice.NewBounded(1024, nil) (%s)", f.usersOf(o))
	case Shard:
		return fmt.Sprintf("a built-in channel for each sender is enough if they are few; otherwise sluice.NewSharded(1024, nil) with a Lane for each (%s)",
			f.usersOf(o))
	case Elastic:
		return "a built-in channel is enough if senders may wait while it is full; otherwise sluice.NewElastic with a limit"
	case MoreReceivers:
		return "the built-in channel is enough: no kind of channel makes its receivers faster"
	}
	return ""
}

// usersOf says how many goroutines use an operation.
func (f *facts) usersOf(o *Operation) string {
	n, counted := f.users(o)
	switch {
	case !counted:
		return "how many goroutines use it is unknown"
	case n == 1:
		return "1 goroutine uses this line"
	}
	return fmt.Sprintf("%d goroutines use this line", n)
}
