// Package batch sends and receives values in batches, so that the cost of a channel, or
// of the work behind it, is paid once per batch instead of once per value.
//
//   - A [Sender] collects the values of one sending goroutine and sends them with
//     SendBatch.
//   - [Receive] collects the values that a channel delivers and yields them as slices,
//     for work such as a write, a request or a transaction.
//
// Both take a size and a linger: a batch is complete when it has that many values, or
// when linger has passed since its first value.
package batch
