// Package sluice provides channels that do what the built-in chan cannot: waits that a
// context cancels, limits in values and bytes, overflow policies, batches, memory that is
// given back, and queues for many CPUs.
//
// There are six kinds of channel:
//
//   - [Rendezvous] has no buffer: Send returns once a receiver has the value.
//   - [Bounded] is a FIFO with a fixed capacity and an overflow policy.
//   - [Elastic] is a FIFO that grows up to a limit and gives its memory back.
//   - [Sharded] has several queues, called lanes, so that senders on different CPUs do
//     not contend.
//   - [Priority] has levels of urgency, and a bound on how long the least urgent value waits.
//   - [Delay] has a time for each value, at which it can be received.
//
// All kinds share the methods of [Channel], which documents what they promise. [Select]
// waits for several channels. Packages batch, workers, fan, bridge, source and inspect
// build on the kinds; package hub broadcasts to subscribers that come and go; modules spill
// and jetstream provide channels on disk and on servers.
// See docs/choosing.md for the kind to choose, and for when the built-in chan is better.
package sluice
