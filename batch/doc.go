// Package batch sends and receives values in batches, so that the cost of a channel, or
// of the work behind it, is paid once per batch instead of once per value.
//
// A [Sender] collects the values of one goroutine and sends them with SendBatch:
//
//	b := batch.NewSender(jobs, 64, &batch.Options[Job]{Linger: time.Millisecond})
//	err := b.Send(ctx, job)
//
// [Receive] collects the values that a channel delivers, for work such as a write, a
// request or a transaction:
//
//	batches := batch.Receive(ctx, lines, 100, &batch.Options[string]{Linger: 50 * time.Millisecond})
//	for lines := range batches.All() {
//		…
//	}
//	if err := batches.Err(); err != nil {
//		…
//	}
//
// Both take the largest number of values of a batch, and a linger in their [Options], which is the
// longest time that the first value of a batch waits for others. A batch never reorders values,
// and an early end loses none: see the types for what happens to values that were not sent or
// received.
//
// With MaxBytes in the options, batches are limited in bytes as well, for requests and messages
// whose length is limited. A value that is above the limit alone has a policy.
//
// With any kind of package sluice, batches cost no allocation. [Sender.SendSlice] passes a
// whole slice, without a copy where the channel can.
package batch
