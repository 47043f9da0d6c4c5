// Package spill makes channels that go on on disk when memory ends, with the methods
// of those of package sluice, so that a program changes one constructor.
//
// [OpenElastic] makes an [Elastic]: the disk is only more memory. Below a limit everything
// stays in memory, as in a sluice.Elastic; what comes on top goes to files that nobody
// else sees and that vanish with the process. FIFO holds across the boundary. Nothing is
// synced, and nothing is there after a crash. The limit is in bytes of memory that the
// process takes, not of values: see [Options].
//
// [OpenDurable] makes a [Durable]: what a Send returned nil for is there after kill -9
// and after a power failure, until it is acknowledged. Receivers get a [Delivery], with
// Ack and Nack: at least once. [Durable.AutoAck] makes plain values of them: at most once.
//
// Values go to disk by a codec.Codec, and come back as copies.
//
// What may enter this package: ways to hold values of a channel outside of memory, on
// this machine. docs/spill.md says when to use which, what is promised, and what it
// costs.
package spill
