// Package jetstream is the channel of sluice for processes on several machines: the
// values are stored by NATS servers, in a work queue of JetStream, and every process
// that opens the channel by its name sends to it and receives from it.
//
//	c, err := jetstream.Open(ctx, &jetstream.Options[Job]{Name: "jobs", URL: "nats://a,nats://b,nats://c"})
//
// Without a URL there is a server inside of the process, so that it runs with nothing
// installed. Where one machine is enough, module spill is the better choice: it needs
// no server, and is faster.
//
// # Promises
//
//   - Send nil says that the value is stored by a majority of the servers. It survives
//     kill -9 of all of them. It survives a power loss of all of them where they sync
//     every write, as the server inside does; what the cluster does is asked at Open
//     ([Options].System), and what is lax or not known is said in the log and in Stats.
//   - An error of Send means that it is unknown whether the value is stored, and is an
//     [UnknownError], unless it is ErrClosed, ErrFull, that of the context or of the
//     value, ErrShutdown or ErrDeleted. Identities of sender and number make the retry safe
//     within [Options].DedupeWindow: Send retries by itself, and Retry does later.
//   - At least once. One sender's values keep their order, with one Send at a time;
//     SendBatch keeps it by runs that are stored whole or not at all. Several
//     receivers, and what is delivered again, mix it; [Options].Ordered does not let
//     that happen, one value at a time.
//   - Close is for every process: later sends fail with ErrClosed anywhere, the rest
//     drains, then receives fail with it.
//   - A full channel is full at once: TrySend says ErrFull, Send waits, and tries again
//     after random times.
//   - Who receives [Channel.Deliveries] acknowledges each value or gives it back. It
//     comes again after NackDelay, after AckWait from one who died, and after MaxDeliver
//     in somebody's hands goes to the dead letters.
//
// A rendezvous, an exact Len, and a Select across machines are not possible, so they
// are not offered. What a Try call tells is what the servers saw: a value sent a moment
// ago may not be seen yet.
//
// # How it is made
//
// A Channel is a codec over a core, which has the connection (link.go), sends (send.go,
// batch.go), requests values (pull.go) and keeps those fetched and who waits for them
// (inbox.go), and those in hand (parcel.go), and how often they were (tries.go). What is
// true of the stream the servers know; the core looks at it when something tells that it
// changed, and at the end for whether it is the end (drained.go).
//
// What may enter: this one engine. What values look like as bytes is package codec's
// business, what a channel is that of package sluice.
package jetstream
