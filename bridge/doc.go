// Package bridge connects channels of package sluice to built-in channels, for code that
// uses chan, select or range and is not to be changed.
//
//   - [FromChan] sends to a channel the values of a built-in one.
//   - [ToChan] receives from a channel into a built-in one.
//   - A [Pipe] has built-in channels at both ends, and a channel of any kind between them.
//   - [NewReceiver] and [NewSender] add the methods of this library to a built-in channel
//     that stays: contexts, loops, batches. They cost no goroutine.
//
// A built-in channel has no errors and no context, so a bridge needs a rule for values that
// cannot be delivered: FromChan, ToChan and Pipe return them, in order, and lose none. ToChan and
// Pipe cost goroutines and a wake-up per value or batch. A select over built-in channels
// can do without them: see the Ready method of the kinds.
package bridge
