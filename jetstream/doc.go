// Package jetstream provides channels between processes on several machines. NATS servers
// store the values, in a JetStream work queue; every process that opens a channel by its
// name can send to it and receive from it.
//
//	c, err := jetstream.Open(ctx, &jetstream.Options[Job]{Name: "jobs", URL: "nats://a,nats://b,nats://c"})
//	...
//	err = c.Send(ctx, job)                                                   // in one process
//	err = workers.Run(ctx, c.Deliveries(), 8, jetstream.AckEach(work), nil)  // in another
//
// Without a URL, a server is embedded in the process: for tests and first steps. If one
// machine is enough, module spill is faster and needs no server. docs/releases.md has the
// command that adds this module to a program.
//
// # Guarantees
//
//   - Durable: Send returns nil once a majority of the servers have stored the value. It
//     survives kill -9 of all of them. It survives a power failure of all of them if they
//     sync every write, as the embedded server does; Open asks a cluster
//     ([Options].System), and a lax or unknown setting is in the log and in Stats.
//     The embedded server notices that its files were removed ([ErrRemoved]).
//   - At least once: a value is redelivered until it is acknowledged. A Send that fails
//     with an [UnknownError] may have stored the value; every message has an identity, so
//     retries within [Options].DedupeWindow do not store it twice.
//   - Order: the values of one sender that calls one Send at a time keep their order, and
//     so do the values of one SendBatch. Several receivers and redeliveries reorder them,
//     unless [Options].Ordered is set.
//   - Close closes the channel for all processes: later sends fail with ErrClosed, stored
//     values can still be received, then receivers get ErrClosed.
//   - Limits: the servers reject a value if the channel is full. TrySend returns ErrFull;
//     Send retries with random back-off. Servers without space fail it with [ErrNoSpace].
//   - Acknowledgments: receivers of [Channel.Deliveries] acknowledge each value with Ack or
//     return it with Nack. It is redelivered after NackDelay; after AckWait if the process
//     died; and moved to the dead letters after MaxDeliver attempts.
//
// [OpenKeyed] opens a channel over several streams, chosen by a key of each value: for more
// values than one stream can take, and for several processes that keep the order of each key.
//
// A rendezvous, an exact Len, and a Select that is atomic across machines are impossible,
// so they are not offered. TrySend and TryRecv report what the servers have seen: a value
// that was just sent may not be visible yet.
//
// # Implementation
//
// A Channel adds a codec to a core (core.go), which connects the parts: connection
// (connection.go, embedded.go, files.go), publisher (publish.go, publish_batch.go), inbox and fetcher
// (inbox.go, ready.go, fetch.go), deliveries and their attempts (message.go, inflight.go,
// attempts.go, dead.go), and the state of the stream (stream.go, seal.go, drained.go,
// repair.go, sync_interval.go). A channel has a core for each of
// its streams (lanes.go, keyed.go). docs/adr/0014-jetstream.md has the decisions.
//
// Only this engine belongs here. Package codec encodes values; package sluice defines what
// a channel is.
package jetstream
