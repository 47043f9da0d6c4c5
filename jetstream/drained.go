package jetstream

import (
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A channel is drained when its stream is sealed and empty, and stays so. The servers
// report the first two. With several replicas, the third needs more: a receiver must not
// get ErrClosed before every value whose Send returned nil was received.
//
//   - A value that a replica accepted before the seal may be stored after it, so an empty
//     stream may fill again. But Send returns nil within one attempt (attemptTimeout) or
//     not at all: a value that appears later was never confirmed.
//   - Each replica learns of the seal on its own. A new leader may not know of it yet and
//     accept values until it does. So the attempt counts from when this leader was first
//     seen to report the seal.
//   - While there is no leader, each replica answers for itself, even one that missed the
//     last values. Such an answer does not count.
//   - A leader that is cut off still answers, while the others may have elected another
//     one, which they do after four seconds without contact. So the leader must have heard
//     from a majority recently.
//   - A leader that was paused does not know for how long. So the attempt starts again
//     after each check that is not answered.

// A sealedBy is the leader that reports that the stream is sealed, and since when.
// It is guarded by stream.mu.
type sealedBy struct {
	candidate
	since time.Time
}

// recentContact is less than the four seconds after which replicas elect another leader,
// with a margin for latency, and more than the second between two heartbeats.
const recentContact = 3 * time.Second

// isDrained reports whether the stream, which is sealed, is empty for good. info is what
// the servers answered; asked and answered are the times of the request and the answer.
// The caller holds mu.
func (s *stream) isDrained(info *natsjs.StreamInfo, asked, answered time.Time) bool {
	if info.Config.Replicas == 1 { // now: unlike Options, the stream's value can be changed
		return info.State.Msgs == 0
	}
	before := &s.sealedBy
	if now := candidateOf(info.Cluster); !now.same(before.candidate) {
		*before = sealedBy{now, answered}
	}
	return info.State.Msgs == 0 && before.name != "" && asked.Sub(before.since) >= attemptTimeout && hasQuorum(info)
}

// hasQuorum reports whether the leader has heard from a majority recently. While the
// stream moves to other servers there are more peers than Replicas: a majority of all.
func hasQuorum(info *natsjs.StreamInfo) bool {
	heard, all := 1, max(info.Config.Replicas, 1+len(info.Cluster.Replicas)) // 1: the leader itself
	for _, peer := range info.Cluster.Replicas {
		if peer.Active > 0 && peer.Active < recentContact { // 0: never
			heard++
		}
	}
	return heard > all/2
}
