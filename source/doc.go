// Package source lets a pipeline start from a slice or an iterator instead of a
// channel. Whatever receives from a channel of package sluice, such as workers.Run,
// batch.Receive and fan.In, can receive from a source as well.
//
//   - [Slice] delivers the elements of a slice.
//   - [Seq] delivers the values of an iterator.
//   - [Seq2] delivers the values of an iterator that can fail, such as the rows of a
//     query or the lines of a file.
//
// A source starts no goroutine: an iterator runs while a receiver waits for its next
// value. So a source never reads ahead, and it never blocks a sender.
package source
