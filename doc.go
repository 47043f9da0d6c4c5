// Package sluice provides channels that keep up: channels that do what the
// built-in chan cannot.
//
// Four kinds share one set of methods:
//
//   - [Rendezvous] has no buffer. Send returns when a receiver took the value.
//   - [Bounded] is a FIFO of exactly the capacity asked for, with a choice of
//     what happens when it is full.
//   - [Elastic] is a FIFO that grows up to a limit and gives its memory back.
//   - [Sharded] is for many CPUs: several lanes, each a FIFO.
//
// Around them are [Workers] and [Map] for jobs, [Select] over several channels at
// once, [Merge] and [Broadcast]. Package batch sends and receives in batches, and
// package bridge connects built-in channels.
// Package source receives from slices and iterators.
//
// Which kind to take, also when it is the built-in one, how to move to it, and
// recipes are in the folder docs: choosing.md, moving.md and recipes.md.
//
// # What every kind promises
//
// Send and Recv take a [context.Context]. The context matters only when the
// call would have to wait: a call that can proceed proceeds, also under a
// context that is done. A call that would wait returns the context's error if
// the context is done, or becomes so while it waits.
//
//   - A Send that fails never delivers its value, a Recv that fails consumed
//     nothing. Cancelling a waiting call loses nothing and duplicates nothing.
//   - After Close, Send fails with [ErrClosed]; what is buffered stays
//     receivable, and once it is drained Recv fails with [ErrClosed]. Close may
//     be called from either side, by anybody, any number of times.
//   - Values of one sender arrive in the order in which it sent them; in a Sharded,
//     those that it sent on one lane, or with one key.
//   - No operation allocates in steady state.
//   - A channel has no goroutine of its own. It is garbage like any other value
//     once nothing refers to it, closed or not, drained or not.
//
// # Memory model
//
// In the terminology of the Go memory model: a Send synchronizes before the
// Recv that takes its value; Close synchronizes before a Recv that returns
// ErrClosed because of it; a rendezvous Recv synchronizes before its Send
// returns; and the k-th Recv of a channel with capacity C synchronizes before
// the completion of the (k+C)-th Send.
//
// # Deliberate limits
//
// A channel made inside a testing/synctest bubble belongs to that bubble, as a
// built-in one does, and so does a case for [Select] that was made of it. One made
// outside must not be waited on inside a bubble.
package sluice
