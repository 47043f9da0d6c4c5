// Package spill provides channels that overflow to disk, and channels that survive the
// process. They have the methods of the channels in package sluice, so a program
// switches by changing one constructor.
//
// [OpenElastic] returns an [Elastic], which uses the disk as additional memory. Up to a
// limit, values stay in memory, as in a sluice.Elastic. Values beyond it go to files that
// no other process sees and that vanish with the process. The order is FIFO throughout.
// Nothing is synced, and nothing survives a crash. The limit counts the memory that the
// process uses for the channel, not only values: see [ElasticOptions].
//
// [OpenDurable] returns a [Durable], which stores every value before Send returns nil.
// Stored values survive kill -9 and a power failure until they are acknowledged.
// Receivers get a [Delivery] with methods Ack and Nack: delivery is at least once.
// [Durable.AutoAck] returns a channel of plain values, with delivery at most once.
//
// A codec.Codec encodes values for the disk, so values that were on disk are copies.
//
// This package contains ways to keep the values of a channel outside of memory, on one
// machine. docs/spill.md explains which to choose, the guarantees, and the costs;
// docs/releases.md has the command that adds this module to a program.
package spill
