package sluice

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
)

// A Reason is why no receiver gets a value: the channel was full ([Overflowed]), the value was
// older than MaxAge ([TooOld]), or it was queued when Discard closed the channel, or Close a
// subscription ([Discarded]). OnUndelivered of the options of each kind gets it.
//
// OnUndelivered gets the values that the channel drops or that [Bounded.Discard] removes. It does not
// get a value whose send has failed, which still belongs to the sender; nor a value that is left
// in a channel to which nothing refers any more. The garbage collector frees such a
// channel with its values, and a hook that kept them would keep the channel too. For a resource that
// must be freed even then, add a [runtime.AddCleanup] where it is made, or call Discard.
//
// OnUndelivered runs in the goroutine whose call removed the value, before that call returns, without
// a lock: it may use the channel. It may run in several goroutines at once.
//
// Each value that no receiver will get is given to OnUndelivered exactly once, whatever an earlier
// call of it did. If it panics or calls [runtime.Goexit], the call of the channel continues: it gives
// OnUndelivered the other values that it has removed, and a SendBatch under a policy that drops values
// sends the rest of its batch. Then the first panic continues, in place of the results; later ones are
// dropped. Under other policies a SendBatch ends there and may have sent a part of its batch. A
// receive that panics has received nothing.
type Reason uint8

const (
	// Overflowed: the channel was full, and its policy, such as DropOldest, chose this value.
	Overflowed Reason = iota
	// TooOld: the value was older than the MaxAge of the options.
	TooOld
	// Discarded: the value was queued when Discard closed the channel.
	Discarded
)

var reasonNames = [...]string{"Overflowed", "TooOld", "Discarded"}

// String returns the name of the reason.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// dropped returns what the engine calls with each value that the policy drops.
func dropped[T any](o engine.Overflow, onUndelivered func(T, Reason)) func(T) {
	if onUndelivered == nil || o == engine.Block || o == engine.Reject {
		return nil
	}
	return func(v T) { onUndelivered(v, Overflowed) }
}
